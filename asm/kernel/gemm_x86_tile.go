package kernel

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
	"github.com/avoformer/avoformer/asm/vec/x86"
)

// x86Tile is the state of a tile during its emission.
type x86Tile struct {
	*gemmX86Gen
	x86Columns
	h     int
	label func(what string) string
	acc   [][]reg.VecVirtual
	// a returns the memory disp bytes after the next element of row i of A; bases
	// has the registers that advance with it.
	a     func(i, disp int) operand.Mem
	bases []reg.Register
	b, k  reg.GPVirtual // the next row of B; the steps left
	// fetch is the part of B that is fetched next, and pace the distance to the part of the
	// next step of k.
	fetch, pace reg.GPVirtual
	left        reg.GPVirtual // pieces to fetch, if all operands are near
}

// tile emits C[0:h, panel] = alpha * A[0:h, 0:k] * B + beta * C.
func (g *gemmX86Gen) tile(h int, label func(what string) string, columns x86Columns) {
	t := &x86Tile{gemmX86Gen: g, x86Columns: columns, h: h, label: label}
	t.acc = make([][]reg.VecVirtual, h)
	for i := range t.acc {
		t.acc[i] = make([]reg.VecVirtual, t.vectors)
		for j := range t.acc[i] {
			t.acc[i][j] = t.x.NewV()
			t.x.VXORPS(t.acc[i][j], t.acc[i][j], t.acc[i][j])
		}
	}
	if !t.near {
		t.fetchC()
	}
	switch {
	case t.fetches():
		t.startFetch()
	case t.fetchesPieces():
		t.fetch, t.left, t.pace = t.x.GP64(), t.x.GP64(), t.x.Load64("pace")
		t.x.MOVQ(t.ahead, t.fetch)
		t.x.MOVQ(t.gemmX86Gen.left, t.left)
	}
	t.sum()
	t.scaleAndStore()
}

// fetchC fetches the rows of C that the end of the tile reads or writes.
func (t *x86Tile) fetchC() {
	t.x.Context.Comment("C is needed when k is through; in the first level its rows could push out A's")
	next, ldc := t.x.GP64(), t.x.Stride("ldc")
	t.x.MOVQ(t.c, next)
	for range t.h {
		for line := 0; line < 4*t.lanes*t.vectors; line += cacheLine {
			t.x.PREFETCHT1(operand.Mem{Base: next, Disp: line + cacheLine - 1}) // as in prefetch
		}
		t.x.ADDQ(ldc, next)
	}
}

