package transformer

import (
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels"
)

func TestMain(m *testing.M) { testenv.Main(m, kernels.Supported()) }

func TestForcedTier(t *testing.T) { testenv.CheckForced(t, kernels.Active()) }
