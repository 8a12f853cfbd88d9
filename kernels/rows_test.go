package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/avoformer/avoformer/internal/race"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/ref"
)

var (
	inf32 = float32(math.Inf(1))
	nan32 = float32(math.NaN())
)

// ulp32 is the distance between float32 numbers around x, the denormals' where
// x is below the normal numbers.
func ulp32(x float64) float64 {
	_, e := math.Frexp(x)
	return math.Ldexp(1, max(e-24, -149))
}

// elementwiseCase is a function of one argument, its oracle and its bound.
type elementwiseCase struct {
	name string
	f    func(dst, x []float32)
	want func(float64) float64
	// bound is what |f(x)-want| may be.
	bound func(x, want float64) float64
	// special maps arguments to exact results; NaN gives NaN for all.
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
	{"Erf", Erf, math.Erf, ulps(5), map[float32]float32{inf32: 1, -inf32: -1, 0: 0, negZero: negZero}},
}

// TestElementwiseBounds runs every function over a sample of the float32
// arguments. TestExpEveryFloat has them all.
func TestElementwiseBounds(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, c := range elementwiseCases {
			t.Run(c.name, func(t *testing.T) {
				stride := uint64(1009)
				if testing.Short() {
					stride = 20011
				}
				if testenv.Emulated() {
					stride = 400009
				}
				checkBounds(t, c, stride)
			})
		}
	})
}

func checkBounds(t *testing.T, c elementwiseCase, stride uint64) {
	const block = 1 << 12
	x, y := make([]float32, 0, block), make([]float32, block)
	worst, at, run := 0.0, float32(0), 0
	flush := func() {
		// In runs of every length up to four vectors, so that unrolled loops,
		// single vectors and tails all see all magnitudes.
		for from := 0; from < len(x); {
			run = run%67 + 1
			to := min(from+run, len(x))
			c.f(y[from:to], x[from:to])
			from = to
		}
		for i, v := range x {
			got, want := y[i], c.want(float64(v))
			if math.IsNaN(want) {
				if got == got {
					t.Fatalf("%s(%v) = %v, want NaN", c.name, v, got)
				}
				continue
			}
			bound := c.bound(float64(v), want)
			if float64(got) == want || float32(want) == got {
				continue
			}
			e := math.Abs(float64(got) - want)
			if !(e <= bound) {
				t.Fatalf("%s(%v [%#x]) = %v, want %v: off by %.4g, bound %.4g", c.name, v, math.Float32bits(v), got, want, e, bound)
			}
			if e/bound > worst {
				worst, at = e/bound, v
			}
		}
		x = x[:0]
	}
	for b := uint64(0); b < 1<<32; b += stride {
		x = append(x, math.Float32frombits(uint32(b)))
		if len(x) == block {
			flush()
		}
	}
	flush()
	t.Logf("largest error: %.3f of the bound, at %v", worst, at)
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

// rowLengths has every length up to four vectors and some longer ones.
func rowLengths() []int {
	var n []int
	for i := 1; i <= 67; i++ {
		n = append(n, i)
	}
	return append(n, 96, 127, 128, 129, 255, 511, 768, 1000)
}

// hardRows is rows x cols of normal numbers with scale, and an offset that
// changes from row to row.
func hardRows(r *rand.Rand, rows, cols int, scale float64) []float32 {
	x := make([]float32, rows*cols)
	for i := range x {
		x[i] = float32(scale*r.NormFloat64()) + float32(100*(i/cols))
	}
	return x
}

// inPlaceToo calls f with a separate destination and with x itself.
func inPlaceToo(t *testing.T, x []float32, f func(t *testing.T, dst, x []float32)) {
	for _, inPlace := range []bool{false, true} {
		t.Run(fmt.Sprintf("inPlace=%v", inPlace), func(t *testing.T) {
			in := append([]float32(nil), x...)
			dst := make([]float32, len(x))
			for i := range dst {
				dst[i] = nan32
			}
			if inPlace {
				dst = in
			}
			f(t, dst, in)
			for i := range x {
				if !inPlace && in[i] != x[i] {
					t.Fatalf("x[%d] changed from %v to %v", i, x[i], in[i])
				}
			}
		})
	}
}

// softmaxBound is the bound of Softmax's comment.
func softmaxBound(x, want, max float64, cols int) float64 {
	return want*(16+math.Abs(x-max)+float64(min(cols, 8192))/8)*0x1p-24 + 0x1p-126
}

func TestSoftmax(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, cols := range append(rowLengths(), sumElements+3, normElements+3) {
			rows := 5
			if cols > 1000 {
				rows = 2
			}
			x := hardRows(r, rows, cols, 4)
			want := ref.Widen(x)
			ref.Softmax(want, want, rows, cols)
			t.Run(fmt.Sprintf("cols=%d", cols), func(t *testing.T) {
				inPlaceToo(t, x, func(t *testing.T, dst, x []float32) {
					top := make([]float64, rows)
					for i, v := range ref.Widen(x) {
						if i%cols == 0 || v > top[i/cols] {
							top[i/cols] = v
						}
					}
					in := ref.Widen(x)
					Softmax(dst, x, rows, cols)
					for i, got := range dst {
						if e := math.Abs(float64(got) - want[i]); !(e <= softmaxBound(in[i], want[i], top[i/cols], cols)) {
							t.Fatalf("[%d,%d]: %v, want %v: off by %.3g", i/cols, i%cols, got, want[i], e)
						}
					}
				})
			})
		}
	})
}

