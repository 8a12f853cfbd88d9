package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/attend"
	"github.com/avoformer/avoformer/kernels/ref"
)

// paged has keys or values in pages, the tables of their sequences, and their numbers as a tensor.
type paged struct {
	pages       *Pages
	tables      [][]int32
	numbers     []float32
	heads, lenK int
}

// inPagesOf copies a tensor of [batch, heads, lenK, dim] into pages, in any order, and sets s to
// the strides of the tensor of stored values.
func inPagesOf(r *rand.Rand, f Format, rows, batch, heads, lenK, dim int, x []float32, s *Strides) paged {
	p := paged{heads: heads, lenK: lenK, tables: make([][]int32, batch)}
	need := (lenK + rows - 1) / rows
	for b, ids := 0, r.Perm(batch*need); b < batch; b++ {
		for range need {
			p.tables[b], ids = append(p.tables[b], int32(ids[0])), ids[1:]
		}
	}
	return p.fill(NewKeyPages(f, heads, rows, dim), x, s)
}

// alike returns a tensor of values in pages with the same tables.
func (p paged) alike(dim int, x []float32, s *Strides) paged {
	return p.fill(NewPages(p.pages.Format(), p.heads, p.pages.Rows(), dim), x, s)
}

func (p paged) fill(pages *Pages, x []float32, s *Strides) paged {
	p.pages = pages
	dim, rows := pages.Dim(), pages.Rows()
	pages.Grow(len(p.tables) * ((p.lenK + rows - 1) / rows))
	p.numbers = make([]float32, len(p.tables)*p.heads*p.lenK*dim)
	to := Strides{Batch: p.heads * p.lenK * dim, Head: p.lenK * dim, Row: dim}
	row := make([]float32, p.heads*dim)
	for b, table := range p.tables {
		for j := range p.lenK {
			for h := range p.heads {
				copy(row[h*dim:(h+1)*dim], x[attend.Offset(attend.Strides(*s), b, h, j):])
			}
			pages.Set(int(table[j/rows]), j%rows, row)
			pages.Row(row, int(table[j/rows]), j%rows)
			for h := range p.heads {
				copy(p.numbers[attend.Offset(attend.Strides(to), b, h, j):], row[h*dim:(h+1)*dim])
			}
		}
	}
	*s = to
	return p
}

// TestAttentionSequences is TestAttention with the data of each sequence, and with keys and values
// as tensors or in pages: results are those of the stored numbers.
func TestAttentionSequences(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, small := range []bool{false, true} {
			if testenv.Emulated() && !small {
				continue
			}
			t.Run(fmt.Sprintf("small=%v", small), func(t *testing.T) {
				if small {
					smallBlocks(t)
				}
				done := map[operands]int{}
				for i, c := range attentionCases() {
					c.p.setDefaults()
					p := &c.p
					c.how, c.format = inPages, []Format{FormatF32, FormatBF16, FormatF32, FormatF16, FormatInt8}[i%5]
					inRows := func(s Strides) bool { return p.Batch < 2 || s.Row > 0 && s.Batch%s.Row == 0 }
					if i%4 == 1 && inRows(p.KStrides) && p.KStrides == p.VStrides {
						c.how = asSequences
					}
					if p.Q == nil && !inRows(p.QStrides) {
						p.QStrides = BLHD(p.LenQ, p.Heads*p.HeadDim, p.HeadDim)
					}
					if !inRows(p.DstStrides) || p.QStrides.Head == p.HeadDim {
						p.DstStrides = BLHD(p.LenQ, p.Heads*p.ValueDim, p.ValueDim)
					}
					rowOf := func(s Strides) int { return s.Batch / max(s.Row, 1) }
					if !inRows(p.QStrides) || p.HeadDim == 0 || p.ValueDim == 0 || p.Batch > 1 && rowOf(p.QStrides) != rowOf(p.DstStrides) ||
						testenv.Emulated() && i%3 != 0 {
						continue
					}
					p.Empty = []EmptyRow{EmptyZero, EmptyUniform, EmptyNaN}[i%3]
					if i%7 == 3 {
						p.Weights = make([]float32, p.Batch*p.Heads*p.LenQ*p.LenK)
					}
					t.Run(fmt.Sprintf("%s/%v/%d", c.name, c.format, c.how), func(t *testing.T) { c.run(t, 2) })
					done[c.how]++
				}
				least := 8
				if testenv.Emulated() {
					least = 3
				}
				if done[inPages] < 5*least || done[asSequences] < least {
					t.Errorf("cases by operands: %v", done)
				}
			})
		}
	})
}

