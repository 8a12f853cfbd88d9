//go:build js || wasip1

package main

import "context"

// onHangup does nothing: there is no SIGHUP here.
func onHangup(context.Context, func()) {}
