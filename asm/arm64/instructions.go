package arm64

import (
	"math/bits"
	"slices"
)

// Instructions that Go's assembler knows. Each comment gives the effect.

// imm12 reports whether ADD, SUB and CMP take the immediate in one instruction.
func (f *Function) imm12(op string, s Scalar) {
	if i, ok := s.(Imm); ok && (i < 0 || i > 0xfff && (i&0xfff != 0 || i > 0xfff000)) {
		f.errorf("%s: immediate %d, want 0 to 4095, or a multiple of 4096 to 0xfff000", op, i)
	}
	if s, ok := s.(Shifted); ok && (s.n < 0 || s.n > 63) {
		f.errorf("%s: shift by %d, want 0 to 63", op, s.n)
	}
}

func scalarReads(s Scalar) []*register {
	switch s := s.(type) {
	case GP:
		return []*register{s.r}
	case Shifted:
		return []*register{s.g.r}
	}
	return nil
}

func (f *Function) arith(op string, m Scalar, n, d GP) {
	f.add(node{op: op, args: []operand{m, n, d}, reads: append(scalarReads(m), n.r), writes: []*register{d.r}})
}

// ADD is d = n + m.
func (f *Function) ADD(m Scalar, n, d GP) { f.imm12("ADD", m); f.arith("ADD", m, n, d) }

// SUB is d = n - m.
func (f *Function) SUB(m Scalar, n, d GP) { f.imm12("SUB", m); f.arith("SUB", m, n, d) }

// SUBS is d = n - m, and sets the flags.
func (f *Function) SUBS(m Scalar, n, d GP) { f.imm12("SUBS", m); f.arith("SUBS", m, n, d) }

// MUL is d = n * m.
func (f *Function) MUL(m, n, d GP) { f.arith("MUL", m, n, d) }

// MADD is d = a + n*m.
func (f *Function) MADD(m, a, n, d GP) {
	f.add(node{op: "MADD", args: []operand{m, a, n, d}, reads: []*register{m.r, a.r, n.r}, writes: []*register{d.r}})
}

// AND is d = n & m.
func (f *Function) AND(m Scalar, n, d GP) {
	switch i := m.(type) {
	case Shifted:
		f.errorf("AND: shifted register")
	case Imm:
		// Any rotated run of ones; other patterns that encode are not needed.
		u := uint64(i)
		if run := u >> bits.TrailingZeros64(u); u == 0 || run&(run+1) != 0 || run == 1<<64-1 {
			f.errorf("AND: immediate %#x, want one run of ones", u)
		}
	}
	f.arith("AND", m, n, d)
}

func (f *Function) shift(op string, m Scalar, n, d GP) {
	switch i := m.(type) {
	case Shifted:
		f.errorf("%s: shifted register", op)
	case Imm:
		if i < 0 || i > 63 {
			f.errorf("%s: shift by %d, want 0 to 63", op, i)
		}
	}
	f.arith(op, m, n, d)
}

// LSL is d = n << m.
func (f *Function) LSL(m Scalar, n, d GP) { f.shift("LSL", m, n, d) }

// LSR is d = n >> m, unsigned.
func (f *Function) LSR(m Scalar, n, d GP) { f.shift("LSR", m, n, d) }

// ASR is d = n >> m, signed.
func (f *Function) ASR(m Scalar, n, d GP) { f.shift("ASR", m, n, d) }

// CMP sets the flags for n compared with m: BLT then means n < m.
func (f *Function) CMP(m Scalar, n GP) {
	f.imm12("CMP", m)
	f.add(node{op: "CMP", args: []operand{m, n}, reads: append(scalarReads(m), n.r)})
}

// Cond is a condition of the flags.
type Cond string

// The conditions, for the comparison n with m.
const (
	EQ Cond = "EQ"
	NE Cond = "NE"
	LT Cond = "LT" // signed n < m
	LE Cond = "LE"
	GT Cond = "GT"
	GE Cond = "GE"
	LO Cond = "LO" // unsigned n < m
	LS Cond = "LS"
	HI Cond = "HI"
	HS Cond = "HS"
)

// CSEL is d = n if the condition holds, else m.
func (f *Function) CSEL(c Cond, n, m, d GP) {
	f.add(node{op: "CSEL", args: []operand{literal(c), n, m, d}, reads: []*register{n.r, m.r}, writes: []*register{d.r}})
}

