package arm64

import "math/bits"

// This file has instructions on general registers that Go's assembler knows, and branches.
// memory.go has loads and stores, vectors.go has arithmetic on vectors. Each comment states the
// effect.

// imm12 checks that ADD, SUB and CMP take the immediate in one instruction.
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

// ADD sets d to n + m.
func (f *Function) ADD(m Scalar, n, d GP) { f.imm12("ADD", m); f.arith("ADD", m, n, d) }

// SUB sets d to n - m.
func (f *Function) SUB(m Scalar, n, d GP) { f.imm12("SUB", m); f.arith("SUB", m, n, d) }

// SUBS sets d to n - m, and sets the flags.
func (f *Function) SUBS(m Scalar, n, d GP) { f.imm12("SUBS", m); f.arith("SUBS", m, n, d) }

// MUL sets d to n * m.
func (f *Function) MUL(m, n, d GP) { f.arith("MUL", m, n, d) }

// MADD sets d to a + n*m.
func (f *Function) MADD(m, a, n, d GP) {
	f.add(node{op: "MADD", args: []operand{m, a, n, d}, reads: []*register{m.r, a.r, n.r}, writes: []*register{d.r}})
}

// AND sets d to n & m.
func (f *Function) AND(m Scalar, n, d GP) {
	switch i := m.(type) {
	case Shifted:
		f.errorf("AND: shifted register")
	case Imm:
		// A pattern is any rotated sequence of ones; no caller needs the other patterns that can be
		// encoded.
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

// LSL sets d to n << m.
func (f *Function) LSL(m Scalar, n, d GP) { f.shift("LSL", m, n, d) }

// LSR sets d to n >> m, unsigned.
func (f *Function) LSR(m Scalar, n, d GP) { f.shift("LSR", m, n, d) }

// ASR sets d to n >> m, signed.
func (f *Function) ASR(m Scalar, n, d GP) { f.shift("ASR", m, n, d) }

// CMP compares n with m and sets the flags: BLT then branches if n < m.
func (f *Function) CMP(m Scalar, n GP) {
	f.imm12("CMP", m)
	f.add(node{op: "CMP", args: []operand{m, n}, reads: append(scalarReads(m), n.r)})
}

// Cond is a condition of the flags.
type Cond string

// These are the conditions for the comparison of n with m.
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

// CSEL sets d to n if the condition holds, and otherwise to m.
func (f *Function) CSEL(c Cond, n, m, d GP) {
	f.add(node{op: "CSEL", args: []operand{literal(c), n, m, d}, reads: []*register{n.r, m.r}, writes: []*register{d.r}})
}

// B branches to the label.
func (f *Function) B(label string) {
	f.add(node{op: "B", args: []operand{literal(label)}, target: label, final: true})
}

// BCond branches to the label if the condition holds.
func (f *Function) BCond(c Cond, label string) {
	f.add(node{op: "B" + string(c), args: []operand{literal(label)}, target: label})
}

// CBZ branches to the label if n is 0.
func (f *Function) CBZ(n GP, label string) { f.branchOn("CBZ", n, label) }

// CBNZ branches to the label if n is not 0.
func (f *Function) CBNZ(n GP, label string) { f.branchOn("CBNZ", n, label) }

func (f *Function) branchOn(op string, n GP, label string, bit ...operand) {
	f.add(node{op: op, args: append(bit, n, literal(label)), reads: []*register{n.r}, target: label})
}

// TBZ branches to the label if bit i of n is 0.
func (f *Function) TBZ(i int, n GP, label string) { f.testBit("TBZ", i, n, label) }

// TBNZ branches to the label if bit i of n is 1.
func (f *Function) TBNZ(i int, n GP, label string) { f.testBit("TBNZ", i, n, label) }

func (f *Function) testBit(op string, i int, n GP, label string) {
	if i < 0 || i > 63 {
		f.errorf("%s: bit %d, want 0 to 63", op, i)
	}
	f.branchOn(op, n, label, Imm(i))
}

// RET returns from the function.
func (f *Function) RET() { f.add(node{op: "RET", final: true}) }

// MOVD sets d to n.
func (f *Function) MOVD(n, d GP) {
	f.add(node{op: "MOVD", args: []operand{n, d}, reads: []*register{n.r}, writes: []*register{d.r}, move: n != ZR && d != ZR})
}

// SCVTFS sets lane 0 of d to n as a float, and all bits above to 0.
func (f *Function) SCVTFS(n GP, d Vec) {
	f.add(node{op: "SCVTFS", args: []operand{n, d}, reads: []*register{n.r}, writes: []*register{d.r}})
}

// MOVI sets d to n, in one to four instructions.
func (f *Function) MOVI(n int64, d GP) {
	f.add(node{op: "MOVD", args: []operand{Imm(n), d}, writes: []*register{d.r}})
}

// FMOVSToGP sets d to the bits of lane 0 of n, zero extended.
func (f *Function) FMOVSToGP(n Vec, d GP) {
	f.add(node{op: "FMOVS", args: []operand{n, d}, reads: []*register{n.r}, writes: []*register{d.r}})
}

// FMOVSFromGP sets lane 0 of d to the low bits of n, and all bits above to 0.
func (f *Function) FMOVSFromGP(n GP, d Vec) {
	f.add(node{op: "FMOVS", args: []operand{n, d}, reads: []*register{n.r}, writes: []*register{d.r}})
}
