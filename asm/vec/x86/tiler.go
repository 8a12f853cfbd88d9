package x86

import (
	"math/bits"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
)

// This file has the vocabulary of products. Its many addresses have a base and an index, for rows,
// or are in the frame.

// kept is a parameter in the frame.
type kept struct {
	x    *Machine
	slot operand.Mem
}

func (x *Machine) keep(param string) vec.Kept {
	k := kept{x, x.AllocLocal(8)}
	x.MOVQ(x.Load64(param), k.slot)
	return k
}

// KeepInt implements Tiler.
func (x *Machine) KeepInt(param string) vec.Kept { return x.keep(param) }

// KeepPtr implements Tiler.
func (x *Machine) KeepPtr(param string) vec.Kept { return x.keep(param + "_base") }

// Int implements Kept.
func (k kept) Int() vec.Int { return k.x.IntAt(k.slot) }

// Ptr implements Kept.
func (k kept) Ptr() vec.Ptr { return vec.Ptr(k.Int()) }

// Add implements Kept.
func (k kept) Add(n int) {
	if n < 0 {
		k.x.SUBQ(Imm(-n), k.slot)
		return
	}
	k.x.ADDQ(Imm(n), k.slot)
}

// Put implements Kept.
func (k kept) Put(n vec.Int) { k.x.MOVQ(general(n), k.slot) }

// AddRows implements Kept.
func (k kept) AddRows(n int, ld vec.Int, size int) {
	next := k.x.GP64()
	k.x.IMUL3Q(operand.I32(int32(n*size)), general(ld), next)
	k.x.ADDQ(next, k.slot)
}

// Leading implements Tiler: it loads the parameter each time.
func (x *Machine) Leading(param string) func() vec.Int {
	return func() vec.Int { return x.IntParam(param) }
}

// IndexedRows addresses rows ld bytes apart. Row i is at bases[i/3] + (i%3)*ld: one register for
// three rows.
type IndexedRows struct {
	x     *Machine
	ld    reg.Register
	rows  int
	bases []reg.Register
}

// IndexedRows returns no rows yet; the first one is at base.
func (x *Machine) IndexedRows(base, ld reg.Register) *IndexedRows {
	return &IndexedRows{x: x, ld: ld, bases: []reg.Register{base}}
}

// Begin adds a row.
func (r *IndexedRows) Begin() {
	if r.rows > 0 && r.rows%3 == 0 {
		next, last := r.x.GP64(), r.bases[len(r.bases)-1]
		r.x.LEAQ(operand.Mem{Base: last, Index: r.ld, Scale: 2}, next)
		r.x.ADDQ(r.ld, next)
		r.bases = append(r.bases, next)
	}
	r.rows++
}

// At returns the memory disp bytes after row i.
func (r *IndexedRows) At(i, disp int) operand.Mem {
	m := operand.Mem{Base: r.bases[i/3], Disp: disp}
	if i%3 > 0 {
		m.Index, m.Scale = r.ld, uint8(i%3)
	}
	return m
}

// Advance moves the first n rows on by some bytes.
func (r *IndexedRows) Advance(n, bytes int) {
	for _, base := range r.bases[:(n+2)/3] {
		r.x.ADDQ(Imm(bytes), base)
	}
}

// newRows addresses rows at the kept address.
func (x *Machine) newRows(from vec.Kept, ld func() vec.Int, size int) *IndexedRows {
	base, distance := x.GP64(), general(ld())
	x.MOVQ(from.(kept).slot, base)
	if size > 1 {
		x.SHLQ(operand.U8(bits.TrailingZeros(uint(size))), distance)
	}
	return x.IndexedRows(base, distance)
}

// rows addresses rows through an index.
type rows struct{ *IndexedRows }

// Rows implements Tiler.
func (x *Machine) Rows(from vec.Kept, ld func() vec.Int, size, n int) vec.Rows {
	r := rows{x.newRows(from, ld, size)}
	for range n {
		r.IndexedRows.Begin()
	}
	return r
}

// Begin implements Rows.
func (r rows) Begin() {}

// Row implements Rows.
func (r rows) Row(i int) vec.Ptr { return vec.Ptr{Reg: r.At(i, 0)} }

// lanes loads a lane into every lane of a vector when it is used.
type lanes struct {
	*IndexedRows
	from kept
	n    int // rows in use
}

