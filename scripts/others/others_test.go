// Package others holds the script that writes the table of doc/others.md, and the test of this
// project's column.
package others

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/ref"
	"github.com/avoformer/avoformer/search"
)

var write = flag.Bool("write", false, "write this project's column of doc/others.md")

const doc = "../../doc/others.md"

var (
	nan = float32(math.NaN())
	inf = float32(math.Inf(1))
)

// show formats numbers as others.py does.
func show(x ...float32) string {
	var cells []string
	for _, v := range x {
		switch f := float64(v); {
		case math.IsNaN(f):
			cells = append(cells, "NaN")
		case math.IsInf(f, 0):
			cells = append(cells, strings.TrimPrefix(fmt.Sprint(f), "+"))
		default:
			cells = append(cells, fmt.Sprintf("%.6g", f))
		}
	}
	return strings.Join(cells, ", ")
}

// of returns the results of an elementwise function, formatted.
func of(f func(dst, x []float32), x ...float32) string {
	dst := make([]float32, len(x))
	f(dst, x)
	return show(dst...)
}

func softmax(x ...float32) string {
	kernels.Softmax(x, x, 1, len(x))
	return show(x...)
}

// repeat returns n copies of x.
func repeat(n int, x ...float32) []float32 { return slices.Repeat(x, n) }

// layerNorm and rmsNorm return the first two elements of a normalized row.
func layerNorm(x []float32, eps float32) string {
	kernels.LayerNorm(x, x, 1, len(x), nil, nil, eps)
	return show(x[:2]...)
}

func rmsNorm(x []float32, eps float32) string {
	kernels.RMSNorm(x, x, 1, len(x), nil, eps)
	return show(x[:2]...)
}

// gemm returns alpha*a*2 + beta*c.
func gemm(a, c, alpha, beta float32) string {
	to := []float32{c}
	kernels.Gemm(kernels.NoTrans, kernels.NoTrans, 1, 1, 1, alpha, []float32{a}, 1, []float32{2}, 1, beta, to, 1)
	return show(to...)
}

// attention returns the result of attention for one query over values under a mask.
func attention(mask kernels.MaskTerm, values ...float32) string {
	const dim = 8
	n := len(values)
	q, k, v, dst := repeat(dim, 1), repeat(n*dim, 1), []float32{}, make([]float32, dim)
	for _, x := range values {
		v = append(v, repeat(dim, x)...)
	}
	kernels.Attention(kernels.AttentionParams{Batch: 1, Heads: 1, LenQ: 1, LenK: n, HeadDim: dim, Dst: dst, Q: q, K: k, V: v, Mask: []kernels.MaskTerm{mask}})
	return show(dst[0])
}

func keep(keys ...bool) kernels.MaskTerm { return kernels.KeepMask(keys, 1, 1, 1, len(keys)) }

func bias(keys ...float32) kernels.MaskTerm { return kernels.BiasMask(keys, 1, 1, 1, len(keys)) }

func float16(x ...float32) string {
	for i := range x {
		x[i] = half.Float16(half.ToFloat16(x[i]))
	}
	return show(x...)
}

func bfloat16(x ...float32) string {
	for i := range x {
		x[i] = half.BFloat16(half.ToBFloat16(x[i]))
	}
	return show(x...)
}

// q8 returns the integers of x in a Q8_0 block whose largest element is 127.
func q8(x ...float32) string {
	block := make([]float32, 32)
	block[0] = 127
	copy(block[1:], x)
	bytes := make([]byte, 34)
	kernels.FormatQ8_0.Quantize(bytes, block)
	for i := range x {
		x[i] = float32(int8(bytes[3+i]))
	}
	return show(x...)
}

// mxfp4 returns x converted to MXFP4 and back, in a block that begins with x.
func mxfp4(x ...float32) string {
	block, bytes := make([]float32, 32), make([]byte, 17)
	copy(block, x)
	kernels.FormatMXFP4.Quantize(bytes, block)
	return show(ref.Blocks("mxfp4", bytes).Float32()[:len(x)]...)
}

// powers returns the powers of 2 of blocks of MXFP4 whose largest magnitudes are most.
func powers(most ...float32) string {
	var out []float32
	for _, x := range most {
		block, bytes := make([]float32, 32), make([]byte, 17)
		block[0] = x
		kernels.FormatMXFP4.Quantize(bytes, block)
		out = append(out, float32(bytes[0])-127)
	}
	return show(out...)
}

