package kernels

// The same results everywhere: float32 results have the same bits on every tier.
// testdata/float32_bits.txt has a checksum of them.

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/row"
)

const float32Bits = "testdata/float32_bits.txt"

var updateFloat32 = flag.Bool("update-float32", false, "write "+float32Bits+" anew")

// bitCase is a call whose bits are compared.
type bitCase struct {
	function, name string
	result         func() []float32
}

// kindsOfNumbers has functions that fill a slice. They use no function that may differ between
// machines.
var kindsOfNumbers = map[string]func(r *rand.Rand, x []float32){
	"plain": func(r *rand.Rand, x []float32) {
		for i := range x {
			x[i] = 8 * (r.Float32() - 0.5)
		}
	},
	"denormal": func(r *rand.Rand, x []float32) {
		for i := range x {
			x[i] = math.Float32frombits(r.Uint32() & 0x80ffffff)
		}
	},
	"wide": func(r *rand.Rand, x []float32) { // of all magnitudes, to 2^40
		for i := range x {
			x[i] = math.Float32frombits(r.Uint32()&0x807fffff | uint32(r.IntN(167))<<23)
		}
	},
	"offset": func(r *rand.Rand, x []float32) { // a mean far larger than the standard deviation
		for i := range x {
			x[i] = 10000 + r.Float32()
		}
	},
	"ties": func(r *rand.Rand, x []float32) { // sums halfway between two numbers
		for i := range x {
			x[i] = float32(r.IntN(1<<12)) * []float32{0x1p-12, 0x1p-24, 1, -0x1p-13}[r.IntN(4)]
		}
	},
	"hidden": func(r *rand.Rand, x []float32) { // some -Inf
		for i := range x {
			if x[i] = r.Float32() - 30; i%3 == 0 {
				x[i] = float32(math.Inf(-1))
			}
		}
	},
	"special": func(r *rand.Rand, x []float32) { // with some NaNs and infinities
		for i := range x {
			if x[i] = r.Float32(); r.IntN(20) == 0 {
				x[i] = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, float32(math.Copysign(0, -1))}[r.IntN(5)]
			}
		}
	},
	"same": func(r *rand.Rand, x []float32) {
		v := r.Float32()
		for i := range x {
			x[i] = v
		}
	},
}

// drawn returns n numbers of a kind, always the same.
func drawn(kind string, seed uint64, n int) []float32 {
	x := make([]float32, n)
	kindsOfNumbers[kind](rand.New(rand.NewPCG(seed, uint64(n))), x)
	return x
}

// float32Cases returns all calls.
func float32Cases() (all []bitCase) {
	add := func(function, name string, result func() []float32) {
		all = append(all, bitCase{function, function + " " + name, result})
	}
	kinds := slices.Sorted(maps.Keys(kindsOfNumbers))
	elementCases(add)
	for _, kind := range kinds {
		for i, size := range [][2]int{{3, 1}, {2, 5}, {2, 15}, {3, 16}, {2, 31}, {3, 33}, {2, 100}, {2, 161}, {3, 521}, {1, 1024}} {
			rowCases(add, kind, uint64(i), size[0], size[1])
		}
	}
	longCases(add)
	productCases(add)
	recurrenceCases(add)
	attentionBitCases(add)
	return all
}

func elementCases(add func(function, name string, result func() []float32)) {
	any32 := func(seed uint64) []float32 { // arbitrary bits, and all results of functions that saturate
		r := rand.New(rand.NewPCG(seed, 0))
		var x []float32
		for range 3000 {
			x = append(x, math.Float32frombits(r.Uint32()), 220*(r.Float32()-0.5), 12*(r.Float32()-0.5))
		}
		inf := float32(math.Inf(1))
		return append(x, 0, float32(math.Copysign(0, -1)), inf, -inf, float32(math.NaN()), 88.72284, 88.72283, -103.97208, -103.97207, -87.33655)
	}
	for name, f := range map[string]func(dst, x []float32){
		"Exp": Exp, "ReLU": ReLU, "GELU": GELU, "GELUTanh": GELUTanh, "SiLU": SiLU, "Sigmoid": Sigmoid, "Tanh": Tanh, "Erf": Erf, "Softplus": Softplus,
		"Scale": func(dst, x []float32) { Scale(dst, x, 1.1) },
		"AXPY":  func(dst, x []float32) { AXPY(1.1, x, dst) },
		"Add":   func(dst, x []float32) { Add(dst, x, any32(2)) },
		"Mul":   func(dst, x []float32) { Mul(dst, x, any32(2)) },
	} {
		add(name, "any", func() []float32 {
			dst := any32(3)
			f(dst, any32(1))
			return dst
		})
	}
	add("Gather", "plain", func() []float32 {
		dst := make([]float32, 3*101)
		Gather(GatherParams{Dst: dst, X: drawn("plain", 1, 4*101), Index: []int32{0, 3, 2, 1, 1, 0}, Weight: drawn("plain", 2, 6), Rows: 3, Cols: 101})
		return dst
	})
	for _, a := range []Activation{ActGELU, ActGELUTanh, ActSiLU} {
		add("GLU", fmt.Sprint(a), func() []float32 {
			dst := make([]float32, 2*77)
			GLU(GLUParams{Rows: 2, Cols: 77, Dst: dst, X: drawn("plain", 1, 4*77), Activation: a})
			return dst
		})
	}
}

