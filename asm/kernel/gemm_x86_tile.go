package kernel

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
	"github.com/avoformer/avoformer/asm/vec/x86"
)

// The tiles of float32 products on x86. A tile of h rows and some vectors of columns stays in
// registers while k passes:
//
//	for each row i of the tile:                      the first ladder, which all heights share
//	    acc[i] = 0
//	for p := range k:                                the loop, one for each height
//	    b = row p of B
//	    for i := range h:
//	        acc[i] += a[i][p] * b
//	for each row i of the tile:                      the second ladder
//	    c[i] = alpha*acc[i] + beta*c[i]
//
// Only the loop exists once for each height: registers have numbers, not indices. The sums of a row
// are in the same registers for every height, and both ladders begin with row 0 and are left after
// the tile's last row.
//
// The loop takes unroll steps of k at a time. Where k is not a multiple of them, the first
// iteration begins with a later step: A's rows begin that much earlier in turn, and B's rows are
// not counted, because every step moves to the next one.

// gemmX86Gen has what all tiles share. Values that the inner loop does not need live in the frame:
// 14 rows take five address registers.
type gemmX86Gen struct {
	x        *x86.Machine
	lanes    int
	m, a, c  operand.Mem // rows left; the next tile's rows of A and C
	ahead    operand.Mem // the part of the next panel that the tile fetches
	left     operand.Mem // the number of pieces of it that are left
	lda, ldb reg.GPVirtual
	anyK     bool         // k may be 0
	halves   halves       // nil where B is float32
	near     bool         // the product is in a core's own caches: the tile fetches other memory,
	beside   bool         // or the columns next to the tile's
	panel    reg.Register // distance from the first two vectors of columns to the second two; nil if they are adjacent
}

func newGemmX86(x *x86.Machine) *gemmX86Gen {
	g := &gemmX86Gen{x: x, lanes: x.Width()}
	g.m, g.a, g.c = g.slot(), g.slot(), g.slot()
	return g
}

// slot returns a place in the frame.
func (g *gemmX86Gen) slot() operand.Mem { return g.x.AllocLocal(8) }

// x86Columns describes the columns of a tile.
type x86Columns struct {
	vectors int          // 2; 1 if the panel is narrow, 4 if it is wide
	mask    reg.Register // the source of the mask of the last vector, nil if all its lanes are columns
	rest    operand.Op   // where the number of columns of the last vector is, which may be half of one; nil if nowhere
	packed  reg.Register // where to store the rows of B; nil if nowhere
}

// halves loads elements of panels of 16 bits.
type halves func(x *x86.Machine, m operand.Mem, v reg.VecVirtual)

// x86Tile is the state of the tiles of some columns during their emission.
type x86Tile struct {
	*gemmX86Gen
	x86Columns
	suffix string // of labels
	unroll int
	acc    [][]reg.VecVirtual // the sums of each row
	a      *x86.IndexedRows   // the next elements of the rows of A
	b, k   reg.GPVirtual      // the next row of B; the steps left, with those that the first iteration skips
	// fetch is the part of B that is fetched next, and pace the distance to the part of the next
	// step of k.
	fetch, pace reg.GPVirtual
	left        reg.GPVirtual // pieces to fetch, if all operands are near
	// During the ladders: the next row of C, of its second panel, and the distance to
	// the row after it.
	to, second, ldc reg.GPVirtual

	// of the tile whose loop is emitted
	h     int
	label func(what string) string
	short bool // the last vector is multiplied by instructions of half the width
}

// newTile returns tiles of up to mr rows.
func (g *gemmX86Gen) newTile(mr int, columns x86Columns) *x86Tile {
	t := &x86Tile{gemmX86Gen: g, x86Columns: columns, unroll: 2, acc: make([][]reg.VecVirtual, mr)}
	switch {
	case t.mask != nil && !t.x.Opmasks() && !t.near:
		t.unroll = 1
	case !t.beside && t.vectors == 2 && 2*mr <= 14:
		t.unroll = 4
	}
	for i := range t.acc {
		t.acc[i] = make([]reg.VecVirtual, t.vectors)
		for j := range t.acc[i] {
			t.acc[i][j] = t.x.NewV()
		}
	}
	return t
}

// start puts the rows into the frame.
func (t *x86Tile) start() {
	t.x.MOVQ(t.x.Load64("m"), t.m)
	a := t.x.Load64("a_base")
	t.skipSteps(4, a)
	t.x.MOVQ(a, t.gemmX86Gen.a)
	t.x.MOVQ(t.x.Load64("c_base"), t.c)
}

