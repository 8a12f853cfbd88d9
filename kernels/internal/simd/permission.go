package simd

import "sync"

// What a system saves for a program only after the program has asked. Asking is not done at init:
// from then on each signal takes a frame with room for tiles, and a program that imports the
// kernels for a norm does not want that.

// byPermission are the features whose state has to be asked for.
const byPermission = AMX

// tilesPermitted asks, once.
var tilesPermitted = sync.OnceValue(askForTiles)

// Permitted reports whether the implementation that runs on a tier may be called. It asks the
// system if the implementation needs that; the callers of such a kernel ask before they choose it.
func (k Kernel) Permitted(isa ISA) bool {
	return k.On(isa).Needs&byPermission == 0 || tilesPermitted()
}

// FeaturesOn returns the features that kernels on a tier need, without those that the system
// refuses, and the latter.
func FeaturesOn(isa ISA) (used, refused []string) {
	needed, no := neededOn(isa, features), Features(0)
	if needed&byPermission != 0 && !tilesPermitted() {
		no = needed & byPermission
	}
	return (needed &^ no).names(), no.names()
}