func TestLogSoftmax(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		for _, cols := range append(rowLengths(), sumElements+3, normElements+3) {
			const rows = 2
			x := hardRows(r, rows, cols, 4)
			want := ref.Widen(x)
			ref.LogSoftmax(want, want, rows, cols)
			inPlaceToo(t, x, func(t *testing.T, dst, x []float32) {
				LogSoftmax(dst, x, rows, cols)
				for i, got := range dst {
					if e := math.Abs(float64(got) - want[i]); !(e <= 0x1p-22*(1+math.Abs(want[i])+float64(min(cols, 8192))/64)) {
						t.Fatalf("cols %d [%d,%d]: %v, want %v: off by %.3g", cols, i/cols, i%cols, got, want[i], e)
					}
				}
			})
		}
	})
}

func TestSoftmaxSpecialRows(t *testing.T) {
	row := func(n int, fill float32, at int, v float32) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = fill
		}
		x[at] = v
		return x
	}
	eachISA(t, func(t *testing.T) {
		for _, n := range []int{1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 65, sumElements + 1} {
			for _, at := range []int{0, n / 2, n - 1} {
				for _, c := range []struct {
					name string
					x    []float32
					nan  bool
				}{
					{"one NaN", row(n, 1, at, nan32), true},
					{"one +Inf", row(n, 1, at, inf32), true},
					{"all -Inf", row(n, -inf32, at, -inf32), true},
					{"one finite", row(n, -inf32, at, 3), false},
					{"one huge", row(n, -3e38, at, 3.4e38), false},
					{"one far above", row(n, -1e4, at, 1e4), false},
					{"all as low as can be", row(n, -math.MaxFloat32, at, -math.MaxFloat32), false},
				} {
					for name, f := range map[string]func(dst, x []float32, rows, cols int){"Softmax": Softmax, "LogSoftmax": LogSoftmax} {
						// The row before and the row after must not notice.
						calm := row(n, 0.5, 0, 0.5)
						x := append(append(append([]float32(nil), calm...), c.x...), calm...)
						want := ref.Widen(x)
						dst := make([]float32, 3*n)
						f(dst, x, 3, n)
						if name == "Softmax" {
							ref.Softmax(want, want, 3, n)
						} else {
							ref.LogSoftmax(want, want, 3, n)
						}
						for i, got := range dst {
							w := float32(want[i])
							if c.nan && i/n == 1 {
								if got == got {
									t.Fatalf("%s, %s, n=%d at %d: [%d] = %v, want NaN", name, c.name, n, at, i, got)
								}
								continue
							}
							if d := math.Abs(float64(got - w)); got != w && !(d <= 1e-6*math.Abs(float64(w))) {
								t.Fatalf("%s, %s, n=%d at %d: [%d] = %v, want %v", name, c.name, n, at, i, got, w)
							}
						}
					}
				}
			}
		}
	})
}

