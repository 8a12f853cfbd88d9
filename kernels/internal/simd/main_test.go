package simd

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m, Supported()) }

func TestForcedTier(t *testing.T) { testenv.CheckForced(t, Active()) }

var (
	inf32 = float32(math.Inf(1))
	nan32 = float32(math.NaN())
)

func randomSlice(r *rand.Rand, n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(r.NormFloat64())
	}
	return s
}
