package kernels

// The catalogue: calls of every function of the package with drawn sizes and numbers, among them
// those at which machines tend to differ. testdata/catalogue_bits.txt has one checksum for each
// function, which every tier must give for any number of threads.

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/par"
)

const catalogueBits = "testdata/catalogue_bits.txt"

var (
	updateCatalogue = flag.Bool("update-catalogue", false, "write "+catalogueBits+" anew")
	catalogueSeeds  = flag.Int("catalogue-seeds", 0, "compare the tiers of this machine with each other on so many seeds, instead of with the checksums")
	catalogueFirst  = flag.Int("catalogue-first", 0, "the first of these seeds")
)

// fewSeeds are part of every test run, and manySeeds of the long ones.
const fewSeeds, manySeeds = 24, 400

// draw draws the arguments of a call.
type draw struct {
	*rand.Rand
	// finite excludes NaNs and infinities.
	finite bool
	// theme is a kind of numbers that most operands have, or nil: all but one in odds.
	theme func(r *rand.Rand) float32
	odds  int
}

// underflow makes most products of the call too small for a float32, in every second or third call.
func (d *draw) underflow() {
	if d.IntN(5) < 2 {
		d.theme, d.odds = finiteKinds[3], 10
	}
}

// drawing returns what draws the arguments of the call with a number.
func drawing(seed int) *draw {
	d := &draw{Rand: rand.New(rand.NewPCG(71, uint64(seed)))}
	if d.IntN(4) > 0 {
		d.theme, d.odds = finiteKinds[2+d.IntN(len(finiteKinds)-2)], 3
	}
	return d
}

// finiteKinds return numbers of a kind each. They use no function that may differ between machines.
var finiteKinds = []func(r *rand.Rand) float32{
	func(r *rand.Rand) float32 { return 8 * (r.Float32() - 0.5) },
	func(r *rand.Rand) float32 { return r.Float32() - 0.5 },
	func(r *rand.Rand) float32 { return magnitude(r, 0, 1) },                                // denormal
	func(r *rand.Rand) float32 { return magnitude(r, 127-80, 127-75) },                      // products of two are zeros
	func(r *rand.Rand) float32 { return magnitude(r, 127-75, 127-63) },                      // products of two are mostly denormal
	func(r *rand.Rand) float32 { return magnitude(r, 1, 127+30) },                           // of many magnitudes
	func(r *rand.Rand) float32 { return magnitude(r, 127+60, 127+66) },                      // products of two may overflow
	func(r *rand.Rand) float32 { return magnitude(r, 127+124, 127+128) },                    // sums may overflow
	func(r *rand.Rand) float32 { return float32(r.IntN(1<<12)) * 0x1p-12 * ties(r) },        // sums are often ties
	func(r *rand.Rand) float32 { return 10000 + r.Float32() },                               // a mean far larger than the deviation
	func(r *rand.Rand) float32 { return []float32{0, negativeZero, 0, 1}[r.IntN(4)] },       // zeros
	func(r *rand.Rand) float32 { return []float32{negativeZero, -0x1p-149}[r.IntN(20)/19] }, // nearly all -0
}

// anyFinite returns a number of any of these kinds.
func anyFinite(r *rand.Rand) float32 { return finiteKinds[r.IntN(len(finiteKinds))](r) }

// special returns a number that is not finite, or a zero.
func special(r *rand.Rand) float32 {
	return []float32{nan32, inf32, -inf32, 0, negativeZero}[r.IntN(5)]
}

var negativeZero = float32(math.Copysign(0, -1))

// magnitude returns a number of either sign whose exponent has bits from lo to hi-1.
func magnitude(r *rand.Rand, lo, hi int) float32 {
	return math.Float32frombits(r.Uint32()&0x807fffff | uint32(lo+r.IntN(hi-lo))<<23)
}

func ties(r *rand.Rand) float32 { return []float32{1, 0x1p-12, 0x1p12, -0x1p-1}[r.IntN(4)] }

// one returns a number of any kind.
func (d *draw) one() float32 { return d.kind()(d.Rand) }

