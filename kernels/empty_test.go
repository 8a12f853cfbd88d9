package kernels

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/row"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// Sizes of 0 together with sizes beyond all memory, and matrices that share elements.

// TestNoElements makes calls on matrices without elements, with as many rows or columns as an int
// can count: they return immediately, and allocate nothing for the missing elements.
func TestNoElements(t *testing.T) {
	for _, s := range [][2]int{{mem.MaxInt / 4, 0}, {0, mem.MaxInt / 4}, {0, 1 << 30}} {
		rows, cols := s[0], s[1]
		for name, f := range map[string]func(t Threads){
			"Softmax":    func(t Threads) { t.Softmax(nil, nil, rows, cols) },
			"LogSoftmax": func(t Threads) { t.LogSoftmax(nil, nil, rows, cols) },
			"MaskedSoftmax": func(t Threads) {
				t.MaskedSoftmax(SoftmaxParams{Batch: rows, Heads: 1, LenQ: 1, LenK: cols, Mask: []MaskTerm{CausalMask()}})
			},
			"LayerNorm":    func(t Threads) { t.LayerNorm(nil, nil, rows, cols, nil, nil, 1e-5) },
			"AddLayerNorm": func(t Threads) { t.AddLayerNorm(nil, nil, nil, nil, rows, cols, nil, nil, 1e-5) },
			"RMSNorm":      func(t Threads) { t.RMSNorm(nil, nil, rows, cols, nil, 1e-5) },
			"AddRMSNorm":   func(t Threads) { t.AddRMSNorm(nil, nil, nil, nil, rows, cols, nil, 1e-5) },
			"Gemm": func(t Threads) {
				t.Gemm(NoTrans, NoTrans, rows, cols, 0, 1, nil, 1, nil, max(cols, 1), 0, nil, max(cols, 1))
			},
			"GemmBatched": func(t Threads) {
				t.GemmBatched(GemmBatchedParams{Batch: mem.MaxInt / 4, M: rows, N: cols, Alpha: 1, LdA: 1, LdB: max(cols, 1), LdC: max(cols, 1)})
			},
			"NewPages": func(Threads) { NewPages(FormatInt8, 0, max(rows, 1), cols).Grow(1000) },
		} {
			for _, threads := range []Threads{1, 2} {
				t.Run(fmt.Sprintf("%s/%dx%d/threads=%d", name, rows, cols, threads), func(t *testing.T) {
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					done := make(chan struct{})
					go func() { f(threads); close(done) }()
					select {
					case <-done:
					case <-time.After(10 * time.Second):
						t.Fatal("it does not end")
					}
					runtime.ReadMemStats(&after)
					if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
						t.Errorf("%d bytes were allocated", n)
					}
				})
			}
		}
	}
}

// TestNormsWithoutWeights: rows that are normalised in pieces have the same results without weight
// and bias as with ones and zeros, and the vectors that calls share are not longer than other rows
// need.
func TestNormsWithoutWeights(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		const cols = 2*row.NormElements + 77
		r := rand.New(rand.NewPCG(1, 7))
		x, residual, ones, none := randomSlice(r, cols), randomSlice(r, cols), make([]float32, cols), make([]float32, cols)
		mem.Fill(ones, 1)
		for name, f := range map[string]func(dst, weight, bias []float32){
			"LayerNorm":    func(dst, weight, bias []float32) { LayerNorm(dst, x, 1, cols, weight, bias, 1e-5) },
			"AddLayerNorm": func(dst, weight, bias []float32) { AddLayerNorm(dst, nil, x, residual, 1, cols, weight, bias, 1e-5) },
			"RMSNorm":      func(dst, weight, _ []float32) { RMSNorm(dst, x, 1, cols, weight, 1e-5) },
			"AddRMSNorm":   func(dst, weight, _ []float32) { AddRMSNorm(dst, nil, x, residual, 1, cols, weight, 1e-5) },
		} {
			got, want := make([]float32, cols), make([]float32, cols)
			f(got, nil, nil)
			if f(want, ones, none); !slices.Equal(got, want) {
				t.Errorf("%s without weight and bias gives something else", name)
			}
		}
		for _, shared := range []*row.SharedVec{&row.SharedOnes, &row.SharedZeros} {
			if v := shared.Vec.Load(); v != nil && len(*v) > row.NormElements {
				t.Errorf("%d elements are kept", len(*v))
			}
		}
	})
}