// small returns the product of a 1 x k and a k x n matrix.
func small(n int, a, b []float32) string {
	return show(product(1, len(a), n, 1, a, b)...)
}

// best returns the ids of the k vectors with the best scores, or text that says that there was an
// error.
func best(t *testing.T, k int, scores ...float32) string {
	index, err := search.New(1, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scores {
		if err := index.Add(nil, [][]float32{{s}}); err != nil {
			return "an error"
		}
	}
	hits, err := index.Search(context.Background(), [][]float32{{1}}, k)
	if err != nil {
		return "an error"
	}
	var ids []float32
	for _, hit := range hits[0] {
		ids = append(ids, float32(hit.ID))
	}
	return show(ids...)
}

func product(rows, k, n, threads int, a, b []float32) []float32 {
	c := make([]float32, rows*n)
	kernels.Threads(threads).Gemm(kernels.NoTrans, kernels.NoTrans, rows, n, k, 1, a, max(k, 1), b, n, 0, c, n)
	return c
}

func normal(n int) []float32 {
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// sameAlone reports whether each row of a product has the same bits as in a product of only this
// row.
func sameAlone(rows int) string {
	a, b := normal(rows*512), normal(512*512)
	all := product(rows, 512, 512, 1, a, b)
	for i := range rows {
		if !slices.Equal(all[i*512:][:512], product(1, 512, 512, 1, a[i*512:][:512], b)) {
			return "no"
		}
	}
	return "yes"
}

func sameOnThreads(rows int) string {
	a, b := normal(rows*4096), normal(4096*512)
	if !slices.Equal(product(rows, 4096, 512, 1, a, b), product(rows, 4096, 512, 2, a, b)) {
		return "no"
	}
	return "yes"
}

// TestOwn compares this project's column of the table with what the functions return.
func TestOwn(t *testing.T) {
	far := repeat(8, 1e30, -1e30)
	none := "–" // no such function exists
	own := map[string]string{
		"ReLU of NaN, -0":                of(kernels.ReLU, nan, float32(math.Copysign(0, -1))),
		"exp of -103.9, 88.8, -Inf, NaN": of(kernels.Exp, -103.9, 88.8, -inf, nan),
		"sigmoid of -100, -Inf, NaN":     of(kernels.Sigmoid, -100, -inf, nan),
		"tanh of 1e-40, Inf, NaN":        of(kernels.Tanh, 1e-40, inf, nan),
		"erf of 1e-40, Inf, NaN":         of(kernels.Erf, 1e-40, inf, nan),
		"GELU of -Inf, Inf, NaN":         of(kernels.GELU, -inf, inf, nan),
		"softplus of -Inf, 100, NaN":     of(kernels.Softplus, -inf, 100, nan),
		"1e-40 times 1":                  of(func(dst, x []float32) { kernels.Scale(dst, x, 1) }, 1e-40),
		"softmax of -Inf, -Inf":          softmax(-inf, -inf),
		"softmax of Inf, 0":              softmax(inf, 0),
		"softmax of NaN, 0":              softmax(nan, 0),
		"softmax of -Inf, 0":             softmax(-inf, 0),
		"1 * 1 * 2 + 0 * NaN":            gemm(1, nan, 1, 0),
		"1 * 1 * 2 + 0 * Inf":            gemm(1, inf, 1, 0),
		"`a @ b` of 1 by 0 and 0 by 2":   small(2, nil, nil),
		"`a @ b`, 1e-20 by 1e-20":        small(1, []float32{1e-20}, []float32{1e-20}),
		"`a @ b`, 1e-40 by 1e30":         small(1, []float32{1e-40}, []float32{1e30}),
		"MXFP4: the power of 2 of a block up to 6, 6.5, 7, 7.5, 8":          powers(6, 6.5, 7, 7.5, 8),
		"MXFP8 of E4M3: the power of 2 of a block up to 448, 449, 480, 512": none,
		"MXFP4 of 4, 0.25, -0.75, 1.25, 2.5, 3.5, 5":                        mxfp4(4, 0.25, -0.75, 1.25, 2.5, 3.5, 5),
		"MXFP4 of 7, 1":                                                    mxfp4(7, 1),
		"MXFP4 of NaN, 1":                                                  mxfp4(nan, 1),
		"MXFP4 of Inf, 1":                                                  mxfp4(inf, 1),
		"0 * NaN * 2 + 1 * 3":                                              gemm(nan, 3, 0, 1),
		"1 * NaN * 2 + 1 * 3":                                              gemm(nan, 3, 1, 1),
		"float8 E4M3 of 464, 465, 500, Inf":                                none,
		"float8 E5M2 of 61439, 61440, Inf":                                 none,
		"the best of 4, 9, 9, 9":                                           best(t, 1, 4, 9, 9, 9),
		"the best two of 4, 9, 9, 9":                                       best(t, 2, 4, 9, 9, 9),
		"the best of 3, NaN, 5, 1":                                         best(t, 1, 3, nan, 5, 1),
		"the larger of NaN and 1, of 1 and NaN":                            none,
		"clip of NaN to 0 and 6":                                           none,
		"int32 of NaN, 3e9, -1.5":                                          none,
		"attention that sees no key, values 1, 2, 6":                       attention(keep(false, false, false), 1, 2, 6),
		"attention that adds -Inf to each key, values 1, 2, 6":             attention(bias(-inf, -inf, -inf), 1, 2, 6),
		"attention that adds -1e30 to each key, values 1, 2, 6":            attention(bias(-1e30, -1e30, -1e30), 1, 2, 6),
		"attention that adds -3.4e38 to each key, values 1, 2, 6":          attention(bias(-3.4e38, -3.4e38, -3.4e38), 1, 2, 6),
		"attention that sees the first of values 1, NaN, NaN":              attention(keep(true, false, false), 1, nan, nan),
		"layer norm of 768 times 0.1, eps 1e-12":                           layerNorm(repeat(768, 0.1), 1e-12),
		"layer norm of 1e30, -1e30, eight times":                           layerNorm(slices.Clone(far), 1e-5),
		"RMS norm of 1e30, -1e30, eight times":                             rmsNorm(slices.Clone(far), 1e-5),
		"RMS norm of 1e-30, -1e-30, eight times, eps 0":                    rmsNorm(repeat(8, 1e-30, -1e-30), 0),
		"RMS norm of zeros, eps 0":                                         rmsNorm(make([]float32, 16), 0),
		"float16 of 1 + 2^-11, 1 + 3*2^-11, 65519, 65520, 2^-25":           float16(1+0x1p-11, 1+0x3p-11, 65519, 65520, 0x1p-25),
		"bfloat16 of 1 + 2^-8, 1 + 3*2^-8, 3.4e38, NaN":                    bfloat16(1+0x1p-8, 1+0x3p-8, 3.4e38, nan),
		"Q8_0 of 0.5, 1.5, -0.5, 2.5 beside 127":                           q8(0.5, 1.5, -0.5, 2.5),
		"a row of `a @ b`, 512 by 512, alone and among 2 rows: same bits":  sameAlone(2),
		"a row of `a @ b`, 512 by 512, alone and among 64 rows: same bits": sameAlone(64),
		"`a @ b` of 64 rows, 4096 by 512, on 1 thread and on 2: same bits": sameOnThreads(64),
		"`a @ b` of 1 rows, 4096 by 512, on 1 thread and on 2: same bits":  sameOnThreads(1),
	}
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	begin, end := slices.Index(lines, "<!-- table -->"), slices.Index(lines, "<!-- end of table -->")
	if begin < 0 || end < begin+3 {
		t.Fatalf("%s has no table", doc)
	}
	for i := begin + 3; i < end; i++ {
		cells := strings.Split(lines[i], " | ")
		name := strings.TrimPrefix(cells[0], "| ")
		want, ok := own[name]
		if !ok {
			t.Errorf("%s: the line %q has no test", doc, name)
			continue
		}
		delete(own, name)
		if cells[1] != want && !*write {
			t.Errorf("%s: %s: %s, and the functions return %s", doc, name, cells[1], want)
		}
		cells[1] = want
		lines[i] = strings.Join(cells, " | ")
	}
	for name := range own {
		t.Errorf("%s has no line %q", doc, name)
	}
	if *write {
		if err := os.WriteFile(doc, []byte(strings.Join(lines, "\n")), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