// kind draws a kind of numbers: most often moderate ones.
func (d *draw) kind() func(r *rand.Rand) float32 {
	if d.theme != nil && d.IntN(d.odds) > 0 {
		return d.theme
	}
	switch which := d.IntN(len(finiteKinds) + 6); {
	case which < len(finiteKinds):
		return finiteKinds[which]
	case which == len(finiteKinds):
		return anyFinite
	}
	return finiteKinds[0]
}

// data returns n numbers of a kind, or equal ones. They begin anywhere in a cache line.
func (d *draw) data(n int) []float32 {
	x, kind, same, strange, sign := d.room(n), d.kind(), d.IntN(16) == 0, !d.finite && d.IntN(8) == 0, of(d, 0, 0, 1, 2)
	for i := range x {
		switch {
		case same && i > 0:
			x[i] = x[0]
		case strange && d.IntN(8) == 0:
			x[i] = special(d.Rand)
		default:
			x[i] = kind(d.Rand)
		}
		if sign > 0 { // all of one
			x[i] = float32(math.Copysign(float64(x[i]), float64(2*sign-3)))
		}
	}
	return x
}

// room returns n numbers that begin anywhere in a cache line.
func (d *draw) room(n int) []float32 {
	at := d.IntN(17)
	return make([]float32, at+n)[at:]
}

// of returns one of some numbers.
func of[T any](d *draw, x ...T) T { return x[d.IntN(len(x))] }

// maybe returns numbers, or nil.
func (d *draw) maybe(n int) []float32 {
	if d.IntN(2) == 0 {
		return nil
	}
	return d.data(n)
}

// length is mostly short.
func (d *draw) length() int {
	switch d.IntN(8) {
	case 0:
		return of(d, 1, 2, 3)
	case 1:
		return 1 + d.IntN(700)
	}
	return 1 + d.IntN(70)
}

// copied returns a copy that begins anywhere in a cache line.
func (d *draw) copied(x []float32) []float32 {
	y := d.room(len(x))
	copy(y, x)
	return y
}

// operation is a function of the package with drawn arguments. compute returns all results: it may
// be called several times.
type operation func(d *draw) (compute func(t Threads) []float32)

// catalogue has the functions by name.
var catalogue = []struct {
	name string
	operation
	calls int // per seed: more where a call takes little time
}{
	{"Elements", drawElements, 4}, {"Pairs", drawPairs, 4}, {"GLU", drawGLU, 2}, {"Gather", drawGather, 2}, {"Softmax", drawSoftmax, 4},
	{"MaskedSoftmax", drawMaskedSoftmax, 4}, {"Norms", drawNorms, 8}, {"Gemm", drawGemm, 16}, {"GemmBatched", drawGemmBatched, 4},
	{"GemmPacked", drawGemmPacked, 16}, {"GemmGrouped", drawGemmGrouped, 4}, {"FeedForward", drawFeedForward, 1}, {"SignDots", drawSignDots, 1},
	{"Recurrence", drawRecurrence, 4}, {"Attention", drawAttention, 12}, {"Pages", drawPages, 1},
}

func drawElements(d *draw) func(t Threads) []float32 {
	x, inPlace := d.data(d.length()), d.IntN(2) == 0
	f := of(d, Threads.Exp, Threads.ReLU, Threads.GELU, Threads.GELUTanh, Threads.SiLU, Threads.Sigmoid, Threads.Tanh, Threads.Erf, Threads.Softplus)
	return func(t Threads) []float32 {
		dst := slices.Clone(x)
		if inPlace {
			f(t, dst, dst)
		} else {
			f(t, dst, x)
		}
		return dst
	}
}

func drawPairs(d *draw) func(t Threads) []float32 {
	n := d.length()
	x, y, alpha, which := d.data(n), d.data(n), d.one(), d.IntN(6)
	return func(t Threads) []float32 {
		dst := slices.Clone(y)
		switch which {
		case 0:
			t.Add(dst, x, y)
		case 1:
			t.Add(dst, dst, x)
		case 2:
			t.Mul(dst, x, y)
		case 3:
			t.Mul(dst, dst, dst)
		case 4:
			t.Scale(dst, x, alpha)
		default:
			t.AXPY(alpha, x, dst)
		}
		return dst
	}
}

