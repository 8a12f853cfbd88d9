package kernel

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
	"github.com/avoformer/avoformer/asm/vec/x86"
)

// The product of attention's weights with values by tiles. Tiles multiply bytes. A word of weights
// is two digits without a sign, high and low. A word of values is two digits with a sign. The three
// sums of products of digits, by their places, are whole numbers of 32 bits, and so is what they
// add up to.

// The registers: a sum for each place, a tile of weights, and the digits of values for each place.
const (
	places     = 3
	tileWeight = vec.Tile(places)
	placeBytes = tileRows * tileDepth // of a tile of sums
)

func tileDigits(place int) vec.Tile { return tileWeight + 1 + vec.Tile(place) }

// WordDigits splits words into digits, and arranges those that go with both digits of a weight, for
// each place.
func WordDigits(m vec.Machine) {
	Only(func(m vec.Tiler) {
		const low, high, sign = vec.Const(0x00ff00ff), vec.Const(0xff00ff00), vec.Const(0x00800080)
		x := m.SlicePtr("x")
		var dst [places]vec.Ptr
		dst[0] = m.SlicePtr("dst")
		for i := 1; i < places; i++ {
			dst[i] = m.CopyPtr(dst[i-1])
			m.BumpBytes(dst[i], m.IntParam("lddst"), 2)
		}
		m.Loop(m.IntParam("n"), 2*m.Width(), func() {
			v := m.Load(x, 0)
			lows, highs := m.And(v, low), m.And(v, high)
			m.AddInt32To(highs, m.ShiftLeft(m.And(v, sign), 1)) // a negative low digit takes one from the high one
			highs = m.And(highs, high)
			m.Store(dst[0], 0, highs)
			m.Store(dst[1], 0, m.Or(m.ShiftRight(highs, 8), m.ShiftLeft(lows, 8)))
			m.Store(dst[2], 0, lows)
			m.Bump(x, 4*m.Width())
			for _, p := range dst {
				m.Bump(p, 4*m.Width())
			}
		})
	})(m)
}

// wordProduct is the kernel, with its variables in the frame.
type wordProduct struct {
	tileProduct
	weights         operand.Mem // of the columns
	place           operand.Mem // bytes from the digits of a place to those of the next
	next, afterNext operand.Mem // bytes to the next tile of columns, and from there to the one after it
}

// WordTiles multiplies 16 rows with 16 columns at a time. Their sums become elements of C
// immediately.
func WordTiles(m vec.Machine) {
	Only(func(x *x86.Machine) {
		t := &wordProduct{tileProduct: tileProduct{Machine: x, tileKind: tileKind{bytes: 2}, shapes: x.TileShapes()}}
		t.a, t.c, t.m = x.KeepPtr("a"), x.KeepPtr("c"), x.KeepInt("m")
		for _, m := range []*operand.Mem{&t.shaped, &t.depth, &t.step, &t.far, &t.second, &t.apart, &t.b, &t.to, &t.columns,
			&t.weights, &t.place, &t.next, &t.afterNext} {
			*m = t.local()
		}
		t.distances()
		place := t.bytesOf("ldb")
		t.IMULQ(gp(t.IntParam("panels")), gp(place))
		t.put(place.Reg, t.place)
		t.Label("rows")
		left := t.m.Int()
		t.atMost(left, tileRows)
		t.shape(left)
		t.strip()
		t.a.AddRows(tileRows, t.IntParam("lda"), int(t.bytes))
		t.c.AddRows(tileRows, t.IntParam("ldc"), 4)
		t.m.Add(-tileRows)
		t.Compare(t.m.Int(), 0)
		t.JG(operand.LabelRef("rows"))
	})(m)
}

// shape configures tiles for 1 to 16 rows, unless they have these shapes.
func (t *wordProduct) shape(rows vec.Int) {
	t.CMPQ(t.shaped, gp(rows))
	t.JEQ(operand.LabelRef("shaped"))
	t.MOVQ(gp(rows), t.shaped)
	row, bytes, deep := t.Number(tileDepth), asInt(t.get(t.depth)), t.get(t.depth)
	t.SHRQ(operand.U8(2), deep) // a row of B has four bytes of k
	for i := range places {
		t.shapes.Set(vec.Tile(i), rows, row)
		t.shapes.Set(tileDigits(i), asInt(deep), row)
	}
	t.shapes.Set(tileWeight, rows, bytes)
	t.shapes.Configure()
	t.Label("shaped")
}