// Lanes implements Tiler.
func (x *Machine) Lanes(from vec.Kept, ld func() vec.Int, size, n int) vec.Lanes {
	return &lanes{x.newRows(from, ld, size), from.(kept), n}
}

// Passed implements Lanes.
func (l *lanes) Passed(h vec.Int) {
	next := l.x.CopyInt(h)
	l.x.IMULQ(l.ld, general(next))
	l.x.ADDQ(general(next), l.from.slot)
}

// Take implements Lanes.
func (l *lanes) Take(n int) { l.n = n }

// Load implements Lanes.
func (l *lanes) Load(first, n int) {}

// Lane implements Lanes.
func (l *lanes) Lane(i, j int) vec.Lane {
	return vec.Lane{Reg: l.x.SpreadInt(vec.Ptr{Reg: l.At(i, 4*j)}, 0).Reg}
}

// Next implements Lanes.
func (l *lanes) Next(n int) { l.Advance(l.n, 4*n) }

// Undefined is the opcode of an instruction that is not emitted. Its outputs have arbitrary
// contents.
const Undefined = "UNDEFINED"

// Undefine implements Tiler.
func (x *Machine) Undefine(vs ...vec.V) {
	i := &ir.Instruction{Opcode: Undefined}
	for _, v := range vs {
		i.Outputs = append(i.Outputs, vector(v))
	}
	x.Instruction(i)
}

// column has lanes side by side in memory.
type column struct {
	x *Machine
	p vec.Ptr
}

// Column implements Tiler.
func (x *Machine) Column(p vec.Ptr, n int) vec.Column { return column{x, p} }

// Lane implements Column.
func (c column) Lane(i, j int) vec.Lane { return vec.Lane{Reg: c.x.LoadScalar(c.p, 4*i).Reg} }

// Beside implements Tiler.
func (x *Machine) Beside(p vec.Ptr, n vec.Int) vec.Ptr {
	return vec.Ptr{Reg: at(p, 0).Idx(general(n), 1)}
}

// MultiplyTo implements Tiler.
func (x *Machine) MultiplyTo(n vec.Int, k int) {
	x.SHLQ(operand.U8(bits.TrailingZeros(uint(k))), general(n))
}

// Number implements Tiler.
func (x *Machine) Number(k int) vec.Int {
	r := x.GP64()
	x.MOVQ(operand.U32(uint32(k)), r)
	return vec.Int{Reg: r}
}

// TakeAtMost implements Tiler.
func (x *Machine) TakeAtMost(k, most vec.Int) vec.Int {
	n := x.CopyInt(most)
	x.CMPQ(general(k), general(n))
	x.CMOVQLT(general(k), general(n))
	x.SubtractInt(k, n)
	return n
}

// CountDown implements Tiler.
func (x *Machine) CountDown(n vec.Int, k int, c vec.Cond, label string) {
	x.SUBQ(Imm(k), general(n))
	x.BranchIf(c, label)
}

// Magnitude implements Machine.
func (x *Machine) Magnitude(param string) vec.Int {
	bits := x.GP64()
	x.MOVL(x.ParamAddr(param), bits.As32())
	x.ADDL(bits.As32(), bits.As32()) // drops the sign: -0 is also 0
	return vec.Int{Reg: bits}
}

// BranchIfZero implements Tiler.
func (x *Machine) BranchIfZero(n vec.Int, label string) {
	x.TESTQ(general(n), general(n))
	x.JZ(operand.LabelRef(label))
}

// BranchUnlessZero implements Tiler.
func (x *Machine) BranchUnlessZero(n vec.Int, label string) {
	x.TESTQ(general(n), general(n))
	x.JNZ(operand.LabelRef(label))
}

// BranchIfParam implements Tiler.
func (x *Machine) BranchIfParam(param string, zero bool, label string) {
	x.CMPQ(x.ParamAddr(param), Imm(0))
	if zero {
		x.JEQ(operand.LabelRef(label))
	} else {
		x.JNE(operand.LabelRef(label))
	}
}

// After implements Tiler.
func (x *Machine) After(p vec.Ptr, off int) vec.Ptr {
	r := x.GP64()
	x.LEAQ(at(p, off), r)
	return vec.Ptr{Reg: r}
}

// CopyPtrTo implements Tiler.
func (x *Machine) CopyPtrTo(dst, src vec.Ptr) { x.MOVQ(general(src), general(dst)) }
