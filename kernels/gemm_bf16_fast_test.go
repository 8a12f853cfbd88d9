package kernels

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// fastCase is a product with weights of FormatBF16Fast.
type fastCase struct {
	m, n, k     int
	alpha, beta float32
	ep          string // of b for a bias, r for ReLU, x for a residual
}

var fastCases = []fastCase{
	{1, 1, 1, 1, 0, ""}, {1, 40, 33, 1, 0, "b"}, {2, 32, 64, 1, 0, ""}, {3, 31, 95, 1, 0, "brx"}, {16, 64, 32, 1, 0, ""}, {17, 70, 100, 0.5, 0, "b"},
	{33, 48, 20, 1, 1, ""}, {40, 33, 70, -1, 0.25, "x"}, {65, 100, 40, 1, 0, "r"}, {5, 9, 129, 1, 0, ""}, {7, 100, 31, 1, 0, "bx"},
}

// fastProduct has the operands of a case, of many magnitudes: some are so small that products are
// denormal.
type fastProduct struct {
	fastCase
	a, b, c, bias, residual []float32
}

func (x fastCase) data() *fastProduct {
	r := rand.New(rand.NewPCG(31, uint64(x.m*1_000_003+x.n*1009+x.k)))
	some := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(r.NormFloat64() * math.Ldexp(1, r.IntN(12)-6))
			if r.IntN(30) == 0 {
				v[i] *= 0x1p-64
			}
		}
		return v
	}
	return &fastProduct{x, some(x.m * x.k), some(x.n * x.k), some(x.m * x.n), some(x.n), some(x.m * x.n)}
}

func (x *fastProduct) pack(f Format) *PackedB {
	return PackBRows(f, x.n, x.k, func(j int, dst []float32) { copy(dst, x.b[j*x.k:]) })
}

func (x *fastProduct) compute(t Threads, b *PackedB) []float32 {
	ep := Epilogue{LdResidual: x.n}
	for _, c := range x.ep {
		switch c {
		case 'b':
			ep.Bias = x.bias
		case 'r':
			ep.Activation = ActReLU
		case 'x':
			ep.Residual = x.residual
		}
	}
	c := slices.Clone(x.c)
	t.GemmPacked(x.m, x.alpha, x.a, x.k, b, x.beta, c, x.n, ep)
	return c
}

// reference returns the product with the sums of sumOfTiles or sumOfPairs.
func (x *fastProduct) reference(sum func(x *fastProduct, i, j int) float32) []float32 {
	c := slices.Clone(x.c)
	for i := range x.m {
		for j := range x.n {
			y := float32(x.alpha * sum(x, i, j))
			if x.beta != 0 {
				y += float32(x.beta * c[i*x.n+j])
			}
			for _, e := range x.ep {
				switch e {
				case 'b':
					y += x.bias[j]
				case 'r':
					y = max(y, 0)
				case 'x':
					y += x.residual[i*x.n+j]
				}
			}
			c[i*x.n+j] = y
		}
	}
	return c
}

// The sums of products of row i and column j, as the manual defines TDPBF16PS and VDPBF16PS, in
// numbers of 300 bits that are rounded where the instructions round.

func exact() *big.Float { return new(big.Float).SetPrec(300) }

func rounded(f *big.Float) float32 {
	y, _ := f.Float32()
	return normal(y)
}

// plusProduct adds the product of step p to a sum.
func (x *fastProduct) plusProduct(sum float32, i, j, p int) float32 {
	number := func(v float32) *big.Float {
		return exact().SetFloat64(float64(normal(half.BFloat16(half.ToBFloat16(v)))))
	}
	product := exact().Mul(number(x.a[i*x.k+p]), number(x.b[j*x.k+p]))
	return rounded(product.Add(product, exact().SetFloat64(float64(sum))))
}

func (x *fastProduct) sumOfTiles(i, j int) float32 {
	sum := float32(0)
	for from := 0; from < x.k; from += 32 {
		var both [2]float32
		for p := from; p < min(from+32, x.k); p++ {
			both[p%2] = x.plusProduct(both[p%2], i, j, p)
		}
		step := rounded(exact().Add(exact().SetFloat64(float64(both[0])), exact().SetFloat64(float64(both[1]))))
		sum = rounded(exact().Add(exact().SetFloat64(float64(sum)), exact().SetFloat64(float64(step))))
	}
	return sum
}

