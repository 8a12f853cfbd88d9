package kernel

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
	"github.com/avoformer/avoformer/asm/vec/x86"
)

// Products by the tiles of AMX, of int8 and of bfloat16. Two tiles of rows of A times two tiles of columns of B give four tiles
// of sums, so that each tile that is loaded is multiplied twice. A product of full tiles takes the tiles' unit 16 cycles, and two ports
// take 8 cycles for each of the four loads that go with four products.

// The registers: sums row by row, and the operands.
const (
	tileRows  = 16
	tileDepth = 64 // bytes of a row
	tileA     = vec.Tile(4)
	tileB     = vec.Tile(6)
)

func tileSums(i, j int) vec.Tile { return vec.Tile(2*i + j) }

// tileProduct is the kernel for elements of one kind, with what stays in the frame.
type tileProduct struct {
	*x86.Machine
	tileKind
	shapes vec.TileShapes
	a      vec.Kept // the next rows of A
	sums   vec.Kept // and of sums
	m      vec.Kept // rows left
	depth  operand.Mem
	shaped operand.Mem // for how many rows the tiles have their shapes
	second operand.Mem // bytes from a tile of columns to the second of a pair
	apart  operand.Mem // bytes from a pair to the next
}

// tileKind says what tiles hold.
type tileKind struct {
	bytes uint8 // of an element: four bytes of a column lie side by side
	dot   func(t vec.Tiles, sums, a, b vec.Tile)
}

// The micro-kernels.
var (
	Int8Tiles     = multiplyTiles(tileKind{1, vec.Tiles.DotTile})
	BFloat16Tiles = multiplyTiles(tileKind{2, vec.Tiles.DotBFloat16Tile})
)

func multiplyTiles(kind tileKind) func(vec.Machine) {
	return Only(func(x *x86.Machine) {
		t := &tileProduct{Machine: x, tileKind: kind, shapes: x.TileShapes()}
		t.a, t.sums, t.m = x.KeepPtr("a"), x.KeepPtr("sums"), x.KeepInt("m")
		t.depth, t.shaped, t.second, t.apart = x.AllocLocal(8), x.AllocLocal(8), x.AllocLocal(8), x.AllocLocal(8)
		t.distances()
		t.Label("rows")
		left := t.m.Int()
		t.atMost(left, 2*tileRows)
		t.shape(left)
		t.pairs()
		t.Comment("the next rows")
		t.nextRows(t.a, "lda", int(t.bytes))
		t.nextRows(t.sums, "ldsums", 4)
		t.m.Add(-2 * tileRows)
		t.Compare(t.m.Int(), 0)
		t.JG(operand.LabelRef("rows"))
	})
}

// bytesOf is how many bytes a parameter takes that counts elements of A or B.
func (t *tileProduct) bytesOf(param string) vec.Int {
	n := t.IntParam(param)
	if t.bytes > 1 {
		t.SHLQ(operand.U8(t.bytes/2), gp(n))
	}
	return n
}

func gp(n vec.Int) reg.GPVirtual   { return n.Reg.(reg.GPVirtual) }
func asInt(r reg.Register) vec.Int { return vec.Int{Reg: r} }

// atMost is n = min(n, most).
func (t *tileProduct) atMost(n vec.Int, most int) {
	limit := t.Number(most)
	t.CMPQ(gp(n), gp(limit))
	t.CMOVQGT(gp(limit), gp(n))
}

// distances finds how many bytes of k a tile holds, the greatest power of two up to 64 that divides those of a row. It also finds
// where pairs of tiles of columns are: side by side in a panel of 32 columns, or in neighbouring panels of 16.
func (t *tileProduct) distances() {
	t.Comment("tiles are 64 bytes of k deep, or 32, or 16")
	k, depth := t.bytesOf("k"), t.GP64()
	t.MOVQ(gp(k), depth)
	t.NEGQ(depth)
	t.ANDQ(gp(k), depth)
	t.atMost(asInt(depth), tileDepth)
	t.MOVQ(depth, t.depth)
	none := t.Number(0)
	t.MOVQ(gp(none), t.shaped)

	t.Comment("panels of 32 columns have two tiles side by side, those of 16 one")
	ldb, second, apart := t.bytesOf("ldb"), t.GP64(), t.GP64()
	t.MOVQ(operand.I32(tileDepth), second)
	t.MOVQ(gp(ldb), apart)
	t.Compare(t.IntParam("nr"), tileRows)
	t.JNE(operand.LabelRef("wide"))
	t.MOVQ(gp(ldb), second)
	t.ADDQ(gp(ldb), apart)
	t.Label("wide")
	t.MOVQ(second, t.second)
	t.MOVQ(apart, t.apart)
}