// TestAttentionOfManySequences: each of many sequences of different lengths, some of them long
// enough for splits, has the same bits as in a call of its own, on any number of threads.
func TestAttentionOfManySequences(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	const heads, kvHeads, dim, rows = 4, 2, 24, 16
	lengths := [][2]int{{1, 5}, {1, 1}, {0, 7}, {1, 300}, {3, 40}, {70, 90}, {1, 17}, {2, 2}, {1, 2500}, {33, 33}, {1, 0}, {3, 2100}, {8, 1030}}
	if testenv.Slow() {
		smallBlocks(t)
		lengths = [][2]int{{1, 5}, {0, 7}, {1, 40}, {3, 20}, {18, 33}, {1, 0}}
	}
	masks := map[string][]MaskTerm{"none": nil, "causal": {CausalMask()}, "window": {WindowMask(20, 0)}, "ALiBi": {CausalMask(), ALiBiMask([]float32{0.5, 0.25, 0.1, 0})}}
	eachISA(t, func(t *testing.T) {
		for name, mask := range masks {
			for _, f := range []Format{FormatF32, FormatF16, FormatInt8} {
				p := AttentionParams{Batch: len(lengths), Heads: heads, KVHeads: kvHeads, HeadDim: dim, Mask: mask,
					KPages: NewKeyPages(f, kvHeads, rows, dim), VPages: NewPages(f, kvHeads, rows, dim)}
				for _, l := range lengths {
					s := AttentionSequence{LenQ: l[0], LenK: l[1], Past: l[1] - l[0], Query: len(p.Q) / (heads * dim)}
					for range (l[1] + rows - 1) / rows {
						s.Pages = append(s.Pages, int32(p.KPages.Len()-1)) // not from 0 on and not in order
						p.KPages.Grow(p.KPages.Len() + 1)
					}
					s.Past = max(s.Past, 0)
					slices.Reverse(s.Pages)
					p.Q = append(p.Q, randomSlice(r, l[0]*heads*dim)...)
					p.Sequences = append(p.Sequences, s)
				}
				ids := r.Perm(p.KPages.Len())
				p.VPages.Grow(len(ids))
				for i := range p.Sequences {
					for j := range p.Sequences[i].Pages {
						p.Sequences[i].Pages[j], ids = int32(ids[0]), ids[1:]
					}
				}
				for page := range p.KPages.Len() {
					for row := range rows {
						p.KPages.Set(page, row, randomSlice(r, kvHeads*dim))
						p.VPages.Set(page, row, randomSlice(r, kvHeads*dim))
					}
				}
				p.Dst = make([]float32, len(p.Q))
				for _, threads := range []Threads{1, 2, 5} {
					threads.Attention(p)
					for i, s := range p.Sequences {
						alone := p
						alone.Batch, alone.Sequences = 1, []AttentionSequence{s}
						alone.Sequences[0].Query = 0
						alone.Q = p.Q[s.Query*heads*dim:][:s.LenQ*heads*dim]
						alone.Dst = make([]float32, len(alone.Q))
						Attention(alone)
						for k, v := range p.Dst[s.Query*heads*dim:][:len(alone.Dst)] {
							if math.Float32bits(v) != math.Float32bits(alone.Dst[k]) {
								t.Fatalf("%s, %v, %d threads, sequence %d, %v: element %d is %v, and %v alone", name, f, threads, i, lengths[i], k, v, alone.Dst[k])
							}
						}
					}
				}
			}
		}
	})
}

