package avoformer_test

import (
	"testing"

	"github.com/avoformer/avoformer/internal/arrows"
)

// arrowLimits are those of packages that exceed the common ones. They only become smaller.
var arrowLimits = map[string]arrows.Limit{
	// Files for one architecture resolve what the files for all of them declare, and the other way round.
	"kernels/internal/simd": {Up: 6},
	// Workers, jobs and the pool are one state machine in three files.
	"kernels/internal/par": {Up: 4},
	// A matrix packs itself, by its format, which is among the blocks' or among those of int8.
	"kernels/internal/weights": {Up: 3},
	// A call has a plan, and a plan is made for a call; the loops get panels from sources, which know the loops.
	"kernels/internal/product": {Up: 3},
	// The account of a checkpoint and its kinds of weights are methods of one type.
	"transformer/internal/checkpoint": {Knot: 7, Up: 11},
	// The scheduler's loop is one type in five files, and so is decoding with rules.
	"generation": {Knot: 6, Up: 10},
}

// TestArrows holds the files of each package to an order in which nearly all uses lead down.
func TestArrows(t *testing.T) {
	arrows.Check(t, arrowLimits, "kernels", "transformer", "models", "generation", "grammar")
}
