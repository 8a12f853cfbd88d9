//go:build !linux

package ready

import (
	"os"
	"time"
)

func stampOf(os.FileInfo) (string, time.Time) { return "", time.Time{} }
