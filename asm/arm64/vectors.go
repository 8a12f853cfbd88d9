package arm64

import "slices"

// This file has the instructions on vectors that Go's assembler knows. words.go has those that it
// lacks.

// VDUP sets every lane of d to one lane of n.
func (f *Function) VDUP(n Element, d Arranged) {
	f.lane("VDUP", n)
	if arrangements[d.arr].lane != n.size {
		f.errorf("VDUP: a lane of %c into %s", n.size, d.arr)
	}
	f.add(node{op: "VDUP", args: []operand{n, d}, reads: []*register{n.v.r}, writes: []*register{d.v.r}})
}

// VDUPGP sets every lane of d to the low bits of n.
func (f *Function) VDUPGP(n GP, d Arranged) {
	f.add(node{op: "VDUP", args: []operand{n, d}, reads: []*register{n.r}, writes: []*register{d.v.r}})
}

// VMOV sets d to n.
func (f *Function) VMOV(n, d Vec) {
	f.add(node{op: "VMOV", args: []operand{n.B16(), d.B16()}, reads: []*register{n.r}, writes: []*register{d.r}, move: true})
}

// VMOVI sets every byte of d to i.
func (f *Function) VMOVI(i int, d Arranged) {
	if i < 0 || i > 255 || d.arr != B16 && d.arr != B8 {
		f.errorf("VMOVI: %d into %s, want 0 to 255 into B8 or B16", i, d.arr)
	}
	f.add(node{op: "VMOVI", args: []operand{Imm(i), d}, writes: []*register{d.v.r}})
}

var (
	bytesOnly = []Arrangement{B8, B16}
	integers  = []Arrangement{B8, B16, H4, H8, S2, S4, D2}
	floats    = []Arrangement{S2, S4, D2}
)

// vec appends a native vector instruction whose operands have the same arrangement.
func (f *Function) vec(op string, allowed []Arrangement, from []Arranged, d Arranged, readsDst bool, first ...operand) {
	n := node{op: op, args: first, writes: []*register{d.v.r}}
	for _, a := range append(slices.Clone(from), d) {
		if a.arr != d.arr || !slices.Contains(allowed, a.arr) {
			f.errorf("%s: operand of arrangement %s beside a destination of %s, want one of %v", op, a.arr, d.arr, allowed)
			return
		}
		n.args = append(n.args, a)
	}
	for _, a := range from {
		n.reads = append(n.reads, a.v.r)
	}
	if readsDst {
		n.reads = append(n.reads, d.v.r)
	}
	f.add(n)
}

// VFMLA adds n * m to d, rounded once. m may be one lane.
func (f *Function) VFMLA(m VecOperand, n, d Arranged) { f.multiplyAdd("VFMLA", m, n, d) }

// VFMLS subtracts n * m from d, rounded once. m may be one lane.
func (f *Function) VFMLS(m VecOperand, n, d Arranged) { f.multiplyAdd("VFMLS", m, n, d) }

func (f *Function) multiplyAdd(op string, m VecOperand, n, d Arranged) {
	if e, ok := m.(Element); ok {
		f.word(op, byElement, true, []VecOperand{e, n}, d, 0)
		return
	}
	f.vec(op, floats, []Arranged{m.(Arranged), n}, d, true)
}

// VADD sets d to n + m, as integers.
func (f *Function) VADD(m, n, d Arranged) { f.vec("VADD", integers, []Arranged{m, n}, d, false) }

// VADDP sets d to the sums of the adjacent pairs of n, and then of m, as integers.
func (f *Function) VADDP(m, n, d Arranged) { f.vec("VADDP", integers, []Arranged{m, n}, d, false) }

// VSUB sets d to n - m, as integers.
func (f *Function) VSUB(m, n, d Arranged) { f.vec("VSUB", integers, []Arranged{m, n}, d, false) }

// VAND sets d to n & m.
func (f *Function) VAND(m, n, d Arranged) { f.vec("VAND", bytesOnly, []Arranged{m, n}, d, false) }

// VORR sets d to n | m.
func (f *Function) VORR(m, n, d Arranged) { f.vec("VORR", bytesOnly, []Arranged{m, n}, d, false) }