func (x *fastProduct) sumOfPairs(i, j int) float32 {
	sum := float32(0)
	for p := 0; p < x.k; p += 2 {
		if p+1 < x.k {
			sum = x.plusProduct(sum, i, j, p+1)
		}
		sum = x.plusProduct(sum, i, j, p)
	}
	return sum
}

// normal returns x, or 0 if x is denormal.
func normal(x float32) float32 {
	if math.Abs(float64(x)) < 0x1p-126 {
		return 0
	}
	return x
}

// TestBF16Fast expects the sums of tiles if the machine has them, those of pairs if it has these,
// and otherwise the bits of FormatBF16, for any number of threads, sizes of blocks and tiles.
// Columns are the rounded ones.
func TestBF16Fast(t *testing.T) {
	eachConfiguration(t, func(t *testing.T) {
		isa := simd.Active()
		var sum func(x *fastProduct, i, j int) float32
		switch {
		case simd.KernelBFloat16Tiles.InAssembly(isa) && simd.KernelBFloat16Tiles.Permitted(isa):
			sum = (*fastProduct).sumOfTiles
		case simd.KernelBFloat16Pairs.InAssembly(isa):
			sum = (*fastProduct).sumOfPairs
		}
		if has := sum != nil; has != weights.Of(weights.BF16Fast, isa).PairsOf16 {
			t.Errorf("the machine multiplies bfloat16: %v, products do not agree", has)
		}
		for _, c := range fastCases {
			if testenv.Emulated() && c.m > 16 {
				continue
			}
			x := c.data()
			b, ordinary := x.pack(FormatBF16Fast), x.pack(FormatBF16)
			want := x.compute(1, ordinary)
			if sum != nil {
				want = x.reference(sum)
			}
			check := func(how string, got []float32) {
				t.Helper()
				for i, v := range got {
					if v != want[i] {
						t.Errorf("%+v, %s: element %d is %v, want %v", c, how, i, v, want[i])
						return
					}
				}
			}
			for _, threads := range []Threads{1, 3} {
				check(fmt.Sprint(threads, " threads"), x.compute(threads, b))
			}
			size := tune.Used.Gemm
			tune.Used.Gemm.Int8Panel = 1
			check("in short pieces", x.compute(1, b))
			tune.Used.Gemm.Int8Rows, tune.Used.Gemm.TileColumns, tune.Used.Gemm.Int8Panel = 7, 1, 1
			check("in small blocks", x.compute(1, b))
			tune.Used.Gemm = size
			got, rounded := make([]float32, x.k), make([]float32, x.k)
			for j := range x.n {
				b.Column(got, j)
				ordinary.Column(rounded, j)
				if !slices.Equal(got, rounded) {
					t.Fatalf("%+v: column %d is %v, want %v", c, j, got, rounded)
				}
			}
		}
	})
}

// TestBF16FastBound compares the sums of tiles and of pairs with the bound, for numbers of which
// some, or their sums, are denormal and count as zeros.
func TestBF16FastBound(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 7))
	flushed := 0
	for range 300 {
		x := &fastProduct{fastCase: fastCase{1, 1, 1 + r.IntN(100), 1, 0, ""}}
		x.a, x.b = make([]float32, x.k), make([]float32, x.k)
		sizes := [2]int{r.IntN(140) - 130, r.IntN(140) - 130}
		sum, magnitude, lost := 0.0, 0.0, 0.0
		for p := range x.k {
			x.a[p] = float32(math.Ldexp(r.NormFloat64(), sizes[0]+r.IntN(6)))
			x.b[p] = float32(math.Ldexp(r.NormFloat64(), sizes[1]+r.IntN(6)))
			a, b := half.BFloat16(half.ToBFloat16(x.a[p])), half.BFloat16(half.ToBFloat16(x.b[p]))
			v := float64(a) * float64(b)
			sum, magnitude = sum+v, magnitude+math.Abs(v)
			if normal(a) != a || normal(b) != b {
				lost += math.Abs(v)
				flushed++
			}
		}
		bound := float64(x.k+3)*0x1p-24*magnitude + float64(x.k+3)*0x1p-126 + lost
		for _, got := range []float32{x.sumOfTiles(0, 0), x.sumOfPairs(0, 0)} {
			if !(math.Abs(float64(got)-sum) <= bound) {
				t.Fatalf("%d products of numbers near 2^%d and 2^%d: %g, want %g within %g", x.k, sizes[0], sizes[1], got, sum, bound)
			}
		}
	}
	if flushed == 0 {
		t.Error("no element was denormal")
	}
}
