package kernels

// Tests of the elementwise functions.

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/ref"
)

// elementwiseCase is a function of one argument with its oracle and its bound.
type elementwiseCase struct {
	name string
	f    func(dst, x []float32)
	want func(float64) float64
	// bound returns the largest allowed |f(x)-want|.
	bound func(x, want float64) float64
	// special maps arguments to exact results; all functions map NaN to NaN.
	special map[float32]float32
}

func ulps(n float64) func(x, want float64) float64 {
	return func(_, want float64) float64 { return n * ulp32(want) }
}

var negZero = float32(math.Copysign(0, -1))

var elementwiseCases = []elementwiseCase{
	{"Exp", Exp, math.Exp, ulps(1.5), map[float32]float32{inf32: inf32, -inf32: 0, 0: 1, negZero: 1, 89: inf32, -104: 0}},
	{"ReLU", ReLU, ref.ReLU, ulps(0), map[float32]float32{inf32: inf32, -inf32: 0}},
	{"GELU", GELU, ref.GELU, func(x, want float64) float64 {
		bound := 2e-7 * max(1, math.Abs(x))
		if x >= 0 {
			bound = min(bound, 4*ulp32(want))
		}
		return bound
	}, map[float32]float32{inf32: inf32, -inf32: negZero, -1e30: negZero, -6: negZero, 6: 6}},
	{"GELUTanh", GELUTanh, ref.GELUTanh, func(x, want float64) float64 { return 2e-7 * max(1, math.Abs(x)) },
		map[float32]float32{inf32: inf32, -inf32: negZero, -1e30: negZero, 11: 11}},
	{"SiLU", SiLU, ref.SiLU, func(_, want float64) float64 { return max(4*ulp32(want), 0x1p-120) },
		map[float32]float32{inf32: inf32, -inf32: negZero, -1e30: negZero, 1e30: 1e30}},
	{"Sigmoid", Sigmoid, ref.Sigmoid, func(_, want float64) float64 { return max(4*ulp32(want), 0x1p-126) },
		map[float32]float32{inf32: 1, -inf32: 0, 0: 0.5}},
	{"Tanh", Tanh, math.Tanh, ulps(4), map[float32]float32{inf32: 1, -inf32: -1, 0: 0, negZero: negZero}},
	{"Softplus", Softplus, ref.Softplus, ulps(2), map[float32]float32{inf32: inf32, -inf32: 0, 21: 21, 1e30: 1e30, -104: 0}},
	{"Erf", Erf, math.Erf, ulps(5), map[float32]float32{inf32: 1, -inf32: -1, 0: 0, negZero: negZero}},
}

// TestElementwiseBounds runs every function over a sample of the float32 arguments. With
// AVOFORMER_LONG, on the machine's own tier, it takes all of them from 2^-25 to 2^8, of both signs,
// and one in 31 of the others, where all functions are near a constant or a multiple of their
// argument.
func TestElementwiseBounds(t *testing.T) {
	own := simd.Active()
	eachISA(t, func(t *testing.T) {
		for _, c := range elementwiseCases {
			t.Run(c.name, func(t *testing.T) {
				stride := uint64(1009)
				switch {
				case testenv.Long() && simd.Active() == own:
					stride = 1
				case testenv.Emulated():
					stride = 400009
				case testing.Short():
					stride = 20011
				}
				checkBounds(t, c, stride)
			})
		}
	})
}

// largest is the largest of some errors, and the argument that has it.
type largest struct {
	error float64
	at    float32
}

func (l *largest) add(error float64, at float32) {
	if error > l.error {
		*l = largest{error, at}
	}
}

