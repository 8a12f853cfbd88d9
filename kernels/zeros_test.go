package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/ref"
)

// TestZerosOfProducts expects the sign of zero that doc/numerics.md states where products are too
// small for a float32: a chain keeps the sign of the last product, and a dot product is +0 times
// alpha plus 0.
func TestZerosOfProducts(t *testing.T) {
	rows, depths := []int{1, 2, 3, 7, 13, 40}, []int{1, 3, 4, 16, 19, 20, 24, 40, 63, 1030}
	if testenv.Slow() {
		rows, depths = []int{1, 2, 13}, []int{1, 4, 19, 20}
	}
	repeat := func(v float32, n int) []float32 { return slices.Repeat([]float32{v}, n) }
	eachISA(t, func(t *testing.T) {
		for _, m := range rows {
			for _, n := range []int{1, 8, 15, 16, 17, 32, 33, 70} {
				for _, k := range depths {
					a, b := repeat(-1e-30, m*k), repeat(1e-30, n*k)
					expect := func(what string, c []float32, want float32) {
						t.Helper()
						for i, v := range c {
							if v != 0 || math.Signbit(float64(v)) != math.Signbit(float64(want)) {
								t.Fatalf("%s of %dx%dx%d: element %d is %v, want %v", what, m, n, k, i, v, want)
							}
						}
					}
					c := make([]float32, m*n)
					Gemm(NoTrans, NoTrans, m, n, k, 1, a, k, b, n, 0, c, n)
					expect("Gemm", c, negativeZero)
					for _, f := range []Format{FormatF32, FormatBF16} {
						packed := PackBRows(f, n, k, func(_ int, dst []float32) { copy(dst, b) })
						GemmPacked(m, 1, a, k, packed, 0, c, n, Epilogue{})
						expect("GemmPacked "+f.String(), c, negativeZero)
						GemmPacked(m, 1, a, k, packed, 0, c, n, Epilogue{Residual: repeat(negativeZero, m*n), LdResidual: n})
						expect("GemmPacked with a residual, "+f.String(), c, negativeZero)
						GemmPacked(m, -1, a, k, packed, 0, c, n, Epilogue{Bias: repeat(negativeZero, n)})
						expect("GemmPacked with a bias, "+f.String(), c, 0)
					}
					Gemm(NoTrans, Trans, m, n, k, 1, a, k, b, k, 0, c, n)
					want := negativeZero
					if m <= 12 { // dot products
						want = 0
					} else if k >= 8*m {
						continue // a dot product or not
					}
					expect("Gemm with B transposed", c, want)
				}
			}
		}
	})
}

// TestZerosOfReference expects the sign of zero of the references from products of integers that
// are -0, with each part of an epilogue: a part that is missing keeps the sign.
func TestZerosOfReference(t *testing.T) {
	const k = 32
	a, b, negative := make([]float32, k), slices.Repeat([]float32{1}, k), []float32{negativeZero}
	raw := make([]byte, 34)
	FormatQ8_0.Quantize(raw, b)
	eachISA(t, func(t *testing.T) {
		row := func(_ int, dst []float32) { copy(dst, b) }
		int8s, blocks := PackBRows(FormatInt8, 1, k, row), PackBRows(FormatQ8_0, 1, k, row)
		for _, ep := range []Epilogue{{}, {Activation: ActReLU}, {Bias: negative}, {Residual: negative, LdResidual: 1}, {Bias: []float32{0}}, {Bias: negative, Residual: []float32{0}, LdResidual: 1}} {
			var got, want [2][1]float32
			GemmPacked(1, -1, a, k, int8s, 0, got[0][:], 1, ep)
			GemmPacked(1, -1, a, k, blocks, 0, got[1][:], 1, ep)
			ref.GemmInt8(1, 1, k, k, -1, a, k, b, 1, 0, want[0][:], 1, ep.Bias, ep.Activation == ActReLU, ep.Residual, 1)
			ref.GemmBlocks(1, -1, a, k, []ref.BlockWeights{ref.Blocks("q8_0", raw)}, 0, want[1][:], 1, ep.Bias, ep.Activation == ActReLU, ep.Residual, 1)
			for i := range got {
				if math.Float32bits(got[i][0]) != math.Float32bits(want[i][0]) {
					t.Errorf("%v, %+v: %v, the reference %v", []string{"int8", "q8_0"}[i], ep, got[i][0], want[i][0])
				}
			}
		}
	})
}

