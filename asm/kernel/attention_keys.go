package kernel

import "github.com/avoformer/avoformer/asm/vec/x86"

// AttnKeys transposes keys into panels of the tier's NR, for AVX-512, in blocks of whole vectors.
var AttnKeys = Only(func(x *x86.Machine) {
	side, nr := x.Width(), x.Tier().Gemm.NR
	dst, from := x.SlicePtr("dst"), x.SlicePtr("x")
	rows, cols, ld := x.IntParam("rows"), x.IntParam("cols"), x.IntParam("ldx")
	x.Loop(rows, nr, func() {
		for block := 0; block < nr; block += side {
			to, left := x.CopyPtr(dst), x.CopyInt(cols)
			row := x.CopyPtr(from)
			x.Loop(left, side, func() {
				x.TransposeWhole(to, 4*nr, row, ld)
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