// VEOR sets d to n ^ m. To clear a register use VMOVI, which reads nothing.
func (f *Function) VEOR(m, n, d Arranged) { f.vec("VEOR", bytesOnly, []Arranged{m, n}, d, false) }

// VCNT sets d to the number of set bits in each byte of n.
func (f *Function) VCNT(n, d Arranged) { f.vec("VCNT", bytesOnly, []Arranged{n}, d, false) }

// VBSL sets the bits of d that are 1 to those of n, and the other bits to those of m.
func (f *Function) VBSL(m, n, d Arranged) { f.vec("VBSL", bytesOnly, []Arranged{m, n}, d, true) }

// VBIT sets the bits of d where m has ones to those of n; the other bits of d keep their values.
func (f *Function) VBIT(m, n, d Arranged) { f.vec("VBIT", bytesOnly, []Arranged{m, n}, d, true) }

// VBIF sets the bits of d where m has zeros to those of n; the other bits of d keep their values.
func (f *Function) VBIF(m, n, d Arranged) { f.vec("VBIF", bytesOnly, []Arranged{m, n}, d, true) }

// VEXT sets d to 16 (or 8) bytes of n followed by m, from byte i on.
func (f *Function) VEXT(i int, m, n, d Arranged) {
	if i < 0 || i >= arrangements[d.arr].lanes {
		f.errorf("VEXT: from byte %d of %s", i, d.arr)
	}
	f.vec("VEXT", bytesOnly, []Arranged{m, n}, d, false, Imm(i))
}

// tableOf is a vector printed as a list.
type tableOf struct{ v Vec }

func (t tableOf) text() string { return "[" + t.v.B16().text() + "]" }

// VTBL sets d to the bytes of table at the indices in n, and 0 where an index is out of range.
func (f *Function) VTBL(n Arranged, table Vec, d Arranged) {
	if n.arr != B16 || d.arr != B16 {
		f.errorf("VTBL: from %s to %s, want B16", n.arr, d.arr)
	}
	f.add(node{op: "VTBL", args: []operand{n, tableOf{table}, d}, reads: []*register{n.v.r, table.r}, writes: []*register{d.v.r}})
}

// pairOf is two vectors with consecutive numbers, printed as a list.
type pairOf struct{ a, b Vec }

func (t pairOf) text() string { return "[" + t.a.B16().text() + ", " + t.b.B16().text() + "]" }

// VTBL2 does the same as VTBL, for a table of 32 bytes in a and b, which are a TablePair.
func (f *Function) VTBL2(n Arranged, a, b Vec, d Arranged) {
	if n.arr != B16 || d.arr != B16 {
		f.errorf("VTBL: from %s to %s, want B16", n.arr, d.arr)
	}
	if !a.r.fixed || !b.r.fixed || b.r.physical != a.r.physical+1 {
		f.errorf("VTBL: the table is not a TablePair")
	}
	f.add(node{op: "VTBL", args: []operand{n, pairOf{a, b}, d}, reads: []*register{n.v.r, a.r, b.r}, writes: []*register{d.v.r}})
}

// VZIP1 sets d to the lanes of the lower halves of n and m, alternating.
func (f *Function) VZIP1(m, n, d Arranged) { f.vec("VZIP1", integers, []Arranged{m, n}, d, false) }

// VZIP2 sets d to the lanes of the upper halves of n and m, alternating.
func (f *Function) VZIP2(m, n, d Arranged) { f.vec("VZIP2", integers, []Arranged{m, n}, d, false) }

// VSHL sets d to n << i, as integers.
func (f *Function) VSHL(i int, n, d Arranged) {
	if top := arrangements[d.arr].bits - 1; i < 0 || i > top {
		f.errorf("VSHL: shift by %d, want 0 to %d", i, top)
	}
	f.vec("VSHL", integers, []Arranged{n}, d, false, Imm(i))
}

// VUSHR sets d to n >> i, unsigned.
func (f *Function) VUSHR(i int, n, d Arranged) {
	if top := arrangements[d.arr].bits; i < 1 || i > top {
		f.errorf("VUSHR: shift by %d, want 1 to %d", i, top)
	}
	f.vec("VUSHR", integers, []Arranged{n}, d, false, Imm(i))
}
