package main

import (
	"testing"

	"github.com/avoformer/avoformer/internal/arrows"
)

// arrowLimits are those of packages that do not keep to the common ones yet. They only become smaller.
var arrowLimits = map[string]arrows.Limit{
	".": {Knot: 22, Up: 25},
}

// TestArrows holds the files of each package to an order in which nearly all uses lead down.
func TestArrows(t *testing.T) {
	arrows.Check(t, arrowLimits, ".")
}