// layerNormBound is the bound of LayerNorm's comment for one element, roundings
// being what those of the row's sums add up to.
func layerNormBound(roundings, want, x, mean, rstd, weight float64) float64 {
	z := math.Abs(x-mean) * rstd
	return 0x1p-22*(math.Abs(want)+math.Abs(weight)*(roundings*(1+2*z)+0x1p-16*math.Abs(mean)*rstd)) + 0x1p-126
}

const averagedOut = 1 // the roundings of sums of random numbers

func atWorst(cols int) float64 { return 1 + float64(cols)/16 }

func TestLayerNorm(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		for _, cols := range rowLengths() {
			const rows = 3
			for _, eps := range []float32{1e-5, 1e-12} {
				for _, affine := range []string{"both", "weight", "bias", "none"} {
					x := hardRows(r, rows, cols, 2)
					residual := randomSlice(r, rows*cols)
					weight, bias := randomSlice(r, cols), randomSlice(r, cols)
					if affine == "bias" || affine == "none" {
						weight = nil
					}
					if affine == "weight" || affine == "none" {
						bias = nil
					}
					checkLayerNorm(t, averagedOut, x, residual, rows, cols, weight, bias, eps)
				}
			}
		}
	})
}

func widenOrNil(x []float32) []float64 {
	if x == nil {
		return nil
	}
	return ref.Widen(x)
}

func checkLayerNorm(t *testing.T, roundings float64, x, residual []float32, rows, cols int, weight, bias []float32, eps float32) {
	t.Helper()
	w, b := widenOrNil(weight), widenOrNil(bias)
	compare := func(what string, got []float32, in []float32) {
		t.Helper()
		wide := ref.Widen(in)
		want := make([]float64, len(in))
		ref.LayerNorm(want, wide, rows, cols, w, b, float64(eps))
		var mean, square float64
		for i := range got {
			if i%cols == 0 {
				row := wide[i : i+cols]
				mean, square = 0, 0
				for _, v := range row {
					mean += v / float64(cols)
				}
				for _, v := range row {
					square += (v - mean) * (v - mean) / float64(cols)
				}
			}
			scale := 1.0
			if w != nil {
				scale = w[i%cols]
			}
			bound := layerNormBound(roundings, want[i], wide[i], mean, 1/math.Sqrt(square+float64(eps)), scale)
			if e := math.Abs(float64(got[i]) - want[i]); !(e <= bound) {
				t.Fatalf("%s cols=%d eps=%g [%d,%d]: %v, want %v: off by %.3g, bound %.3g", what, cols, eps, i/cols, i%cols, got[i], want[i], e, bound)
			}
		}
	}
	dst := make([]float32, len(x))
	LayerNorm(dst, x, rows, cols, weight, bias, eps)
	compare("LayerNorm", dst, x)
	same := append([]float32(nil), x...)
	LayerNorm(same, same, rows, cols, weight, bias, eps)
	compare("LayerNorm in place", same, x)

	added := make([]float32, len(x))
	for i := range x {
		added[i] = x[i] + residual[i]
	}
	sum := make([]float32, len(x))
	AddLayerNorm(dst, sum, x, residual, rows, cols, weight, bias, eps)
	for i := range sum {
		if sum[i] != added[i] {
			t.Fatalf("AddLayerNorm: sum[%d] = %v, want %v", i, sum[i], added[i])
		}
	}
	compare("AddLayerNorm", dst, added)
	AddLayerNorm(dst, nil, x, residual, rows, cols, weight, bias, eps)
	compare("AddLayerNorm without sum", dst, added)
	same = append(same[:0], x...)
	AddLayerNorm(same, same, same, residual, rows, cols, weight, bias, eps)
	compare("AddLayerNorm in place", same, added)

	want := ref.Widen(x)
	ref.RMSNorm(want, want, rows, cols, w, float64(eps))
	RMSNorm(dst, x, rows, cols, weight, eps)
	// Each of at least four lanes sums cols/4 squares, rounding once a step; the
	// root halves the error. Eight more roundings make the rest.
	relative := (float64(cols)/8 + 8) * 0x1p-24
	for i, got := range dst {
		if e := math.Abs(float64(got) - want[i]); !(e <= relative*math.Abs(want[i])+0x1p-126) {
			t.Fatalf("RMSNorm cols=%d [%d,%d]: %v, want %v: off by %.3g", cols, i/cols, i%cols, got, want[i], e)
		}
	}
}

