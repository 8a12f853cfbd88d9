package vec

import (
	"fmt"

	"github.com/mmcloughlin/avo/gotypes"

	"github.com/avoformer/avoformer/asm/arm64"
)

// NEON is the backend for arm64's Advanced SIMD, width 4.
//
// An instruction takes no constant from memory, so operands that are constants
// are kept in registers where there are enough (arm64.Function.Const). Where an
// instruction overwrites one of its operands and that is a constant, it is
// loaded each time: a load is as cheap as the copy that it saves.
type NEON struct {
	*arm64.Function
	labels int
}

// NewNEON is a Machine that emits into f.
func NewNEON(f *arm64.Function) *NEON { return &NEON{Function: f} }

// End returns from the function.
func (x *NEON) End() { x.RET() }

// Width implements Machine.
func (x *NEON) Width() int { return 4 }

func nv(v V) arm64.Vec  { return v.Reg.(arm64.Vec) }
func ni(n Int) arm64.GP { return n.Reg.(arm64.GP) }
func np(p Ptr) arm64.GP { return p.Reg.(arm64.GP) }

func splat(c Const) [4]uint32 { return [4]uint32{uint32(c), uint32(c), uint32(c), uint32(c)} }

// op is b in a register, to be read only.
func (x *NEON) op(b Operand) arm64.Vec {
	if c, ok := b.(Const); ok {
		return x.Const(splat(c))
	}
	return nv(b.(V))
}

// NewLabel is a label of its own.
func (x *NEON) NewLabel(what string) string {
	x.labels++
	return fmt.Sprintf("%s%d", what, x.labels)
}

// LoadInt loads an integer, or a slice's base or length, from the arguments into
// a fresh register.
func (x *NEON) LoadInt(c gotypes.Component) arm64.GP {
	r := x.GP()
	x.Function.Load(c, r)
	return r
}

// SlicePtr implements Machine.
func (x *NEON) SlicePtr(name string) Ptr { return Ptr{x.LoadInt(x.Param(name).Base())} }

// SliceLen implements Machine.
func (x *NEON) SliceLen(name string) Int { return Int{x.LoadInt(x.Param(name).Len())} }

// IntParam implements Machine.
func (x *NEON) IntParam(name string) Int { return Int{x.LoadInt(x.Param(name))} }

// FloatFromInt implements Machine.
func (x *NEON) FloatFromInt(n Int) V {
	v := x.V()
	x.SCVTFS(ni(n), v)
	x.VDUP(v.S(0), v.S4())
	return V{v}
}

// FloatParam implements Machine.
func (x *NEON) FloatParam(name string) V {
	v := x.V()
	x.Function.Load(x.Param(name), v)
	x.VDUP(v.S(0), v.S4())
	return V{v}
}

// Return implements Machine.
func (x *NEON) Return(v V) { x.Function.Store(nv(v), x.ReturnIndex(0)) }

// CopyInt implements Machine.
func (x *NEON) CopyInt(n Int) Int {
	r := x.GP()
	x.MOVD(ni(n), r)
	return Int{r}
}

// CopyPtr implements Machine.
func (x *NEON) CopyPtr(p Ptr) Ptr { return Ptr(x.CopyInt(Int(p))) }

// Subtract implements Machine.
func (x *NEON) Subtract(n Int, k int) { x.SUB(arm64.Imm(k), ni(n), ni(n)) }

// SubtractInt implements Machine.
func (x *NEON) SubtractInt(n, k Int) { x.SUB(ni(k), ni(n), ni(n)) }

// Bump implements Machine.
func (x *NEON) Bump(p Ptr, bytes int) {
	if bytes < 0 {
		x.SUB(arm64.Imm(-bytes), np(p), np(p))
		return
	}
	x.ADD(arm64.Imm(bytes), np(p), np(p))
}

