package kernel

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
	"github.com/avoformer/avoformer/asm/vec/x86"
)

// Products of weights in blocks by the tiles of AMX. Each group of weights becomes signed bytes in
// memory, once for a strip of 32 rows of A. A product of tiles has the integer sums of a group,
// which vectors scale and add to the strip's totals, also in memory, in the order of Blocks. Tiles
// and vectors work at the same time: the sums of a group are added to the totals while those of the
// next group are computed.

// Places in the kernel's memory, in bytes: three buffers with the sums of a group and its factors of
// the columns, then the totals, and the weights of two groups as bytes.
const (
	blockTileRow     = 4 * 32                      // of sums and totals, for at most 32 columns
	blockTileFactors = 2 * tileRows * blockTileRow // in a buffer
	blockTileLeast   = blockTileFactors + blockTileRow
	blockTileBuffer  = blockTileLeast + blockTileRow
	blockTileTotals  = 3 * blockTileBuffer
	blockTileBytes   = blockTileTotals + 2*tileRows*blockTileRow
	blockTileGroup   = WeightBlock * blockTileRow / 4 // of bytes
)

// BlockTileWork is the number of elements of 32 bits in the memory of a kernel.
const BlockTileWork = (blockTileBytes + 2*blockTileGroup) / 4

// blockTiles is the kernel for a layout, with what stays in the frame.
type blockTiles struct {
	*blockTile
	x      *x86.Machine
	shapes vec.TileShapes
	nr     int
	zero   vec.V // is subtracted from bytes, if there is anything to subtract
	// The strip's rows of A and of C, their scales, and their offsets if columns have minima; left
	// are the rows left.
	rows, toC, ofRows, offsets, left vec.Kept
	strip                            operand.Mem // its rows, for which the tiles have their shapes
	b, to                            operand.Mem // the next panel, and its columns of the strip of C
	panels                           operand.Mem // left
	both                             operand.Mem // the sum of the addresses of both groups of bytes
	step                             operand.Mem // the number of the step
	k                                operand.Mem // left
	block                            operand.Mem // what is left of the block
	scales                           operand.Mem // the scales of the sums in the buffer
	minima                           operand.Mem // their offsets
}

// tileDot is the blockDot of tiles, which take signed bytes.
type tileDot struct{ quads }

func (*tileDot) signed(*intTile) bool { return true }

// BlockTiles returns the micro-kernel by tiles of products with weights in blocks.
func BlockTiles(l BlockLayout) func(vec.Machine) {
	return Only(func(x *x86.Machine) {
		nr := x.Tier().Gemm.NR
		vectors := nr / x.Width()
		t := &blockTiles{x: x, nr: nr, blockTile: &blockTile{
			intTile: &intTile{Tiler: x, vectors: vectors}, BlockLayout: l, dot: &tileDot{}, atOnce: vectors,
		}}
		t.emit()
	})
}

func (t *blockTiles) emit() {
	x := t.x
	t.shapes = x.TileShapes()
	t.rows, t.toC, t.left, t.ofRows = x.KeepPtr("a"), x.KeepPtr("c"), x.KeepInt("m"), x.KeepPtr("scale")
	if t.Least {
		t.offsets = x.KeepPtr("offset")
	}
	for _, m := range []*operand.Mem{&t.strip, &t.b, &t.to, &t.panels, &t.both, &t.step, &t.k, &t.block, &t.scales, &t.minima} {
		*m = x.AllocLocal(8)
	}
	t.constants()
	if d := t.unsignedBy(); d != 0 {
		t.zero = x.Splat(vec.Const(d * 0x01010101))
	}
	t.put(t.Number(0), t.strip)
	t.Label("rows")
	left := t.left.Int()
	t.atMost(left, 2*tileRows)
	t.shape(left)
	t.put(vec.Int(t.SlicePtr("b")), t.b)
	t.put(vec.Int(t.toC.Ptr()), t.to)
	t.put(t.IntParam("panels"), t.panels)
	t.Label("panel")
	t.clearTotals()
	t.product()
	t.copyTotals()
	x.ADDQ(operand.I32(4*t.nr), t.to)
	x.ADDQ(gp(t.IntParam("ldb")), t.b)
	x.DECQ(t.panels)
	x.JNE(operand.LabelRef("panel"))
	t.Comment("the next rows")
	t.rows.AddRows(2*tileRows, t.IntParam("lda"), 1)
	t.toC.AddRows(2*tileRows, t.IntParam("ldc"), 4)
	t.ofRows.Add(4 * 2 * tileRows)
	if t.Least {
		t.offsets.Add(4 * 2 * tileRows)
	}
	t.left.Add(-2 * tileRows)
	t.Compare(t.left.Int(), 0)
	x.JG(operand.LabelRef("rows"))
}