func rowCases(add func(function, name string, result func() []float32), kind string, seed uint64, rows, cols int) {
	name := fmt.Sprintf("%s %dx%d", kind, rows, cols)
	n := rows * cols
	x, y := drawn(kind, seed, n), drawn("plain", seed+100, n)
	weight, bias := drawn("plain", seed+200, cols), drawn("plain", seed+300, cols)
	of := func(f func(dst []float32)) func() []float32 {
		return func() []float32 {
			dst := make([]float32, n)
			f(dst)
			return dst
		}
	}
	add("Softmax", name, of(func(dst []float32) { Softmax(dst, x, rows, cols) }))
	add("LogSoftmax", name, of(func(dst []float32) { LogSoftmax(dst, x, rows, cols) }))
	add("MaskedSoftmax", name, of(func(dst []float32) {
		MaskedSoftmax(SoftmaxParams{Dst: dst, X: x, Batch: 1, Heads: rows, LenQ: 1, LenK: cols, Scale: 0.3, Past: cols / 2,
			Mask: []MaskTerm{CausalMask(), ALiBiMask([]float32{0.3, 0.1, 0.7}[:rows])}})
	}))
	add("LayerNorm", name, of(func(dst []float32) { LayerNorm(dst, x, rows, cols, weight, bias, 1e-5) }))
	add("AddLayerNorm", name, of(func(dst []float32) { AddLayerNorm(dst, nil, x, y, rows, cols, weight, bias, 1e-5) }))
	add("RMSNorm", name, of(func(dst []float32) { RMSNorm(dst, x, rows, cols, weight, 1e-5) }))
	add("AddRMSNorm", name, of(func(dst []float32) { AddRMSNorm(dst, nil, x, y, rows, cols, weight, 1e-5) }))
}

// longCases adds rows that are computed in pieces.
func longCases(add func(function, name string, result func() []float32)) {
	for _, size := range [][2]int{{1, row.SoftmaxPiece - 3}, {2, row.SoftmaxPiece/2 + 7}, {1, row.SoftmaxPiece + 5}} {
		rows, cols := size[0], size[1]
		x := drawn("plain", 7, rows*cols)
		name := fmt.Sprintf("plain %dx%d", rows, cols)
		add("Softmax", name, func() []float32 { dst := make([]float32, len(x)); Softmax(dst, x, rows, cols); return dst })
		add("LogSoftmax", name, func() []float32 { dst := make([]float32, len(x)); LogSoftmax(dst, x, rows, cols); return dst })
	}
	{
		m, n, k := 1, 300, 1000 // from this size on one row uses another kernel
		a, b := drawn("plain", 1, m*k), drawn("plain", 2, k*n)
		add("Gemm", "plain 1x300x1000 transposed", func() []float32 {
			c := make([]float32, m*n)
			Gemm(NoTrans, Trans, m, n, k, 1, a, k, b, k, 0, c, n)
			return c
		})
	}
	n := row.NormElements + 5
	x := drawn("plain", 9, n)
	add("LayerNormLong", "plain", func() []float32 { dst := make([]float32, n); LayerNorm(dst, x, 1, n, nil, nil, 1e-5); return dst })
	add("RMSNormLong", "plain", func() []float32 {
		all := make([]float32, 8*n)
		for seed := range uint64(8) {
			RMSNorm(all[int(seed)*n:][:n], drawn("plain", seed, n), 1, n, nil, 1e-5)
		}
		return all
	})
}

func recurrenceCases(add func(function, name string, result func() []float32)) {
	for _, kind := range []string{"plain", "denormal", "ties", "special"} {
		for i, size := range [][2]int{{3, 1}, {5, 15}, {8, 33}, {16, 70}} {
			for _, delta := range []bool{false, true} {
				const rows, heads = 2, 2
				add("Recurrence", fmt.Sprintf("%s %dx%d, delta %v", kind, size[0], size[1], delta), func() []float32 {
					seed := uint64(10 * i)
					p := recurrenceOf(func(n int) []float32 { seed++; return drawn(kind, seed, n) }, rows, heads, 1, size[0], size[1])
					p.Delta = delta
					Recurrence(p)
					return append(p.To, p.Dst...)
				})
			}
		}
	}
}

