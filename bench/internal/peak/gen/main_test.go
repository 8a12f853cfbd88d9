package main

import (
	"bytes"
	"os"
	"testing"
)

func TestCommittedFilesAreCurrent(t *testing.T) {
	for name, want := range Files() {
		got, err := os.ReadFile("../" + name)
		if err != nil || string(got) != want {
			t.Errorf("%s differs from gen's output: run go generate ./internal/peak (%v)", name, err)
		}
	}
}

// TestVexQuads compares with the bytes of GNU as for {vex} vpdpbusd %ymm12, %ymm13, and %ymm0 or
// %ymm11.
func TestVexQuads(t *testing.T) {
	for dst, want := range map[int][]byte{0: {0xc4, 0xc2, 0x15, 0x50, 0xc4}, 11: {0xc4, 0x42, 0x15, 0x50, 0xdc}} {
		if got := vexQuads(dst, 13, 12); !bytes.Equal(got, want) {
			t.Errorf("register %d: %x, want %x", dst, got, want)
		}
	}
}
