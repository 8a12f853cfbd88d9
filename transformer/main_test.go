package transformer

import (
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels"
)

// TestMain has strips of a few rows, for tests that are quick.
func TestMain(m *testing.M) {
	stripRows = 16
	testenv.Main(m, kernels.Supported())
}

func TestForcedTier(t *testing.T) { testenv.CheckForced(t, kernels.Active()) }
