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

// blockTiles is the kernel for a layout of 4 or 8 bits, with what stays in the frame.
type blockTiles struct {
	*tileFrame
	weights *blockTile // loads weights and their factors
	nr      int
	zero    vec.V // is subtracted from bytes, if there is anything to subtract
	// The strip's rows of A and of C, their scales, and their offsets if columns have minima; left
	// are the rows left.
	rows, toC, ofRows, offsets, left vec.Kept

	b, to  operand.Mem // the next panel, and its columns of the strip of C
	panels operand.Mem // left
	both   operand.Mem // the sum of the addresses of both groups of bytes
	step   operand.Mem // the number of the step
	k      operand.Mem // left
	block  operand.Mem // what is left of the block
	scales operand.Mem // the scales of the sums in the buffer
	minima operand.Mem // their offsets
}

// tileDot is the blockDot of tiles, which take signed bytes.
type tileDot struct{ quads }

func (*tileDot) signed(*intTile) bool { return true }

// BlockTiles returns the micro-kernel by tiles of products with weights in blocks of 4 or 8 bits.
func BlockTiles(l BlockLayout) func(vec.Machine) {
	return Only(func(x *x86.Machine) {
		nr := x.Tier().Gemm.NR
		vectors := nr / x.Width()
		t := &blockTiles{tileFrame: newTileFrame(x), nr: nr, weights: &blockTile{
			intTile: &intTile{Tiler: x, vectors: vectors}, BlockLayout: l, dot: &tileDot{}, atOnce: vectors,
		}}
		t.emit()
	})
}

func (t *blockTiles) emit() {
	t.rows, t.toC, t.left, t.ofRows = t.KeepPtr("a"), t.KeepPtr("c"), t.KeepInt("m"), t.KeepPtr("scale")
	if t.weights.Least {
		t.offsets = t.KeepPtr("offset")
	}
	for _, m := range []*operand.Mem{&t.b, &t.to, &t.panels, &t.both, &t.step, &t.k, &t.block, &t.scales, &t.minima} {
		*m = t.local()
	}
	t.weights.constants()
	if d := t.unsignedBy(); d != 0 {
		t.zero = t.Splat(vec.Const(d * 0x01010101))
	}
	t.Label("rows")
	left := t.left.Int()
	t.atMost(left, 2*tileRows)
	t.shape(left, t.Number(t.weights.Group))
	t.put(t.SlicePtr("b").Reg, t.b)
	t.put(t.toC.Ptr().Reg, t.to)
	t.put(t.IntParam("panels").Reg, t.panels)
	t.Label("panel")
	t.clearTotals()
	t.product()
	t.copyTotals()
	t.ADDQ(operand.I32(4*t.nr), t.to)
	t.ADDQ(gp(t.IntParam("ldb")), t.b)
	t.DECQ(t.panels)
	t.JNE(operand.LabelRef("panel"))
	t.Comment("the next rows")
	t.rows.AddRows(2*tileRows, t.IntParam("lda"), 1)
	t.toC.AddRows(2*tileRows, t.IntParam("ldc"), 4)
	t.ofRows.Add(4 * 2 * tileRows)
	if t.weights.Least {
		t.offsets.Add(4 * 2 * tileRows)
	}
	t.left.Add(-2 * tileRows)
	t.Compare(t.left.Int(), 0)
	t.JG(operand.LabelRef("rows"))
}

// unsignedBy returns the number by which bytes are larger than the weights.
func (t *blockTiles) unsignedBy() int {
	if t.weights.Least || t.weights.Bits == 8 {
		return 0
	}
	return 1 << (t.weights.Bits - 1)
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
	rows := asInt(t.get(t.shaped))
	t.Label(label)
	body()
	t.Bump(p, blockTileRow)
	t.CountDown(rows, 1, vec.NE, label)
}

func (t *blockTiles) clearTotals() {
	p, zero := t.work(blockTileTotals), t.Zero()
	t.eachRow("clear", p, func() {
		for v := range t.weights.vectors {
			t.Store(p, 4*v*t.Width(), zero)
		}
	})
}

func (t *blockTiles) copyTotals() {
	p, to := t.work(blockTileTotals), vec.Ptr{Reg: t.get(t.to)}
	ldc := t.IntParam("ldc")
	t.SHLQ(operand.U8(2), gp(ldc))
	t.eachRow("copy", p, func() {
		for v := range t.weights.vectors {
			t.Store(to, 4*v*t.Width(), t.Load(p, 4*v*t.Width()))
		}
		t.ADDQ(gp(ldc), to.Reg.(reg.Register))
	})
}

