package text_test

import (
	"testing"

	"github.com/avoformer/avoformer/internal/arrows"
)

// arrowLimits are those of packages that exceed the common ones, and why. They only become smaller.
var arrowLimits = map[string]arrows.Limit{
	// A pattern has sets, whose elements are parsed as patterns are; an expression makes the machine that matches it.
	"tokenizer/internal/onig": {Up: 2},
}

// TestArrows holds the files of each package to an order in which nearly all uses lead down.
func TestArrows(t *testing.T) {
	arrows.Check(t, arrowLimits, ".")
}
