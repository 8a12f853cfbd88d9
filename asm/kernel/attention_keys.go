package kernel

import "github.com/avoformer/avoformer/asm/vec/x86"

// AttnKeys transposes keys into panels of the tier's NR, scaled, for AVX-512: what bounds a transpose by
// itself, a single port, has room for the products with the scale, which a tile of scores has not.
var AttnKeys = Only(func(x *x86.Machine) {
	side, nr := x.Width(), x.Tier().Gemm.NR
	dst, from := x.SlicePtr("dst"), x.SlicePtr("x")
	rows, cols, ld, alpha := x.IntParam("rows"), x.IntParam("cols"), x.IntParam("ldx"), x.FloatParam("alpha")
	x.Loop(rows, nr, func() {
		for block := 0; block < nr; block += side {
			to, left := x.CopyPtr(dst), x.CopyInt(cols)
			row := x.CopyPtr(from)
			x.Loop(left, side, func() {
				x.TransposeScaled(to, 4*nr, row, ld, alpha)
				x.Bump(row, 4*side)
				x.Bump(to, 4*side*nr)
			})
			x.Bump(dst, 4*side)
			for range side {
				x.BumpBy(from, ld)
			}
		}
		x.Bump(dst, -4*nr)
		for range nr {
			x.BumpBy(dst, cols)
		}
	})
})