func productCases(add func(function, name string, result func() []float32)) {
	for _, s := range [][3]int{{1, 5, 100}, {1, 70, 1100}, {2, 24, 1031}, {3, 17, 1100}, {7, 9, 2100}, {9, 33, 70}, {13, 40, 8}, {70, 49, 130}} {
		m, n, k := s[0], s[1], s[2]
		for i, kind := range []string{"plain", "wide", "denormal", "ties", "special"} {
			a, b := drawn(kind, 1, m*k), drawn([]string{"plain", kind}[i%2], 2, k*n)
			c := func() []float32 { return drawn("plain", 3, m*n) }
			name := fmt.Sprintf("%s %dx%dx%d", kind, m, n, k)
			add("Gemm", name, func() []float32 { c := c(); Gemm(NoTrans, NoTrans, m, n, k, 1.1, a, k, b, n, 0.5, c, n); return c })
			for _, f := range []Format{FormatF32, FormatBF16, FormatF16} {
				packed := sync.OnceValue(func() *PackedB { return PackBRows(f, n, k, func(j int, dst []float32) { copy(dst, b[j*k:]) }) })
				add("GemmPacked", name+" "+f.String(), func() []float32 {
					c := c()
					GemmPacked(m, 1, a, k, packed(), 0, c, n, Epilogue{})
					GemmPacked(m, 1.1, a, k, packed(), 0.5, c, n, Epilogue{Activation: ActGELU, Bias: a[:n]})
					return c
				})
			}
			add("Gemm", name+" transposed", func() []float32 { c := c(); Gemm(NoTrans, Trans, m, n, k, 1.1, a, k, b, k, 0, c, n); return c })
		}
	}
}

func attentionBitCases(add func(function, name string, result func() []float32)) {
	call := func(name string, p AttentionParams) {
		add("Attention", name, func() []float32 {
			for _, x := range [][]float32{p.Dst, p.Weights} { // results of another tier must not remain
				mem.Fill(x, 12345)
			}
			Attention(p)
			return slices.Concat(p.Dst, p.Weights)
		})
	}
	for _, s := range attentionSetups {
		kinds := []string{"plain", "ties"}
		if s.lenQ*s.lenK < 10000 {
			kinds = append(kinds, "wide", "denormal", "special")
		}
		for _, kind := range kinds {
			p := s.params(kind)
			if s.pages {
				p.K, p.V = nil, nil
			}
			call(s.name+" "+kind, p)
			if s.pages || s.lenQ*s.lenK > 100000 {
				continue
			}
			p = s.params(kind)
			p.Weights = make([]float32, p.Heads*p.LenQ*p.LenK)
			call(s.name+" "+kind+" weights", p)
			p = s.params(kind)
			p.Relative, p.RelativeKeys = drawn("plain", 5, (2*p.LenK-1)*p.HeadDim), true
			call(s.name+" "+kind+" relative", p)
		}
	}
	for _, s := range int8Setups {
		for _, kind := range []string{"plain", "wide", "ties"} {
			p := s.params(kind)
			p.Int8 = true
			call("int8 "+s.name+" "+kind, p)
		}
	}
}

// int8Setups has calls that use integers if Int8 is set.
var int8Setups = []attentionSetup{
	{name: "whole", lenQ: 30, lenK: 70, dim: 32},
	{name: "tails", lenQ: 75, lenK: 301, dim: 64, bias: true},
	{name: "causal", lenQ: 90, lenK: 303, dim: 64, causal: true, kvHeads: 1},
	{name: "window", lenQ: 200, lenK: 280, dim: 32, causal: true, window: 41, alibi: true},
	{name: "lengths", lenQ: 33, lenK: 1200, dim: 128, lengths: 1111},
}

// TestFloat32Bits expects the bits of one committed table on every tier.
func TestFloat32Bits(t *testing.T) {
	want := map[string]string{}
	written, err := os.ReadFile(float32Bits)
	if err != nil && !*updateFloat32 {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(written)) {
		if sum, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && sum != "#" {
			want[name] = sum
		}
	}
	cases := float32Cases()
	if *updateFloat32 {
		writeFloat32Bits(t, cases)
		return
	}
	if len(cases) != len(want) {
		t.Errorf("%d cases for %d lines of %s", len(cases), len(want), float32Bits)
	}
	eachISA(t, func(t *testing.T) {
		for _, c := range cases {
			if sum := checksum(c.result()); sum != want[c.name] {
				t.Errorf("%s: checksum %s, want %s", c.name, sum, want[c.name])
			}
		}
	})
}

func writeFloat32Bits(t *testing.T, cases []bitCase) {
	var lines []string
	for _, c := range cases {
		lines = append(lines, checksum(c.result())+" "+c.name+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[17:], b[17:]) })
	if err := os.WriteFile(float32Bits, []byte(strings.Join(lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Skip("written; now without the flag")
}
