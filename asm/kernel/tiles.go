package kernel

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
	"github.com/avoformer/avoformer/asm/vec/x86"
)

// Products by the tiles of AMX, of int8 and of bfloat16. Two tiles of rows of A times two tiles of
// columns of B give four tiles of sums, so that each tile that is loaded is multiplied twice. A
// product of full tiles takes the tiles' unit 16 cycles, and two ports take 8 cycles for each of
// the four loads that go with four products.
//
// Rows of A, 32 at a time, stay in the first-level cache while the panels of B pass by. Where rows
// are so long that they do not, they are fetched before they are loaded: a tile's rows lie in many
// pages, which the processor does not fetch ahead by itself.

// The registers: sums row by row, and the operands.
const (
	tileRows  = 16
	tileDepth = 64 // bytes of a row
	tileA     = vec.Tile(4)
	tileB     = vec.Tile(6)
)

func tileSums(i, j int) vec.Tile { return vec.Tile(2*i + j) }

// TileSums is how many sums a block has at most, 32 rows of 32 columns.
const TileSums = 2 * tileRows * sumsRow / 4

const (
	sumsRow  = 2 * tileDepth        // bytes of a row of a block's sums
	farDepth = 36 << 10 / tileDepth // of this many bytes of a row, a strip of A and a pair of tiles of columns no longer stay in the first-level cache
	farAhead = 2 * tileDepth
)

// tileKind says what tiles hold.
type tileKind struct {
	bytes uint8 // of an element: four bytes of a column lie side by side
	dot   func(t vec.Tiles, sums, a, b vec.Tile)
	ends  bool // sums are integers, which become elements of C; see tile_ends.go
}

// The micro-kernels.
var (
	Int8Tiles     = multiplyTiles(tileKind{1, vec.Tiles.DotTile, true})
	BFloat16Tiles = multiplyTiles(tileKind{2, vec.Tiles.DotBFloat16Tile, false})
)

// tileProduct is the kernel for elements of one kind, with its variables in the frame.
type tileProduct struct {
	*tileFrame
	tileKind
	a, c, m vec.Kept    // the next strip of A and of C, and the rows left
	depth   operand.Mem // bytes of a tile of A's rows
	step    operand.Mem // bytes of a panel that go with them
	far     operand.Mem // not 0 if rows of A are fetched ahead
	second  operand.Mem // bytes from a tile of columns to the second of a pair
	apart   operand.Mem // bytes from a pair to the next
	b, to   operand.Mem // the next columns of B, and of the strip of C
	columns operand.Mem // left
	end     tileEnds
}

