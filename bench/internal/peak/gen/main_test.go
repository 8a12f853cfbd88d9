package main

import (
	"os"
	"testing"
)

func TestCommittedFilesAreCurrent(t *testing.T) {
	for name, want := range Files() {
		got, err := os.ReadFile("../" + name)
		if err != nil || string(got) != want {
			t.Errorf("%s is not what gen writes: run go generate ./internal/peak (%v)", name, err)
		}
	}
}
