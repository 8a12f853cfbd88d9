package attend

import (
	"fmt"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/mask"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file tests the memory that a call needs in addition to its arguments.

// scratchBytes returns the memory that a call needs beyond its arguments, on one thread: the size
// of new scratch structures after the call.
func scratchBytes(p Params) int {
	c, w := new(Call), new(scratch)
	c.P = p
	c.plan()
	for i := range c.groups[0].units * c.groups[0].splits {
		c.piece(w, &c.groups[0], i, 1)
	}
	floats := cap(c.partial) + cap(w.scores) + cap(w.keys) + cap(w.panel) + cap(w.few) + cap(w.ramp) + cap(w.max) + cap(w.sum) + cap(w.factor) +
		cap(w.relative[0]) + cap(w.relative[1])
	return 4*floats + 8*(cap(w.lo)+cap(w.hi)) + cap(w.fresh)
}

// TestAttentionMemory: the memory of a call is small, and the same for any length.
func TestAttentionMemory(t *testing.T) {
	if testing.Short() || testenv.Emulated() || simd.Active() == simd.Generic {
		t.Skip("takes long in emulators and without assembly, and no tier has memory of its own")
	}
	const limit, short, long = 512 << 10, 1024, 65536
	for _, dim := range []int{64, 128} {
		for _, kind := range []string{"prefill", "decode", "masked", "relative"} {
			t.Run(fmt.Sprintf("dim=%d/%s", dim, kind), func(t *testing.T) {
				measure := func(n int) int {
					// A stride of 0 gives all rows the same memory, so that the test needs little.
					// Few queries in few heads are cut into small blocks, so that threads can share
					// them.
					heads := max(1, 8192/n)
					p := contiguous(Params{Batch: 1, Heads: heads, LenQ: n, LenK: n, HeadDim: dim})
					p.QStrides, p.KStrides, p.VStrides, p.DstStrides = Strides{Batch: 1}, Strides{Batch: 1}, Strides{Batch: 1}, Strides{Batch: 1}
					// Only keys near the query are seen, or it would take minutes.
					p.Mask = []mask.Term{{Kind: mask.Window, Before: 300}}
					switch kind {
					case "decode":
						p.LenQ, p.Past, p.Mask = 1, n-1, nil
					case "masked":
						p.Mask = append(p.Mask, mask.Term{Kind: mask.ALiBi, Bias: make([]float32, heads)}, mask.Term{Kind: mask.Keep, Keep: make([]bool, n), Shape: [4]int{1, 1, 1, n}})
						for i := range p.Mask[2].Keep {
							p.Mask[2].Keep[i] = true
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