// product adds the products of the strip and a panel to the totals. Step g multiplies group g, adds
// the sums of group g-2 to the totals, and turns group g+1 into bytes: what a step loads was stored
// long enough ago.
func (t *blockTiles) product() {
	t.put(t.Number(0).Reg, t.step)
	t.put(t.IntParam("k").Reg, t.k)
	t.put(t.ofRows.Ptr().Reg, t.scales)
	if t.weights.Least {
		t.put(t.offsets.Ptr().Reg, t.minima)
	}
	buffer, bytes := t.work(0), t.work(blockTileBytes)
	both := t.CopyInt(vec.Int(bytes))
	t.LEAQ(operand.Mem{Base: gp(both), Index: gp(both), Scale: 1, Disp: blockTileGroup}, gp(both))
	t.put(both.Reg, t.both)
	a := t.rows.Ptr()
	t.weights.head = vec.Ptr{Reg: t.get(t.b)}
	if t.weights.Elements == WeightBlock {
		t.weights.sub, t.weights.subAt = t.weights.head, t.weights.Head()*t.nr
	} else {
		t.put(t.Number(t.weights.Elements).Reg, t.block)
		t.weights.sub, t.weights.subAt = t.After(t.weights.head, t.weights.Head()*t.nr), 0
	}
	t.Comment("the first group")
	t.intoBytes(bytes)
	t.storeFactors(buffer)
	t.nextGroup("first")

	t.Label("group")
	next, first := t.CopyPtr(buffer), t.work(0)
	t.Bump(next, blockTileBuffer)
	last := t.work(blockTileTotals)
	t.CMPQ(gp(vec.Int(next)), gp(vec.Int(last)))
	t.CMOVQEQ(gp(vec.Int(first)), gp(vec.Int(next)))
	t.CMPQ(t.k, operand.I8(0))
	t.JLE(operand.LabelRef("multiplied"))
	t.multiply(a, bytes)
	t.Bump(a, WeightBlock)
	t.Label("multiplied")
	t.CMPQ(t.step, operand.I8(2))
	t.JLT(operand.LabelRef("added"))
	t.addSums(next)
	t.Label("added")
	other := asInt(t.get(t.both))
	t.SubtractInt(other, vec.Int(bytes))
	t.CopyPtrTo(bytes, vec.Ptr(other))
	t.CMPQ(t.k, operand.I8(WeightBlock))
	t.JLE(operand.LabelRef("prepared"))
	t.intoBytes(bytes)
	t.storeFactors(next)
	t.nextGroup("next")
	t.Label("prepared")
	t.CMPQ(t.k, operand.I8(0))
	t.JLE(operand.LabelRef("stepped"))
	t.storeSums(buffer)
	t.Label("stepped")
	t.CopyPtrTo(buffer, next)
	t.INCQ(t.step)
	t.SUBQ(operand.I8(WeightBlock), t.k)
	t.CMPQ(t.k, operand.I8(-2*WeightBlock))
	t.JNE(operand.LabelRef("group"))
}

// nextGroup moves on in the panel.
func (t *blockTiles) nextGroup(label string) {
	if t.weights.Elements == WeightBlock {
		t.Bump(t.weights.head, t.weights.Bytes()*t.nr)
		return
	}
	t.Bump(t.weights.sub, t.weights.SubBytes()*t.nr)
	t.SUBQ(operand.I8(WeightBlock), t.block)
	t.JNE(operand.LabelRef("within_" + label))
	t.put(t.Number(t.weights.Elements).Reg, t.block)
	t.CopyPtrTo(t.weights.head, t.weights.sub)
	t.Bump(t.weights.sub, t.weights.Head()*t.nr)
	t.Label("within_" + label)
}

// intoBytes writes the weights of a group as signed bytes.
func (t *blockTiles) intoBytes(p vec.Ptr) {
	store := func(quad int, w []vec.V) {
		for v, b := range w {
			if t.zero != (vec.V{}) {
				b = t.SubBytes(b, t.zero)
			}
			t.Store(p, 4*(quad*t.nr+v*t.Width()), b)
		}
	}
	row := func(s int) []vec.V { return t.weights.row(0, s, 0) }
	quads := t.weights.Group / 4
	if t.weights.Bits == 8 {
		for q := range quads {
			store(q, t.weights.flipped(row(q)))
		}
		return
	}
	for q := range quads / 2 {
		w := row(q)
		store(q, t.weights.lower(w))
		store(q+quads/2, t.weights.upper(w))
	}
}