func multiplyTiles(kind tileKind) func(vec.Machine) {
	return Only(func(x *x86.Machine) {
		t := &tileProduct{tileFrame: newTileFrame(x), tileKind: kind}
		t.a, t.c, t.m = x.KeepPtr("a"), x.KeepPtr("c"), x.KeepInt("m")
		for _, m := range []*operand.Mem{&t.depth, &t.step, &t.far, &t.second, &t.apart, &t.b, &t.to, &t.columns} {
			*m = t.local()
		}
		t.distances()
		if t.ends {
			t.startEnds()
		}
		t.Label("rows")
		left := t.m.Int()
		t.atMost(left, 2*tileRows)
		t.shape(left, asInt(t.get(t.depth)))
		t.pairs()
		t.Comment("the next rows")
		t.a.AddRows(2*tileRows, t.IntParam("lda"), int(t.bytes))
		t.c.AddRows(2*tileRows, t.IntParam("ldc"), 4)
		if t.ends {
			t.nextEnds()
		}
		t.m.Add(-2 * tileRows)
		t.Compare(t.m.Int(), 0)
		t.JG(operand.LabelRef("rows"))
		if t.ends {
			t.lastEnds()
		}
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

// distances finds how many bytes of k a tile holds, the greatest power of two up to 64 that divides
// those of a row. It also finds where pairs of tiles of columns are: side by side in a panel of 32
// columns, or in neighbouring panels of 16.
func (t *tileProduct) distances() {
	t.Comment("tiles are 64 bytes of k deep, or 32, or 16")
	k, depth := t.bytesOf("k"), t.GP64()
	t.MOVQ(gp(k), depth)
	t.NEGQ(depth)
	t.ANDQ(gp(k), depth)
	t.atMost(asInt(depth), tileDepth)
	t.put(depth, t.depth)
	t.IMULQ(gp(t.IntParam("nr")), depth)
	t.put(depth, t.step)
	far := t.Number(0)
	t.Compare(k, farDepth)
	t.CMOVQGT(gp(k), gp(far))
	t.put(far.Reg, t.far)

	t.Comment("panels of 32 columns have two tiles side by side, those of 16 one")
	ldb, second, apart := t.bytesOf("ldb"), t.GP64(), t.GP64()
	t.MOVQ(operand.I32(tileDepth), second)
	t.MOVQ(gp(ldb), apart)
	t.Compare(t.IntParam("nr"), tileRows)
	t.JNE(operand.LabelRef("wide"))
	t.MOVQ(gp(ldb), second)
	t.ADDQ(gp(ldb), apart)
	t.Label("wide")
	t.put(second, t.second)
	t.put(apart, t.apart)
}

// pairs goes through the columns, two tiles of them at a time, and one where one is left.
func (t *tileProduct) pairs() {
	t.put(t.SlicePtr("b").Reg, t.b)
	t.put(t.c.Ptr().Reg, t.to)
	columns := t.IntParam("panels")
	t.IMULQ(gp(t.IntParam("nr")), gp(columns))
	t.put(columns.Reg, t.columns)
	if t.ends {
		t.firstColumns()
	}
	t.Label("pair")
	t.CMPQ(t.columns, operand.I8(tileRows))
	t.JLE(operand.LabelRef("single"))
	t.rows(2)
	t.ADDQ(operand.I32(sumsRow), t.to)
	if t.ends {
		t.nextColumns()
	}
	t.ADDQ(t.get(t.apart), t.b)
	t.SUBQ(operand.I8(2*tileRows), t.columns)
	t.JNE(operand.LabelRef("pair"))
	t.JMP(operand.LabelRef("done"))
	t.Label("single")
	t.rows(1)
	t.Label("done")
}

// rows emits the products of some tiles of columns with two tiles of rows, or with one.
func (t *tileProduct) rows(columns int) {
	one, end := fmt.Sprintf("one_%d", columns), fmt.Sprintf("end_%d", columns)
	t.Compare(t.m.Int(), tileRows)
	t.JLE(operand.LabelRef(one))
	t.block(2, columns)
	t.JMP(operand.LabelRef(end))
	t.Label(one)
	t.block(1, columns)
	t.Label(end)
}

// block multiplies all of k.
func (t *tileProduct) block(rows, columns int) {
	name := fmt.Sprintf("_%d_%d", rows, columns)
	lda := t.bytesOf("lda")
	a, bs := t.rowsOf(t.a.Ptr(), lda, rows), []vec.Ptr{{Reg: t.get(t.b)}}
	if columns > 1 {
		bs = append(bs, t.CopyPtr(bs[0]))
		t.ADDQ(t.second, bs[1].Reg.(reg.Register))
	}
	apart, k := t.IntParam("nr"), t.bytesOf("k")
	t.SHLQ(operand.U8(2), gp(apart)) // four bytes a column
	for i := range rows {
		for j := range columns {
			t.ZeroTile(tileSums(i, j))
		}
	}
	t.Label("loop" + name)
	for j := range columns {
		t.LoadTile(tileB+vec.Tile(j), bs[j], apart)
	}
	for i := range rows {
		t.LoadTile(tileA+vec.Tile(i), a[i], lda)
		for j := range columns {
			t.dot(t, tileSums(i, j), tileA+vec.Tile(i), tileB+vec.Tile(j))
		}
	}
	if rows > 1 {
		t.fetchRows("near"+name, a[0], lda)
	}
	if t.ends {
		t.someEnds(name)
	}
	for _, p := range a {
		t.ADDQ(t.depth, p.Reg.(reg.Register))
	}
	for _, p := range bs {
		t.ADDQ(t.step, p.Reg.(reg.Register))
	}
	t.SUBQ(t.depth, gp(k))
	t.JNE(operand.LabelRef("loop" + name))
	if t.ends {
		t.storeSums(t.SlicePtr("sums"), t.Number(sumsRow), rows, columns)
		t.pend(columns)
		return
	}
	ldc := t.IntParam("ldc")
	t.SHLQ(operand.U8(2), gp(ldc))
	t.storeSums(vec.Ptr{Reg: t.get(t.to)}, ldc, rows, columns)
}

// storeSums writes a block's sums, in rows that are apart bytes from one another.
func (t *tileProduct) storeSums(to vec.Ptr, apart vec.Int, rows, columns int) {
	for i, p := range t.rowsOf(to, apart, rows) {
		for j := range columns {
			at := p
			if j > 0 {
				at = t.CopyPtr(p)
				t.Bump(at, tileDepth)
			}
			t.StoreTile(at, apart, tileSums(i, j))
		}
	}
}

// fetchRows fetches what a later step loads of the strip's rows, if those do not stay in the
// first-level cache.
func (t *tileProduct) fetchRows(near string, a vec.Ptr, lda vec.Int) {
	t.CMPQ(t.far, operand.I8(0))
	t.JEQ(operand.LabelRef(near))
	p, triple := t.CopyPtr(a), t.GP64()
	t.Bump(p, farAhead)
	t.LEAQ(operand.Mem{Base: gp(lda), Index: gp(lda), Scale: 2}, triple)
	base := p.Reg.(reg.Register)
	for range 2 * tileRows / 4 {
		t.PREFETCHT0(operand.Mem{Base: base})
		t.PREFETCHT0(operand.Mem{Base: base, Index: gp(lda), Scale: 1})
		t.PREFETCHT0(operand.Mem{Base: base, Index: gp(lda), Scale: 2})
		t.PREFETCHT0(operand.Mem{Base: base, Index: triple, Scale: 1})
		t.LEAQ(operand.Mem{Base: base, Index: gp(lda), Scale: 4}, base)
	}
	t.Label(near)
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