// strip multiplies the rows with all columns.
func (t *wordProduct) strip() {
	t.put(t.SlicePtr("b").Reg, t.b)
	t.put(t.c.Ptr().Reg, t.to)
	t.put(t.SlicePtr("weight").Reg, t.weights)
	columns := t.IntParam("panels")
	t.IMULQ(gp(t.IntParam("nr")), gp(columns))
	t.put(columns.Reg, t.columns)
	t.put(t.get(t.second), t.next)
	after := t.get(t.apart)
	t.SUBQ(t.second, after)
	t.put(after, t.afterNext)
	t.Label("columns")
	t.block()
	t.finish()
	t.ADDQ(operand.I32(tileDepth), t.to)
	t.ADDQ(operand.I32(tileDepth), t.weights)
	next, after := t.get(t.next), t.get(t.afterNext)
	t.ADDQ(next, t.b)
	t.put(after, t.next)
	t.put(next, t.afterNext)
	t.SUBQ(operand.I8(tileRows), t.columns)
	t.JNE(operand.LabelRef("columns"))
}

// block multiplies all of k and stores the sums of each place.
func (t *wordProduct) block() {
	a, lda, k, apart := t.CopyPtr(t.a.Ptr()), t.bytesOf("lda"), t.bytesOf("k"), t.IntParam("nr")
	t.SHLQ(operand.U8(2), gp(apart)) // four bytes a column
	bs := []vec.Ptr{{Reg: t.get(t.b)}}
	for i := 1; i < places; i++ {
		bs = append(bs, t.CopyPtr(bs[i-1]))
		t.ADDQ(t.place, bs[i].Reg.(reg.Register))
	}
	for i := range places {
		t.ZeroTile(vec.Tile(i))
	}
	t.Label("loop")
	t.LoadTile(tileWeight, a, lda)
	for i, b := range bs {
		t.LoadTile(tileDigits(i), b, apart)
		t.DotUnsignedTile(vec.Tile(i), tileWeight, tileDigits(i))
	}
	for _, b := range bs {
		t.ADDQ(t.step, b.Reg.(reg.Register))
	}
	t.ADDQ(t.depth, a.Reg.(reg.Register))
	t.SUBQ(t.depth, gp(k))
	t.JNE(operand.LabelRef("loop"))
	sums, row := t.SlicePtr("sums"), t.Number(tileDepth)
	for i := range places {
		t.StoreTile(sums, row, vec.Tile(i))
		t.Bump(sums, placeBytes)
	}
}

// finish adds up the places of each sum, and makes elements of C of them.
func (t *wordProduct) finish() {
	sums, c, rows, weights := t.SlicePtr("sums"), vec.Ptr{Reg: t.get(t.to)}, t.get(t.shaped), vec.Ptr{Reg: t.get(t.weights)}
	t.Label("row")
	var all []vec.V
	for off := 0; off < tileDepth; off += 4 * t.Width() {
		v := t.Load(sums, off)
		for i := 1; i < places; i++ {
			v = t.ShiftLeft(v, 8)
			t.AddInt32To(v, t.Load(sums, i*placeBytes+off))
		}
		t.IntToFloat(v)
		t.MulTo(v, t.Load(weights, off))
		all = append(all, v)
	}
	t.BranchIfParam("add", true, "stored")
	for i, v := range all {
		t.AddLoad(v, c, 4*i*t.Width())
	}
	t.Label("stored")
	for i, v := range all {
		t.Store(c, 4*i*t.Width(), v)
	}
	t.Bump(sums, tileDepth)
	t.BumpBy(c, t.IntParam("ldc"))
	t.DECQ(rows)
	t.JNE(operand.LabelRef("row"))
}
