// Package vec is the vocabulary in which avoformer's row kernels are written.
//
// A kernel is a Go function over a [Machine]. It runs once for each instruction set, at generation
// time, and each operation that it calls emits the instructions of that machine. The algorithm is
// written once; the width and the encoding belong to the backend. The backends are packages below
// this one: x86 (avo; width 4, 8 or 16) and neon (package arm64; width 4). A backend embeds [Base].
//
// Values name virtual registers. An operation that returns a [V] leaves its operands as they are,
// unless its comment says that it consumes one. An operation whose name ends in To updates its
// first operand in place: this is how accumulators persist across the iterations of a loop.
package vec

import "github.com/avoformer/avoformer/asm/arch"

// A value names a register of the machine that made it. The type of Reg belongs to the backend.
type (
	// V is a vector of Width float32 lanes in a virtual register.
	V struct{ Reg any }
	// Int is a 64-bit signed integer in a virtual register: a count of elements.
	Int struct{ Reg any }
	// Ptr is an address in a virtual register.
	Ptr struct{ Reg any }
	// Mask is the result of a comparison: one truth value per lane.
	Mask struct{ Reg any }
)

// Tail describes the last, partial vector of a run of elements. Machine.Tail makes it, and any
// number of loads and stores may use it. The zero Tail is for runs that are known to have no
// partial vector.
type Tail struct {
	Count Int // 0 to Width-1
	Reg   any
}

// Rounded is an integer in each lane, in the form that the machine needs to scale by it.
type Rounded struct {
	N      V // the integer as a float, or not set
	Biased V // 1.5*2^23 + N, whose low bits are the integer, or not set
}

// Place holds a number.
type Place interface {
	Put(v V)
	Get() V // the caller must not write to it
}

// Operand is a second operand: a V, or a Const in every lane.
type Operand interface{ operand() }

// Const is a float32 constant, given by its bits. It is present in every lane.
type Const uint32

func (V) operand()     {}
func (Const) operand() {}

