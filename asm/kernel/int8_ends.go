package kernel

import "github.com/avoformer/avoformer/asm/vec"

// Int8Ends makes rows of sums elements of C: with what a row's sums start with, the scales of row and column, and the bias.
func Int8Ends(m vec.Machine) {
	Only(func(t vec.Tiler) {
		sums, c := t.SlicePtr("sums"), t.SlicePtr("c")
		scale, start := t.SlicePtr("scale"), t.SlicePtr("start")
		t.Loop(t.IntParam("m"), 1, func() {
			by, from := t.LoadScalar(scale, 0), t.SpreadInt(start, 0)
			row, to, weight := t.CopyPtr(sums), t.CopyPtr(c), t.SlicePtr("weight")
			bias := t.SlicePtr("bias")
			t.If(t.SliceLen("bias"), func() { endRow(t, row, to, weight, by, from, &bias) })
			t.IfLE(t.SliceLen("bias"), 0, func() { endRow(t, row, to, weight, by, from, nil) }, nil)
			t.Bump(scale, 4)
			t.Bump(start, 4)
			t.BumpBy(sums, t.IntParam("ldsums"))
			t.BumpBy(c, t.IntParam("ldc"))
		})
	})(m)
}

// endVectors is how many vectors a step of Int8Ends takes, of which panels have a multiple.
const endVectors = 2

// endRow emits a row.
func endRow(t vec.Tiler, row, to, weight vec.Ptr, by, from vec.V, bias *vec.Ptr) {
	bytes := 4 * t.Width()
	t.Loop(t.IntParam("n"), endVectors*t.Width(), func() {
		for v := range endVectors {
			y := t.Load(row, v*bytes)
			t.AddInt32To(y, from)
			t.IntToFloat(y)
			t.MulTo(y, by)
			t.MulTo(y, t.Load(weight, v*bytes))
			if bias != nil {
				t.AddTo(y, t.Load(*bias, v*bytes))
			}
			t.Store(to, v*bytes, y)
		}
		for _, p := range []vec.Ptr{row, to, weight} {
			t.Bump(p, endVectors*bytes)
		}
		if bias != nil {
			t.Bump(*bias, endVectors*bytes)
		}
	})
}
