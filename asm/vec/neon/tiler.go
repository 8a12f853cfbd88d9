package neon

import (
	"math/bits"

	"github.com/avoformer/avoformer/asm/arm64"
	"github.com/avoformer/avoformer/asm/vec"
)

// This file has the vocabulary of products. Kept parameters are in registers, and instructions
// multiply by a lane.

// kept is a parameter in a register.
type kept struct {
	x *Machine
	r arm64.GP
}

// KeepInt implements Tiler.
func (x *Machine) KeepInt(param string) vec.Kept { return &kept{x: x, r: general(x.IntParam(param))} }

// KeepPtr implements Tiler.
func (x *Machine) KeepPtr(param string) vec.Kept { return &kept{x: x, r: general(x.SlicePtr(param))} }

// Int implements Kept.
func (k *kept) Int() vec.Int { return k.x.CopyInt(vec.Int{Reg: k.r}) }

// Ptr implements Kept.
func (k *kept) Ptr() vec.Ptr { return vec.Ptr(k.Int()) }

// Add implements Kept.
func (k *kept) Add(n int) { k.x.Bump(vec.Ptr{Reg: k.r}, n) }

// Put implements Kept.
func (k *kept) Put(n vec.Int) { k.x.MOVD(general(n), k.r) }

// AddRows implements Kept.
func (k *kept) AddRows(n int, ld vec.Int, size int) {
	for range n {
		k.x.BumpBytes(vec.Ptr{Reg: k.r}, ld, size)
	}
}

// Leading implements Tiler.
func (x *Machine) Leading(param string) func() vec.Int {
	n := x.IntParam(param)
	return func() vec.Int { return n }
}

// Rows implements Tiler.
func (x *Machine) Rows(from vec.Kept, ld func() vec.Int, size, n int) vec.Rows {
	return vec.InTurn(x, vec.Ptr{Reg: from.(*kept).r}, ld(), size)
}

// lanes loads several lanes together. Instructions multiply by lanes of these vectors.
type lanes struct {
	x     *Machine
	from  *kept
	ld    vec.Int
	size  int
	rows  []arm64.GP
	n     int           // rows in use
	vs    [][]arm64.Vec // of each row
	first int           // number of lanes before those in vs
}

// Lanes implements Tiler.
func (x *Machine) Lanes(from vec.Kept, ld func() vec.Int, size, n int) vec.Lanes {
	return &lanes{x: x, from: from.(*kept), ld: ld(), size: size, n: n, vs: make([][]arm64.Vec, n)}
}

// Begin implements Lanes. It moves the kept address past the row.
func (l *lanes) Begin() {
	l.rows = append(l.rows, general(l.from.Ptr()))
	l.from.AddRows(1, l.ld, l.size)
}

// Passed implements Lanes.
func (l *lanes) Passed(h vec.Int) {}

// Take implements Lanes.
func (l *lanes) Take(n int) { l.n = n }

// Load implements Lanes. It also advances the addresses.
func (l *lanes) Load(first, n int) {
	for i, r := range l.rows[:l.n] {
		l.vs[i] = nil
		if n == 1 {
			v := l.x.V()
			l.x.FMOVS(arm64.Post(r, 4), v)
			l.vs[i] = []arm64.Vec{v}
		}
		for range n / 4 {
			v := l.x.V()
			l.x.FMOVQ(arm64.Post(r, 16), v)
			l.vs[i] = append(l.vs[i], v)
		}
	}
	l.first = first
}

// Lane implements Lanes.
func (l *lanes) Lane(i, j int) vec.Lane {
	j -= l.first
	return vec.Lane{Reg: l.vs[i][j/4], N: j % 4}
}

// Next implements Lanes.
func (l *lanes) Next(n int) {}

// column holds each lane in a vector of its own.
type column []arm64.Vec

// Column implements Tiler.
func (x *Machine) Column(p vec.Ptr, n int) vec.Column {
	c := make(column, n)
	for i := range c {
		c[i] = x.V()
		x.FMOVS(arm64.At(general(p), 4*i), c[i])
	}
	return c
}

// Lane implements Column.
func (c column) Lane(i, j int) vec.Lane { return vec.Lane{Reg: c[i]} }

// Beside implements Tiler.
func (x *Machine) Beside(p vec.Ptr, n vec.Int) vec.Ptr {
	r := x.GP()
	x.ADD(general(n), general(p), r)
	return vec.Ptr{Reg: r}
}

// MultiplyTo implements Tiler.
func (x *Machine) MultiplyTo(n vec.Int, k int) {
	x.LSL(arm64.Imm(bits.TrailingZeros(uint(k))), general(n), general(n))
}

// Number implements Tiler.
func (x *Machine) Number(k int) vec.Int {
	r := x.GP()
	x.MOVI(int64(k), r)
	return vec.Int{Reg: r}
}

// TakeAtMost implements Tiler.
func (x *Machine) TakeAtMost(k, most vec.Int) vec.Int {
	n := x.GP()
	x.CMP(general(most), general(k))
	x.CSEL(arm64.LT, general(k), general(most), n)
	x.SUB(n, general(k), general(k))
	return vec.Int{Reg: n}
}

// CountDown implements Tiler.
func (x *Machine) CountDown(n vec.Int, k int, c vec.Cond, label string) {
	x.SUBS(arm64.Imm(k), general(n), general(n))
	x.BranchIf(c, label)
}

// Magnitude implements Machine.
func (x *Machine) Magnitude(param string) vec.Int {
	v, bits := x.V(), x.GP()
	x.Function.Load(x.Param(param), v)
	x.FMOVSToGP(v, bits)
	x.LSL(arm64.Imm(33), bits, bits) // drops the sign: -0 is also 0
	return vec.Int{Reg: bits}
}

// BranchIfZero implements Tiler.
func (x *Machine) BranchIfZero(n vec.Int, label string) { x.CBZ(general(n), label) }

// BranchUnlessZero implements Tiler.
func (x *Machine) BranchUnlessZero(n vec.Int, label string) { x.CBNZ(general(n), label) }

// BranchIfParam implements Tiler.
func (x *Machine) BranchIfParam(param string, zero bool, label string) {
	if zero {
		x.BranchIfZero(x.IntParam(param), label)
	} else {
		x.BranchUnlessZero(x.IntParam(param), label)
	}
}

// Undefine implements Tiler.
func (x *Machine) Undefine(vs ...vec.V) {
	for _, v := range vs {
		x.Function.Undefine(v.Reg.(arm64.Vec))
	}
}

// After implements Tiler.
func (x *Machine) After(p vec.Ptr, off int) vec.Ptr {
	q := x.CopyPtr(p)
	x.Bump(q, off)
	return q
}

// CopyPtrTo implements Tiler.
func (x *Machine) CopyPtrTo(dst, src vec.Ptr) { x.MOVD(general(src), general(dst)) }