// storeFactors writes the factors of the columns to a buffer.
func (t *blockTiles) storeFactors(buffer vec.Ptr) {
	for v, f := range t.weights.factors(0, 0, 0, !t.weights.Least) {
		t.Store(buffer, blockTileFactors+4*v*t.Width(), f)
	}
	if t.weights.Least {
		for v, f := range t.weights.factors(2, 1, 0, false) {
			t.Store(buffer, blockTileLeast+4*v*t.Width(), f)
		}
	}
}

// multiply makes the sums of a group in tiles.
func (t *blockTiles) multiply(a, bytes vec.Ptr) {
	columns := t.nr / tileRows
	apart, lda := t.Number(4*t.nr), t.IntParam("lda")
	b := t.CopyPtr(bytes)
	for j := range columns {
		if j > 0 {
			t.Bump(b, tileDepth)
		}
		t.LoadTile(tileB+vec.Tile(j), b, apart)
	}
	dots := func(i int, a vec.Ptr) {
		for j := range columns {
			t.ZeroTile(tileSums(i, j))
		}
		t.LoadTile(tileA+vec.Tile(i), a, lda)
		for j := range columns {
			t.DotSignedTile(tileSums(i, j), tileA+vec.Tile(i), tileB+vec.Tile(j))
		}
	}
	dots(0, a)
	t.CMPQ(t.shaped, operand.I8(tileRows))
	t.JLE(operand.LabelRef("one"))
	second := t.CopyInt(lda)
	t.SHLQ(operand.U8(4), gp(second))
	t.ADDQ(a.Reg.(reg.Register), gp(second))
	dots(1, vec.Ptr(second))
	t.Label("one")
}

// storeSums writes the sums in the tiles to a buffer.
func (t *blockTiles) storeSums(buffer vec.Ptr) {
	apart, columns := t.Number(blockTileRow), t.nr/tileRows
	p := t.CopyPtr(buffer)
	store := func(i int) {
		for j := range columns {
			if j > 0 {
				t.Bump(p, tileDepth)
			}
			t.StoreTile(p, apart, tileSums(i, j))
		}
	}
	store(0)
	t.CMPQ(t.shaped, operand.I8(tileRows))
	t.JLE(operand.LabelRef("stored"))
	t.Bump(p, tileRows*blockTileRow-(columns-1)*tileDepth)
	store(1)
	t.Label("stored")
}

// addSums adds the sums in a buffer to the totals, scaled as in blockTile.addGroup.
func (t *blockTiles) addSums(buffer vec.Ptr) {
	p := t.CopyPtr(buffer)
	load := func(at int) (f []vec.V) {
		for v := range t.weights.vectors {
			f = append(f, t.Load(p, at+4*v*t.Width()))
		}
		return f
	}
	ofColumns := load(blockTileFactors)
	var least []vec.V
	scales, offsets := vec.Ptr{Reg: t.get(t.scales)}, vec.Ptr{}
	if t.weights.Least {
		least, offsets = load(blockTileLeast), vec.Ptr{Reg: t.get(t.minima)}
	}
	totals := t.work(blockTileTotals)
	t.eachRow("add", totals, func() {
		scale := t.LoadScalar(scales, 0)
		var offset vec.V
		if t.weights.Least {
			offset = t.LoadScalar(offsets, 0)
		}
		for v := range t.weights.vectors {
			at := 4 * v * t.Width()
			sum := t.Load(p, at)
			t.IntToFloat(sum)
			t.MulTo(sum, scale)
			t.MulTo(sum, ofColumns[v])
			t.AddLoad(sum, totals, at)
			if t.weights.Least {
				t.AddTo(sum, t.Mul(offset, least[v]))
			}
			t.Store(totals, at, sum)
		}
		t.Bump(p, blockTileRow)
		t.Bump(scales, 4)
		if t.weights.Least {
			t.Bump(offsets, 4)
		}
	})
	ld := t.IntParam("ldscale")
	t.SHLQ(operand.U8(2), gp(ld))
	t.ADDQ(gp(ld), t.scales)
	if t.weights.Least {
		t.ADDQ(gp(ld), t.minima)
	}
}
