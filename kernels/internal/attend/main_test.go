package attend

import (
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

func TestMain(m *testing.M) { testenv.Main(m, simd.Supported()) }

func TestForcedTier(t *testing.T) { testenv.CheckForced(t, simd.Active()) }

// eachISA runs f as a subtest on every tier of this machine.
func eachISA(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	testenv.EachTier(t, simd.Supported(), simd.Active(), simd.Use, f)
}