// BumpBy implements Machine.
func (x *NEON) BumpBy(p Ptr, n Int) { x.ADD(ni(n).LSL(2), np(p), np(p)) }

// Loop implements Machine.
func (x *NEON) Loop(n Int, step int, body func()) {
	top, end := x.NewLabel("loop"), x.NewLabel("end")
	x.CMP(arm64.Imm(step), ni(n))
	x.BCond(arm64.LT, end)
	x.Label(top)
	body()
	x.SUB(arm64.Imm(step), ni(n), ni(n))
	x.CMP(arm64.Imm(step), ni(n))
	x.BCond(arm64.GE, top)
	x.Label(end)
}

// If implements Machine.
func (x *NEON) If(n Int, body func()) {
	end := x.NewLabel("end")
	x.CBZ(ni(n), end)
	body()
	x.Label(end)
}

// IfLE implements Machine.
func (x *NEON) IfLE(n Int, limit int, then, else_ func()) {
	other, end := x.NewLabel("else"), x.NewLabel("end")
	x.CMP(arm64.Imm(limit), ni(n))
	x.BCond(arm64.GT, other)
	then()
	if else_ != nil {
		x.B(end)
	}
	x.Label(other)
	if else_ != nil {
		else_()
		x.Label(end)
	}
}

// IfGreater implements Machine.
func (x *NEON) IfGreater(a, b V, body func()) {
	greater, end := x.GP(), x.NewLabel("end")
	x.FMOVSToGP(x.Greater(a, b).Reg.(arm64.Vec), greater)
	x.CBZ(greater, end)
	body()
	x.Label(end)
}

// Zero implements Machine.
func (x *NEON) Zero() V {
	v := x.V()
	x.VMOVI(0, v.B16())
	return V{v}
}

// Splat implements Machine.
func (x *NEON) Splat(c Const) V {
	if c == 0 {
		return x.Zero()
	}
	v := x.V()
	x.LoadConst(splat(c), v)
	return V{v}
}

// Copy implements Machine.
func (x *NEON) Copy(v V) V {
	w := x.V()
	x.VMOV(nv(v), w)
	return V{w}
}

// CopyTo implements Machine.
func (x *NEON) CopyTo(dst, src V) { x.VMOV(nv(src), nv(dst)) }

// Load implements Machine.
func (x *NEON) Load(p Ptr, off int) V {
	v := x.V()
	x.FMOVQ(arm64.At(np(p), off), v)
	return V{v}
}

// Store implements Machine.
func (x *NEON) Store(p Ptr, off int, v V) { x.FMOVQStore(nv(v), arm64.At(np(p), off)) }

// IfStream implements Machine: there are no such stores here.
func (x *NEON) IfStream(p Ptr, n Int, then, else_ func()) { else_() }

// StoreStream implements Machine.
func (x *NEON) StoreStream(p Ptr, off int, v V) { x.Store(p, off, v) }

// Prefetch implements Machine.
func (x *NEON) Prefetch(p Ptr, off int) {}

// LoadFloat16 implements Machine.
func (x *NEON) LoadFloat16(p Ptr, off int) V {
	v := x.V()
	x.FMOVD(arm64.At(np(p), off), v)
	x.VFCVTL(v.As(arm64.H4), v.S4())
	return V{v}
}

// LoadFloat16One implements Machine.
func (x *NEON) LoadFloat16One(p Ptr) V {
	v := x.loadHalf(p)
	x.VFCVTL(v.As(arm64.H4), v.S4())
	return V{v}
}

// LoadBFloat16 implements Machine: zeros go below each element.
func (x *NEON) LoadBFloat16(p Ptr, off int) V {
	v := x.V()
	x.FMOVD(arm64.At(np(p), off), v)
	x.VZIP1(v.As(arm64.H8), x.Const([4]uint32{}).As(arm64.H8), v.As(arm64.H8))
	return V{v}
}

