package asm

import (
	"fmt"
	"go/format"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/avoformer/avoformer/asm/arch"
)

// A backend turns the implementations of one file into assembly for one tier.
type backend func(source string, implementations []implementation) ([]byte, error)

// backends holds the backend of each tier, by the tier's File. Another tier of an architecture has
// registers and instructions that only its own backend knows.
var backends = map[string]backend{"avx2": generateX86, "avx512": generateX86, "neon": generateNEON}

// Generate returns every generated file of package simd, by name.
func Generate(catalog []Kernel, tiers []arch.Tier) (map[string][]byte, error) {
	for _, k := range catalog {
		if err := k.check(); err != nil {
			return nil, err
		}
	}
	files := map[string][]byte{}
	var makers errgroup.Group // one goroutine per file: register allocation takes seconds
	makers.SetLimit(runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	for _, t := range tiers {
		if err := t.Check(); err != nil {
			return nil, err
		}
		generate := backends[t.File]
		if generate == nil {
			return nil, fmt.Errorf("tier %s: no backend for %s", t.Name, t.File)
		}
		for _, group := range byFile(catalog, t) {
			makers.Go(func() error {
				k := group[0].kernel
				name := fmt.Sprintf("%s_%s_%s.s", k.File, t.File, t.GOARCH)
				b, err := generate("kernel/"+k.Source, group)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				mu.Lock()
				defer mu.Unlock()
				files[name] = b
				return nil
			})
		}
	}
	if err := makers.Wait(); err != nil {
		return nil, err
	}
	return files, goFiles(files, catalog, tiers)
}

// byFile groups the implementations on one tier by their kernels' File, in order of first
// appearance.
func byFile(catalog []Kernel, t arch.Tier) [][]implementation {
	var groups [][]implementation
	index := map[string]int{}
	for _, k := range catalog {
		for _, im := range k.implementations([]arch.Tier{t}) {
			i, ok := index[k.File]
			if !ok {
				i = len(groups)
				index[k.File] = i
				groups = append(groups, nil)
			}
			groups[i] = append(groups[i], im)
		}
	}
	return groups
}

// goFiles adds the Go files: one for each architecture, and one for all other architectures.
func goFiles(files map[string][]byte, catalog []Kernel, tiers []arch.Tier) error {
	byArch := map[string][]arch.Tier{}
	var archs, others []string
	for _, t := range tiers {
		if byArch[t.GOARCH] == nil {
			archs, others = append(archs, t.GOARCH), append(others, "!"+t.GOARCH)
		}
		byArch[t.GOARCH] = append(byArch[t.GOARCH], t)
	}
	elsewhere := "purego || (" + strings.Join(others, " && ") + ")"
	var bodies []goBody
	for _, arch := range append(archs, "other") {
		of, constraint := byArch[arch], arch+" && !purego"
		if arch == "other" {
			constraint = elsewhere
		} else {
			bodies = append(bodies, goBody{"stubs_" + arch + ".go", constraint, stubs(catalog, of)})
		}
		bodies = append(bodies,
			goBody{"dispatch_" + arch + ".go", constraint, dispatch(catalog, of)},
			goBody{"implementations_" + arch + ".go", constraint, implementationTable(catalog, of)},
			goBody{"catalog_" + arch + "_test.go", constraint, functionTable(catalog, of)})
	}
	bodies = append(bodies, goBody{"kernels.go", "", enumeration(catalog)}, goBody{"records_test.go", "", recordTable(catalog)})
	for _, b := range bodies {
		src := header("catalog.go") + "\n"
		if b.constraint != "" {
			src += "//go:build " + b.constraint + "\n\n"
		}
		src += "package simd\n\n" + b.text
		text, err := format.Source([]byte(src))
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", b.name, err, src)
		}
		files[b.name] = text
	}
	return nil
}

// goBody is a generated file in Go, without its header.
type goBody struct{ name, constraint, text string }
