package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/avoformer/avoformer/internal/race"
	"github.com/avoformer/avoformer/internal/testenv"
)

// What a call of attention allocates.

// scratchBytes is the memory that a call takes beyond its arguments, on one
// thread: that of fresh scratch structures after the call.
func scratchBytes(p AttentionParams) int {
	c, w := new(attentionCall), new(attentionScratch)
	p.setDefaults()
	p.check()
	c.p = p
	c.plan()
	for i := range c.units * c.splits {
		c.piece(w, i, 1)
	}
	floats := cap(c.partial) + cap(w.scores) + cap(w.keys) + cap(w.panel) + cap(w.ramp) + cap(w.max) + cap(w.sum) + cap(w.factor) +
		cap(w.relative[0]) + cap(w.relative[1])
	return 4*floats + 8*(cap(w.lo)+cap(w.hi)) + cap(w.fresh)
}

// TestAttentionMemory: the memory of a call is small, and the same for any
// length.
func TestAttentionMemory(t *testing.T) {
	if testing.Short() || testenv.Emulated() {
		t.Skip("takes long in emulators, and no tier has memory of its own")
	}
	const limit, short, long = 512 << 10, 1024, 65536
	for _, dim := range []int{64, 128} {
		for _, kind := range []string{"prefill", "decode", "masked", "relative"} {
			t.Run(fmt.Sprintf("dim=%d/%s", dim, kind), func(t *testing.T) {
				measure := func(n int) int {
					// A stride of 0 lets all rows be the same memory, so that the test needs little.
					// Few queries in few heads are cut into small blocks, for the sake of threads.
					heads := max(1, 8192/n)
					p := AttentionParams{Batch: 1, Heads: heads, LenQ: n, LenK: n, HeadDim: dim,
						QStrides: Strides{Batch: 1}, KStrides: Strides{Batch: 1}, VStrides: Strides{Batch: 1}, DstStrides: Strides{Batch: 1}}
					// Only keys near the query are seen, or it would take minutes.
					p.Mask = []MaskTerm{WindowMask(300, 0)}
					switch kind {
					case "decode":
						p.LenQ, p.Past, p.Mask = 1, n-1, nil
					case "masked":
						p.Mask = append(p.Mask, ALiBiMask(make([]float32, heads)), KeepMask(make([]bool, n), 1, 1, 1, n))
						for i := range p.Mask[2].keep {
							p.Mask[2].keep[i] = true
						}
					case "relative":
						p.Relative, p.RelativeKeys = make([]float32, (2*n-1)*dim), true
					}
					row := make([]float32, dim)
					p.Q, p.K, p.V, p.Dst = row, row, row, make([]float32, dim)
					return scratchBytes(p)
				}
				s, l := measure(short), measure(long)
				t.Logf("%d bytes at %d, %d at %d", s, short, l, long)
				if l > limit {
					t.Errorf("%d bytes at a length of %d, want at most %d", l, long, limit)
				}
				if kind != "decode" && s != l {
					t.Errorf("%d bytes at a length of %d and %d at %d, want the same", s, short, l, long)
				}
			})
		}
	}
}

func TestAttentionAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("under the race detector sync.Pool forgets at random")
	}
	r := rand.New(rand.NewPCG(9, 10))
	for _, c := range []struct {
		name    string
		s       [5]int
		threads Threads
	}{{"prefill", [5]int{1, 2, 70, 70, 64}, 1}, {"short", [5]int{4, 2, 10, 10, 64}, 1}, {"decode", [5]int{1, 2, 1, 3000, 64}, 1}, {"threads", [5]int{1, 4, 70, 70, 64}, 2}} {
		t.Run(c.name, func(t *testing.T) {
			p := AttentionParams{Batch: c.s[0], Heads: c.s[1], LenQ: c.s[2], LenK: c.s[3], HeadDim: c.s[4], Past: c.s[3] - c.s[2]}
			p.Q, p.K = randomSlice(r, c.s[0]*c.s[1]*c.s[2]*c.s[4]), randomSlice(r, c.s[0]*c.s[1]*c.s[3]*c.s[4])
			p.V, p.Dst, p.Mask = randomSlice(r, len(p.K)), make([]float32, len(p.Q)), []MaskTerm{CausalMask()}
			if n := testing.AllocsPerRun(20, func() { c.threads.Attention(p) }); n >= 1 {
				t.Errorf("%v allocations a call, want 0", n)
			}
		})
	}
}
