package bulk_test

import (
	"testing"

	"github.com/avoformer/avoformer/internal/arrows"
)

// TestArrows holds the files of each package to an order in which nearly all uses lead down.
func TestArrows(t *testing.T) {
	arrows.Check(t, nil, ".")
}
