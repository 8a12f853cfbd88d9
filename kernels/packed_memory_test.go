package kernels

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// TestPackedIn: a matrix over the memory of another one multiplies as that does, in every format.
// Formats, and tiers with panels of another width, have layouts of other names.
func TestPackedIn(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		layouts := map[string]bool{}
		for name := range weights.Names {
			f := Format(name)
			if layout := PackedLayout(f); layouts[layout] || !strings.HasPrefix(layout, f.String()) {
				t.Errorf("layout %q of %v", layout, f)
			} else {
				layouts[layout] = true
			}
			for _, s := range [][2]int{{1, 32}, {33, 256}, {70, 300}, {0, 4}, {4, 0}} {
				n, k := s[0], s[1]
				r := rand.New(rand.NewPCG(6, uint64(n)))
				rows, a := randomSlice(r, n*k), randomSlice(r, 3*k)
				packed := PackBRows(f, n, k, func(j int, dst []float32) { copy(dst, rows[j*k:]) })
				memory := ownMemory(packed.Memory())
				got := PackedIn(f, n, k, memory)
				if got.Format() != f || got.N() != n || got.K() != k || got.Bytes() != packed.Bytes() {
					t.Errorf("%v: %v of %d x %d", f, got.Format(), got.N(), got.K())
				}
				want, have := make([]float32, 3*n), make([]float32, 3*n)
				GemmPacked(3, 1, a, max(k, 1), packed, 0, want, max(n, 1), Epilogue{})
				GemmPacked(3, 1, a, max(k, 1), got, 0, have, max(n, 1), Epilogue{})
				if !slices.Equal(have, want) || !bytes.Equal(memory, packed.Memory()) {
					t.Errorf("%v, %d x %d: another product, or other memory", f, n, k)
				}
			}
		}
	})
}

// ownMemory returns a copy that begins at a multiple of 8 bytes.
func ownMemory(b []byte) []byte {
	whole := weights.New("ownMemory", weights.Of(weights.F32, 0), 1, len(b)).Data
	return append(whole[:0], b...)
}
