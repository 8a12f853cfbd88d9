package kernel

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
	"github.com/avoformer/avoformer/asm/vec/x86"
)

// tileFrame is a machine whose kernel keeps its variables in the frame, and configures tiles for
// strips of rows of A.
type tileFrame struct {
	*x86.Machine
	shapes vec.TileShapes
	shaped operand.Mem // rows of the strip, for which the tiles have their shapes
}

func newTileFrame(x *x86.Machine) *tileFrame {
	t := &tileFrame{Machine: x, shapes: x.TileShapes()}
	t.shaped = t.local()
	t.put(t.Number(0).Reg, t.shaped)
	return t
}

func (t *tileFrame) local() operand.Mem { return t.AllocLocal(8) }

// put keeps a register in the frame.
func (t *tileFrame) put(r any, to operand.Mem) { t.MOVQ(r.(reg.GPVirtual), to) }

// get returns a fresh register with what is kept.
func (t *tileFrame) get(from operand.Mem) reg.GPVirtual {
	r := t.GP64()
	t.MOVQ(from, r)
	return r
}

// atMost sets n to at most a number.
func (t *tileFrame) atMost(n vec.Int, most int) {
	limit := t.Number(most)
	t.CMPQ(gp(n), gp(limit))
	t.CMOVQGT(gp(limit), gp(n))
}

// shape configures tiles for 1 to 32 rows and some bytes of k, unless they have shapes for these
// rows: configuring clears them, and takes as long as some products. It overwrites rows.
func (t *tileFrame) shape(rows, depth vec.Int) {
	shaped := t.get(t.shaped)
	t.CMPQ(gp(rows), shaped)
	t.JEQ(operand.LabelRef("shaped"))
	t.put(rows.Reg, t.shaped)
	first := t.CopyInt(rows)
	t.atMost(first, tileRows)
	t.SubtractInt(rows, first)
	deep := t.CopyInt(depth)
	t.SHRQ(operand.U8(2), gp(deep)) // a row of B has four bytes of k
	row := t.Number(tileDepth)
	second, secondA := t.Number(0), t.Number(0) // tiles without rows have no bytes either
	t.TESTQ(gp(rows), gp(rows))
	t.CMOVQNE(gp(row), gp(second))
	t.CMOVQNE(gp(depth), gp(secondA))
	for j := range 2 {
		t.shapes.Set(tileSums(0, j), first, row)
		t.shapes.Set(tileSums(1, j), rows, second)
		t.shapes.Set(tileB+vec.Tile(j), deep, row)
	}
	t.shapes.Set(tileA, first, depth)
	t.shapes.Set(tileA+1, rows, secondA)
	t.shapes.Configure()
	t.Label("shaped")
}
