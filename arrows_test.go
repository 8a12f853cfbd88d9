package avoformer_test

import (
	"testing"

	"github.com/avoformer/avoformer/internal/arrows"
)

// arrowLimits are those of packages that do not keep to the common ones yet. They only become smaller.
var arrowLimits = map[string]arrows.Limit{
	"kernels/internal/simd":           {Up: 6},
	"kernels/internal/par":            {Up: 3},
	"kernels/internal/weights":        {Up: 3},
	"kernels/internal/product":        {Up: 3},
	"transformer":                     {Knot: 15, Up: 11},
	"transformer/gguf":                {Up: 2},
	"transformer/pytorch":             {Up: 2},
	"transformer/internal/checkpoint": {Knot: 7, Up: 11},
	"generation":                      {Knot: 6, Up: 10},
	"grammar":                         {Knot: 14, Up: 24},
}

// TestArrows holds the files of each package to an order in which nearly all uses lead down.
func TestArrows(t *testing.T) {
	arrows.Check(t, arrowLimits, "kernels", "transformer", "models", "generation", "grammar")
}