// skipSteps moves an address back by the steps that the first iteration skips, of size bytes each.
func (t *x86Tile) skipSteps(size int, address reg.Register) {
	if t.unroll == 1 {
		return
	}
	skipped := t.x.Load64("k")
	t.x.NEGQ(skipped)
	t.x.ANDQ(x86.Imm(t.unroll-1), skipped)
	t.x.IMUL3Q(operand.I32(int32(size)), skipped, skipped)
	t.x.SUBQ(skipped, address)
}

// begin prepares for a tile of h rows, which begin at the addresses in the frame.
func (t *x86Tile) begin(h vec.Int) {
	t.b, t.k = t.x.Load64("b_base"), t.x.Load64("k")
	if t.unroll > 1 {
		t.x.ADDQ(x86.Imm(t.unroll-1), t.k)
		t.x.ANDQ(x86.Imm(-t.unroll), t.k)
	}
	first := t.x.GP64()
	t.x.MOVQ(t.gemmX86Gen.a, first)
	t.a = t.x.IndexedRows(first, t.lda)
	if !t.near {
		t.to, t.ldc = t.x.GP64(), t.x.Stride("ldc")
		t.x.MOVQ(t.c, t.to)
	}
	switch {
	case t.fetches():
		t.startFetch(h)
	case t.fetchesPieces():
		t.fetch, t.left, t.pace = t.x.GP64(), t.x.GP64(), t.x.Load64("pace")
		t.x.MOVQ(t.ahead, t.fetch)
		t.x.MOVQ(t.gemmX86Gen.left, t.left)
	}
}

// beginRow emits a row's part of the first ladder. C is needed after the loop over k: its row is
// fetched into the second level, because in the first level it could evict rows of A.
func (t *x86Tile) beginRow(i int) {
	t.a.Begin()
	for _, v := range t.acc[i] {
		t.x.VXORPS(v, v, v)
	}
	if !t.near {
		for line := 0; line < 4*t.lanes*t.vectors; line += cacheLine {
			t.x.PREFETCHT1(operand.Mem{Base: t.to, Disp: line + cacheLine - 1}) // as in prefetch
		}
		t.x.ADDQ(t.ldc, t.to)
	}
}

// loops emits the loop over k for a height. If the last vector may be short, there is a second loop
// for that.
func (t *x86Tile) loops(h int, label func(what string) string) {
	t.h, t.label, t.short = h, label, false
	defer t.undefineFrom(h)
	if t.rest == nil {
		t.loop()
		return
	}
	t.x.CMPQ(t.rest, x86.Imm(t.lanes/2))
	t.x.JLE(operand.LabelRef(label("half_")))
	t.loop()
	t.x.JMP(operand.LabelRef(label("summed_")))
	t.x.Label(label("half_"))
	t.short, t.label = true, func(what string) string { return label("half_" + what) }
	t.loop()
	t.x.Label(label("summed_"))
}

// undefineFrom makes the sums of rows from h on arbitrary: the second ladder has instructions that
// read them.
func (t *x86Tile) undefineFrom(h int) {
	for _, row := range t.acc[h:] {
		for _, v := range row {
			t.x.Undefine(t.x.Value(v))
		}
	}
}

// loop emits a loop. A's pointers advance with each iteration, B with each step.
func (t *x86Tile) loop() {
	step := t.step
	if t.vectors > 3 {
		step = t.wideStep
	}
	first := func(kk int) operand.LabelRef {
		return operand.LabelRef(t.label([]string{"k", "k1_", "k2_", "k3_"}[kk]))
	}
	none := operand.LabelRef(t.label("knone_"))
	if t.anyK {
		t.x.TESTQ(t.k, t.k)
		t.x.JZ(none)
	}
	switch t.unroll {
	case 2:
		t.x.TESTQ(operand.U32(1), t.x.ParamAddr("k"))
		t.x.JNE(first(1))
	case 4:
		rest := t.x.Load64("k")
		t.x.ANDQ(x86.Imm(3), rest)
		t.x.JZ(first(0))
		t.x.CMPQ(rest, x86.Imm(2))
		t.x.JEQ(first(2))
		t.x.JLT(first(3))
		t.x.JMP(first(1))
	}
	for kk := range t.unroll {
		t.x.Label(string(first(kk)))
		step(kk)
	}
	t.a.Advance(t.h, 4*t.unroll)
	if t.packed != nil {
		t.x.ADDQ(x86.Imm(t.unroll*t.vectors*t.lanes*4), t.packed)
	}
	t.fetchPiece()
	t.x.SUBQ(x86.Imm(t.unroll), t.k)
	t.turn()
	t.x.JNZ(first(0))
	if t.anyK {
		t.x.Label(string(none))
	}
}

