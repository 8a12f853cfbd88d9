package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/row"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/ref"
)

// Tests of Softmax and LogSoftmax.

// softmaxBound returns the bound of Softmax's comment.
func softmaxBound(x, want, max float64, cols int) float64 {
	return want*(16+1.25*math.Abs(x-max)+float64(min(cols, 8192))/8)*0x1p-24 + 0x1p-126
}

func TestSoftmax(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, cols := range append(rowLengths(), row.SumElements+3, 2*row.SumElements+3, row.NormElements+3) {
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

// TestSoftmaxBelowMax has a result whose roundings nearly all go in one direction: of the
// difference, which is just above 64, and of log2(e).
func TestSoftmaxBelowMax(t *testing.T) {
	x := []float32{64.494804, -0.14319228, 63.974316}
	want := ref.Widen(x)
	ref.Softmax(want, want, 1, len(x))
	eachISA(t, func(t *testing.T) {
		y := make([]float32, len(x))
		Softmax(y, x, 1, len(x))
		for i, got := range y {
			if e := math.Abs(float64(got) - want[i]); !(e <= softmaxBound(float64(x[i]), want[i], float64(x[0]), len(x))) {
				t.Errorf("element %d is %v, want %v: off by %.3g", i, got, want[i], e)
			}
		}
	})
}

func TestLogSoftmax(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		for _, cols := range append(rowLengths(), row.SumElements+3, row.NormElements+3) {
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
	rowOf := func(n int, fill float32, at int, v float32) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = fill
		}
		x[at] = v
		return x
	}
	eachISA(t, func(t *testing.T) {
		for _, n := range []int{1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 65, row.SumElements + 1} {
			for _, at := range []int{0, n / 2, n - 1} {
				for _, c := range []struct {
					name string
					x    []float32
					nan  bool
				}{
					{"one NaN", rowOf(n, 1, at, nan32), true},
					{"one +Inf", rowOf(n, 1, at, inf32), true},
					{"all -Inf", rowOf(n, -inf32, at, -inf32), true},
					{"one finite", rowOf(n, -inf32, at, 3), false},
					{"one huge", rowOf(n, -3e38, at, 3.4e38), false},
					{"one far above", rowOf(n, -1e4, at, 1e4), false},
					{"all as low as can be", rowOf(n, -math.MaxFloat32, at, -math.MaxFloat32), false},
				} {
					for name, f := range map[string]func(dst, x []float32, rows, cols int){"Softmax": Softmax, "LogSoftmax": LogSoftmax} {
						// The rows before and after must not change.
						calm := rowOf(n, 0.5, 0, 0.5)
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

// TestSoftmaxStreamSpecialRows has rows of different kinds, for the form that a call uses only from
// 16 MiB on. It has the same results as the other form.
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
		simd.SoftmaxRows(simd.Active(), want, x, nil, len(rows), cols, 0)
		simd.SoftmaxRows(simd.Active(), got, x, make([]float32, cols+32), len(rows), cols, 1)
		for i := range got {
			if nan := want[i] != want[i]; nan != (got[i] != got[i]) || !nan && math.Abs(float64(got[i]-want[i])) > 1e-6*math.Abs(float64(want[i])) {
				t.Fatalf("row %d, column %d: %v, want %v", i/cols, i%cols, got[i], want[i])
			}
		}
	})
}

// TestSoftmaxOfManyBlocks has a row of more blocks than a longRow holds.
func TestSoftmaxOfManyBlocks(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("too long for an emulator")
	}
	const n = row.SumElements/2*row.SegmentElements + 3
	eachISA(t, func(t *testing.T) {
		x := make([]float32, n)
		x[n-1] = float32(math.Log(n + 1)) // as much as all other elements together
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
