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

// narrowed is the rows of x in a format, and their numbers.
func narrowed(f Format, x []float32, dim int) (wide []float32, rows *Rows) {
	if dim == 0 {
		return x, NewRows(f, 0, 0)
	}
	n := len(x) / dim
	rows, wide = NewRows(f, n, dim), make([]float32, n*dim)
	for i := 0; i < n*dim; i += dim {
		rows.Set(i, x[i:i+dim])
		rows.Row(wide[i:i+dim], i)
	}
	return wide, rows
}

// TestAttentionRows is TestAttention with keys and values in Rows: results are those of their
// numbers.
func TestAttentionRows(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, small := range []bool{false, true} {
			if testenv.Emulated() && !small {
				continue
			}
			t.Run(fmt.Sprintf("small=%v", small), func(t *testing.T) {
				if small {
					smallBlocks(t)
				}
				done := 0
				for i, c := range attentionCases() {
					p := c.p
					p.setDefaults()
					apart := func(s Strides, dim int) bool { return dim == 0 || s.Batch%dim+s.Head%dim+s.Row%dim == 0 }
					if !apart(p.KStrides, p.HeadDim) || !apart(p.VStrides, p.ValueDim) || testenv.Emulated() && i%3 != 0 {
						continue
					}
					c.inRows, c.rows = true, []Format{FormatBF16, FormatF16, FormatInt8, FormatF32}[i/3%4]
					c.p.Empty = []EmptyRow{EmptyZero, EmptyUniform, EmptyNaN}[i%3]
					if i%4 == 3 {
						c.p.Weights = make([]float32, c.p.Batch*c.p.Heads*c.p.LenQ*c.p.LenK)
					}
					t.Run(fmt.Sprintf("%s/%v", c.name, c.rows), func(t *testing.T) { c.run(t, 2) })
					done++
				}
				if done < 30 {
					t.Errorf("%d cases", done)
				}
			})
		}
	})
}

// TestRows sets rows of every format and reads them, whole and after copying.
func TestRows(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	eachISA(t, func(t *testing.T) {
		for _, dim := range []int{1, 7, 64, 100} {
			for f, bound := range map[Format]float64{FormatF32: 0, FormatBF16: 1. / 256, FormatF16: 1. / 2048, FormatInt8: 0.5001 / 127} {
				const n = 9
				x := randomSlice(r, n*dim)
				got, rows := narrowed(f, x, dim)
				for i := 0; i < len(x); i += dim {
					largest := 0.0
					for _, v := range ref.Widen(x[i : i+dim]) {
						largest = max(largest, math.Abs(v))
					}
					for p := range dim {
						if off := math.Abs(float64(got[i+p] - x[i+p])); !(off <= bound*largest) {
							t.Fatalf("%v, dim %d: element %d is %g, want %g", f, dim, i+p, got[i+p], x[i+p])
						}
					}
				}
				if wide := rows.Floats(); (wide != nil) != (f == FormatF32) || wide != nil && !slices.Equal(wide, x) {
					t.Errorf("%v, dim %d: %d floats", f, dim, len(wide))
				}
				other, row := NewRows(f, n+2, dim), make([]float32, dim)
				other.Copy(2*dim, rows, dim, n-1)
				other.Copy(dim, other, 2*dim, n-1) // over itself
				for i := dim; i < n*dim; i += dim {
					other.From(dim).Row(row, i-dim)
					for p, v := range row {
						if v != got[i+p] {
							t.Fatalf("%v, dim %d: copied element %d is %g, want %g", f, dim, i+p, v, got[i+p])
						}
					}
				}
				x[dim-1] = float32(math.NaN())
				rows.Set(0, x[:dim])
				rows.Row(row, 0)
				for p, v := range row {
					if v == v && (f == FormatInt8 || p == dim-1) {
						t.Errorf("%v, dim %d: element %d of a row with NaN is %g", f, dim, p, v)
					}
				}
			}
		}
	})
}

// rowsAPI is the functions of Rows.
func rowsAPI(data func(n int) []float32) []call {
	rows, bytes := NewRows(FormatBF16, 3, 8), NewRows(FormatInt8, 3, 8)
	at := func(param string) []badArg {
		return []badArg{{param, -8, "want the beginning of"}, {param, 4, "want the beginning of"}, {param, 24, "want the beginning of"}, {param, huge, "want the beginning of"}}
	}
	return []call{
		{fn: NewRows, name: "NewRows", args: []any{FormatInt8, 3, 8}, params: "f n dim",
			bad: cat(sized("n", "dim"), []badArg{{"f", FormatQ8_0, "want FormatF32"}, {"n", huge, "overflows"}, {"dim", huge, "overflows"}})},
		{fn: rows.Set, name: "Rows.Set", args: []any{8, data(8)}, params: "i x", bad: cat(at("i"), lengths(8, "x"))},
		{fn: bytes.Row, name: "Rows.Row", args: []any{data(8), 16}, params: "dst i", bad: cat(at("i"), lengths(8, "dst"))},
		{fn: bytes.From, name: "Rows.From", args: []any{8}, params: "i", bad: []badArg{{"i", -8, "want the beginning of"}, {"i", 4, "want the beginning of"}, {"i", 32, "want the beginning of"}}},
		{fn: rows.Copy, name: "Rows.Copy", args: []any{8, rows, 0, 2}, params: "to src from n",
			bad: cat(at("to"), at("from"), sized("n"), []badArg{{"src", (*Rows)(nil), "src is not"}, {"src", bytes, "src is not"}, {"n", 3, "want the beginning"}, {"n", huge, "overflows"}})},
	}
}