// unsignedBy returns the number by which bytes are larger than the weights.
func (t *blockTiles) unsignedBy() int {
	if t.Least || t.Wide() == 8 {
		return 0
	}
	return 1 << (t.Wide() - 1)
}

func (t *blockTiles) put(n vec.Int, to operand.Mem) { t.x.MOVQ(gp(n), to) }

func (t *blockTiles) get(from operand.Mem) vec.Int { return t.x.IntAt(from) }

func (t *blockTiles) atMost(n vec.Int, most int) {
	limit := t.Number(most)
	t.x.CMPQ(gp(n), gp(limit))
	t.x.CMOVQGT(gp(limit), gp(n))
}

// shape configures tiles for 1 to 32 rows, unless they have these shapes.
func (t *blockTiles) shape(rows vec.Int) {
	x := t.x
	x.CMPQ(t.strip, gp(rows))
	x.JEQ(operand.LabelRef("shaped"))
	t.put(rows, t.strip)
	first, row, depth := t.CopyInt(rows), t.Number(tileDepth), t.Number(t.Group)
	t.atMost(first, tileRows)
	t.SubtractInt(rows, first)
	wide, deep := t.Number(0), t.Number(0) // tiles without rows have no bytes
	x.TESTQ(gp(rows), gp(rows))
	x.CMOVQNE(gp(row), gp(wide))
	x.CMOVQNE(gp(depth), gp(deep))
	quads := t.Number(t.Group / 4)
	for j := range t.nr / tileRows {
		t.shapes.Set(tileSums(0, j), first, row)
		t.shapes.Set(tileSums(1, j), rows, wide)
		t.shapes.Set(tileB+vec.Tile(j), quads, row)
	}
	t.shapes.Set(tileA, first, depth)
	t.shapes.Set(tileA+1, rows, deep)
	t.shapes.Configure()
	t.Label("shaped")
}

// work returns the address of a place in the kernel's memory.
func (t *blockTiles) work(at int) vec.Ptr {
	p := t.SlicePtr("work")
	if at > 0 {
		t.Bump(p, at)
	}
	return p
}

// eachRow calls body for the rows of the strip; it bumps p by a row.
func (t *blockTiles) eachRow(label string, p vec.Ptr, body func()) {
	rows := t.get(t.strip)
	t.Label(label)
	body()
	t.Bump(p, blockTileRow)
	t.CountDown(rows, 1, vec.NE, label)
}

func (t *blockTiles) clearTotals() {
	p, zero := t.work(blockTileTotals), t.Zero()
	t.eachRow("clear", p, func() {
		for v := range t.vectors {
			t.Store(p, 4*v*t.Width(), zero)
		}
	})
}

func (t *blockTiles) copyTotals() {
	p, to := t.work(blockTileTotals), vec.Ptr(t.get(t.to))
	ldc := t.IntParam("ldc")
	t.x.SHLQ(operand.U8(2), gp(ldc))
	t.eachRow("copy", p, func() {
		for v := range t.vectors {
			t.Store(to, 4*v*t.Width(), t.Load(p, 4*v*t.Width()))
		}
		t.x.ADDQ(gp(ldc), to.Reg.(reg.Register))
	})
}

