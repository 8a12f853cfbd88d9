// Kernelgen writes every generated file of package kernels/internal/simd from asm.Catalog: the
// assembly of each tier, its declarations, and the dispatch switches.
//
//	go run ./cmd/kernelgen [-check] [-dir DIR]
//
// With -check it writes nothing and fails when a file on disk differs from what it would write, is
// missing, or is a generated file that nothing generates.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/asm"
	"github.com/avoformer/avoformer/asm/arch"
)

func main() {
	dir := flag.String("dir", "../kernels/internal/simd", "directory of package simd")
	check := flag.Bool("check", false, "compare with the files on disk instead of writing them")
	flag.Parse()
	if err := run(*dir, *check); err != nil {
		fmt.Fprintln(os.Stderr, "kernelgen:", err)
		os.Exit(1)
	}
}

func run(dir string, check bool) error {
	files, err := asm.Generate(asm.Catalog, arch.Tiers)
	if err != nil {
		return err
	}
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, name)
		if check {
			if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, files[name]) {
				wrong = append(wrong, name)
			}
			continue
		}
		if err := os.WriteFile(path, files[name], 0o644); err != nil {
			return err
		}
	}
	stale, err := orphans(dir, files)
	if err != nil {
		return err
	}
	if check {
		if wrong = append(wrong, stale...); len(wrong) > 0 {
			return fmt.Errorf("out of date, run go generate: %s", strings.Join(wrong, ", "))
		}
		return nil
	}
	for _, name := range stale {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// orphans lists the files in dir that carry our header but are in no output.
func orphans(dir string, files map[string][]byte) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if _, ok := files[e.Name()]; ok || e.IsDir() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		if bytes.HasPrefix(b, []byte(asm.HeaderPrefix)) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