// scaled emits alpha times a row, plus beta times the row of C. If beta, whose bits are given
// without the sign, is 0, it does not read C.
func (t *x86Tile) scaled(i int, alpha, beta, bits reg.Register) {
	none := fmt.Sprintf("sum%s_%d", t.suffix, i+1)
	for _, v := range t.acc[i] {
		t.x.VMULPS(alpha, v, v)
	}
	t.x.TESTL(bits, bits)
	t.x.JZ(operand.LabelRef(none))
	for j, v := range t.acc[i] {
		if mask := t.maskOf(j); mask != nil {
			old := t.x.NewV()
			t.x.LoadMasked(t.placeOf(j), mask, old)
			t.x.VFMADD231PS(old, beta, v)
		} else {
			t.x.VFMADD231PS(t.placeOf(j), beta, v)
		}
	}
	t.x.Label(none)
}

// store stores a row, and moves to the next.
func (t *x86Tile) store(i int) {
	for j, v := range t.acc[i] {
		if mask := t.maskOf(j); mask != nil {
			t.x.StoreMasked(v, mask, t.placeOf(j))
		} else {
			t.x.VMOVUPS(v, t.placeOf(j))
		}
	}
	t.x.ADDQ(t.ldc, t.to)
	if t.panel != nil {
		t.x.ADDQ(t.ldc, t.second)
	}
}

// placeOf returns the place of vector j in the row of C.
func (t *x86Tile) placeOf(j int) operand.Mem {
	if t.panel != nil && j >= 2 {
		return operand.Mem{Base: t.second, Disp: (j - 2) * t.lanes * 4}
	}
	return operand.Mem{Base: t.to, Disp: j * t.lanes * 4}
}

// endRows emits the second ladder, which follows the loop of every height: one only stores, for an
// alpha of 1 and a beta of 0, and one does all. last follows each row, with which the tile may end.
func (t *x86Tile) endRows(last func(i int)) {
	if t.fetches() && t.packed == nil || t.fetchesPieces() {
		t.x.MOVQ(t.fetch, t.ahead)
	}
	if t.fetchesPieces() {
		t.x.MOVQ(t.left, t.gemmX86Gen.left)
	}
	t.to, t.ldc = t.x.GP64(), t.x.Stride("ldc")
	t.x.MOVQ(t.c, t.to)
	if t.panel != nil {
		t.second = t.x.Stride("second")
		t.x.ADDQ(t.to, t.second)
	}
	alpha, beta, bits, all := t.x.NewV(), t.x.NewV(), t.x.GP32(), operand.LabelRef("all"+t.suffix)
	t.x.MOVL(t.x.ParamAddr("beta"), bits)
	t.x.ADDL(bits, bits) // drops the sign: -0 is 0 too
	t.x.JNZ(all)
	t.x.CMPL(t.x.ParamAddr("alpha"), operand.U32(0x3f800000)) // 1
	t.x.JNE(all)
	for i := range t.acc {
		t.store(i)
		last(i)
	}
	t.x.Label(string(all))
	t.x.VBROADCASTSS(t.x.ParamAddr("alpha"), alpha)
	t.x.VBROADCASTSS(t.x.ParamAddr("beta"), beta)
	for i := range t.acc {
		t.scaled(i, alpha, beta, bits)
		t.store(i)
		last(i)
	}
}

// fetchesPieces reports whether the tile fetches memory that is used after the product.
func (t *x86Tile) fetchesPieces() bool { return t.near && !t.beside }

// fetchPiece fetches a part of the memory that is used after the product.
func (t *x86Tile) fetchPiece() {
	if !t.fetchesPieces() {
		return
	}
	none := operand.LabelRef(t.label("kfetched_"))
	t.x.SUBQ(x86.Imm(1), t.left)
	t.x.JLT(none)
	for line := 0; line < FetchedPiece; line += cacheLine {
		t.x.PREFETCHT1(operand.Mem{Base: t.fetch, Disp: line + cacheLine - 1}) // as in prefetch
	}
	t.x.ADDQ(t.pace, t.fetch)
	t.x.Label(string(none))
}

// FetchedPiece is the number of bytes that attnPanels fetches at a time, in two steps of k. Package
// simd gets it with the kernels.
const FetchedPiece = 256

