package attend

import (
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

func TestMain(m *testing.M) { testenv.Main(m, simd.Supported()) }

func TestForcedTier(t *testing.T) { testenv.CheckForced(t, simd.Active()) }
