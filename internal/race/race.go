//go:build race

// Package race tells whether the race detector is built in.
package race

const Enabled = true
