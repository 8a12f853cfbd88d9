package text_test

import (
	"testing"

	"github.com/avoformer/avoformer/internal/arrows"
)

// arrowLimits are those of packages that do not keep to the common ones yet. They only become smaller.
var arrowLimits = map[string]arrows.Limit{
	"answer":                  {Knot: 8, Up: 5},
	"internal/vision":         {Knot: 7, Up: 7},
	"tokenizer/internal/onig": {Up: 4},
}

// TestArrows holds the files of each package to an order in which nearly all uses lead down.
func TestArrows(t *testing.T) {
	arrows.Check(t, arrowLimits, ".")
}
