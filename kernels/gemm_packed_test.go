package kernels

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// TestPackBRows expects the same packed form from the rows of B^T as from B in either layout, and
// the original from every column of it.
func TestPackBRows(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, s := range [][2]int{{1, 1}, {3, 5}, {64, 30}, {67, 300}, {100, 1}, {0, 4}, {4, 0}, {33, 1000}} {
			n, k := s[0], s[1]
			t.Run(fmt.Sprintf("%dx%d", n, k), func(t *testing.T) {
				rows := randomSlice(rand.New(rand.NewPCG(6, uint64(n))), n*k)
				columns := make([]float32, k*n)
				for j := range n {
					for p := range k {
						columns[p*n+j] = rows[j*k+p]
					}
				}
				next := 0
				got := PackBRows(FormatF32, n, k, func(j int, dst []float32) {
					if j != next || len(dst) != k {
						t.Fatalf("row %d with %d elements, want %d with %d", j, len(dst), next, k)
					}
					next++
					copy(dst, rows[j*k:])
				})
				if next != n || got.K() != k || got.N() != n {
					t.Errorf("%d rows were asked for, K = %d, N = %d, want %d, %d, %d", next, got.K(), got.N(), n, k, n)
				}
				for name, want := range map[string]*PackedB{
					"Trans": PackB(Trans, n, k, rows, max(k, 1)), "NoTrans": PackB(NoTrans, n, k, columns, max(n, 1))} {
					if !bytes.Equal(got.matrix.Data, want.matrix.Data) || got.Bytes() != want.Bytes() {
						t.Errorf("not what PackB makes of B, %s", name)
					}
				}
				for j := range n {
					column := make([]float32, k)
					if got.Column(column, j); !slices.Equal(column, rows[j*k:][:k]) {
						t.Fatalf("column %d is %v, want %v", j, column, rows[j*k:][:k])
					}
				}
			})
		}
	})
}

// TestFormatPackB expects the packed form of PackBRows from B in both layouts, with other numbers
// between its rows, in each format.
func TestFormatPackB(t *testing.T) {
	eachConfiguration(t, func(t *testing.T) {
		for f := range Format(len(weights.Names)) {
			sizes := []int{0, 1, 7, 37, 64, 67, 531}
			if testenv.Slow() {
				sizes = []int{0, 67}
			}
			for _, n := range sizes {
				elements, _ := f.Block()
				k := max(elements, 1) * 2
				if elements <= 1 { // of numbers, and int8
					k = []int{65, 5, 36}[n%3]
				}
				if n == 531 && elements > 1 {
					continue // a sample of some columns, which int8 has
				}
				r := rand.New(rand.NewPCG(8, uint64(n)))
				ldt, ld := k+3, n+5
				rows, columns := randomSlice(r, n*ldt), randomSlice(r, k*ld)
				for j := range n {
					for p := range k {
						columns[p*ld+j] = rows[j*ldt+p]
					}
				}
				want := PackBRows(f, n, k, func(j int, dst []float32) { copy(dst, rows[j*ldt:]) })
				for name, got := range map[string]*PackedB{"Trans": f.PackB(Trans, n, k, rows, ldt), "NoTrans": f.PackB(NoTrans, n, k, columns, ld)} {
					if got.K() != k || got.N() != n || got.Format() != f || !bytes.Equal(got.matrix.Data, want.matrix.Data) {
						t.Errorf("%v %dx%d, %s: not what PackBRows makes", f, n, k, name)
					}
				}
			}
		}
		if empty := FormatQ8_0.PackB(NoTrans, 4, 0, nil, 4); empty.K() != 0 || empty.N() != 4 {
			t.Error("a matrix without rows")
		}
	})
}

