package asm

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/avoformer/avoformer/asm/arch"
)

// TestGenerated regenerates every file and compares it with the committed one.
func TestGenerated(t *testing.T) {
	files, err := Generate(Catalog, arch.Tiers)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", "kernels", "internal", "simd", name))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("kernels/internal/simd/%s is out of date: run go generate", name)
		}
	}
}