func drawGLU(d *draw) func(t Threads) []float32 {
	p := GLUParams{Rows: 1 + d.IntN(5), Cols: d.length(), Activation: ActReLU + Activation(d.IntN(int(ActReLU2)))}
	p.X = d.data(2 * p.Rows * p.Cols)
	if d.IntN(2) == 0 {
		p.Sharpness, p.Limit, p.Offset = of[float32](d, 0, 1.702, 0.5), of[float32](d, 0, 7, 1e-30), of[float32](d, 0, 1, -1)
	}
	return func(t Threads) []float32 {
		p := p
		p.Dst = make([]float32, p.Rows*p.Cols)
		t.GLU(p)
		return p.Dst
	}
}

func drawGather(d *draw) func(t Threads) []float32 {
	p := GatherParams{Rows: 1 + d.IntN(5), Cols: d.length()}
	n := 1 + d.IntN(4)
	rows := 1 + d.IntN(6)
	p.X, p.Weight, p.Residual = d.data(rows*p.Cols), d.maybe(n*p.Rows), d.maybe(p.Rows*p.Cols)
	for range n * p.Rows {
		p.Index = append(p.Index, int32(d.IntN(rows)))
	}
	return func(t Threads) []float32 {
		p := p
		p.Dst = make([]float32, p.Rows*p.Cols)
		t.Gather(p)
		return p.Dst
	}
}

// shape returns a number of rows and their length.
func (d *draw) shape() (rows, cols int) {
	if d.IntN(40) == 0 {
		return 150 + d.IntN(50), 200 + d.IntN(50) // enough for several threads
	}
	return 1 + d.IntN(6), d.length()
}

func drawSoftmax(d *draw) func(t Threads) []float32 {
	rows, cols := d.shape()
	x, inPlace, log := d.data(rows*cols), d.IntN(2) == 0, d.IntN(2) == 0
	return func(t Threads) []float32 {
		dst, x := make([]float32, len(x)), x
		if inPlace {
			copy(dst, x)
			x = dst
		}
		if log {
			t.LogSoftmax(dst, x, rows, cols)
		} else {
			t.Softmax(dst, x, rows, cols)
		}
		return dst
	}
}

// mask returns terms for a call.
func (d *draw) mask(batch, heads, lenQ, lenK int, byElement bool) (terms []MaskTerm) {
	shape := func() (b, h, q, k int) { return of(d, 1, batch), of(d, 1, heads), of(d, 1, lenQ), of(d, 1, lenK, lenK) }
	bools := func(n int, odds int) []bool {
		x := make([]bool, n)
		for i := range x {
			x[i] = d.IntN(odds) == 0
		}
		return x
	}
	lengths := func(n int) []int {
		x := make([]int, n)
		for i := range x {
			x[i] = d.IntN(lenK + 2)
		}
		return x
	}
	for range d.IntN(4) {
		switch which := d.IntN(9); {
		case which == 0:
			terms = append(terms, CausalMask())
		case which == 1:
			terms = append(terms, WindowMask(d.IntN(40), d.IntN(40)-20))
		case which == 2:
			terms = append(terms, LengthMask(lengths(batch)))
		case which == 3:
			terms = append(terms, ALiBiMask(d.data(heads)))
		case !byElement:
		case which == 4:
			terms = append(terms, QueryLengthMask(lengths(batch*lenQ)))
		case which == 5:
			b, h, q, k := shape()
			terms = append(terms, KeepMask(bools(b*h*q*k, of(d, 1, 2, 5)), b, h, q, k))
		case which == 6:
			b, h, q, k := shape()
			terms = append(terms, BlockMask(bools(b*h*q*k, of(d, 2, 5)), b, h, q, k))
		default:
			b, h, q, k := shape()
			bias := d.data(b * h * q * k)
			for i, hidden := range bools(len(bias), of(d, 1000, 2, 3)) {
				if hidden {
					bias[i] = -inf32
				}
			}
			terms = append(terms, BiasMask(bias, b, h, q, k))
		}
	}
	return terms
}