// turn adds the parameter turn to the address that is fetched next, whenever the steps left of k
// are a multiple of the parameter steps. The wide tiles fetch only rows of B.
func (t *x86Tile) turn() {
	if t.vectors != 2 || t.packed != nil || !t.fetches() {
		return
	}
	skip, below := operand.LabelRef(t.label("kturn_")), t.x.Load64("steps")
	t.x.DECQ(below)
	t.x.TESTQ(t.k, below)
	t.x.JNE(skip)
	t.x.ADDQ(t.x.ParamAddr("turn"), t.fetch)
	t.x.Label(string(skip))
	t.x.TESTQ(t.k, t.k)
}

// wideStep emits step kk of a wide tile, which holds A's elements and loads B's vectors one by one.
func (t *x86Tile) wideStep(kk int) {
	av := make([]reg.VecVirtual, min(t.h, t.free(1)))
	for i := range av {
		av[i] = t.x.NewV()
		t.x.VBROADCASTSS(t.a.At(i, 4*kk), av[i])
	}
	for j := range t.vectors {
		bv := t.x.NewV()
		at := operand.Mem{Base: t.b, Disp: j * t.lanes * 4}
		if t.panel != nil && j >= 2 {
			at = operand.Mem{Base: t.b, Index: t.panel, Scale: 1, Disp: (j - 2) * t.lanes * 4}
		}
		t.loadColumns(at, j, bv)
		t.prefetch(j)
		for i := range t.h {
			if i < len(av) {
				t.x.VFMADD231PS(t.used(j, bv), t.used(j, av[i]), t.used(j, t.acc[i][j]))
			} else {
				t.x.VFMADD231PS_BCST(t.a.At(i, 4*kk), t.used(j, bv), t.used(j, t.acc[i][j]))
			}
		}
	}
	t.nextRowOfB()
}

// step emits step kk of the other tiles, which hold B's vectors and load A's elements one by one.
func (t *x86Tile) step(kk int) {
	bv := t.rowOfB(kk)
	ahead, embedded := t.broadcasts()
	av := make([]reg.VecVirtual, t.h)
	row := 0
	broadcast := func() { // A's element for the next row that needs a register
		for row < t.h && embedded(row) {
			row++
		}
		if row < t.h {
			av[row] = t.x.NewV()
			t.x.VBROADCASTSS(t.a.At(row, 4*kk), av[row])
			row++
		}
	}
	for range ahead {
		broadcast()
	}
	for i := range t.h {
		if embedded(i) {
			for j := range bv {
				t.x.VFMADD231PS_BCST(t.a.At(i, 4*kk), t.used(j, bv[j]), t.used(j, t.acc[i][j]))
			}
			continue
		}
		for j := range bv {
			t.x.VFMADD231PS(t.used(j, bv[j]), t.used(j, av[i]), t.used(j, t.acc[i][j]))
		}
		broadcast()
	}
}

// rowOfB loads the row of B for step kk, packs it, fetches ahead, and moves to the next row.
func (t *x86Tile) rowOfB(kk int) []reg.VecVirtual {
	bv := make([]reg.VecVirtual, t.vectors)
	for j := range bv {
		bv[j] = t.x.NewV()
		if t.halves != nil {
			t.halves(t.x, operand.Mem{Base: t.b, Disp: j * t.lanes * 2}, bv[j])
			if j == 0 && (t.lanes == 16 || kk%2 == 0) {
				t.x.PREFETCHT0(operand.Mem{Base: t.b, Disp: halvesAhead})
			}
			continue
		}
		t.loadColumns(operand.Mem{Base: t.b, Disp: j * t.lanes * 4}, j, bv[j])
	}
	if t.packed != nil {
		for j := range bv {
			t.x.VMOVUPS(bv[j], operand.Mem{Base: t.packed, Disp: (kk*t.vectors + j) * t.lanes * 4})
		}
	}
	for j := range bv {
		t.prefetch(j)
	}
	t.nextRowOfB()
	return bv
}

// halvesAhead is how far ahead panels of 16 bits are fetched, in bytes.
const halvesAhead = 2048

// fetches reports whether the tile fetches panels ahead.
func (t *x86Tile) fetches() bool {
	return !t.near && t.halves == nil && (t.mask == nil || t.x.Opmasks() && t.vectors == 2)
}

// prefetchRows is how many rows ahead a panel is fetched into the second-level cache if the panel
// before it did not fetch it: about 100 cycles at 8 rows of A. In the first level, rows a multiple
// of 4 KiB apart would evict each other. It is the scale factor of an address, so at most 8.
const prefetchRows = 8