// B goes to the label.
func (f *Function) B(label string) {
	f.add(node{op: "B", args: []operand{literal(label)}, target: label, final: true})
}

// BCond goes to the label if the condition holds.
func (f *Function) BCond(c Cond, label string) {
	f.add(node{op: "B" + string(c), args: []operand{literal(label)}, target: label})
}

// CBZ goes to the label if n is 0.
func (f *Function) CBZ(n GP, label string) { f.branchOn("CBZ", n, label) }

// CBNZ goes to the label if n is not 0.
func (f *Function) CBNZ(n GP, label string) { f.branchOn("CBNZ", n, label) }

func (f *Function) branchOn(op string, n GP, label string, bit ...operand) {
	f.add(node{op: op, args: append(bit, n, literal(label)), reads: []*register{n.r}, target: label})
}

// TBZ goes to the label if bit i of n is 0.
func (f *Function) TBZ(i int, n GP, label string) { f.testBit("TBZ", i, n, label) }

// TBNZ goes to the label if bit i of n is 1.
func (f *Function) TBNZ(i int, n GP, label string) { f.testBit("TBNZ", i, n, label) }

func (f *Function) testBit(op string, i int, n GP, label string) {
	if i < 0 || i > 63 {
		f.errorf("%s: bit %d, want 0 to 63", op, i)
	}
	f.branchOn(op, n, label, Imm(i))
}

// RET returns.
func (f *Function) RET() { f.add(node{op: "RET", final: true}) }

// MOVD is d = n.
func (f *Function) MOVD(n, d GP) {
	f.add(node{op: "MOVD", args: []operand{n, d}, reads: []*register{n.r}, writes: []*register{d.r}, move: n != ZR && d != ZR})
}

// SCVTFS is lane 0 of d = n as a float, and zeros above.
func (f *Function) SCVTFS(n GP, d Vec) {
	f.add(node{op: "SCVTFS", args: []operand{n, d}, reads: []*register{n.r}, writes: []*register{d.r}})
}

// MOVI is d = n, in one to four instructions.
func (f *Function) MOVI(n int64, d GP) {
	f.add(node{op: "MOVD", args: []operand{Imm(n), d}, writes: []*register{d.r}})
}

// FMOVSToGP is d = the bits of lane 0 of n, zero extended.
func (f *Function) FMOVSToGP(n Vec, d GP) {
	f.add(node{op: "FMOVS", args: []operand{n, d}, reads: []*register{n.r}, writes: []*register{d.r}})
}

// FMOVSFromGP is lane 0 of d = the low bits of n, and zeros above.
func (f *Function) FMOVSFromGP(n GP, d Vec) {
	f.add(node{op: "FMOVS", args: []operand{n, d}, reads: []*register{n.r}, writes: []*register{d.r}})
}

// memory checks an offset and makes the registers that m reads and writes.
// An access takes size bytes, and offsets of one instruction reach from -256 to
// 255, and in multiples of the size up to 4095 of them.
func (f *Function) memory(op string, m Mem, size int) (reads, writes []*register) {
	unscaled := m.disp >= -256 && m.disp <= 255
	scaled := m.disp >= 0 && m.disp%size == 0 && m.disp/size <= 4095
	if !unscaled && (m.post || !scaled) {
		f.errorf("%s: offset %d is out of reach of one instruction", op, m.disp)
	}
	return m.registers()
}

func (m Mem) registers() (reads, writes []*register) {
	if m.post {
		writes = []*register{m.base.r}
	}
	return []*register{m.base.r}, writes
}

func (f *Function) load(op string, m Mem, size int, d operand, dr *register) {
	reads, writes := f.memory(op, m, size)
	f.add(node{op: op + m.suffix(), args: []operand{m, d}, reads: reads, writes: append(writes, dr)})
}

func (f *Function) store(op string, s operand, sr *register, m Mem, size int) {
	reads, writes := f.memory(op, m, size)
	f.add(node{op: op + m.suffix(), args: []operand{s, m}, reads: append(reads, sr), writes: writes})
}

// MOVDLoad is d = 64 bits of memory.
func (f *Function) MOVDLoad(m Mem, d GP) { f.load("MOVD", m, 8, d, d.r) }

// MOVDStore is 64 bits of memory = s.
func (f *Function) MOVDStore(s GP, m Mem) { f.store("MOVD", s, s.r, m, 8) }