// Machine emits code for one instruction set.
type Machine interface {
	// Tier is the machine's record, and Width the number of lanes per vector.
	Tier() arch.Tier
	Width() int
	// Masking returns the machine itself, if it can load and store any subset of a vector's lanes
	// at no cost.
	Masking() (Masking, bool)

	// SlicePtr loads the address of the first element of a slice parameter.
	SlicePtr(name string) Ptr
	// SliceLen loads the length of a slice parameter.
	SliceLen(name string) Int
	// IntParam loads an int parameter.
	IntParam(name string) Int
	// FloatFromInt returns n as a float32 in every lane.
	FloatFromInt(n Int) V
	// FloatParam loads a float32 parameter into every lane.
	FloatParam(name string) V
	// Return stores lane 0 of v as the function's only result, and ReturnInt an integer.
	Return(v V)
	ReturnInt(n Int)

	// CopyInt and CopyPtr copy into a fresh register.
	CopyInt(n Int) Int
	CopyPtr(p Ptr) Ptr
	// Subtract subtracts k from n in place, and SubtractInt another integer.
	Subtract(n Int, k int)
	SubtractInt(n, k Int)
	// Raise adds k, which is at least 0, to n in place.
	Raise(n Int, k int)
	// Bump advances p by bytes.
	Bump(p Ptr, bytes int)
	// BumpBy advances p by n float32 elements, and BumpBytes by n*size bytes, for a size of 1 to 8.
	BumpBy(p Ptr, n Int)
	BumpBytes(p Ptr, n Int, size int)

	// Together emits part(0) to part(n-1). No part may use results of another part, or contain a
	// label or a branch. If the backend can, it alternates their instructions, which gives a
	// scheduler instructions of several chains at a time.
	Together(n int, part func(i int))

	// Park returns a place for a number that is the same in every lane and is not needed for some
	// time. The place is in memory if there are few registers.
	Park() Place

	// Loop runs body while n >= step, and subtracts step from n after each run.
	Loop(n Int, step int, body func())
	// InnerLoop does the same as Loop, for a short body that runs many times. It begins at a cache
	// line if that makes it faster.
	InnerLoop(n Int, step int, body func())
	// Magnitude returns an integer that is 0 if the float32 parameter is 0.
	Magnitude(param string) Int
	// If runs body when n is not zero.
	If(n Int, body func())
	// IfLE runs then when n <= limit, and otherwise runs else_ (which may be nil).
	IfLE(n Int, limit int, then, else_ func())

	// IfGreater runs body if a > b in lane 0; it does not if either is NaN.
	IfGreater(a, b V, body func())
	// IfOutside runs body unless least <= v <= most in lane 0, for positive constants: also if v is
	// NaN.
	IfOutside(v V, least, most Const, body func())
	// Leavable runs body, which may call leave any number of times: it jumps to the end of body.
	Leavable(body func(leave func()))

	// Comment annotates the next instruction.
	Comment(text string)

	// Zero returns a vector of zeros.
	Zero() V
	// Splat returns a fresh vector with c in every lane.
	Splat(c Const) V
	// KeepConst returns c as an operand: in a register, or in memory if there are few registers and
	// instructions accept operands in memory.
	KeepConst(c Const) Operand
	// Copy returns a fresh copy of v.
	Copy(v V) V
	// CopyTo overwrites dst with src.
	CopyTo(dst, src V)
	// Load loads Width elements at p + off bytes. No alignment is assumed.
	Load(p Ptr, off int) V
	// Store stores Width elements at p + off bytes.
	Store(p Ptr, off int, v V)
	// IfStream runs then if the int parameter is not 0, and rows of n elements that begin at p can
	// be written past the caches: such rows have no tail. Otherwise it runs else_. Within then,
	// StoreStream is Store past the caches; those stores come before everything that follows then.
	IfStream(param string, p Ptr, n Int, then, else_ func())
	StoreStream(p Ptr, off int, v V)
	// Prefetch fetches the cache line at p + off bytes, if there is one. PrefetchFar fetches the
	// line n*size bytes after that, for a size of 1 to 8, into the second-level cache, if there is
	// an n. Both are hints, and do nothing on a machine whose Prefetches is false.
	Prefetch(p Ptr, off int)
	PrefetchFar(p Ptr, off int, n Int, size int)
	Prefetches() bool
	// LoadFloat16 and LoadBFloat16 load Width elements of 16 bits at p + off bytes, and
	// LoadFloat16One and LoadBFloat16One load one element into lane 0. They convert them to
	// float32.
	LoadFloat16(p Ptr, off int) V
	LoadFloat16One(p Ptr) V
	LoadBFloat16(p Ptr, off int) V
	LoadBFloat16One(p Ptr) V
	// LoadInt8 and LoadInt8One do the same for integers of 8 bits.
	LoadInt8(p Ptr, off int) V
	LoadInt8One(p Ptr) V
	// LoadScalar loads one element at p + off bytes into every lane.
	LoadScalar(p Ptr, off int) V
	// StoreScalar stores lane 0 at p + off bytes.
	StoreScalar(p Ptr, off int, v V)
	// DotSums returns the sums of up to four dot products in DotLanes lanes each; the sums are in
	// the first lanes.
	DotSums(sums [][]V) V
	// StoreLanes stores n lanes at p, beginning with lane first: 1, 2, 4 or a higher power of two,
	// up to Width; first is a multiple of n.
	StoreLanes(p Ptr, v V, first, n int)

	// StoreNarrow stores the lowest bytes of each lane, 1 or 2, side by side at p + off bytes.
	StoreNarrow(p Ptr, off int, v V, bytes int)

	// Tail describes the last n mod Width elements of a run of n.
	Tail(n Int) Tail
	// LoadTail loads t.Count elements at p; the other lanes hold fill. It does not touch memory
	// past the elements. t.Count is not zero.
	LoadTail(p Ptr, t Tail, fill Const) V
	// StoreTail stores the first t.Count lanes. t.Count is not zero.
	StoreTail(p Ptr, t Tail, v V)
	// KeepTail returns v with fill in the lanes from t.Count on.
	KeepTail(t Tail, v V, fill Const) V

	Add(a V, b Operand) V
	Sub(a V, b Operand) V
	Mul(a V, b Operand) V
	Div(a V, b V) V
	Sqrt(a V) V
	// Max and Min return b if either is NaN on x86; see MaxNaN.
	Max(a V, b Operand) V
	Min(a V, b Operand) V
	// Least returns x, or least where x is smaller. It keeps NaN, and a zero that equals least.
	Least(least, x V) V
	// AddTo, MulTo and MaxTo update acc in place: acc = acc op b.
	AddTo(acc V, b Operand)
	MulTo(acc V, b Operand)
	MaxTo(acc V, b Operand)
	// FMATo adds a*b to acc, and FNMATo subtracts a*b from acc. Both round once.
	FMATo(acc, a V, b Operand)
	FNMATo(acc, a V, b Operand)
	// FMALoad does the same as FMATo with the vector at p + off, in one instruction if there is
	// one.
	FMALoad(acc, a V, p Ptr, off int)
	// Horner returns p*x + c, rounded once. It consumes p.
	Horner(p, x V, c Operand) V

	// And, Or and Xor are bitwise.
	And(a V, b Operand) V
	Or(a V, b Operand) V
	Xor(a V, b Operand) V
	// Greater returns a > b for each lane. It is false if a or b is NaN.
	Greater(a V, b Operand) Mask
	// Unordered returns true for each lane in which a or b is NaN.
	Unordered(a, b V) Mask
	// Select returns the lanes of a where the mask is true, and those of b elsewhere.
	Select(m Mask, a, b V) V

	// AddInt32To, SubInt32 and ShiftLeft treat lanes as int32, which wrap around.
	AddInt32To(acc V, b Operand)
	SubInt32(a V, b Operand) V
	ShiftLeft(a V, bits int) V
	// MaxMagnitudeTo sets acc to max(acc, b) for numbers without a sign, or to NaN if either is
	// NaN.
	MaxMagnitudeTo(acc V, b Operand)

	// Butterfly prepares a function for distance 1, 2, 4 up to half of Width. For each lane i
	// without the bit of distance, it puts the sum of lanes i and i+distance into lane i, and lane
	// i minus lane i+distance into lane i+distance. It consumes v.
	Butterfly(distance int) func(v V) V

	// Pow2 returns 2^n for biased = 1.5*2^23 + 127 + n, -127 <= n <= 128, where -127 gives 0 and
	// 128 gives +Inf. It shifts n + 127 into the bits of the exponent.
	Pow2(biased V) V
	// Pow2Steps prepares 2^e for multiples e of 1/8, -127 <= e < 128, given as biased = 1.5*2^20 +
	// e; -127 gives 0. steps[i] is 2^(i/8).
	Pow2Steps(steps [8]float32) func(biased V) V
	// RoundedFrom returns the integer N for biased = bias + N, where bias is 1.5*2^23.
	RoundedFrom(biased, bias V) Rounded
	// ScaleByPow2Full returns p * 2^r.N for 0.5 < p < 2 and -151 <= r.N <= 129. It rounds denormal
	// results once, and overflows to infinity.
	ScaleByPow2Full(p V, r Rounded) V

	// Sums prepares a function that returns a vector whose first len(vs) lanes are the sums of all
	// lanes of each of vs: 1, 2, 4 or a higher power of two, up to Width. It consumes vs.
	Sums() func(vs []V) V
	// Maxima does the same for the maxima, of two or four of vs.
	Maxima() func(vs []V) V

	// TransposeBlock is the side of the square blocks that Transpose moves.
	TransposeBlock() int
	// Transpose writes the transpose of a block, dst[c*ldDst+r] = src[r*ldSrc+c] for r and c below
	// TransposeBlock; the strides count elements.
	Transpose(dst Ptr, ldDst Int, src Ptr, ldSrc Int)

	// ReduceAdd and ReduceMax return the sum or maximum of all lanes in every lane.
	ReduceAdd(v V) V
	ReduceMax(v V) V
	// Scalars returns a machine for single numbers, whose vectors may be narrower. FoldAddInt32 and
	// FoldMaxMagnitude are AddInt32To and MaxMagnitudeTo over all lanes; their result is for that
	// machine. Spread copies lane 0 of one of its vectors to every lane of a vector of this
	// machine.
	Scalars() Machine
	FoldAddInt32(v V) V
	FoldMaxMagnitude(v V) V
	Spread(v V) V
}

