//go:build !plan9

package main

import (
	"errors"
	"syscall"
)

// readerGone reports whether err is the error of writing to a pipe without a reader.
func readerGone(err error) bool { return errors.Is(err, syscall.EPIPE) }