// sum emits the loop over k: A's pointers advance by the unrolled steps, B by ldb each step.
func (t *x86Tile) sum() {
	base := t.x.GP64()
	t.b, t.k = t.x.Load64("b_base"), t.x.Load64("k")
	t.x.MOVQ(t.gemmX86Gen.a, base)
	t.a, t.bases = t.x.IndexedRows(t.h, base, t.lda)
	step := t.step
	if t.vectors > 3 {
		step = t.wideStep
	}
	unroll := 4
	switch {
	case t.masks != nil && !t.near:
		unroll = 1
	case t.h*t.vectors > 14:
		unroll = 2
	}
	loopU, rest, loop1, end := t.label("kloop_"), t.label("krest_"), t.label("k1_"), t.label("kend_")
	if unroll > 1 {
		t.x.SUBQ(x86.Imm(unroll), t.k)
		t.x.JLT(operand.LabelRef(rest))
		t.x.Label(loopU)
		for kk := range unroll {
			step(kk)
		}
		t.advance(unroll)
		t.turn(unroll)
		t.fetchPiece()
		t.x.SUBQ(x86.Imm(unroll), t.k)
		t.x.JGE(operand.LabelRef(loopU))
		t.x.Label(rest)
		t.x.ADDQ(x86.Imm(unroll), t.k)
	} else {
		t.x.TESTQ(t.k, t.k)
	}
	t.x.JZ(operand.LabelRef(end))
	t.x.Label(loop1)
	step(0)
	t.advance(1)
	t.x.DECQ(t.k)
	t.x.JNZ(operand.LabelRef(loop1))
	t.x.Label(end)
	if t.fetches() && t.packed == nil || t.fetchesPieces() {
		t.x.MOVQ(t.fetch, t.ahead)
	}
	if t.fetchesPieces() {
		t.x.MOVQ(t.left, t.gemmX86Gen.left)
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

// turn adds the parameter turn to the address that is fetched next, whenever the steps left of k are a
// multiple of the parameter steps. The wide tiles fetch only rows of B.
func (t *x86Tile) turn(unroll int) {
	if t.vectors != 2 || t.packed != nil || t.halves != nil || t.near {
		return
	}
	skip, left := operand.LabelRef(t.label("kturn_")), t.x.GP64()
	t.x.MOVQ(t.x.Load64("steps"), left)
	t.x.SUBQ(x86.Imm(unroll), left) // the bits of multiples of unroll below steps
	t.x.TESTQ(t.k, left)
	t.x.JNE(skip)
	t.x.ADDQ(t.x.ParamAddr("turn"), t.fetch)
	t.x.Label(string(skip))
}

// advance moves past some steps of A, and past the rows packed in them.
func (t *x86Tile) advance(steps int) {
	for _, r := range t.bases {
		t.x.ADDQ(x86.Imm(4*steps), r)
	}
	if t.packed != nil {
		t.x.ADDQ(x86.Imm(steps*t.vectors*t.lanes*4), t.packed)
	}
}

// wideStep emits step kk of a wide tile, which holds A's elements and loads B's vectors one by one.
func (t *x86Tile) wideStep(kk int) {
	free := len(t.x.Tier().Vectors) - 1 - t.h*t.vectors // registers except the sums and one of B
	av := make([]reg.VecVirtual, min(t.h, free))
	for i := range av {
		av[i] = t.x.NewV()
		t.x.VBROADCASTSS(t.a(i, 4*kk), av[i])
	}
	for j := range t.vectors {
		bv := t.x.NewV()
		at := operand.Mem{Base: t.b, Disp: j * t.lanes * 4}
		if t.panel != nil && j >= 2 {
			at = operand.Mem{Base: t.b, Index: t.panel, Scale: 1, Disp: (j - 2) * t.lanes * 4}
		}
		t.loadColumns(at, j, bv)
		t.prefetch(j)
		for i := range t.acc {
			if i < len(av) {
				t.x.VFMADD231PS(t.used(j, bv), t.used(j, av[i]), t.used(j, t.acc[i][j]))
			} else {
				t.x.VFMADD231PS_BCST(t.a(i, 4*kk), t.used(j, bv), t.used(j, t.acc[i][j]))
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
			t.x.VBROADCASTSS(t.a(row, 4*kk), av[row])
			row++
		}
	}
	for range ahead {
		broadcast()
	}
	for i := range t.h {
		if embedded(i) {
			for j := range bv {
				t.x.VFMADD231PS_BCST(t.a(i, 4*kk), t.used(j, bv[j]), t.used(j, t.acc[i][j]))
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

// scaleAndStore ends the tile.
func (t *x86Tile) scaleAndStore() {
	base := t.x.GP64()
	t.x.MOVQ(t.c, base)
	ldc := t.x.Stride("ldc")
	c, _ := t.x.IndexedRows(t.h, base, ldc)
	at := func(i, j int) operand.Mem { return c(i, j*t.lanes*4) }
	if t.panel != nil {
		second := t.x.Stride("second")
		t.x.ADDQ(base, second)
		c2, _ := t.x.IndexedRows(t.h, second, ldc)
		at = func(i, j int) operand.Mem {
			if j >= 2 {
				return c2(i, (j-2)*t.lanes*4)
			}
			return c(i, j*t.lanes*4)
		}
	}
	acc := make([][]vec.V, t.h)
	for i := range acc {
		for _, r := range t.acc[i] {
			acc[i] = append(acc[i], t.x.Value(r))
		}
	}
	tileEnd{acc: acc,
		unlessAlpha1: func(body func()) {
			t.x.CMPL(t.x.ParamAddr("alpha"), operand.U32(0x3f800000)) // 1
			t.x.JEQ(operand.LabelRef(t.label("scaled_")))
			body()
			t.x.Label(t.label("scaled_"))
		},
		unlessBeta0: func(body func()) {
			bits := t.x.GP32()
			t.x.MOVL(t.x.ParamAddr("beta"), bits)
			t.x.ADDL(bits, bits) // drops the sign: -0 is 0 too
			t.x.JZ(operand.LabelRef(t.label("plain_")))
			body()
			t.x.Label(t.label("plain_"))
		},
		load: func(i, j int) []vec.V {
			old := t.x.NewV()
			t.loadColumns(at(i, j), j, old)
			return []vec.V{t.x.Value(old)}
		},
		store: func(i int) {
			for j, v := range t.acc[i] {
				t.storeColumns(v, j, at(i, j))
			}
		},
	}.emit(t.x)
}

// halvesAhead is how far ahead panels of 16 bits are fetched, in bytes.
const halvesAhead = 2048

// fetches reports whether the tile fetches panels ahead.
func (t *x86Tile) fetches() bool { return t.masks == nil && !t.near && t.halves == nil }

// startFetch sets where a tile begins to fetch B, and the pace: see gemmPanel. A tile that packs
// fetches the panel next to its own: nothing else would fetch its rows before they are packed.
func (t *x86Tile) startFetch() {
	b := t.x.Load64("b_base")
	t.fetch, t.pace = t.x.GP64(), t.x.GP64()
	t.x.MOVQ(t.ldb, t.pace)
	if t.packed != nil {
		t.x.LEAQ(operand.Mem{Base: b, Disp: t.vectors * t.lanes * 4}, t.fetch)
		return
	}
	inPlace, ready := operand.LabelRef(t.label("in_place_")), operand.LabelRef(t.label("ready_"))
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
	t.x.CMPQ(t.m, x86.Imm(t.h))
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

// broadcasts returns how the elements of A reach the multiply-adds: how many
// are broadcast into registers ahead of their use, and the rows whose
// multiply-adds broadcast their own operand. With two vectors, that form loads
// the element twice. With it in all rows, the two load ports are the bound (30
// loads for 14 cycles of multiply-adds); with it in no row, there are more
// instructions to start. With it in a third of the rows and two broadcasts
// ahead, a tile runs at the multiply-adds' bound in the model of Skylake-X
// (make static-estimates); Zen 4 runs all variants equally fast. With one
// vector, separate broadcasts are 16% slower on Zen 4.
func (t *x86Tile) broadcasts() (ahead int, embedded func(row int) bool) {
	if !t.x.Tier().Embedded {
		return 1, func(int) bool { return false }
	}
	if t.vectors == 1 { // each element is used once
		return 0, func(int) bool { return true }
	}
	return 2, func(row int) bool { return row%3 == 2 }
}

// used returns the part of a register that is multiplied for vector j.
func (t *x86Tile) used(j int, v reg.VecVirtual) reg.Register {
	if t.half && j == t.vectors-1 {
		return v.AsY()
	}
	return v
}

// maskOf returns the mask of vector j, or nil if all its lanes are columns.
func (t *x86Tile) maskOf(j int) reg.Register {
	if t.masks == nil {
		return nil
	}
	return t.masks[j]
}

// loadColumns loads vector j of a row of the panel, but only the columns that the panel has.
func (t *x86Tile) loadColumns(m operand.Mem, j int, v reg.VecVirtual) {
	if mask := t.maskOf(j); mask != nil {
		t.x.LoadMasked(m, mask, v)
		return
	}
	t.x.VMOVUPS(m, v)
}

// storeColumns stores vector j of a row of the panel, but only the columns that the panel has.
func (t *x86Tile) storeColumns(v reg.VecVirtual, j int, m operand.Mem) {
	if mask := t.maskOf(j); mask != nil {
		t.x.StoreMasked(v, mask, m)
		return
	}
	t.x.VMOVUPS(v, m)
}