// TestNormsOfLongRows has the longest row that the assembly takes, and longer
// ones, which are cut up.
func TestNormsOfLongRows(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("too many elements for an emulator")
	}
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(37, 38))
		for _, cols := range []int{normElements, normElements + 1, 3*normElements + 5} {
			weight, bias := randomSlice(r, cols), randomSlice(r, cols)
			residual := randomSlice(r, 2*cols)
			for _, first := range []float32{0, -3, 1e4, 1e12} {
				x := hardRows(r, 2, cols, 2)
				x[0] += first
				roundings := float64(averagedOut)
				switch {
				case first != 0 && cols > normElements:
					roundings = atWorst(sumElements)
				case first != 0:
					roundings = atWorst(cols)
				}
				checkLayerNorm(t, roundings, x, residual, 2, cols, weight, bias, 1e-5)
			}
			// Without deviation, and spoilt.
			x, dst := zeros(2*cols), zeros(2*cols)
			fill(x, 0.1)
			x[cols+cols/2] = inf32
			LayerNorm(dst, x, 2, cols, weight, bias, 1e-5)
			for i, v := range dst {
				if i < cols && v != bias[i] || i >= cols && v == v {
					t.Fatalf("cols=%d: [%d,%d] = %v, want the bias %v in row 0, NaN in row 1", cols, i/cols, i%cols, v, bias[i%cols])
				}
			}
		}
	})
}

// TestLayerNormFarStart has rows that begin far from their mean, at which the
// vector tiers' guess of the mean is taken.
func TestLayerNormFarStart(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(25, 26))
		for _, cols := range []int{15, 16, 17, 40, 60, 300, 768, 4096} {
			weight, bias := randomSlice(r, cols), randomSlice(r, cols)
			for _, far := range []float32{1.5, -3, 100, -1e4, -1e6, 1e12} {
				for _, rows := range []int{1, 4} {
					x := aligned(rows * cols)
					copy(x, randomSlice(r, rows*cols))
					for i := range x {
						if i%cols < 16 {
							x[i] += far
						}
					}
					checkLayerNorm(t, atWorst(cols), x, make([]float32, rows*cols), rows, cols, weight, bias, 1e-5)
					want := make([]float32, rows*cols)
					LayerNorm(want, x, rows, cols, weight, bias, 1e-5)
					half, added, sum := make([]float32, len(x)), make([]float32, len(x)), make([]float32, len(x))
					for i, v := range x {
						half[i] = v / 2
					}
					simd.AddLayerNormRows(Active(), added, sum, half, half, weight, bias, rows, cols, 1e-5)
					if !slices.Equal(added, want) || !slices.Equal(sum, x) {
						t.Fatalf("cols=%d: of a sum, results are others", cols)
					}
					simd.LayerNormRowsStream(Active(), x, x, weight, bias, rows, cols, 1e-5)
					if !slices.Equal(x, want) {
						t.Fatalf("cols=%d: written past the caches, results are others", cols)
					}
				}
			}
		}
	})
}