// LoadBFloat16One implements Machine.
func (x *NEON) LoadBFloat16One(p Ptr) V {
	v := x.loadHalf(p)
	x.VSHL(16, v.S4(), v.S4())
	return V{v}
}

// loadHalf reads 16 bits into lane 0, and zeros above.
func (x *NEON) loadHalf(p Ptr) arm64.Vec {
	r, v := x.GP(), x.V()
	x.MOVHULoad(arm64.At(np(p), 0), r)
	x.FMOVSFromGP(r, v)
	return v
}

// LoadScalar implements Machine.
func (x *NEON) LoadScalar(p Ptr, off int) V {
	v := x.V()
	x.FMOVS(arm64.At(np(p), off), v)
	x.VDUP(v.S(0), v.S4())
	return V{v}
}

// StoreScalar implements Machine.
func (x *NEON) StoreScalar(p Ptr, off int, v V) { x.FMOVSStore(nv(v), arm64.At(np(p), off)) }

// StoreLanes implements Machine.
func (x *NEON) StoreLanes(p Ptr, v V, first, n int) {
	to := arm64.At(np(p), 0)
	switch {
	case n == 4:
		x.FMOVQStore(nv(v), to)
	case n == 2 && first == 0:
		x.FMOVDStore(nv(v), to)
	case n == 2:
		x.VST1Lane(nv(v).D(1), to)
	case first == 0:
		x.FMOVSStore(nv(v), to)
	default:
		x.VST1Lane(nv(v).S(first), to)
	}
}

// neonTail is the Mask of a Tail. There are no masked loads: lanes 1 and 2 are
// loaded from and stored to offsets that stay within the elements.
type neonTail struct {
	offset [3]arm64.GP // of each lane, in bytes; that of lane 0 is not used
	lanes  arm64.Vec   // ones in the first Count lanes
}

// Tail implements Machine.
func (x *NEON) Tail(n Int) Tail {
	count := x.GP()
	x.AND(arm64.Imm(3), ni(n), count)
	var t neonTail
	before := arm64.ZR
	for lane := 1; lane < 3; lane++ {
		t.offset[lane] = x.GP()
		x.MOVI(int64(4*lane), t.offset[lane])
		x.CMP(arm64.Imm(lane), count)
		x.CSEL(arm64.GT, t.offset[lane], before, t.offset[lane])
		before = t.offset[lane]
	}
	t.lanes = nv(x.FloatFromInt(Int{count}))
	index := x.V()
	x.LoadConst([4]uint32{0, 0x3f800000, 0x40000000, 0x40400000}, index) // 0, 1, 2, 3
	x.VFCMGT(index.S4(), t.lanes.S4(), t.lanes.S4())
	return Tail{Count: Int{count}, Mask: t}
}

// laneAt is the place of a lane.
func (x *NEON) laneAt(p Ptr, t neonTail, lane int) arm64.Mem {
	r := x.GP()
	x.ADD(t.offset[lane], np(p), r)
	return arm64.At(r, 0)
}

// LoadTail implements Machine. Lanes past the end are first loaded with the
// last element.
func (x *NEON) LoadTail(p Ptr, t Tail, fill Const) V {
	mask, v := t.Mask.(neonTail), x.V()
	x.FMOVS(arm64.At(np(p), 0), v)
	for lane := 1; lane < 3; lane++ {
		x.VLD1Lane(x.laneAt(p, mask, lane), v.S(lane))
	}
	x.keepTail(mask, v, fill)
	return V{v}
}

// StoreTail implements Machine. Lanes past the end go where the last element
// then is written over them.
func (x *NEON) StoreTail(p Ptr, t Tail, v V) {
	mask := t.Mask.(neonTail)
	for lane := 2; lane > 0; lane-- {
		x.VST1Lane(nv(v).S(lane), x.laneAt(p, mask, lane))
	}
	x.FMOVSStore(nv(v), arm64.At(np(p), 0))
}