// TestPages sets rows of every format and reads them, whole and after copying.
func TestPages(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	eachISA(t, func(t *testing.T) {
		for _, dim := range []int{1, 7, 64, 100} {
			for f, bound := range map[Format]float64{FormatF32: 0, FormatBF16: 1. / 256, FormatF16: 1. / 2048, FormatInt8: 0.5001 / 127} {
				const heads, rows = 3, 5
				pages := NewPages(f, heads, rows, dim)
				pages.Grow(3)
				x, row := randomSlice(r, rows*heads*dim), make([]float32, heads*dim)
				for i := range rows {
					pages.Set(2, i, x[i*heads*dim:][:heads*dim])
				}
				pages.Grow(pages.Len() + 1)
				pages.Copy(pages.Len()-1, 2, rows-1)
				for i := range rows * heads {
					pages.Row(row, 2, i/heads)
					got, want := row[i%heads*dim:][:dim], x[i*dim:(i+1)*dim]
					largest := 0.0
					for _, v := range ref.Widen(want) {
						largest = max(largest, math.Abs(v))
					}
					for p := range got {
						if off := math.Abs(float64(got[p] - want[p])); !(off <= bound*largest) {
							t.Fatalf("%v, dim %d, row %d: element %d is %g, want %g", f, dim, i, p, got[p], want[p])
						}
					}
					copied := make([]float32, heads*dim)
					pages.Row(copied, pages.Len()-1, i/heads)
					if same := slices.Equal(copied, row); same != (i/heads < rows-1) {
						t.Errorf("%v, dim %d: row %d of the copy is the same: %v", f, dim, i/heads, same)
					}
				}
				bad := slices.Clone(x[:heads*dim])
				bad[dim-1] = float32(math.NaN())
				pages.Set(0, 1, bad)
				pages.Row(row, 0, 1)
				for p, v := range row[:dim] {
					if v == v && (f == FormatInt8 || p == dim-1) {
						t.Errorf("%v, dim %d: element %d of a row with NaN is %g", f, dim, p, v)
					}
				}
				if slices.ContainsFunc(row[dim:], func(v float32) bool { return v != v }) {
					t.Errorf("%v, dim %d: NaN in one head is one in another", f, dim)
				}
			}
		}
	})
}

// pagesAPI returns the functions of Pages.
func pagesAPI(data func(n int) []float32) []call {
	pages, bytes := NewPages(FormatBF16, 2, 4, 8), NewPages(FormatInt8, 2, 4, 8)
	pages.Grow(1)
	bytes.Grow(8)
	page := func(param string) []badArg {
		return []badArg{{param, -1, "want one of 8 pages"}, {param, 8, "want one of 8 pages"}, {param, huge, "want one of 8 pages"}}
	}
	row := []badArg{{"row", -1, "want one of 4 rows"}, {"row", 4, "want one of 4 rows"}, {"row", huge, "want one of 4 rows"}}
	return []call{
		{fn: NewPages, name: "NewPages", args: []any{FormatInt8, 3, 4, 8}, params: "f heads rows dim",
			bad: cat(sized("heads", "dim"), []badArg{{"rows", 0, "want at least 1"}, {"f", FormatQ8_0, "want FormatF32"}, {"heads", huge, "overflows"}, {"dim", huge, "overflows"}})},
		{fn: NewKeyPages, name: "NewKeyPages", args: []any{FormatInt8, 3, 4, 8}, params: "f heads rows dim",
			bad: cat(sized("heads", "dim"), []badArg{{"rows", 0, "want at least 1"}, {"f", FormatQ8_0, "want FormatF32"}, {"heads", huge, "overflows"}, {"dim", huge, "overflows"}})},
		{fn: pages.Grow, name: "Pages.Grow", args: []any{3}, params: "n", bad: cat(sized("n"), []badArg{{"n", huge, "overflows"}})},
		{fn: pages.Set, name: "Pages.Set", args: []any{1, 2, data(16)}, params: "page row x", bad: cat(page("page"), row, lengths(16, "x"))},
		{fn: bytes.Row, name: "Pages.Row", args: []any{data(16), 1, 2}, params: "dst page row", bad: cat(page("page"), row, lengths(16, "dst"))},
		{fn: bytes.Copy, name: "Pages.Copy", args: []any{1, 2, 3}, params: "page from n",
			bad: cat(page("page"), page("from"), sized("n"), []badArg{{"n", 5, "want at most 4 rows"}})},
	}
}