// TestPackWithoutK packs matrices of columns without elements in every format.
func TestPackWithoutK(t *testing.T) {
	eachConfiguration(t, func(t *testing.T) {
		for f := range weights.Names {
			for _, n := range []int{1, 70} {
				t.Run(fmt.Sprintf("%v/%d", Format(f), n), func(t *testing.T) {
					asked := 0
					b := PackBRows(Format(f), n, 0, func(j int, dst []float32) {
						if j != asked || len(dst) != 0 {
							t.Errorf("row %d of %d elements after %d rows", j, len(dst), asked)
						}
						asked++
					})
					b.Column(nil, n-1)
					c := full(3 * n)
					GemmPacked(3, 1, nil, 1, b, 0, c, n, Epilogue{Bias: zeros(n)})
					if asked != n || b.K() != 0 || b.N() != n || slices.ContainsFunc(c, func(v float32) bool { return v != 0 }) {
						t.Errorf("%d rows were asked for, %dx%d, C = %v", asked, b.K(), b.N(), c)
					}
				})
			}
		}
	})
}

// TestOverlap compares the strides that GemmBatched refuses with an enumeration of the elements of
// C.
func TestOverlap(t *testing.T) {
	for batch := 1; batch <= 5; batch++ {
		for m := 1; m <= 4; m++ {
			for n := 1; n <= 4; n++ {
				for ld := n; ld <= 13; ld++ {
					for stride := range 4*ld + 3 {
						of, want := map[int]int{}, false
						for i := range batch {
							for at := range m * n {
								at = i*stride + at/n*ld + at%n
								if other, is := of[at]; is && other != i {
									want = true
								}
								of[at] = i
							}
						}
						if got := overlap(batch, m, n, ld, stride); got != want {
							t.Fatalf("%d products of %dx%d, rows %d apart, stride %d: overlap %v", batch, m, n, ld, stride, got)
						}
					}
				}
			}
		}
	}
}

// TestAttentionWithoutHeadDim expects the mean of all values: queries and keys have no elements,
// whatever their strides.
func TestAttentionWithoutHeadDim(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, strides := range []Strides{{}, {Batch: 1, Head: 2, Row: 3}} {
			for _, s := range [][3]int{{1, 1, 8}, {1, 40, 8}, {3, 5, 1}, {40, 40, 70}, {7, 3000, 9}, {100, 300, 8}} {
				for _, weights := range []bool{false, true} {
					for _, threads := range []Threads{1, 2} {
						t.Run(fmt.Sprintf("%v/%v/weights=%v/threads=%d", strides, s, weights, threads), func(t *testing.T) {
							const heads = 2
							lenQ, lenK, dim := s[0], s[1], s[2]
							p := AttentionParams{Batch: 1, Heads: heads, LenQ: lenQ, LenK: lenK, ValueDim: dim, QStrides: strides, KStrides: strides,
								Dst: full(heads * lenQ * dim), V: make([]float32, heads*lenK*dim)}
							for i := range p.V {
								p.V[i] = float32(i/dim/lenK + 1) // the same for all keys of a head
							}
							if weights {
								p.Weights = full(heads * lenQ * lenK)
							}
							threads.Attention(p)
							for i, got := range p.Dst {
								if want := float32(i/dim/lenQ + 1); !(got > want*0.9999 && got < want*1.0001) {
									t.Fatalf("element %d is %v, want %v", i, got, want)
								}
							}
						})
					}
				}
			}
		}
	})
}