// MOVHULoad is d = 16 bits of memory, and zeros above.
func (f *Function) MOVHULoad(m Mem, d GP) { f.load("MOVHU", m, 2, d, d.r) }

// FMOVQ is d = 128 bits of memory.
func (f *Function) FMOVQ(m Mem, d Vec) { f.load("FMOVQ", m, 16, d, d.r) }

// FMOVD is d = 64 bits of memory, and zeros above.
func (f *Function) FMOVD(m Mem, d Vec) { f.load("FMOVD", m, 8, d, d.r) }

// FMOVS is d = 32 bits of memory, and zeros above.
func (f *Function) FMOVS(m Mem, d Vec) { f.load("FMOVS", m, 4, d, d.r) }

// FMOVQStore is 128 bits of memory = s.
func (f *Function) FMOVQStore(s Vec, m Mem) { f.store("FMOVQ", s, s.r, m, 16) }

// FMOVDStore is 64 bits of memory = the low half of s.
func (f *Function) FMOVDStore(s Vec, m Mem) { f.store("FMOVD", s, s.r, m, 8) }

// FMOVSStore is 32 bits of memory = lane 0 of s.
func (f *Function) FMOVSStore(s Vec, m Mem) { f.store("FMOVS", s, s.r, m, 4) }

func (f *Function) pairOffset(op string, m Mem) {
	if m.disp%16 != 0 || m.disp < -1024 || m.disp > 1008 {
		f.errorf("%s: offset %d, want a multiple of 16 from -1024 to 1008", op, m.disp)
	}
}

// FLDPQ is a, b = two times 128 bits of consecutive memory.
func (f *Function) FLDPQ(m Mem, a, b Vec) {
	f.pairOffset("FLDPQ", m)
	if a == b {
		f.errorf("FLDPQ: both destinations are the same register")
	}
	reads, writes := m.registers()
	f.add(node{op: "FLDPQ" + m.suffix(), args: []operand{m, pair{a, b}}, reads: reads, writes: append(writes, a.r, b.r)})
}

// FSTPQ is two times 128 bits of consecutive memory = a, b.
func (f *Function) FSTPQ(a, b Vec, m Mem) {
	f.pairOffset("FSTPQ", m)
	reads, writes := m.registers()
	f.add(node{op: "FSTPQ" + m.suffix(), args: []operand{pair{a, b}, m}, reads: append(reads, a.r, b.r), writes: writes})
}

// plain checks that m is a register with no offset.
func (f *Function) plain(op string, m Mem) []*register {
	if m.disp != 0 || m.post {
		f.errorf("%s: takes no offset", op)
	}
	return []*register{m.base.r}
}

// VLD1R is every lane of d = one element of memory.
func (f *Function) VLD1R(m Mem, d Arranged) {
	f.add(node{op: "VLD1R", args: []operand{m, list{d}}, reads: f.plain("VLD1R", m), writes: []*register{d.v.r}})
}

// VLD1Lane is one lane of d = memory; the other lanes stay.
func (f *Function) VLD1Lane(m Mem, d Element) {
	f.lane("VLD1", d)
	f.add(node{op: "VLD1", args: []operand{m, d}, reads: append(f.plain("VLD1", m), d.v.r), writes: []*register{d.v.r}})
}

// VST1Lane is memory = one lane of s.
func (f *Function) VST1Lane(s Element, m Mem) {
	f.lane("VST1", s)
	f.add(node{op: "VST1", args: []operand{s, m}, reads: append(f.plain("VST1", m), s.v.r)})
}

// lane checks that a lane exists.
func (f *Function) lane(op string, e Element) {
	if n := 128 / elementBits[e.size]; e.lane < 0 || e.lane >= n {
		f.errorf("%s: lane %d of %c, want 0 to %d", op, e.lane, e.size, n-1)
	}
}

// VDUP is every lane of d = one lane of n.
func (f *Function) VDUP(n Element, d Arranged) {
	f.lane("VDUP", n)
	if arrangements[d.arr].lane != n.size {
		f.errorf("VDUP: a lane of %c into %s", n.size, d.arr)
	}
	f.add(node{op: "VDUP", args: []operand{n, d}, reads: []*register{n.v.r}, writes: []*register{d.v.r}})
}

// VDUPGP is every lane of d = the low bits of n.
func (f *Function) VDUPGP(n GP, d Arranged) {
	f.add(node{op: "VDUP", args: []operand{n, d}, reads: []*register{n.r}, writes: []*register{d.v.r}})
}