// Cond is a comparison of two signed integers.
type Cond uint8

const (
	LT Cond = iota
	LE
	EQ
	NE
	GE
)

// Jumper is a Machine with labels and branches, for control flow that loops do not cover.
type Jumper interface {
	Machine
	Label(name string)
	Jump(label string)
	// Compare compares n with k for the branches that follow.
	Compare(n Int, k int)
	BranchIf(c Cond, label string)
	// Halve divides n, which is at least 0, by 2^times.
	Halve(n Int, times int)
}

// Masking is a Machine that can load and store any subset of a vector's lanes at no cost.
type Masking interface {
	Machine
	// IfAcross runs then if the rows of n elements that begin at each of ps, one after the other,
	// do not all begin at a multiple of half a vector. Otherwise, and for n below least, it runs
	// else_.
	IfAcross(ps []Ptr, n Int, least int, then, else_ func())
	// Misaligned returns the number of elements between p and the last multiple of a vector at or
	// before it.
	Misaligned(p Ptr) Int
	// BumpBack moves p back by n float32 elements.
	BumpBack(p Ptr, n Int)
	// LanesFrom selects the lanes from n on.
	LanesFrom(n Int) Tail
	// Expand moves the first lanes of v to the lanes of t, in order; the other lanes are 0.
	Expand(v V, t Tail) V
	// FinishStream makes all writes past the caches complete before everything that follows.
	FinishStream()
	// IfTwo runs body if any of ns is more than one vector.
	IfTwo(ns []Int, body func())
	// LanesOfTwo selects the first n lanes of two vectors.
	LanesOfTwo(n Int) (first, second Tail)
	// AlignedWhole and AlignedRest count elements of a row of n elements that begins before lanes
	// into an aligned vector: AlignedWhole those between the first vector and the last two, which
	// do not depend on before, and AlignedRest those in the last two.
	AlignedWhole(n Int) Int
	AlignedRest(n, before Int) Int
}
