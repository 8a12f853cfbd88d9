package main

import (
	"fmt"
	"slices"
)

// layers are the folders of the root module, and examples, from the lowest on. Their packages build
// on each other. Other folders, such as grammar and hub, import none of them.
var layers = []string{"kernels", "search", "transformer", "models", "generation", "examples"}

// kernelParts are the packages that kernels consists of, from the lowest on, beginning with those in
// internal. Each imports only packages before it.
var kernelParts = []string{
	"internal/approx", "internal/elementary", "internal/half", "internal/meetings", "internal/race",
	"kernels/internal/par",
	"kernels/internal/order",
	"kernels/internal/simd",
	"kernels/internal/mem",
	"kernels/internal/tune",
	"kernels/internal/pack",
	"kernels/internal/weights",
	"kernels/internal/kv",
	"kernels/internal/mask",
	"kernels/internal/row",
	"kernels/internal/product",
	"kernels/internal/attend",
	"kernels",
}

// layer returns the index of the layer that a folder is in, or -1.
func layer(dir string) int {
	return slices.IndexFunc(layers, func(f string) bool { return below(dir, f) })
}

// importsPointDown finds imports of a package in a higher layer, or of a later one of kernelParts.
func importsPointDown(t *tree) (problems []string) {
	for _, f := range t.files {
		isPart := slices.Contains(kernelParts, f.dir)
		if below(f.dir, "kernels/internal") && !isPart {
			problems = append(problems, f.path+" is in a package without a place in kernelParts")
		}
		if layer(f.dir) < 0 && f.dir != "grammar" && f.dir != "hub" && !isPart {
			continue
		}
		for _, i := range f.Imports {
			dir, ok := own(i)
			if ok && (layer(dir) > layer(f.dir) || isPart && !slices.Contains(kernelParts[:slices.Index(kernelParts, f.dir)], dir)) {
				problems = append(problems, fmt.Sprintf("%s imports %s", f.path, dir))
			}
		}
	}
	return problems
}