// TestProductsUnderflow compares products of small numbers with the bound, in which each step adds
// half the smallest denormal.
func TestProductsUnderflow(t *testing.T) {
	r := rand.New(rand.NewPCG(81, 82))
	eachISA(t, func(t *testing.T) {
		for _, s := range [][3]int{{1, 20, 30}, {5, 33, 70}, {20, 9, 100}} {
			m, n, k := s[0], s[1], s[2]
			for range 20 {
				alpha := []float32{1, -0.5, 3}[r.IntN(3)]
				size := math.Ldexp(1, -60-r.IntN(20))
				draw := func(n int) []float32 {
					x := make([]float32, n)
					for i := range x {
						x[i] = float32(size * r.NormFloat64())
					}
					return x
				}
				a, b := draw(m*k), draw(n*k)
				packed, direct := make([]float32, m*n), make([]float32, m*n)
				GemmPacked(m, alpha, a, k, PackB(Trans, n, k, b, k), 0, packed, n, Epilogue{})
				Gemm(NoTrans, Trans, m, n, k, alpha, a, k, b, k, 0, direct, n)
				for i := range packed {
					sum, magnitude := 0.0, 0.0
					for p := range k {
						v := float64(a[i/n*k+p]) * float64(b[i%n*k+p])
						sum, magnitude = sum+v, magnitude+math.Abs(v)
					}
					factor := float64(alpha)
					bound := float64(k+3)*0x1p-24*math.Abs(factor)*magnitude + (float64(k)*math.Abs(factor)+float64(k)/1024+3)*0x1p-149
					for _, got := range []float32{packed[i], direct[i]} {
						if !(math.Abs(float64(got)-factor*sum) <= bound) {
							t.Fatalf("%v, alpha %v: element %d is %g, want %g within %g", s, alpha, i, got, factor*sum, bound)
						}
					}
				}
			}
		}
	})
}

// TestProductsUnderflowByAlpha has sums that alpha makes denormal, each 1024 products at a time:
// half a unit is lost as often.
func TestProductsUnderflowByAlpha(t *testing.T) {
	const m, alpha = 20, 0x1p-149
	eachISA(t, func(t *testing.T) {
		for _, k := range []int{1024, 5000, 70000} {
			a, b := slices.Repeat([]float32{1}, m*k), slices.Repeat([]float32{0.49 / 1024}, k)
			packed, direct := make([]float32, m), make([]float32, m)
			GemmPacked(m, alpha, a, k, PackB(Trans, 1, k, b, k), 0, packed, 1, Epilogue{})
			Gemm(NoTrans, Trans, m, 1, k, alpha, a, k, b, k, 0, direct, 1)
			want := alpha * float64(k) * float64(b[0])
			bound := float64(k+3)*0x1p-24*want + (float64(k)*alpha+float64(k)/1024+3)*0x1p-149
			for _, got := range []float32{packed[0], direct[0]} {
				if !(math.Abs(float64(got)-want) <= bound) {
					t.Errorf("k %d: %g, want %g within %g", k, got, want, bound)
				}
			}
		}
	})
}