// VMOV is d = n.
func (f *Function) VMOV(n, d Vec) {
	f.add(node{op: "VMOV", args: []operand{n.B16(), d.B16()}, reads: []*register{n.r}, writes: []*register{d.r}, move: true})
}

// VMOVI is every byte of d = i.
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

// vec appends a native vector instruction whose operands have one arrangement.
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

// VFMLA is d += n * m, rounded once; m may be one lane.
func (f *Function) VFMLA(m VecOperand, n, d Arranged) { f.multiplyAdd("VFMLA", m, n, d) }

// VFMLS is d -= n * m, rounded once; m may be one lane.
func (f *Function) VFMLS(m VecOperand, n, d Arranged) { f.multiplyAdd("VFMLS", m, n, d) }

func (f *Function) multiplyAdd(op string, m VecOperand, n, d Arranged) {
	if e, ok := m.(Element); ok {
		f.word(op, byElement, true, []VecOperand{e, n}, d, 0)
		return
	}
	f.vec(op, floats, []Arranged{m.(Arranged), n}, d, true)
}

// VADD is d = n + m on integers.
func (f *Function) VADD(m, n, d Arranged) { f.vec("VADD", integers, []Arranged{m, n}, d, false) }

// VADDP is the sums of the adjacent pairs of n, then of m, on integers.
func (f *Function) VADDP(m, n, d Arranged) { f.vec("VADDP", integers, []Arranged{m, n}, d, false) }

// VSUB is d = n - m on integers.
func (f *Function) VSUB(m, n, d Arranged) { f.vec("VSUB", integers, []Arranged{m, n}, d, false) }

// VAND is d = n & m.
func (f *Function) VAND(m, n, d Arranged) { f.vec("VAND", bytesOnly, []Arranged{m, n}, d, false) }

// VORR is d = n | m.
func (f *Function) VORR(m, n, d Arranged) { f.vec("VORR", bytesOnly, []Arranged{m, n}, d, false) }

// VEOR is d = n ^ m. To clear a register use VMOVI, which reads nothing.
func (f *Function) VEOR(m, n, d Arranged) { f.vec("VEOR", bytesOnly, []Arranged{m, n}, d, false) }

// VBSL is d = n where the bits of d are 1, else m.
func (f *Function) VBSL(m, n, d Arranged) { f.vec("VBSL", bytesOnly, []Arranged{m, n}, d, true) }

// VBIT is d = n where the bits of m are 1; the others stay.
func (f *Function) VBIT(m, n, d Arranged) { f.vec("VBIT", bytesOnly, []Arranged{m, n}, d, true) }

// VBIF is d = n where the bits of m are 0; the others stay.
func (f *Function) VBIF(m, n, d Arranged) { f.vec("VBIF", bytesOnly, []Arranged{m, n}, d, true) }

// VEXT is 16 (or 8) bytes of n followed by m, from byte i on.
func (f *Function) VEXT(i int, m, n, d Arranged) {
	if i < 0 || i >= arrangements[d.arr].lanes {
		f.errorf("VEXT: from byte %d of %s", i, d.arr)
	}
	f.vec("VEXT", bytesOnly, []Arranged{m, n}, d, false, Imm(i))
}

// VZIP1 is d = the lower halves of n and m, lane by lane in turn.
func (f *Function) VZIP1(m, n, d Arranged) { f.vec("VZIP1", integers, []Arranged{m, n}, d, false) }

// VZIP2 is d = the upper halves of n and m, lane by lane in turn.
func (f *Function) VZIP2(m, n, d Arranged) { f.vec("VZIP2", integers, []Arranged{m, n}, d, false) }

// VSHL is d = n << i on integers.
func (f *Function) VSHL(i int, n, d Arranged) {
	if top := arrangements[d.arr].bits - 1; i < 0 || i > top {
		f.errorf("VSHL: shift by %d, want 0 to %d", i, top)
	}
	f.vec("VSHL", integers, []Arranged{n}, d, false, Imm(i))
}

// VUSHR is d = n >> i, unsigned.
func (f *Function) VUSHR(i int, n, d Arranged) {
	if top := arrangements[d.arr].bits; i < 1 || i > top {
		f.errorf("VUSHR: shift by %d, want 1 to %d", i, top)
	}
	f.vec("VUSHR", integers, []Arranged{n}, d, false, Imm(i))
}
