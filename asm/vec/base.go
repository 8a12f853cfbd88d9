package vec

import (
	"math"

	"github.com/avoformer/avoformer/asm/arch"
)

// This file has methods that a backend need not implement.

// One is the number 1.
const One = Const(0x3f800000)

// Base is the part of a Machine that follows from its record and from its other operations. A
// backend embeds it, and overrides methods where its machine can do better.
type Base struct {
	m    Machine
	tier arch.Tier
}

// NewBase returns the Base of m.
func NewBase(m Machine, tier arch.Tier) Base { return Base{m, tier} }

// Tier implements Machine.
func (b Base) Tier() arch.Tier { return b.tier }

// Width implements Machine.
func (b Base) Width() int { return b.tier.Width }

// Prefetches implements Machine.
func (b Base) Prefetches() bool { return b.tier.Prefetches }

// Masking implements Machine for machines without it.
func (b Base) Masking() (Masking, bool) { return nil, false }

// Prefetch and PrefetchFar implement Machine for machines that do not prefetch.
func (b Base) Prefetch(p Ptr, off int)                     {}
func (b Base) PrefetchFar(p Ptr, off int, n Int, size int) {}

// IfStream and StoreStream implement Machine for machines without such stores.
func (b Base) IfStream(param string, p Ptr, n Int, then, else_ func()) { else_() }
func (b Base) StoreStream(p Ptr, off int, v V)                         { b.m.Store(p, off, v) }

// Together implements Machine for backends that cannot reorder emitted instructions.
func (b Base) Together(n int, part func(i int)) {
	for i := range n {
		part(i)
	}
}

// InnerLoop implements Machine for machines that fetch loops as fast from any address.
func (b Base) InnerLoop(n Int, step int, body func()) { b.m.Loop(n, step, body) }

// Park implements Machine for machines with enough registers.
func (b Base) Park() Place { return InRegister(b.m) }

// InRegister returns a place that is a register.
func InRegister(m Machine) Place { return parked{m, m.Zero()} }

type parked struct {
	m Machine
	v V
}

func (p parked) Put(v V) { p.m.CopyTo(p.v, v) }
func (p parked) Get() V  { return p.v }

// KeepConst implements Machine for machines with enough registers.
func (b Base) KeepConst(c Const) Operand { return b.m.Splat(c) }

// BumpBy implements Machine.
func (b Base) BumpBy(p Ptr, n Int) { b.m.BumpBytes(p, n, 4) }

// FMALoad implements Machine for machines whose multiply-adds take no operand in memory.
func (b Base) FMALoad(acc, a V, p Ptr, off int) { b.m.FMATo(acc, a, b.m.Load(p, off)) }

// MaxMagnitudeTo implements Machine for machines whose maxima keep NaN.
func (b Base) MaxMagnitudeTo(acc V, with Operand) { b.m.MaxTo(acc, with) }

// Pow2 implements Machine.
func (b Base) Pow2(biased V) V { return b.m.ShiftLeft(biased, 23) }

// RoundedFrom implements Machine for machines that scale by the integer in the bits.
func (b Base) RoundedFrom(biased, bias V) Rounded { return Rounded{Biased: biased} }

// Scalars, FoldMaxMagnitude and Spread implement Machine for machines whose vectors have one
// length.
func (b Base) Scalars() Machine       { return b.m }
func (b Base) FoldMaxMagnitude(v V) V { return b.m.ReduceMax(v) }
func (b Base) Spread(v V) V           { return v }

// StepShift moves the multiple of 1/8 in the low bits of the argument of Pow2Steps up: its integer
// part then adds to an exponent, and its eighths to a mantissa.
const StepShift = 20

// StepWords returns the table of powers of two, minus the numbers that the shift by StepShift adds
// to the entries.
func StepWords(steps [8]float32) (words [8]uint32) {
	for i, s := range steps {
		words[i] = math.Float32bits(s) - uint32(i)<<StepShift
	}
	return words
}

// ButterflySign returns 1 or -1, as bits: Butterfly
// multiplies lane i by it before it adds the lane's partner.
func ButterflySign(i, distance int) uint32 {
	if i&distance != 0 {
		return uint32(One) | 1<<31
	}
	return uint32(One)
}
