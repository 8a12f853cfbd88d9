package serve_test

import (
	"testing"

	"github.com/avoformer/avoformer/internal/arrows"
)

// arrowLimits are those of packages that exceed the common ones. They only become smaller. A package of a protocol has a file with its
// routes, which hand requests to the files of each; these answer by what the first file has in common.
var arrowLimits = map[string]arrows.Limit{
	"internal/engine":      {Up: 3},
	"internal/wire":        {Up: 2},
	"internal/anthropic":   {Up: 3},
	"internal/tei":         {Up: 3},
	"internal/huggingface": {Up: 3},
	"internal/ollama":      {Knot: 5, Up: 4},
	"internal/openai":      {Knot: 6, Up: 5},
}

// TestArrows holds the files of each package to an order in which nearly all uses lead down.
func TestArrows(t *testing.T) {
	arrows.Check(t, arrowLimits, ".")
}