// product adds the products of the strip and a panel to the totals. Step g multiplies group g, adds
// the sums of group g-2 to the totals, and turns group g+1 into bytes: what a step loads was stored
// long enough ago.
func (t *blockTiles) product() {
	x := t.x
	t.put(t.Number(0), t.step)
	t.put(t.IntParam("k"), t.k)
	t.put(vec.Int(t.ofRows.Ptr()), t.scales)
	if t.Least {
		t.put(vec.Int(t.offsets.Ptr()), t.minima)
	}
	buffer, bytes := t.work(0), t.work(blockTileBytes)
	both := t.CopyInt(vec.Int(bytes))
	x.LEAQ(operand.Mem{Base: gp(both), Index: gp(both), Scale: 1, Disp: blockTileGroup}, gp(both))
	t.put(both, t.both)
	a := t.rows.Ptr()
	t.head = vec.Ptr(t.get(t.b))
	if t.Elements == WeightBlock {
		t.sub, t.subAt = t.head, t.Head()*t.nr
	} else {
		t.put(t.Number(t.Elements), t.block)
		t.sub, t.subAt = t.After(t.head, t.Head()*t.nr), 0
	}
	t.Comment("the first group")
	t.intoBytes(bytes)
	t.storeFactors(buffer)
	t.nextGroup("first")

	t.Label("group")
	next, first := t.CopyPtr(buffer), t.work(0)
	t.Bump(next, blockTileBuffer)
	last := t.work(blockTileTotals)
	x.CMPQ(gp(vec.Int(next)), gp(vec.Int(last)))
	x.CMOVQEQ(gp(vec.Int(first)), gp(vec.Int(next)))
	x.CMPQ(t.k, operand.I8(0))
	x.JLE(operand.LabelRef("multiplied"))
	t.multiply(a, bytes)
	t.Bump(a, WeightBlock)
	t.Label("multiplied")
	x.CMPQ(t.step, operand.I8(2))
	x.JLT(operand.LabelRef("added"))
	t.addSums(next)
	t.Label("added")
	other := t.get(t.both)
	t.SubtractInt(other, vec.Int(bytes))
	t.CopyPtrTo(bytes, vec.Ptr(other))
	x.CMPQ(t.k, operand.I8(WeightBlock))
	x.JLE(operand.LabelRef("prepared"))
	t.intoBytes(bytes)
	t.storeFactors(next)
	t.nextGroup("next")
	t.Label("prepared")
	x.CMPQ(t.k, operand.I8(0))
	x.JLE(operand.LabelRef("stepped"))
	t.storeSums(buffer)
	t.Label("stepped")
	t.CopyPtrTo(buffer, next)
	x.INCQ(t.step)
	x.SUBQ(operand.I8(WeightBlock), t.k)
	x.CMPQ(t.k, operand.I8(-2*WeightBlock))
	x.JNE(operand.LabelRef("group"))
}

// nextGroup moves on in the panel.
func (t *blockTiles) nextGroup(label string) {
	if t.Elements == WeightBlock {
		t.Bump(t.head, t.Bytes()*t.nr)
		return
	}
	t.Bump(t.sub, t.SubBytes()*t.nr)
	t.x.SUBQ(operand.I8(WeightBlock), t.block)
	t.x.JNE(operand.LabelRef("within_" + label))
	t.put(t.Number(t.Elements), t.block)
	t.CopyPtrTo(t.head, t.sub)
	t.Bump(t.sub, t.Head()*t.nr)
	t.Label("within_" + label)
}

// intoBytes writes the weights of a group as signed bytes.
func (t *blockTiles) intoBytes(p vec.Ptr) {
	store := func(quad int, w []vec.V) {
		for v, b := range w {
			if t.zero != (vec.V{}) {
				b = t.x.SubBytes(b, t.zero)
			}
			t.Store(p, 4*(quad*t.nr+v*t.Width()), b)
		}
	}
	row := func(s int) []vec.V { return t.row(0, s, 0) }
	quads := t.Group / 4
	if t.Bits == 8 {
		for q := range quads {
			store(q, t.flipped(row(q)))
		}
		return
	}
	for q := range quads / 2 {
		if t.Bits == 4 {
			w := row(q)
			store(q, t.decoded(t.lower(w)))
			store(q+quads/2, t.decoded(t.upper(w)))
			continue
		}
		half := t.moreBits(row, q)
		store(q, half(0))
		store(q+quads/2, half(1))
	}
}

