package main

import (
	"fmt"
	"slices"
)

// floors are the folders of the root module, and examples, whose packages build on each other, from
// below. Other folders, such as grammar and hub, import none of them.
var floors = []string{"kernels", "search", "transformer", "models", "generation", "examples"}

// rooms are the packages that kernels is made of, from below, beginning with those in internal.
// Each imports only the packages before it.
var rooms = []string{
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

// floor returns that of a folder, and -1 if it belongs to none.
func floor(dir string) int {
	return slices.IndexFunc(floors, func(f string) bool { return below(dir, f) })
}

// importsPointDown: a package imports no package of a floor or of a room above its own.
func importsPointDown(t *tree) (problems []string) {
	for _, f := range t.files {
		isRoom := slices.Contains(rooms, f.dir)
		if below(f.dir, "kernels/internal") && !isRoom {
			problems = append(problems, f.path+" is in a package without a place in the order of rooms")
		}
		if floor(f.dir) < 0 && f.dir != "grammar" && f.dir != "hub" && !isRoom {
			continue
		}
		for _, i := range f.Imports {
			dir, ok := own(i)
			if ok && (floor(dir) > floor(f.dir) || isRoom && !slices.Contains(rooms[:slices.Index(rooms, f.dir)], dir)) {
				problems = append(problems, fmt.Sprintf("%s imports %s", f.path, dir))
			}
		}
	}
	return problems
}