// TestSoftmaxAnywhere: where rows begin, which decides how they are cut into vectors, shows
// in no bit of the result, and nothing is written beside it.
func TestSoftmaxAnywhere(t *testing.T) {
	const rows = 4
	lengths := []int{255, 256, 257, 263, 264, 271, 272, 273, 280, 289, 1023, 1032, 8200, 8209}
	if testenv.Emulated() || race.Enabled {
		lengths = []int{257, 272, 280}
	}
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(43, 44))
		for _, cols := range lengths {
			x, want := aligned(rows*cols), aligned(rows*cols)
			for i := range x {
				x[i] = 20 * (r.Float32() - 0.5)
			}
			Softmax(want, x, rows, cols)
			for at := range 16 {
				for _, to := range []int{at, at + 8, 3} { // dst may lie otherwise than x
					from, into := aligned(rows*cols+24), aligned(rows*cols+24)
					fill(into, nan32)
					copy(from[at:], x)
					Softmax(into[to:][:rows*cols], from[at:][:rows*cols], rows, cols)
					Softmax(from[at:][:rows*cols], from[at:][:rows*cols], rows, cols)
					for i, v := range into {
						if in := i >= to && i < to+rows*cols; in && v != want[i-to] || !in && v == v {
							t.Fatalf("cols=%d: %d elements after the start of a line, to %d after one, element %d is %v, want %v", cols, at, to, i-to, v, want[max(0, min(i-to, len(want)-1))])
						}
					}
					if !slices.Equal(from[at:][:rows*cols], want) {
						t.Fatalf("cols=%d: in place, %d elements after the start of a line, results are others", cols, at)
					}
				}
			}
		}
	})
}

// TestSoftmaxStreamSpecialRows has rows that differ in what they hold, for the form
// that a call takes only from 16 MiB on. It agrees with the other.
func TestSoftmaxStreamSpecialRows(t *testing.T) {
	const cols = 64
	rows := []func(c int) float32{
		func(c int) float32 { return float32(c % 7) },
		func(int) float32 { return -inf32 },
		func(int) float32 { return -math.MaxFloat32 },
		func(c int) float32 { return float32(-3 * c) }, // exponentials that vanish
		func(c int) float32 { return []float32{1, nan32}[min(c/63, 1)] },
		func(c int) float32 { return []float32{inf32, 1}[min(c, 1)] },
		func(c int) float32 { return []float32{-inf32, 2}[c%2] },
		func(c int) float32 { return 1e30 * float32(c-100) },
	}
	x := aligned(len(rows) * cols)
	for i := range x {
		x[i] = rows[i/cols](i % cols)
	}
	eachISA(t, func(t *testing.T) {
		want, got := aligned(len(x)), aligned(len(x))
		simd.SoftmaxRows(Active(), want, x, len(rows), cols)
		simd.SoftmaxRowsStream(Active(), got, x, make([]float32, cols), len(rows), cols)
		for i := range got {
			if nan := want[i] != want[i]; nan != (got[i] != got[i]) || !nan && math.Abs(float64(got[i]-want[i])) > 1e-6*math.Abs(float64(want[i])) {
				t.Fatalf("row %d, column %d: %v, want %v", i/cols, i%cols, got[i], want[i])
			}
		}
	})
}

// aligned is a slice that begins with a cache line.
func aligned(n int) []float32 {
	s := make([]float32, n+15)
	for uintptr(unsafe.Pointer(&s[0]))%64 != 0 {
		s = s[1:]
	}
	return s[:n]
}

// TestStreamed: calls on matrices that are written past the caches give what they
// give in place, where they are not.
func TestStreamed(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("too many elements for an emulator; TestCatalog calls the kernels")
	}
	r := rand.New(rand.NewPCG(27, 28))
	for _, cols := range []int{512, 1000, 1025} {
		rows := (tuned.rows.streamElements + cols - 1) / cols
		n := rows * cols
		x, weight := randomSlice(r, n), randomSlice(r, cols)
		if dst := make([]float32, n); !streamed(dst, x) || streamed(x, x) {
			t.Fatal("the first call does not write past the caches, or that in place does")
		}
		eachISA(t, func(t *testing.T) {
			for name, f := range map[string]func(threads Threads, dst, x []float32){
				"Softmax":   func(threads Threads, dst, x []float32) { threads.Softmax(dst, x, rows, cols) },
				"LayerNorm": func(threads Threads, dst, x []float32) { threads.LayerNorm(dst, x, rows, cols, weight, nil, 1e-5) },
			} {
				want := slices.Clone(x)
				f(2, want, want)
				for _, threads := range []Threads{1, 2} {
					dst := make([]float32, n)
					if f(threads, dst, x); !slices.Equal(dst, want) {
						t.Errorf("%s of %d columns on %d threads gives other results than in place", name, cols, threads)
					}
				}
			}
		})
	}
}