func drawMaskedSoftmax(d *draw) func(t Threads) []float32 {
	p := SoftmaxParams{Batch: 1 + d.IntN(2), Heads: 1 + d.IntN(3), LenQ: 1 + d.IntN(9), LenK: d.length(), Scale: of(d, 0, 1, -1, d.one()), Past: d.IntN(60)}
	p.X, p.Mask = d.data(p.Batch*p.Heads*p.LenQ*p.LenK), d.mask(p.Batch, p.Heads, p.LenQ, p.LenK, true)
	inPlace := d.IntN(2) == 0
	return func(t Threads) []float32 {
		p := p
		p.Dst = make([]float32, len(p.X))
		if inPlace {
			copy(p.Dst, p.X)
			p.X = p.Dst
		}
		t.MaskedSoftmax(p)
		return p.Dst
	}
}

func drawNorms(d *draw) func(t Threads) []float32 {
	rows, cols := d.shape()
	x, residual, weight, bias := d.data(rows*cols), d.data(rows*cols), d.maybe(cols), d.maybe(cols)
	which, inPlace, withSum := d.IntN(4), d.IntN(2) == 0, d.IntN(2) == 0
	eps := of[float32](d, 1e-5, 1e-12, 0, 0x1p-140)
	return func(t Threads) []float32 {
		dst, x, sum := make([]float32, len(x)), x, []float32(nil)
		if inPlace {
			copy(dst, x)
			x = dst
		}
		if withSum {
			sum = make([]float32, len(x))
		}
		switch which {
		case 0:
			t.LayerNorm(dst, x, rows, cols, weight, bias, eps)
		case 1:
			t.RMSNorm(dst, x, rows, cols, weight, eps)
		case 2:
			t.AddLayerNorm(dst, sum, x, residual, rows, cols, weight, bias, eps)
		default:
			t.AddRMSNorm(dst, sum, x, residual, rows, cols, weight, eps)
		}
		return append(dst, sum...)
	}
}

// sizes returns the sizes of a product.
func (d *draw) sizes() (m, n, k int) {
	d.underflow()
	switch d.IntN(40) {
	case 0:
		return 40 + d.IntN(60), 60 + d.IntN(60), 40 + d.IntN(40) // enough for several threads
	case 1:
		return 1 + d.IntN(3), 1 + d.IntN(20), 1000 + d.IntN(1200) // stretches
	}
	return of(d, 1, 1+d.IntN(4), 1+d.IntN(30)), of(d, 1+d.IntN(20), 1+d.IntN(70)), of(d, 1+d.IntN(4), 1+d.IntN(40), 1+d.IntN(70))
}

// factor is alpha or beta.
func (d *draw) factor() float32 { return of(d, 1, 1, 0, -1, 0.5, negativeZero, d.one()) }

