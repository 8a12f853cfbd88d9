//go:build !plan9

package main

import (
	"errors"
	"syscall"
)

// readerGone is whether err comes of writing to what nobody reads any more.
func readerGone(err error) bool { return errors.Is(err, syscall.EPIPE) }