// shape configures tiles for 1 to 32 rows, unless they have these shapes: configuring clears them, and takes as long as some products.
func (t *tileProduct) shape(rows vec.Int) {
	shaped := t.GP64()
	t.MOVQ(t.shaped, shaped)
	t.CMPQ(gp(rows), shaped)
	t.JEQ(operand.LabelRef("shaped"))
	t.MOVQ(gp(rows), t.shaped)
	first, bytes := t.CopyInt(rows), t.GP64()
	t.atMost(first, tileRows)
	t.SubtractInt(rows, first)
	t.MOVQ(t.depth, bytes)
	deep := t.GP64()
	t.MOVQ(bytes, deep)
	t.SHRQ(operand.U8(2), deep) // a row of B has four bytes of k
	row := t.Number(tileDepth)
	second := asInt(t.GP64()) // where there are no rows, the tiles have no bytes either
	t.XORL(gp(second).As32(), gp(second).As32())
	secondA := asInt(t.GP64())
	t.XORL(gp(secondA).As32(), gp(secondA).As32())
	t.TESTQ(gp(rows), gp(rows))
	t.CMOVQNE(gp(row), gp(second))
	t.CMOVQNE(bytes, gp(secondA))
	for j := range 2 {
		t.shapes.Set(tileSums(0, j), first, row)
		t.shapes.Set(tileSums(1, j), rows, second)
		t.shapes.Set(tileB+vec.Tile(j), asInt(deep), row)
	}
	t.shapes.Set(tileA, first, asInt(bytes))
	t.shapes.Set(tileA+1, rows, secondA)
	t.shapes.Configure()
	t.Label("shaped")
}

// nextRows moves on by 32 rows.
func (t *tileProduct) nextRows(kept vec.Kept, ld string, size int) {
	kept.AddRows(2*tileRows, t.IntParam(ld), size)
}

// pairs goes through the columns, two tiles of them at a time, and one where one is left.
func (t *tileProduct) pairs() {
	b, sums := t.SlicePtr("b"), t.sums.Ptr()
	columns := t.IntParam("panels")
	t.IMULQ(gp(t.IntParam("nr")), gp(columns))
	t.Label("pair")
	t.Compare(columns, tileRows)
	t.JLE(operand.LabelRef("single"))
	t.rows(b, sums, 2)
	t.Bump(sums, 2*tileDepth)
	t.ADDQ(t.apart, b.Reg.(reg.Register))
	t.SUBQ(operand.I8(2*tileRows), gp(columns))
	t.JNE(operand.LabelRef("pair"))
	t.JMP(operand.LabelRef("done"))
	t.Label("single")
	t.rows(b, sums, 1)
	t.Label("done")
}

// rows emits the products of some tiles of columns with two tiles of rows, or with one.
func (t *tileProduct) rows(b, sums vec.Ptr, columns int) {
	one, end := fmt.Sprintf("one_%d", columns), fmt.Sprintf("end_%d", columns)
	t.Compare(t.m.Int(), tileRows)
	t.JLE(operand.LabelRef(one))
	t.block(b, sums, 2, columns)
	t.JMP(operand.LabelRef(end))
	t.Label(one)
	t.block(b, sums, 1, columns)
	t.Label(end)
}

// block multiplies all of k.
func (t *tileProduct) block(b, sums vec.Ptr, rows, columns int) {
	loop := fmt.Sprintf("loop_%d_%d", rows, columns)
	lda := t.bytesOf("lda")
	a, bs := t.rowsOf(t.a.Ptr(), lda, rows), []vec.Ptr{t.CopyPtr(b)}
	if columns > 1 {
		bs = append(bs, t.CopyPtr(b))
		t.ADDQ(t.second, bs[1].Reg.(reg.Register))
	}
	apart, depth, step := t.IntParam("nr"), t.GP64(), t.GP64()
	t.MOVQ(t.depth, depth)
	t.MOVQ(depth, step)
	t.IMULQ(gp(apart), step)
	t.SHLQ(operand.U8(2), gp(apart)) // four bytes a column
	k := t.bytesOf("k")
	for i := range rows {
		for j := range columns {
			t.ZeroTile(tileSums(i, j))
		}
	}
	t.Label(loop)
	for j := range columns {
		t.LoadTile(tileB+vec.Tile(j), bs[j], apart)
	}
	for i := range rows {
		t.LoadTile(tileA+vec.Tile(i), a[i], lda)
		for j := range columns {
			t.dot(t, tileSums(i, j), tileA+vec.Tile(i), tileB+vec.Tile(j))
		}
	}
	for _, p := range a {
		t.ADDQ(depth, p.Reg.(reg.Register))
	}
	for _, p := range bs {
		t.ADDQ(step, p.Reg.(reg.Register))
	}
	t.SUBQ(depth, gp(k))
	t.JNE(operand.LabelRef(loop))
	ldsums := t.IntParam("ldsums")
	t.SHLQ(operand.U8(2), gp(ldsums))
	for i, p := range t.rowsOf(sums, ldsums, rows) {
		for j := range columns {
			at := p
			if j > 0 {
				at = t.CopyPtr(p)
				t.Bump(at, tileDepth)
			}
			t.StoreTile(at, ldsums, tileSums(i, j))
		}
	}
}

// rowsOf is where each of n tiles of rows begins. The rows are apart bytes from one another.
func (t *tileProduct) rowsOf(p vec.Ptr, apart vec.Int, n int) []vec.Ptr {
	all := []vec.Ptr{t.CopyPtr(p)}
	for i := 1; i < n; i++ {
		next := t.CopyInt(apart)
		t.SHLQ(operand.U8(4), gp(next)) // 16 rows
		t.ADDQ(p.Reg.(reg.Register), gp(next))
		all = append(all, vec.Ptr(next))
	}
	return all
}