func drawGemm(d *draw) func(t Threads) []float32 {
	m, n, k := d.sizes()
	transA, transB := Transpose(d.IntN(3) == 0), Transpose(d.IntN(2) == 0)
	rowsA, lda, rowsB, ldb, ldc := m, k, k, n, n+d.IntN(3)
	if transA {
		rowsA, lda = k, m
	}
	if transB {
		rowsB, ldb = n, k
	}
	lda, ldb = lda+d.IntN(3), ldb+d.IntN(3)
	a, b, c, alpha, beta := d.data(rowsA*lda), d.data(rowsB*ldb), d.data(m*ldc), d.factor(), d.factor()
	return func(t Threads) []float32 {
		c := d.copied(c)
		t.Gemm(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return c
	}
}

func drawGemmBatched(d *draw) func(t Threads) []float32 {
	p := GemmBatchedParams{TransA: Transpose(d.IntN(2) == 0), TransB: Transpose(d.IntN(2) == 0), Batch: 1 + d.IntN(3), Alpha: d.factor(), Beta: d.factor()}
	p.M, p.N, p.K = d.sizes()
	rowsA, rowsB := p.M, p.K
	p.LdA, p.LdB = p.K, p.N
	if p.TransA {
		rowsA, p.LdA = p.K, p.M
	}
	if p.TransB {
		rowsB, p.LdB = p.N, p.K
	}
	p.LdA, p.LdB, p.LdC = p.LdA+d.IntN(3), p.LdB+d.IntN(3), p.N+d.IntN(3)
	p.StrideA, p.StrideB, p.StrideC = rowsA*p.LdA, of(d, 0, rowsB*p.LdB), p.M*p.LdC
	p.A, p.B = d.data(p.Batch*p.StrideA), d.data(p.Batch*rowsB*p.LdB)
	c := d.data(p.Batch * p.StrideC)
	return func(t Threads) []float32 {
		p := p
		p.C = d.copied(c)
		t.GemmBatched(p)
		return p.C
	}
}

// matrix returns a function that packs an n x k matrix of weights in a format.
func (d *draw) matrix(f Format, n, k int) func() *PackedB {
	elements, size := f.Block()
	if elements < 2 {
		finite := d.finite
		d.finite = finite || f == FormatInt8 && d.IntN(4) > 0
		b := d.data(n * k)
		d.finite = finite
		return func() *PackedB { return PackBRows(f, n, k, func(j int, dst []float32) { copy(dst, b[j*k:]) }) }
	}
	rows := make([]byte, n*k/elements*size)
	wild := d.IntN(4) == 0
	scales := map[Format][]int{FormatQ4_1: {0, 2}, FormatQ5_1: {0, 2}, FormatQ4_K: {0, 2}, FormatQ5_K: {0, 2}, FormatQ6_K: {208}, FormatQ3_K: {108}}[f]
	if scales == nil {
		scales = []int{0}
	}
	for at := range slices.Chunk(rows, size) {
		for i := range at {
			at[i] = byte(d.Uint32())
		}
		for _, i := range scales {
			switch {
			case wild:
			case f == FormatMXFP4:
				at[i] = 110 + at[i]%30
			default:
				at[i+1] = at[i+1]&0x83 | 0x30
			}
		}
	}
	return func() *PackedB {
		row := k / elements * size
		return PackBBlocks(f, n, k, func(j int, dst []byte) { copy(dst, rows[j*row:]) })
	}
}

// format returns a format with which results do not depend on the machine, and a possible k near
// the given one.
func (d *draw) format(k int) (f Format, steps int) {
	f = of(d, FormatF32, FormatF32, FormatF16, FormatBF16, FormatInt8, blockFormats[d.IntN(len(blockFormats))])
	elements, _ := f.Block()
	elements = max(1, elements)
	return f, (k + elements - 1) / elements * elements
}

func drawGemmPacked(d *draw) func(t Threads) []float32 {
	m, n, k := d.sizes()
	f, k := d.format(k)
	lda, ldc, ldr := k+d.IntN(3), n+d.IntN(3), n+d.IntN(3)
	a, c, pack, alpha, beta := d.data(m*lda), d.data(m*ldc), d.matrix(f, n, k), d.factor(), d.factor()
	if d.IntN(2) == 0 {
		alpha, beta = 1, 0
	}
	ep := Epilogue{LdResidual: ldr}
	if d.IntN(2) == 0 {
		ep.Bias, ep.Activation, ep.Residual = d.maybe(n), Activation(d.IntN(int(ActReLU2)+1)), d.maybe(m*ldr)
	}
	return func(t Threads) []float32 {
		c := d.copied(c)
		t.GemmPacked(m, alpha, a, lda, pack(), beta, c, ldc, ep)
		return c
	}
}

func drawGemmGrouped(d *draw) func(t Threads) []float32 {
	_, n, k := d.sizes()
	f, k := d.format(k)
	p := GemmGroupedParams{LdA: k + d.IntN(3), LdC: n + d.IntN(3)}
	var packs []func() *PackedB
	rows, biased := 0, d.IntN(2) == 0
	for range 1 + d.IntN(4) {
		rows += d.IntN(9)
		p.Ends = append(p.Ends, rows)
		packs = append(packs, d.matrix(f, n, k))
		if biased {
			p.Bias = append(p.Bias, d.data(n))
		}
	}
	p.A = d.data(rows * p.LdA)
	return func(t Threads) []float32 {
		p := p
		p.B = make([]*PackedB, len(packs))
		for i, pack := range packs {
			p.B[i] = pack()
		}
		p.C = make([]float32, rows*p.LdC)
		t.GemmGrouped(p)
		return p.C
	}
}

func drawFeedForward(d *draw) func(t Threads) []float32 {
	rows, n, k := d.sizes()
	h := 1 + d.IntN(70)
	p := FeedForwardParams{Rows: rows, LdX: k + d.IntN(3), Activation: Activation(d.IntN(int(ActReLU2) + 1)), LdResidual: n + d.IntN(3), LdDst: n + d.IntN(3)}
	p.X, p.UpBias, p.DownBias, p.Residual = d.data(rows*p.LdX), d.maybe(h), d.maybe(n), d.maybe(rows*p.LdResidual)
	up, down := d.matrix(FormatInt8, h, k), d.matrix(FormatInt8, n, h)
	var gate func() *PackedB
	if d.IntN(2) == 0 {
		gate, p.GateBias = d.matrix(FormatInt8, h, k), d.maybe(h)
	}
	return func(t Threads) []float32 {
		p := p
		p.Up, p.Down = up(), down()
		if gate != nil {
			p.Gate = gate()
		}
		p.Dst = make([]float32, rows*p.LdDst)
		t.FeedForward(p)
		return p.Dst
	}
}

func drawSignDots(d *draw) func(t Threads) []float32 {
	p := SignDotsParams{M: 1 + d.IntN(40), N: SignPanel * (1 + d.IntN(5)), Dim: 1 + d.IntN(500)}
	words := (p.Dim + 31) / 32
	p.LdA, p.LdC = p.M+d.IntN(3), p.N+d.IntN(3)
	signs := func(n int, word func(i int) int) []int32 {
		x := make([]int32, n)
		for i := range x {
			x[i] = int32(d.Uint32())
			if left := p.Dim - 32*word(i); left < 32 {
				x[i] &= 1<<left - 1
			}
		}
		return x
	}
	p.A = signs(words*p.LdA, func(i int) int { return i / p.LdA })
	p.B = signs(words*p.N, func(i int) int { return i / SignPanel % words })
	return func(t Threads) []float32 {
		p := p
		p.C = make([]float32, p.M*p.LdC)
		t.SignDots(p)
		return p.C
	}
}

func drawRecurrence(d *draw) func(t Threads) []float32 {
	keyHeads := 1 + d.IntN(2)
	p := recurrenceOf(d.data, 1+d.IntN(5), keyHeads*(1+d.IntN(2)), keyHeads, 1+d.IntN(40), d.length())
	p.Delta, p.Alternate = d.IntN(2) == 0, d.IntN(2) == 0
	inPlace := d.IntN(2) == 0
	if d.IntN(2) == 0 {
		p.Decay = d.data(len(p.Decay))
	}
	return func(t Threads) []float32 {
		p := p
		p.To, p.Dst = make([]float32, len(p.From)), make([]float32, len(p.Dst))
		if inPlace {
			copy(p.To, p.From)
			p.From = p.To
		}
		t.Recurrence(p)
		return append(p.Dst, p.To...)
	}
}

func drawAttention(d *draw) func(t Threads) []float32 {
	p := AttentionParams{Batch: 1 + d.IntN(2), KVHeads: 1 + d.IntN(2), HeadDim: of(d, 1+d.IntN(40), 32, 64), Empty: EmptyRow(d.IntN(3))}
	p.Heads = p.KVHeads * (1 + d.IntN(3))
	p.ValueDim = of(d, p.HeadDim, p.HeadDim, 1+d.IntN(40))
	p.LenQ, p.LenK = of(d, 1, 1+d.IntN(4), 1+d.IntN(40)), of(d, 1+d.IntN(40), 1+d.IntN(70), 1+d.IntN(270))
	if d.IntN(4) == 0 {
		d.underflow()
	}
	switch d.IntN(50) {
	case 0:
		p.LenQ, p.LenK = 60+d.IntN(70), 250+d.IntN(100)
	case 1:
		p.LenQ, p.LenK = of(d, 1, 3, 20), 1000+d.IntN(1500)
	}
	p.Scale, p.Past = of(d, 0, 0, 1, -0.5, d.one()), of(d, 0, max(0, p.LenK-p.LenQ), d.IntN(50))
	p.Mask = d.mask(p.Batch, p.Heads, p.LenQ, p.LenK, true)
	if d.IntN(2) == 0 {
		p.HeadMask = d.data(p.Heads)
		for i := range p.HeadMask {
			if d.IntN(2) == 0 {
				p.HeadMask[i] = of[float32](d, -1, 0, 0.75, negativeZero)
			}
		}
	}
	if d.IntN(4) == 0 {
		p.Sinks = d.data(p.Heads)
	}
	p.Int8 = d.IntN(3) == 0
	if p.Int8 && d.IntN(2) == 0 {
		p.HeadDim, p.ValueDim, p.LenQ, p.LenK = of(d, 32, 64), of(d, 32, 64), 13+d.IntN(40), 65+d.IntN(300)
		p.Sinks, p.Mask = nil, d.mask(p.Batch, p.Heads, p.LenQ, p.LenK, true)
	}
	p.Q, p.K = d.data(p.Batch*p.Heads*p.LenQ*p.HeadDim), d.data(p.Batch*p.KVHeads*p.LenK*p.HeadDim)
	d.finite = len(p.Mask) > 0 || p.Int8 // values of hidden keys must be finite
	p.V = d.data(p.Batch * p.KVHeads * p.LenK * p.ValueDim)
	d.finite = false
	p.QStrides, p.DstStrides = BLHD(p.LenQ, p.Heads*p.HeadDim, p.HeadDim), BLHD(p.LenQ, p.Heads*p.ValueDim, p.ValueDim)
	p.KStrides, p.VStrides = BLHD(p.LenK, p.KVHeads*p.HeadDim, p.HeadDim), BLHD(p.LenK, p.KVHeads*p.ValueDim, p.ValueDim)
	weights, inPages := false, func(*AttentionParams) {}
	switch d.IntN(6) {
	case 0:
		weights = true
	case 1:
		p.Relative, p.RelativeKeys = d.data((2*(p.Past+p.LenQ+p.LenK)-1)*p.HeadDim), d.IntN(2) == 0
	case 2, 3:
		f, rows := of(d, FormatF32, FormatF16, FormatBF16, FormatInt8), of(d, 5, 32, 64)
		table := d.Perm(p.Batch * ((p.LenK + rows - 1) / rows))
		keys := of(d, NewKeyPages, NewPages)
		for i, v := range p.V {
			if len(p.Mask) > 0 { // they must be finite in the format too
				p.V[i] = max(-60000, min(v, 60000))
			}
		}
		inPages = func(p *AttentionParams) {
			k, v := keys(f, p.KVHeads, rows, p.HeadDim), NewPages(f, p.KVHeads, rows, p.ValueDim)
			k.Grow(len(table))
			v.Grow(len(table))
			need := len(table) / p.Batch
			for b := range p.Batch {
				s := AttentionSequence{LenQ: p.LenQ, LenK: p.LenK, Past: p.Past, Query: b * p.LenQ}
				for _, page := range table[b*need:][:need] {
					s.Pages = append(s.Pages, int32(page))
				}
				for j := range p.LenK {
					at := b*p.LenK + j
					k.Set(table[b*need+j/rows], j%rows, p.K[at*p.KVHeads*p.HeadDim:][:p.KVHeads*p.HeadDim])
					v.Set(table[b*need+j/rows], j%rows, p.V[at*p.KVHeads*p.ValueDim:][:p.KVHeads*p.ValueDim])
				}
				p.Sequences = append(p.Sequences, s)
			}
			p.KPages, p.VPages, p.K, p.V, p.LenQ, p.LenK, p.Past = k, v, nil, nil, 0, 0, 0
		}
	}
	return func(t Threads) []float32 {
		p := p
		p.Dst = make([]float32, p.Batch*p.Heads*p.LenQ*p.ValueDim)
		for i := range p.Dst {
			p.Dst[i] = 12345
		}
		if weights {
			p.Weights = make([]float32, p.Batch*p.Heads*p.LenQ*p.LenK)
		}
		inPages(&p)
		t.Attention(p)
		return append(p.Dst, p.Weights...)
	}
}

func drawPages(d *draw) func(t Threads) []float32 {
	f, heads, rows, dim := of(d, FormatF32, FormatF16, FormatBF16, FormatInt8), 1+d.IntN(3), of(d, 5, 32), d.length()
	x, pages := d.data(rows*heads*dim), of(d, NewKeyPages, NewPages)
	return func(Threads) []float32 {
		p := pages(f, heads, rows, dim)
		p.Grow(1)
		all := make([]float32, len(x))
		for r := range rows {
			p.Set(0, r, x[r*heads*dim:][:heads*dim])
			p.Row(all[r*heads*dim:][:heads*dim], 0, r)
		}
		return all
	}
}

// callCatalogue calls a function once for each of some numbers of calls, and hands on the results.
// These are the same for all numbers of threads.
func callCatalogue(t *testing.T, f operation, first, calls int, result func(call int, x []float32)) {
	counts := []Threads{2, 3, 7}
	if testenv.Slow() {
		counts = counts[1:2]
	}
	for call := first; call < first+calls; call++ {
		compute := f(drawing(call))
		x := compute(1)
		for _, threads := range counts {
			compareCalls(t, fmt.Sprintf("call %d, %d threads instead of one", call, threads), compute(threads), x)
		}
		result(call, x)
	}
}

// compareCalls compares the bits of results, but not those of NaNs.
func compareCalls(t *testing.T, what string, got, want []float32) {
	for i, v := range want {
		if math.Float32bits(got[i]) != math.Float32bits(v) && (v == v || got[i] == got[i]) {
			t.Errorf("%s: element %d of %d is %v, want %v", what, i, len(want), got[i], v)
			return
		}
	}
}

// catalogueSums returns a checksum of each call.
func catalogueSums(t *testing.T, f operation, calls int) (sums []string) {
	callCatalogue(t, f, 0, calls, func(_ int, x []float32) { sums = append(sums, checksum(x)) })
	return sums
}

// TestCatalogue expects the bits of one committed table on every tier.
func TestCatalogue(t *testing.T) {
	withProcs(t, 4)
	t.Cleanup(par.Stop)
	if *catalogueSeeds > 0 {
		compareTiers(t, *catalogueFirst, *catalogueSeeds)
		return
	}
	seeds, column := fewSeeds, 0
	if testenv.Long() {
		seeds, column = manySeeds, 1
	}
	if *updateCatalogue {
		writeCatalogue(t)
		return
	}
	written, err := os.ReadFile(catalogueBits)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(written)) {
		if fields := strings.Fields(line); len(fields) == 3 {
			want[fields[2]] = fields[column]
		}
	}
	if len(want) != len(catalogue) {
		t.Errorf("%d functions for %d lines of %s", len(catalogue), len(want), catalogueBits)
	}
	eachISA(t, func(t *testing.T) {
		for _, f := range catalogue {
			if got := together(catalogueSums(t, f.operation, seeds*f.calls)); got != want[f.name] {
				t.Errorf("%s: checksum %s of %d calls, want %s; find the call with -catalogue-seeds", f.name, got, seeds*f.calls, want[f.name])
			}
		}
	})
}