// checkBounds checks every stride-th float32 argument on all threads. It logs the largest errors in
// parts of the bound, and in ULP.
func checkBounds(t *testing.T, c elementwiseCase, stride uint64) {
	const block = 1 << 12
	var mu sync.Mutex
	var ofBound, ofULP largest
	check := func(first uint64) {
		x, y := make([]float32, 0, block), make([]float32, block)
		step := stride
		if e := first >> 23 & 255; step == 1 && (e < 127-25 || e > 127+7) {
			step = 31
		}
		for b := first; b < min(first+block*stride, 1<<32); b += step {
			x = append(x, math.Float32frombits(uint32(b)))
		}
		// In runs of every length up to four vectors, so that unrolled loops, single vectors and
		// tails all process all magnitudes.
		for from, run := 0, int(first/stride/block); from < len(x); {
			run = run%67 + 1
			to := min(from+run, len(x))
			c.f(y[from:to], x[from:to])
			from = to
		}
		var bounds, ulps largest
		for i, v := range x {
			got, want := y[i], c.want(float64(v))
			if math.IsNaN(want) {
				if got == got {
					t.Errorf("%s(%v) = %v, want NaN", c.name, v, got)
				}
				continue
			}
			if float64(got) == want || float32(want) == got {
				continue
			}
			e, bound := math.Abs(float64(got)-want), c.bound(float64(v), want)
			if !(e <= bound) {
				t.Errorf("%s(%v [%#x]) = %v, want %v: off by %.4g, bound %.4g", c.name, v, math.Float32bits(v), got, want, e, bound)
				break
			}
			bounds.add(e/bound, v)
			ulps.add(e/ulp32(want), v)
		}
		mu.Lock()
		ofBound.add(bounds.error, bounds.at)
		ofULP.add(ulps.error, ulps.at)
		mu.Unlock()
	}
	var wg sync.WaitGroup
	var next atomic.Uint64
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for !t.Failed() {
				first := (next.Add(1) - 1) * block * stride
				if first >= 1<<32 {
					return
				}
				check(first)
			}
		})
	}
	wg.Wait()
	t.Logf("largest error: %.3f of the bound, at %v; %.3f ULP, at %v", ofBound.error, ofBound.at, ofULP.error, ofULP.at)
}

func TestElementwiseSpecialValues(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, c := range elementwiseCases {
			for x, want := range c.special {
				// In a whole vector and in a tail.
				in, out := make([]float32, 19), make([]float32, 19)
				for i := range in {
					in[i] = x
				}
				c.f(out, in)
				for i, got := range out {
					if math.Float32bits(got) != math.Float32bits(want) {
						t.Errorf("%s(%v) = %v in lane %d, want %v", c.name, x, got, i, want)
						break
					}
				}
			}
			in := []float32{nan32}
			if c.f(in, in); in[0] == in[0] {
				t.Errorf("%s(NaN) = %v, want NaN", c.name, in[0])
			}
			c.f(nil, nil)
		}
	})
}

func TestBinaryElementwise(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(11, 12))
		for n := range 70 {
			a, b := randomSlice(r, n), randomSlice(r, n)
			for name, c := range map[string]struct {
				f    func(dst, a, b []float32)
				want func(a, b float32) float32
			}{
				"Add":   {Add, func(a, b float32) float32 { return a + b }},
				"Mul":   {Mul, func(a, b float32) float32 { return a * b }},
				"Scale": {func(dst, a, b []float32) { Scale(dst, a, 1.5) }, func(a, b float32) float32 { return 1.5 * a }},
				"AXPY": {func(dst, a, b []float32) { copy(dst, b); AXPY(-2, a, dst) },
					func(a, b float32) float32 { return float32(math.FMA(-2, float64(a), float64(b))) }},
			} {
				dst := make([]float32, n)
				c.f(dst, a, b)
				for i := range dst {
					if want := c.want(a[i], b[i]); dst[i] != want && name != "AXPY" || !(math.Abs(float64(dst[i]-want)) <= 1e-6) {
						t.Fatalf("%s n=%d [%d] = %v, want %v", name, n, i, dst[i], want)
					}
				}
			}
		}
	})
}