// KeepTail implements Machine.
func (x *NEON) KeepTail(t Tail, v V, fill Const) V {
	w := x.Copy(v)
	x.keepTail(t.Mask.(neonTail), nv(w), fill)
	return w
}

func (x *NEON) keepTail(t neonTail, v arm64.Vec, fill Const) {
	if fill == 0 {
		x.VAND(t.lanes.B16(), v.B16(), v.B16())
		return
	}
	x.VBIF(t.lanes.B16(), x.op(fill).B16(), v.B16())
}

// three is the instruction with a fresh destination.
func (x *NEON) three(f func(m, n, d arm64.Arranged), a V, b Operand) V {
	w := x.V()
	f(x.op(b).S4(), nv(a).S4(), w.S4())
	return V{w}
}

// Add implements Machine.
func (x *NEON) Add(a V, b Operand) V { return x.three(x.VFADD, a, b) }

// Sub implements Machine.
func (x *NEON) Sub(a V, b Operand) V { return x.three(x.VFSUB, a, b) }

// Mul implements Machine.
func (x *NEON) Mul(a V, b Operand) V {
	return x.three(func(m, n, d arm64.Arranged) { x.VFMUL(m, n, d) }, a, b)
}

// Div implements Machine.
func (x *NEON) Div(a, b V) V { return x.three(x.VFDIV, a, b) }

// Sqrt implements Machine.
func (x *NEON) Sqrt(a V) V {
	w := x.V()
	x.VFSQRT(nv(a).S4(), w.S4())
	return V{w}
}

// Max implements Machine. A NaN in either operand stays.
func (x *NEON) Max(a V, b Operand) V { return x.three(x.VFMAX, a, b) }

// Min implements Machine. A NaN in either operand stays.
func (x *NEON) Min(a V, b Operand) V { return x.three(x.VFMIN, a, b) }

// AddTo implements Machine.
func (x *NEON) AddTo(acc V, b Operand) { x.VFADD(x.op(b).S4(), nv(acc).S4(), nv(acc).S4()) }

// MaxTo implements Machine.
func (x *NEON) MaxTo(acc V, b Operand) { x.VFMAX(x.op(b).S4(), nv(acc).S4(), nv(acc).S4()) }

// FMATo implements Machine.
func (x *NEON) FMATo(acc, a V, b Operand) { x.VFMLA(x.op(b).S4(), nv(a).S4(), nv(acc).S4()) }

// FNMATo implements Machine.
func (x *NEON) FNMATo(acc, a V, b Operand) { x.VFMLS(x.op(b).S4(), nv(a).S4(), nv(acc).S4()) }

// Horner implements Machine. The product is added to a fresh copy of c.
func (x *NEON) Horner(p, y V, c Operand) V {
	var sum V
	switch c := c.(type) {
	case Const:
		sum = x.Splat(c)
	case V:
		sum = x.Copy(c)
	}
	x.VFMLA(nv(y).S4(), nv(p).S4(), nv(sum).S4())
	return sum
}

// bits is the instruction on bytes with a fresh destination.
func (x *NEON) bits(f func(m, n, d arm64.Arranged), a V, b Operand) V {
	w := x.V()
	f(x.op(b).B16(), nv(a).B16(), w.B16())
	return V{w}
}

// And implements Machine.
func (x *NEON) And(a V, b Operand) V { return x.bits(x.VAND, a, b) }

// Or implements Machine.
func (x *NEON) Or(a V, b Operand) V { return x.bits(x.VORR, a, b) }

// Xor implements Machine.
func (x *NEON) Xor(a V, b Operand) V { return x.bits(x.VEOR, a, b) }

// Greater implements Machine.
func (x *NEON) Greater(a V, b Operand) Mask { return Mask(x.three(x.VFCMGT, a, b)) }