// startFetch sets where a tile begins to fetch B, and the pace: see gemmPanel. A tile that packs
// fetches the panel next to its own: nothing else would fetch its rows before they are packed.
func (t *x86Tile) startFetch(h vec.Int) {
	b := t.x.Load64("b_base")
	t.fetch, t.pace = t.x.GP64(), t.x.GP64()
	t.x.MOVQ(t.ldb, t.pace)
	if t.packed != nil {
		t.x.LEAQ(operand.Mem{Base: b, Disp: t.vectors * t.lanes * 4}, t.fetch)
		return
	}
	inPlace, ready := operand.LabelRef("in_place"+t.suffix), operand.LabelRef("ready"+t.suffix)
	t.x.LEAQ(operand.Mem{Base: b, Index: t.ldb, Scale: prefetchRows}, t.fetch)
	next := t.x.Stride("next")
	t.x.CMPQ(next, x86.Imm(0))
	t.x.JEQ(ready)
	t.x.MOVQ(t.x.Load64("pace"), t.pace)
	turn := t.x.Load64("turn")
	t.x.ORQ(t.pace, turn)
	t.x.JEQ(inPlace)
	t.x.MOVQ(t.ahead, t.fetch)
	t.x.JMP(ready)
	t.x.Label(string(inPlace))
	t.x.MOVQ(t.ldb, t.pace)
	t.x.CMPQ(t.m, h.Reg.(reg.Register))
	t.x.JNE(ready)
	t.x.LEAQ(operand.Mem{Base: b, Index: next, Scale: 1}, t.fetch)
	t.x.Label(string(ready))
}

// prefetch fetches vector j of a row of B. It takes the line of the last byte: rows may begin
// anywhere, and the line of the first byte belongs to the panel before as well.
func (t *x86Tile) prefetch(j int) {
	m, v := operand.Mem{Base: t.fetch}, j
	switch {
	case t.panel != nil: // two streams, which the hardware prefetches
		return
	case t.beside && t.h < 3: // the second-level cache delivers no more than this
		return
	case t.beside:
		m.Base, v = t.b, t.vectors+j
	case !t.fetches():
		return
	}
	if m.Disp = v * t.lanes * 4; m.Disp%cacheLine == 0 {
		t.x.PREFETCHT1(m.Offset(cacheLine - 1))
	}
}

// nextRowOfB moves to the next row and to the part fetched with it.
func (t *x86Tile) nextRowOfB() {
	t.x.ADDQ(t.ldb, t.b)
	if t.fetches() {
		t.x.ADDQ(t.pace, t.fetch)
	}
}

// broadcasts returns how the elements of A reach the multiply-adds: how many are broadcast into
// registers ahead of their use, and the rows whose multiply-adds broadcast their own operand. With
// two vectors, that form loads the element twice. With it in all rows, the two load ports are the
// bound (30 loads for 14 cycles of multiply-adds); with it in no row, there are more instructions
// to start. With it in a third of the rows and two broadcasts ahead, a tile runs at the
// multiply-adds' bound in the model of Skylake-X (make static-estimates); Zen 4 runs all variants
// equally fast. With one vector, separate broadcasts are 16% slower on Zen 4.
func (t *x86Tile) broadcasts() (ahead int, embedded func(row int) bool) {
	if !t.x.Tier().Embedded {
		return 1, func(int) bool { return false }
	}
	if t.vectors == 1 { // each element is used once
		return 0, func(int) bool { return true }
	}
	return min(2, t.free(t.vectors)), func(row int) bool { return row%3 == 2 }
}

// free returns the number of registers except the sums and some of B.
func (t *x86Tile) free(ofB int) int { return len(t.x.Tier().Vectors) - t.h*t.vectors - ofB }

// used returns the part of a register that is multiplied for vector j.
func (t *x86Tile) used(j int, v reg.VecVirtual) reg.Register {
	if t.short && j == t.vectors-1 {
		return v.AsY()
	}
	return v
}

// maskOf returns the mask of vector j, or nil if all its lanes are columns.
func (t *x86Tile) maskOf(j int) reg.Register {
	if j == t.vectors-1 {
		return t.mask
	}
	return nil
}

// loadColumns loads vector j of a row of the panel, but only the columns that the panel has.
func (t *x86Tile) loadColumns(m operand.Mem, j int, v reg.VecVirtual) {
	if mask := t.maskOf(j); mask != nil {
		t.x.LoadMasked(m, mask, v)
		return
	}
	t.x.VMOVUPS(m, v)
}