// TestHiddenByBias expects that a key with a bias of -Inf counts as hidden, even if its score is
// NaN or infinite, in each way to compute attention, and that a query that sees no key gives +0
// under a negative head mask.
func TestHiddenByBias(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, s := range []struct{ lenQ, lenK, dim int }{{13, 40, 64}, {1, 256, 64}, {1, 257, 64}, {2, 9, 8}, {5, 300, 32}, {33, 33, 20}, {40, 70, 64}, {1, 3000, 16}, {30, 100, 32}} {
			if testenv.Slow() && s.lenK > 100 {
				continue
			}
			for _, key := range []float32{nan32, inf32, -inf32, 3e38} {
				for _, shape := range [][2]int{{1, s.lenK}, {s.lenQ, s.lenK}} {
					for _, how := range []string{"plain", "weights", "relative", "int8", "two biases", "sinks"} {
						name := fmt.Sprintf("%v, key %v, biases %v, %s", s, key, shape, how)
						p := AttentionParams{Batch: 1, Heads: 2, LenQ: s.lenQ, LenK: s.lenK, HeadDim: s.dim, HeadMask: []float32{1, 1},
							Q: slices.Repeat([]float32{1e3}, 2*s.lenQ*s.dim), K: make([]float32, 2*s.lenK*s.dim), V: slices.Repeat([]float32{1}, 2*s.lenK*s.dim), Dst: full(2 * s.lenQ * s.dim)}
						bias := make([]float32, shape[0]*s.lenK)
						for i := range bias {
							if i%s.lenK%3 == 1 {
								bias[i] = -inf32
							}
						}
						for i := range p.K {
							if i/s.dim%s.lenK%3 == 1 {
								p.K[i] = key
							}
						}
						p.Mask = []MaskTerm{BiasMask(bias, 1, 1, shape[0], s.lenK)}
						want := float32(1)
						switch how {
						case "weights":
							p.Weights = make([]float32, 2*s.lenQ*s.lenK)
						case "relative":
							p.Relative = make([]float32, (2*s.lenK-1)*s.dim)
							if s.lenQ > s.lenK {
								continue
							}
						case "int8":
							p.Int8 = true
						case "two biases":
							p.Mask = append(p.Mask, BiasMask([]float32{-1}, 1, 1, 1, 1), BiasMask(slices.Clone(bias[:s.lenK]), 1, 1, 1, s.lenK))
						case "sinks":
							p.Sinks = []float32{-inf32, -inf32}
						}
						Attention(p)
						for i, v := range p.Dst {
							if !(math.Abs(float64(v-want)) <= 1e-3) {
								t.Fatalf("%s: element %d is %v, want %v", name, i, v, want)
							}
						}
						for i, w := range p.Weights {
							if hidden := i%s.lenK%3 == 1; hidden != (w == 0) || w != w {
								t.Fatalf("%s: weight %d is %v", name, i, w)
							}
						}
						p.HeadMask = []float32{-1, -3e38}
						p.Mask = []MaskTerm{LengthMask([]int{0})}
						Attention(p)
						for i, v := range p.Dst {
							if math.Float32bits(v) != 0 {
								t.Fatalf("%s, without keys: element %d is %v, want +0", name, i, v)
							}
						}
					}
				}
			}
		}
	})
}

// TestInt8Window has equal values, which are the result whatever the weights, where the keys that
// queries see begin anywhere: what is before the first of them must not count.
func TestInt8Window(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, past := range []int{20, 26, 42, 60, 131, 150} {
			for _, before := range []int{3, 16} {
				const lenQ, lenK, dim = 33, 295, 64
				p := AttentionParams{Batch: 1, Heads: 1, LenQ: lenQ, LenK: lenK, HeadDim: dim, Past: past, Int8: true, Mask: []MaskTerm{WindowMask(before, -1)},
					Q: drawn("plain", 1, lenQ*dim), K: make([]float32, lenK*dim), V: slices.Repeat([]float32{1}, lenK*dim), Dst: make([]float32, lenQ*dim)}
				Attention(p)
				for i, v := range p.Dst {
					if !(math.Abs(float64(v-1)) <= 1e-3) {
						t.Fatalf("past %d, %d keys before: element %d is %v, want 1", past, before, i, v)
					}
				}
			}
		}
	})
}