// together returns a checksum of checksums.
func together(sums []string) string {
	h := fnv.New64a()
	for _, s := range sums {
		h.Write([]byte(s))
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// compareTiers names the calls with which a tier has other results than the first one.
func compareTiers(t *testing.T, first, seeds int) {
	want := map[string]map[int][]float32{}
	eachISA(t, func(t *testing.T) {
		for _, f := range catalogue {
			t.Run(f.name, func(t *testing.T) {
				if want[f.name] == nil {
					want[f.name] = map[int][]float32{}
				}
				callCatalogue(t, f.operation, first*f.calls, seeds*f.calls, func(call int, x []float32) {
					if before := want[f.name][call]; before != nil {
						compareCalls(t, fmt.Sprintf("call %d", call), x, before)
					} else {
						want[f.name][call] = x
					}
				})
			})
		}
	})
}

func writeCatalogue(t *testing.T) {
	var lines []string
	for _, f := range catalogue {
		sums := catalogueSums(t, f.operation, manySeeds*f.calls)
		lines = append(lines, fmt.Sprintf("%s %s %s\n", together(sums[:fewSeeds*f.calls]), together(sums), f.name))
	}
	slices.Sort(lines)
	if err := os.WriteFile(catalogueBits, []byte(strings.Join(lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Skip("written; now without the flag")
}
