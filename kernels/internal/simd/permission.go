package simd

import "sync"

// What a system saves for a program only after the program has asked. Asking is not done at init: from then on each signal
// takes a frame with room for tiles, and a program that imports the kernels for a norm does not want that.

// byPermission are the features whose state has to be asked for.
const byPermission = AMX

// tilesPermitted asks, once.
var tilesPermitted = sync.OnceValue(askForTiles)

// Permitted reports whether the implementation that runs on a tier may be called. It asks the system if the implementation needs
// that; the callers of such a kernel ask before they choose it.
func (k Kernel) Permitted(isa ISA) bool {
	return k.On(isa).Needs&byPermission == 0 || tilesPermitted()
}

// Refused lists the features in use that the system does not permit.
func Refused() []string {
	if features&byPermission == 0 || tilesPermitted() {
		return nil
	}
	return (features & byPermission).names()
}