// storeFactors writes the factors of the columns to a buffer.
func (t *blockTiles) storeFactors(buffer vec.Ptr) {
	for v, f := range t.factors(0, 0, 0, !t.Least) {
		t.Store(buffer, blockTileFactors+4*v*t.Width(), f)
	}
	if t.Least {
		for v, f := range t.factors(2, 1, 0, false) {
			t.Store(buffer, blockTileLeast+4*v*t.Width(), f)
		}
	}
}

// multiply makes the sums of a group in tiles.
func (t *blockTiles) multiply(a, bytes vec.Ptr) {
	x, columns := t.x, t.nr/tileRows
	apart, lda := t.Number(4*t.nr), t.IntParam("lda")
	b := t.CopyPtr(bytes)
	for j := range columns {
		if j > 0 {
			t.Bump(b, tileDepth)
		}
		x.LoadTile(tileB+vec.Tile(j), b, apart)
	}
	dots := func(i int, a vec.Ptr) {
		for j := range columns {
			x.ZeroTile(tileSums(i, j))
		}
		x.LoadTile(tileA+vec.Tile(i), a, lda)
		for j := range columns {
			x.DotSignedTile(tileSums(i, j), tileA+vec.Tile(i), tileB+vec.Tile(j))
		}
	}
	dots(0, a)
	x.CMPQ(t.strip, operand.I8(tileRows))
	x.JLE(operand.LabelRef("one"))
	second := t.CopyInt(lda)
	x.SHLQ(operand.U8(4), gp(second))
	x.ADDQ(a.Reg.(reg.Register), gp(second))
	dots(1, vec.Ptr(second))
	t.Label("one")
}

// storeSums writes the sums in the tiles to a buffer.
func (t *blockTiles) storeSums(buffer vec.Ptr) {
	x, apart, columns := t.x, t.Number(blockTileRow), t.nr/tileRows
	p := t.CopyPtr(buffer)
	store := func(i int) {
		for j := range columns {
			if j > 0 {
				t.Bump(p, tileDepth)
			}
			x.StoreTile(p, apart, tileSums(i, j))
		}
	}
	store(0)
	x.CMPQ(t.strip, operand.I8(tileRows))
	x.JLE(operand.LabelRef("stored"))
	t.Bump(p, tileRows*blockTileRow-(columns-1)*tileDepth)
	store(1)
	t.Label("stored")
}

// addSums adds the sums in a buffer to the totals, scaled as in blockTile.addGroup.
func (t *blockTiles) addSums(buffer vec.Ptr) {
	x := t.x
	p := t.CopyPtr(buffer)
	load := func(at int) (f []vec.V) {
		for v := range t.vectors {
			f = append(f, t.Load(p, at+4*v*t.Width()))
		}
		return f
	}
	ofColumns := load(blockTileFactors)
	var least []vec.V
	scales, offsets := vec.Ptr(t.get(t.scales)), vec.Ptr{}
	if t.Least {
		least, offsets = load(blockTileLeast), vec.Ptr(t.get(t.minima))
	}
	totals := t.work(blockTileTotals)
	t.eachRow("add", totals, func() {
		scale := t.LoadScalar(scales, 0)
		var offset vec.V
		if t.Least {
			offset = t.LoadScalar(offsets, 0)
		}
		for v := range t.vectors {
			at := 4 * v * t.Width()
			sum := t.Load(p, at)
			t.IntToFloat(sum)
			t.MulTo(sum, scale)
			t.MulTo(sum, ofColumns[v])
			t.AddLoad(sum, totals, at)
			if t.Least {
				t.AddTo(sum, t.Mul(offset, least[v]))
			}
			t.Store(totals, at, sum)
		}
		t.Bump(p, blockTileRow)
		t.Bump(scales, 4)
		if t.Least {
			t.Bump(offsets, 4)
		}
	})
	ld := t.IntParam("ldscale")
	x.SHLQ(operand.U8(2), gp(ld))
	x.ADDQ(gp(ld), t.scales)
	if t.Least {
		x.ADDQ(gp(ld), t.minima)
	}
}