// TestPacker expects the same packed form from parts, which several goroutines pack, as from one
// row after another.
func TestPacker(t *testing.T) {
	eachConfiguration(t, func(t *testing.T) {
		for f := range Format(len(weights.Names)) {
			sizes := []int{0, 1, 37, 50, 64, 67, 163}
			if testenv.Slow() {
				sizes = []int{0, 67, 163}
			}
			for _, n := range sizes {
				elements, _ := f.Block()
				k := max(elements, 1) * 3
				if elements == 1 {
					k = []int{65, 66, 36}[n%3] // of numbers: whole words and a partial word
				}
				rows := randomSlice(rand.New(rand.NewPCG(6, uint64(n))), n*k)
				want := PackBRows(f, n, k, func(j int, dst []float32) { copy(dst, rows[j*k:]) })
				got := NewPacker(f, n, k)
				blocks := NewPacker(f, n, k)
				var sample []float32
				for j := 0; j < n; j += got.b.matrix.SampleStep() {
					sample = append(sample, rows[j*k:][:k]...)
				}
				got.Balance(sample)
				unit := got.Rows()
				var wg sync.WaitGroup
				for next := 0; next < n; {
					from, to := next, min(next+unit*(1+next/unit%2), n)
					next = to
					wg.Go(func() {
						got.Pack(from, rows[from*k:to*k])
						if elements == 0 {
							return
						}
						_, bytes := f.Block()
						raw := make([]byte, (to-from)*k/elements*bytes+1)[from/unit%2:] // a slice that is not aligned
						raw = raw[:(to-from)*k/elements*bytes]
						f.Quantize(raw, rows[from*k:to*k])
						blocks.PackBlocks(from, raw)
					})
				}
				wg.Wait()
				if bytes := PackedBytes(f, n, k); bytes != want.Bytes() {
					t.Errorf("%v %dx%d: PackedBytes is %d, want %d", f, n, k, bytes, want.Bytes())
				}
				if !bytes.Equal(got.Packed().matrix.Data, want.matrix.Data) {
					t.Errorf("%v %dx%d: other bytes in parts", f, n, k)
				}
				if elements > 0 && !bytes.Equal(blocks.Packed().matrix.Data, want.matrix.Data) {
					t.Errorf("%v %dx%d: other bytes from blocks in parts", f, n, k)
				}
			}
		}
	})
}

// TestFormats compares products in each format with products of the format's values as float32,
// within the error of another order of sums, for every epilogue and number of threads. It expects
// the values to be the nearest ones of the format.
func TestFormats(t *testing.T) {
	withProcs(t, 4)
	t.Cleanup(par.Stop)
	narrow := map[Format]func(x float32) float32{
		FormatF32:  func(x float32) float32 { return x },
		FormatBF16: func(x float32) float32 { return half.BFloat16(half.ToBFloat16(x)) },
		FormatF16:  func(x float32) float32 { return half.Float16(half.ToFloat16(x)) },
	}
	eachISA(t, func(t *testing.T) {
		shrinkBlocks(t)
		for f, round := range narrow {
			for _, s := range [][3]int{{1, 70, 30}, {5, 40, 4}, {40, 70, 30}, {20, 3, 300}, {60, 200, 45}} {
				m, n, k := s[0], s[1], s[2]
				t.Run(fmt.Sprintf("%v/%dx%dx%d", f, m, n, k), func(t *testing.T) {
					r := rand.New(rand.NewPCG(7, uint64(m)))
					a, b, bias, c0 := randomSlice(r, m*k), randomSlice(r, n*k), randomSlice(r, n), randomSlice(r, m*n)
					packed := PackBRows(f, n, k, func(j int, dst []float32) { copy(dst, b[j*k:]) })
					if f != FormatF32 && packed.Bytes() > 2*k*(n+packed.matrix.Record.NR) {
						t.Errorf("%d bytes for %dx%d elements of two bytes", packed.Bytes(), n, k)
					}
					for i := range b {
						b[i] = round(b[i])
					}
					column := make([]float32, k)
					if packed.Column(column, n-1); !slices.Equal(column, b[(n-1)*k:]) {
						t.Errorf("the last column is %v, want %v", column, b[(n-1)*k:])
					}
					for _, ep := range []Epilogue{{}, {Bias: bias, Activation: ActGELU, Residual: c0, LdResidual: n}} {
						for _, alpha := range []float32{0, 1.5} {
							want := slices.Clone(c0)
							GemmPacked(m, alpha, a, k, PackB(Trans, n, k, b, k), 0.5, want, n, ep)
							var first []float32
							for _, threads := range []Threads{1, 2, 4} {
								got := slices.Clone(c0)
								threads.GemmPacked(m, alpha, a, k, packed, 0.5, got, n, ep)
								for i := range got {
									if !(math.Abs(float64(got[i]-want[i])) <= 2e-5) {
										t.Fatalf("alpha %v: C[%d,%d] = %v, want %v", alpha, i/n, i%n, got[i], want[i])
									}
								}
								if first == nil {
									first = got
								} else if !slices.Equal(got, first) {
									t.Errorf("%d threads differ from one", threads)
								}
							}
						}
					}
				})
			}
		}
	})
}

// TestFormatsSpecialValues expects NaN and infinities of the weights in the product.
func TestFormatsSpecialValues(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, f := range []Format{FormatF32, FormatBF16, FormatF16} {
			weights := []float32{inf32, -inf32, nan32, 0, 0x1p-24, -1}
			packed := PackBRows(f, len(weights), 1, func(j int, dst []float32) { dst[0] = weights[j] })
			got := make([]float32, len(weights))
			GemmPacked(1, 1, []float32{2}, 1, packed, 0, got, len(weights), Epilogue{})
			for i, want := range []float32{inf32, -inf32, nan32, 0, 0x1p-23, -2} {
				if got[i] != want && !(got[i] != got[i] && want != want) {
					t.Errorf("%v: 2*%v = %v", f, weights[i], got[i])
				}
			}
		}
	})
}

