package vec

import (
	"math/bits"

	"github.com/avoformer/avoformer/asm/arm64"
)

// Single numbers beside vectors, and integers narrower than a lane.

// BumpBytes implements Machine.
func (x *NEON) BumpBytes(p Ptr, n Int, size int) {
	if size == 1 {
		x.ADD(n.neon, p.neon, p.neon)
		return
	}
	x.ADD(n.neon.LSL(bits.TrailingZeros(uint(size))), p.neon, p.neon)
}

// Scalars implements Machine.
func (x *NEON) Scalars() Machine { return x }

// FoldAddInt32 implements Machine.
func (x *NEON) FoldAddInt32(v V) V { return x.reduce(x.VADDP, v) }

// FoldMaxMagnitude implements Machine.
func (x *NEON) FoldMaxMagnitude(v V) V { return x.ReduceMax(v) }

// Spread implements Machine.
func (x *NEON) Spread(v V) V { return v }

// StoreNarrow implements Machine.
func (x *NEON) StoreNarrow(p Ptr, off int, v V, bytes int) {
	w, to := x.V(), arm64.At(p.neon, off)
	x.VXTN(v.neon.S4(), w.H4())
	if bytes == 2 {
		x.FMOVDStore(w, to)
		return
	}
	b := x.V()
	x.VXTN(w.H8(), b.B8())
	x.FMOVSStore(b, to)
}
