package neon

import (
	"math/bits"

	"github.com/avoformer/avoformer/asm/arm64"
	"github.com/avoformer/avoformer/asm/vec"
)

// This file has single numbers, and integers narrower than a lane.

// BumpBytes implements Machine.
func (x *Machine) BumpBytes(p vec.Ptr, n vec.Int, size int) {
	if size == 1 {
		x.ADD(general(n), general(p), general(p))
		return
	}
	x.ADD(general(n).LSL(bits.TrailingZeros(uint(size))), general(p), general(p))
}

// FoldAddInt32 implements Machine.
func (x *Machine) FoldAddInt32(v vec.V) vec.V { return x.reduce(x.VADD, x.VADDP, v) }

// StoreNarrow implements Machine.
func (x *Machine) StoreNarrow(p vec.Ptr, off int, v vec.V, bytes int) {
	w, to := x.V(), arm64.At(general(p), off)
	x.VXTN(vector(v).S4(), w.H4())
	if bytes == 2 {
		x.FMOVDStore(w, to)
		return
	}
	b := x.V()
	x.VXTN(w.H8(), b.B8())
	x.FMOVSStore(b, to)
}