// Unordered implements Machine.
func (x *NEON) Unordered(a, b V) Mask {
	ordered := x.And(x.three(x.VFCMEQ, a, a), x.three(x.VFCMEQ, b, b))
	w := x.V()
	x.VNOT(nv(ordered).B16(), w.B16())
	return Mask{w}
}

// Select implements Machine.
func (x *NEON) Select(m Mask, a, b V) V {
	w := x.Copy(V(m))
	x.VBSL(nv(b).B16(), nv(a).B16(), nv(w).B16())
	return w
}

// Pow2 implements Machine.
func (x *NEON) Pow2(biased V) V {
	w := x.V()
	x.VSHL(23, nv(biased).S4(), w.S4())
	return V{w}
}

// Lookup implements Machine.
func (x *NEON) Lookup([]float32) func(V) V { return nil }

// Pow2Steps implements Machine.
func (x *NEON) Pow2Steps([]float32) func(V) V { return nil }

// RoundedFrom implements Machine.
func (x *NEON) RoundedFrom(biased, bias V) Rounded { return Rounded{Biased: biased} }

// ScaleByPow2Full implements Machine: 2^N as the product of two powers that
// are normal numbers, N = floor(N/2) + (N - floor(N/2)).
func (x *NEON) ScaleByPow2Full(p V, r Rounded) V {
	one := x.op(floatOne).S4()
	half, rest, w := x.V().S4(), x.V().S4(), x.V()
	x.VSHL(10, nv(r.Biased).S4(), half) // drop the bias, keep the sign
	x.VSSHR(11, half, half)             // floor(N/2)
	x.VSUB(half, nv(r.Biased).S4(), rest)
	for _, n := range []arm64.Arranged{half, rest} {
		x.VSHL(23, n, n)
		x.VADD(one, n, n)
	}
	x.VFMUL(rest, nv(p).S4(), w.S4())
	x.VFMUL(half, w.S4(), w.S4())
	return V{w}
}

// Sums implements Machine, by adding pairs twice.
func (x *NEON) Sums() func(vs []V) V {
	return func(vs []V) V {
		for range 2 {
			var sums []V
			for i := 0; i < len(vs); i += 2 {
				sums = append(sums, x.three(x.VFADDP, vs[i], vs[min(i+1, len(vs)-1)]))
			}
			vs = sums
		}
		return vs[0]
	}
}

// ReduceAdd implements Machine.
func (x *NEON) ReduceAdd(v V) V { return x.reduce(x.VFADDP, v) }

// ReduceMax implements Machine.
func (x *NEON) ReduceMax(v V) V { return x.reduce(x.VFMAXP, v) }

// reduce combines pairs of lanes twice, so that every lane ends with the whole.
func (x *NEON) reduce(pairs func(m, n, d arm64.Arranged), v V) V {
	v = x.three(pairs, v, v)
	return x.three(pairs, v, v)
}

// TransposeBlock implements Machine.
func (x *NEON) TransposeBlock() int { return 4 }

// Transpose implements Machine: zipping rows 0 and 2, and 1 and 3, and then the
// results, brings each column together.
func (x *NEON) Transpose(dst Ptr, ldDst Int, src Ptr, ldSrc Int) {
	var rows, mid [4]V
	p := x.CopyPtr(src)
	for i := range rows {
		rows[i] = x.Load(p, 0)
		x.BumpBy(p, ldSrc)
	}
	mid[0], mid[1] = x.three(x.VZIP1, rows[0], rows[2]), x.three(x.VZIP2, rows[0], rows[2])
	mid[2], mid[3] = x.three(x.VZIP1, rows[1], rows[3]), x.three(x.VZIP2, rows[1], rows[3])
	p = x.CopyPtr(dst)
	for i := range rows {
		op := x.VZIP1
		if i%2 == 1 {
			op = x.VZIP2
		}
		x.Store(p, 0, x.three(op, mid[i/2], mid[2+i/2]))
		x.BumpBy(p, ldDst)
	}
}