// sequencesAPI is Attention of sequences in pages, with each field of its parameters wrong in turn.
func sequencesAPI(threads Threads, data func(n int) []float32) call {
	pages := func(heads, rows, dim, n int) *Pages {
		p := NewPages(FormatF32, heads, rows, dim)
		p.Grow(n)
		return p
	}
	right := AttentionParams{Batch: 2, Heads: 4, KVHeads: 2, HeadDim: 8, ValueDim: 4, Q: data(5 * 32), Dst: data(5 * 16),
		Sequences: []AttentionSequence{{LenQ: 2, LenK: 9, Past: 7, Pages: []int32{0, 3, 1}}, {LenQ: 3, LenK: 3, Query: 2, Pages: []int32{7}}},
		KPages:    pages(2, 4, 8, 8), VPages: pages(2, 4, 4, 8)}
	edit := func(f func(s []AttentionSequence)) func(p *AttentionParams) {
		return func(p *AttentionParams) {
			p.Sequences = slices.Clone(p.Sequences)
			f(p.Sequences)
		}
	}
	tensors := func(p *AttentionParams) { p.KPages, p.VPages, p.K, p.V = nil, nil, zeros(9*16), zeros(9*8) }
	c := call{fn: Attention, name: "Attention", args: []any{right}, params: "p"}
	for want, change := range map[string]func(p *AttentionParams){
		"1 sequences with Batch = 2":                func(p *AttentionParams) { p.Sequences = p.Sequences[:1] },
		"LenQ = 3":                                  func(p *AttentionParams) { p.LenQ = 3 },
		"want K and V, or KPages and VPages":        func(p *AttentionParams) { p.VPages = nil },
		"K and V, or KPages":                        func(p *AttentionParams) { p.K = zeros(1) },
		"KPages and VPages without Sequences":       func(p *AttentionParams) { p.Sequences, p.LenQ, p.LenK = nil, 1, 1 },
		"KPages of 1 heads of 8 elements":           func(p *AttentionParams) { p.KPages = pages(1, 4, 8, 8) },
		"VPages of 2 heads of 8 elements":           func(p *AttentionParams) { p.VPages = pages(2, 4, 8, 8) },
		"VPages.Rows = 5, want 4":                   func(p *AttentionParams) { p.VPages = pages(2, 5, 4, 8) },
		"Sequences[1].LenQ = -1":                    edit(func(s []AttentionSequence) { s[1].LenQ = -1 }),
		"Sequences[0].Past = ":                      edit(func(s []AttentionSequence) { s[0].Past = huge }),
		"Sequences[0].Query = -1":                   edit(func(s []AttentionSequence) { s[0].Query = -1 }),
		"len(Dst) = 80, too short":                  edit(func(s []AttentionSequence) { s[1].Query = 3 }),
		"len(Q) = 159, too short":                   func(p *AttentionParams) { p.Q = p.Q[:159] },
		"len(Sequences[0].Pages) = 3, want 4":       edit(func(s []AttentionSequence) { s[0].LenK = 13 }),
		"Sequences[0].Pages = 8, want 0 to 7":       edit(func(s []AttentionSequence) { s[0].Pages = []int32{0, 8, 1} }),
		"Sequences[0].Pages = -1":                   edit(func(s []AttentionSequence) { s[0].Pages = []int32{0, 1, -1} }),
		"len(K) = 144, too short":                   func(p *AttentionParams) { tensors(p); edit(func(s []AttentionSequence) { s[1].Key = 7 })(p) },
		"Weights of sequences of different lengths": func(p *AttentionParams) { p.Weights = zeros(8) },
		"len(Relative) = 8, want":                   func(p *AttentionParams) { p.Relative = zeros(8) },
		"Mask[0] with data for each query or key":   func(p *AttentionParams) { p.Mask = []MaskTerm{BiasMask(zeros(3), 1, 1, 1, 3)} },
		"len(LengthMask) = 3, want 2 (Batch)":       func(p *AttentionParams) { p.Mask = []MaskTerm{LengthMask(make([]int, 3))} },
	} {
		p := right
		change(&p)
		c.bad = append(c.bad, badArg{"p", p, want})
	}
	return c.onThreads(threads)
}
