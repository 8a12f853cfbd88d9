//go:build !race

// Package race reports whether the race detector is built in.
package race

const Enabled = false