func TestParseFormat(t *testing.T) {
	for _, f := range []Format{FormatF32, FormatBF16, FormatF16, FormatInt8, FormatQ8_0, FormatQ4_K, FormatMXFP4} {
		for _, name := range []string{f.String(), strings.ToUpper(f.String())} {
			if got, err := ParseFormat(name); got != f || err != nil {
				t.Errorf("ParseFormat(%q) = %v, %v", name, got, err)
			}
		}
	}
	if _, err := ParseFormat("int4"); err == nil {
		t.Error("a format of that name")
	}
}

// TestRowsOfProducts: each row of a product has the same bits in a product of one row and of any
// number of rows, on any number of threads, with B packed and in place.
func TestRowsOfProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	eachISA(t, func(t *testing.T) {
		for _, s := range [][2]int{{96, 100}, {50, 1500}, {33, 64}, {1, 2100}, {40, 512}} {
			n, k := s[0], s[1]
			const most = 40
			w, a, bias := randomSlice(r, n*k), randomSlice(r, most*k), randomSlice(r, n)
			same := func(name string, multiply func(t Threads, m int, a, c []float32)) {
				alone := make([]float32, most*n)
				for i := range most {
					multiply(1, 1, a[i*k:(i+1)*k], alone[i*n:(i+1)*n])
				}
				for _, rows := range []int{1, 2, 3, 7, 12, 13, 25, most} {
					c := make([]float32, rows*n)
					multiply(16, rows, a, c)
					for i, v := range c {
						if math.Float32bits(v) != math.Float32bits(alone[i]) {
							t.Fatalf("%s, %dx%d: element %d is %v among %d rows, and %v alone", name, n, k, i, v, rows, alone[i])
						}
					}
				}
			}
			same("in place", func(t Threads, m int, a, c []float32) {
				t.Gemm(NoTrans, NoTrans, m, n, k, 1, a, k, w, n, 0, c, n)
			})
			for f := FormatF32; f <= FormatBF16Fast; f++ {
				if elements, _ := f.Block(); elements > 0 && k%elements != 0 {
					continue
				}
				packed := PackBRows(f, n, k, func(j int, dst []float32) { copy(dst, w[j*k:]) })
				same(f.String(), func(t Threads, m int, a, c []float32) {
					t.GemmPacked(m, 1, a, k, packed, 0, c, n, Epilogue{Bias: bias})
				})
			}
		}
	})
}

// TestOrderOfProducts compares products with the order in package order.
func TestOrderOfProducts(t *testing.T) {
	shrinkBlocks(t)
	r := rand.New(rand.NewPCG(19, 20))
	eachISA(t, func(t *testing.T) {
		for range 60 {
			m, n, k := 1+r.IntN(20), 1+r.IntN(70), 1+r.IntN(40)
			alpha, beta := []float32{1, 1.3}[r.IntN(2)], []float32{0, 1, 0.7}[r.IntN(3)]
			a, b, c := randomSlice(r, m*k), randomSlice(r, k*n), randomSlice(r, m*n)
			want := slices.Clone(c)
			for i := range want {
				want[i] = order.Chain(alpha, a[i/n*k:][:k], b[i%n:], n, beta, c[i])
			}
			packed := slices.Clone(c)
			GemmPacked(m, alpha, a, k, PackB(NoTrans, n, k, b, n), beta, packed, n, Epilogue{})
			inPlace := slices.Clone(c)
			Gemm(NoTrans, NoTrans, m, n, k, alpha, a, k, b, n, beta, inPlace, n)
			if !slices.Equal(packed, want) || !slices.Equal(inPlace, want) {
				t.Fatalf("%dx%dx%d, alpha %v, beta %v: the order is another one: packed %v, in place %v", m, n, k, alpha, beta, slices.Equal(packed, want), slices.Equal(inPlace, want))
			}
			bT := b // B^T, another matrix
			for i := range want {
				x, y := a[i/n*k:][:k], bT[i%n*k:][:k]
				if want[i] = order.Chain(alpha, x, y, 1, beta, c[i]); order.IsDots(m, k) {
					want[i] = order.Dots(alpha, x, y, beta, c[i])
				}
			}
			if Gemm(NoTrans, Trans, m, n, k, alpha, a, k, bT, k, beta, c, n); !slices.Equal(c, want) {
				t.Fatalf("%dx%dx%d, alpha %v, beta %v, B transposed: the order is another one", m, n, k, alpha, beta)
			}
		}
	})
}