// TestLayerNormHard has means far above the deviation, and rows without any.
func TestLayerNormHard(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(9, 10))
		for _, cols := range []int{1, 2, 7, 8, 16, 33, 256, 768} {
			weight, bias := randomSlice(r, cols), randomSlice(r, cols)
			for _, mean := range []float32{0, 1, 1e4, -1e4, 1.0 / 3} {
				for _, scale := range []float32{0, 1e-6, 1e-3, 1} {
					x := randomSlice(r, cols)
					for i := range x {
						x[i] = mean + scale*x[i]
					}
					for _, eps := range []float32{1e-5, 1e-12} {
						checkLayerNorm(t, averagedOut, x, make([]float32, cols), 1, cols, weight, bias, eps)
					}
				}
			}
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

func BenchmarkRows(b *testing.B) {
	for _, isa := range Supported() {
		r := rand.New(rand.NewPCG(1, 1))
		for _, c := range []struct {
			op         string
			rows, cols int
		}{
			{"Softmax", 64, 5}, {"Softmax", 1536, 128}, {"Softmax", 1, 32000}, {"Softmax", 12288, 512}, {"Softmax", 4096, 4096},
			{"LayerNorm", 10, 512}, {"LayerNorm", 128, 768}, {"LayerNorm", 512, 1024}, {"LayerNorm", 4096, 4096},
			{"GELU", 128, 3072}, {"GELUTanh", 128, 3072}, {"SiLU", 128, 3072}, {"Tanh", 128, 3072}, {"Exp", 128, 3072}, {"Erf", 128, 3072},
		} {
			b.Run(fmt.Sprintf("%s/%s/%dx%d", isa, c.op, c.rows, c.cols), func(b *testing.B) {
				defer Use(isa)()
				x, dst := randomSlice(r, c.rows*c.cols), make([]float32, c.rows*c.cols)
				w, bias := randomSlice(r, c.cols), randomSlice(r, c.cols)
				unary := map[string]func(dst, x []float32){"GELU": GELU, "GELUTanh": GELUTanh, "SiLU": SiLU, "Tanh": Tanh, "Exp": Exp, "Erf": Erf}[c.op]
				b.ResetTimer()
				for b.Loop() {
					switch {
					case c.op == "Softmax":
						Softmax(dst, x, c.rows, c.cols)
					case c.op == "LayerNorm":
						LayerNorm(dst, x, c.rows, c.cols, w, bias, 1e-5)
					default:
						unary(dst, x)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/elem")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// TestSoftmaxOfManyBlocks has a row of more blocks than a longRow has room for.
func TestSoftmaxOfManyBlocks(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("too long for an emulator")
	}
	const n = sumElements/2*blockElements + 3
	eachISA(t, func(t *testing.T) {
		x := make([]float32, n)
		x[n-1] = float32(math.Log(n + 1)) // as much as all others together
		Threads(2).Softmax(x, x, 1, n)
		for _, c := range []struct {
			i    int
			want float64
		}{{0, 1.0 / (2 * n)}, {n / 2, 1.0 / (2 * n)}, {n - 2, 1.0 / (2 * n)}, {n - 1, 0.5}} {
			if got := float64(x[c.i]); !(math.Abs(got-c.want) <= 1e-4*c.want) {
				t.Errorf("element %d is %v, want %v", c.i, got, c.want)
			}
		}
	})
}
