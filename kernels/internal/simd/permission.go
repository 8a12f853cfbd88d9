package simd

import "sync"

// This file asks for states that a system saves for a program only if the program has asked. It
// does not ask at init: from then on each signal needs a frame large enough for tiles, and a
// program that imports the kernels for a norm should not pay for that.

// byPermission are the features whose state a program has to ask for.
const byPermission = AMX

// tilesPermitted asks once for permission to use tiles.
var tilesPermitted = sync.OnceValue(askForTiles)

// Permitted reports whether the implementation that runs on a tier may be called. If the
// implementation needs permission, it asks the system. The callers of such a kernel call Permitted
// before they choose it.
func (k Kernel) Permitted(isa ISA) bool {
	return k.On(isa).Needs&byPermission == 0 || tilesPermitted()
}

// FeaturesOn returns the features that kernels on a tier need and can use, and those that the
// system refuses.
func FeaturesOn(isa ISA) (used, refused []string) {
	needed, no := neededOn(isa, features), Features(0)
	if needed&byPermission != 0 && !tilesPermitted() {
		no = needed & byPermission
	}
	return (needed &^ no).names(), no.names()
}
