//go:build js || wasip1

package main

import "context"

// onHangup does nothing: this platform has no SIGHUP.
func onHangup(context.Context, func()) {}
