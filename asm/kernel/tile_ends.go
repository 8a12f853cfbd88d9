package kernel

import (
	"github.com/mmcloughlin/avo/operand"

	"github.com/avoformer/avoformer/asm/vec"
)

// Sums of products of int8 by tiles become elements of C. Tiles reach vectors only through memory,
// so a block's sums are stored where they stay in the first-level cache, and while the next block
// is multiplied, each step of k ends some of their rows: the vectors' units have little else to do.

// tileEnds are the rows of sums that wait for their end, and what they need, all in the frame.
type tileEnds struct {
	left    operand.Mem    // rows that wait
	most    operand.Mem    // rows that a step of k ends
	wide    operand.Mem    // not 0 if they have 32 columns
	biased  operand.Mem    // not 0 if there is a bias
	sums    operand.Mem    // the next row,
	c       operand.Mem    // of C,
	scale   operand.Mem    // its scale
	start   operand.Mem    // and start
	columns [2]operand.Mem // the weights and the bias of its columns

	// of the strip and the columns that are multiplied
	scales, starts vec.Kept
	ofColumns      [2]operand.Mem
}

// startEnds begins with no rows that wait.
func (t *tileProduct) startEnds() {
	e := &t.end
	e.scales, e.starts = t.KeepPtr("scale"), t.KeepPtr("start")
	for _, m := range []*operand.Mem{&e.left, &e.most, &e.wide, &e.biased, &e.sums, &e.c, &e.scale, &e.start,
		&e.columns[0], &e.columns[1], &e.ofColumns[0], &e.ofColumns[1]} {
		*m = t.local()
	}
	t.put(t.Number(0).Reg, e.left)
	t.put(t.SliceLen("bias").Reg, e.biased)
	t.Comment("the least number of rows a step with which all end in k")
	most, k, depth := t.Number(0), t.IntParam("k"), t.get(t.depth)
	bytes := t.Number(0)
	t.Label("most")
	t.Raise(most, 1)
	t.ADDQ(gp(k), gp(bytes))
	rows := t.GP64()
	t.MOVQ(depth, rows)
	t.SHLQ(operand.U8(5), rows) // 32 rows
	t.CMPQ(gp(bytes), rows)
	t.JLT(operand.LabelRef("most"))
	t.put(most.Reg, e.most)
}

// firstColumns and nextColumns are for the columns that are multiplied.
func (t *tileProduct) firstColumns() {
	t.put(t.SlicePtr("weight").Reg, t.end.ofColumns[0])
	t.put(t.SlicePtr("bias").Reg, t.end.ofColumns[1])
}

func (t *tileProduct) nextColumns() {
	for _, m := range t.end.ofColumns {
		t.ADDQ(operand.I32(sumsRow), m)
	}
}

// nextEnds moves to the next strip.
func (t *tileProduct) nextEnds() {
	t.end.scales.Add(4 * 2 * tileRows)
	t.end.starts.Add(4 * 2 * tileRows)
}

// pend records the rows of a block whose sums are stored, to be ended later.
func (t *tileProduct) pend(columns int) {
	e := &t.end
	t.put(t.get(t.shaped), e.left)
	t.put(t.Number(columns-1).Reg, e.wide)
	t.put(t.SlicePtr("sums").Reg, e.sums)
	t.put(t.get(t.to), e.c)
	t.put(e.scales.Ptr().Reg, e.scale)
	t.put(e.starts.Ptr().Reg, e.start)
	for i := range e.columns {
		t.put(t.get(e.ofColumns[i]), e.columns[i])
	}
}

// lastEnds ends all rows that are not ended yet.
func (t *tileProduct) lastEnds() {
	t.put(t.Number(2*tileRows).Reg, t.end.most)
	t.someEnds("_last")
}

// someEnds ends a step's number of rows, or all that are not ended yet if they are fewer.
func (t *tileProduct) someEnds(name string) {
	e := &t.end
	t.CMPQ(e.left, operand.I8(0))
	t.JEQ(operand.LabelRef("ended" + name))
	sums, c := vec.Ptr{Reg: t.get(e.sums)}, vec.Ptr{Reg: t.get(e.c)}
	scale, start, most := vec.Ptr{Reg: t.get(e.scale)}, vec.Ptr{Reg: t.get(e.start)}, t.get(e.most)
	t.Label("row" + name)
	t.endRow(name, sums, c, t.LoadScalar(scale, 0), t.SpreadInt(start, 0))
	t.Bump(sums, sumsRow)
	t.BumpBy(c, t.IntParam("ldc"))
	t.Bump(scale, 4)
	t.Bump(start, 4)
	t.DECQ(e.left)
	t.JEQ(operand.LabelRef("all" + name))
	t.DECQ(most)
	t.JNE(operand.LabelRef("row" + name))
	t.Label("all" + name)
	t.put(sums.Reg, e.sums)
	t.put(c.Reg, e.c)
	t.put(scale.Reg, e.scale)
	t.put(start.Reg, e.start)
	t.Label("ended" + name)
}

// endRow makes elements of C of a row: the sums, begun with start, times the scales of row and
// column, and with the columns' bias if there is one.
func (t *tileProduct) endRow(name string, sums, c vec.Ptr, scale, start vec.V) {
	e := &t.end
	half := tileDepth / (4 * t.Width()) // vectors of a tile's row
	each := func(from int, biased bool) {
		var y []vec.V
		weight := vec.Ptr{Reg: t.get(e.columns[0])}
		for v := from; v < from+half; v++ {
			off := 4 * v * t.Width()
			x := t.Load(sums, off)
			t.AddInt32To(x, start)
			t.IntToFloat(x)
			t.MulTo(x, scale)
			t.MulTo(x, t.Load(weight, off))
			y = append(y, x)
		}
		bias := weight
		if biased {
			bias = vec.Ptr{Reg: t.get(e.columns[1])}
		}
		for v := from; v < from+half; v++ {
			off := 4 * v * t.Width()
			if biased {
				t.AddTo(y[v-from], t.Load(bias, off))
			}
			t.Store(c, off, y[v-from])
		}
	}
	t.CMPQ(e.biased, operand.I8(0))
	t.JNE(operand.LabelRef("biased" + name))
	for _, biased := range []bool{false, true} {
		if biased {
			t.Label("biased" + name)
		}
		each(0, biased)
		t.CMPQ(e.wide, operand.I8(0))
		t.JEQ(operand.LabelRef("stored" + name))
		each(half, biased)
		if !biased {
			t.JMP(operand.LabelRef("stored" + name))
		}
	}
	t.Label("stored" + name)
}
