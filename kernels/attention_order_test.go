package kernels

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/order"
)

// The order of attention: the result of a query is as defined in package order, on every tier, for
// any number of threads, for any other queries in the call, and for keys and values in place or in
// pages.

// attentionSetup is a call with one sequence.
type attentionSetup struct {
	name               string
	lenQ, lenK         int
	dim, valueDim      int
	kvHeads            int
	causal             bool
	window             int // keys that a query sees, or 0
	lengths            int // keys of the sequence, or 0
	bias, alibi, sinks bool
	keep               bool
	pages              bool
	rows               int // of a page, or 0
	format             Format
}

var attentionSetups = []attentionSetup{
	{name: "one", lenQ: 1, lenK: 1, dim: 8},
	{name: "short", lenQ: 12, lenK: 12, dim: 64},
	{name: "short tails", lenQ: 19, lenK: 37, dim: 33, valueDim: 18, bias: true},
	{name: "short keep", lenQ: 33, lenK: 40, dim: 32, keep: true, alibi: true},
	{name: "few", lenQ: 1, lenK: 200, dim: 64, kvHeads: 1},
	{name: "few of few", lenQ: 3, lenK: 9, dim: 20, lengths: 7},
	{name: "few tails", lenQ: 7, lenK: 131, dim: 33},
	{name: "short causal", lenQ: 11, lenK: 11, dim: 20, causal: true},
	{name: "few of pages", lenQ: 3, lenK: 70, dim: 33, pages: true, format: FormatF16},
	{name: "causal", lenQ: 70, lenK: 300, dim: 64, causal: true, kvHeads: 1},
	{name: "window", lenQ: 75, lenK: 290, dim: 16, causal: true, window: 37, alibi: true, bias: true},
	{name: "whole", lenQ: 65, lenK: 530, dim: 32, lengths: 519, bias: true},
	{name: "sinks", lenQ: 30, lenK: 280, dim: 32, causal: true, sinks: true},
	{name: "stretches", lenQ: 45, lenK: 2300, dim: 8, causal: true},
	{name: "splits", lenQ: 3, lenK: 3100, dim: 16, kvHeads: 1, keep: true},
	{name: "wide heads", lenQ: 13, lenK: 14, dim: 4100, valueDim: 3},
	{name: "pages", lenQ: 30, lenK: 1100, dim: 32, causal: true, pages: true, kvHeads: 1},
	{name: "pages float16", lenQ: 6, lenK: 1150, dim: 32, causal: true, pages: true, format: FormatF16, kvHeads: 1},
	{name: "pages bfloat16", lenQ: 1, lenK: 2100, dim: 20, causal: true, pages: true, format: FormatBF16, kvHeads: 1},
	{name: "pages of few rows", lenQ: 20, lenK: 300, dim: 24, causal: true, pages: true, rows: 24, format: FormatF16},
	{name: "pages of a window", lenQ: 9, lenK: 400, dim: 40, causal: true, window: 77, pages: true, format: FormatBF16, kvHeads: 1},
	{name: "pages int8", lenQ: 14, lenK: 520, dim: 64, causal: true, window: 300, pages: true, format: FormatInt8},
}

// params returns the arguments for operands of a kind.
func (s attentionSetup) params(kind string) AttentionParams {
	heads, kv, valueDim := 2, 2, s.dim
	if s.kvHeads > 0 {
		kv = s.kvHeads
	}
	if s.valueDim > 0 {
		valueDim = s.valueDim
	}
	p := AttentionParams{Batch: 1, Heads: heads, KVHeads: kv, LenQ: s.lenQ, LenK: s.lenK, HeadDim: s.dim, ValueDim: valueDim, Past: s.lenK - s.lenQ,
		Q: drawn("plain", 1, heads*s.lenQ*s.dim), K: drawn(kind, 2, kv*s.lenK*s.dim), V: drawn(kind, 3, kv*s.lenK*valueDim),
		Dst: make([]float32, heads*s.lenQ*valueDim), HeadMask: []float32{0.75, 1.5}}
	for i := range p.Q {
		p.Q[i] /= 4
	}
	p.QStrides, p.DstStrides = BLHD(s.lenQ, heads*s.dim, s.dim), BLHD(s.lenQ, heads*valueDim, valueDim)
	p.KStrides, p.VStrides = BLHD(s.lenK, kv*s.dim, s.dim), BLHD(s.lenK, kv*valueDim, valueDim)
	if s.causal {
		p.Mask = append(p.Mask, WindowMask(s.window-1, 0))
	}
	if s.lengths > 0 {
		p.Mask = append(p.Mask, LengthMask([]int{s.lengths}))
	}
	if s.alibi {
		p.Mask = append(p.Mask, ALiBiMask([]float32{0.3, 0.01}))
	}
	if s.bias {
		p.Mask = append(p.Mask, BiasMask(drawn("plain", 4, heads*s.lenK), 1, heads, 1, s.lenK))
	}
	if s.keep {
		keep := make([]bool, s.lenK)
		for i := range keep {
			keep[i] = i%3 != 1
		}
		p.Mask = append(p.Mask, KeepMask(keep, 1, 1, 1, s.lenK))
	}
	if s.sinks {
		p.Sinks = []float32{0.5, -3}
	}
	if s.pages {
		s.inPages(&p)
	}
	return p
}

// inPages copies keys and values into pages, in random order, and sets K and V to the stored
// values.
func (s attentionSetup) inPages(p *AttentionParams) {
	rows := 64
	if s.rows > 0 {
		rows = s.rows
	}
	n := (s.lenK + rows - 1) / rows
	table := make([]int32, n)
	for i := range table {
		table[i] = int32((i*7 + 3) % n)
	}
	if n%7 == 0 {
		for i := range table {
			table[i] = int32(n - 1 - i)
		}
	}
	p.KPages = s.filled(p.K, NewKeyPages(s.format, p.KVHeads, rows, s.dim), table)
	p.VPages = s.filled(p.V, NewPages(s.format, p.KVHeads, rows, p.ValueDim), table)
	p.Sequences = []AttentionSequence{{LenQ: s.lenQ, LenK: s.lenK, Past: p.Past, Pages: table}}
	p.LenQ, p.LenK, p.Past = 0, 0, 0
}

// filled copies keys or values into pages, and sets x to the stored values.
func (s attentionSetup) filled(x []float32, pages *Pages, table []int32) *Pages {
	pages.Grow(len(table))
	width, rows := pages.Heads()*pages.Dim(), pages.Rows()
	for j := range s.lenK {
		row := x[j*width:][:width]
		pages.Set(int(table[j/rows]), j%rows, row)
		pages.Row(row, int(table[j/rows]), j%rows)
	}
	return pages
}

// query returns the result that package order defines for a query of a head in a call whose scores
// are dot products, or chains.
func (s attentionSetup) query(p *AttentionParams, head, i int, dots bool) []float32 {
	kv := head / (p.Heads / p.KVHeads)
	query := slices.Clone(p.Q[i*p.QStrides.Row+head*s.dim:][:s.dim])
	scale := p.Scale
	if scale == 0 {
		scale = float32(1 / math.Sqrt(float64(s.dim)))
	}
	at := i + s.lenK - s.lenQ
	score := func(j int) float32 {
		key := p.K[j*p.KStrides.Row+kv*s.dim:][:s.dim]
		x := order.Score(query, key, scale, dots)
		if s.alibi {
			x += float32(-[]float32{0.3, 0.01}[head] * float32(max(at-j, j-at)))
		}
		if s.bias {
			x += drawn("plain", 4, p.Heads*s.lenK)[head*s.lenK+j]
		}
		if s.causal && (j > at || s.window > 0 && j <= at-s.window) || s.lengths > 0 && j >= s.lengths || s.keep && j%3 == 1 {
			x = float32(math.Inf(-1))
		}
		return x
	}
	block, stretch := order.Attention.Of(max(s.dim, p.ValueDim), s.causal, false)
	all := order.NoKeys(p.ValueDim)
	for from := 0; from < s.lenK; from += stretch {
		part := order.NoKeys(p.ValueDim)
		for first := from; first < min(from+stretch, s.lenK); first += block {
			scores := make([]float32, min(block, s.lenK-first))
			for j := range scores {
				scores[j] = score(first + j)
			}
			part.Add(scores, func(j int) []float32 { return p.V[(first+j)*p.VStrides.Row+kv*p.ValueDim:][:p.ValueDim] })
		}
		all.Merge(part)
	}
	if p.Sinks != nil {
		all.Sum = order.WithSink(all.Sum, p.Sinks[head], all.Max)
	}
	factor := all.Factor(p.HeadMask[head])
	order.ScaleOutput(all.Out, factor)
	return all.Out
}

// some returns a call with only the queries [from, to).
func (s attentionSetup) some(p AttentionParams, from, to int) AttentionParams {
	past := s.lenK - s.lenQ + from
	lenK := s.lenK
	if s.causal { // later keys need not exist
		lenK = min(past+to-from, s.lenK)
	}
	if p.Sequences != nil {
		p.Sequences = []AttentionSequence{{LenQ: to - from, LenK: lenK, Past: past, Pages: p.Sequences[0].Pages}}
	} else {
		p.LenQ, p.Past = to-from, past
		if !s.bias && !s.keep {
			p.LenK = lenK
		}
	}
	p.Q = p.Q[from*p.QStrides.Row:]
	p.Dst = make([]float32, (to-from)*p.DstStrides.Row)
	return p
}

func TestOrderOfAttention(t *testing.T) {
	for _, s := range attentionSetups {
		p := s.params("plain")
		queries := []int{0, 1 % s.lenQ, s.lenQ / 2, s.lenQ - 1}
		slices.Sort(queries)
		queries = slices.Compact(queries)
		want := map[bool]map[int][]float32{false: {}, true: {}} // dot products or not
		for _, i := range queries {
			for head := range p.Heads {
				for dots := range want {
					want[dots][i] = append(want[dots][i], s.query(&p, head, i, dots)...)
				}
			}
		}
		compare := func(t *testing.T, how string, p AttentionParams, from, to int) {
			keys := p.LenK
			if p.Sequences != nil {
				keys = p.Sequences[0].LenK
			}
			dots := order.ScoresAreDots(to-from, keys, s.dim, s.causal || s.pages)
			for _, i := range queries {
				if i >= from && i < to {
					sameBits(t, fmt.Sprintf("query %d of %s", i, how), p.Dst[(i-from)*p.DstStrides.Row:], want[dots][i])
				}
			}
		}
		t.Run(s.name, func(t *testing.T) {
			eachISA(t, func(t *testing.T) {
				s.eachPlace(func(place string, p AttentionParams) {
					for _, threads := range []Threads{1, 3} {
						clear(p.Dst)
						threads.Attention(p)
						compare(t, fmt.Sprintf("all, %s, %d threads", place, threads), p, 0, s.lenQ)
					}
					for _, i := range queries {
						for _, n := range []int{1, 2, 7, 14} {
							if i+n <= s.lenQ {
								part := s.some(p, i, i+n)
								Attention(part)
								compare(t, fmt.Sprintf("%d, %s", n, place), part, i, i+n)
							}
						}
					}
				})
			})
		})
	}
}

// eachPlace runs f with keys and values in place, or in pages of panels or rows.
func (s attentionSetup) eachPlace(f func(place string, p AttentionParams)) {
	p := s.params("plain")
	if !s.pages {
		f("in place", p)
		return
	}
	k, v := p.K, p.V
	p.K, p.V = nil, nil
	f("pages", p)
	if testenv.Emulated() {
		return
	}
	p.KPages = s.filled(drawn("plain", 2, len(k)), NewPages(s.format, p.KVHeads, p.KPages.Rows(), s.dim), p.Sequences[0].Pages)
	f("pages of rows", p)
	if !s.causal {
		return
	}
	p.KPages, p.VPages, p.K, p.V = nil, nil, k, v
	p.LenQ, p.LenK, p.Past, p.Sequences = s.lenQ, s.lenK, s.lenK-s.lenQ, nil
	f("in place", p)
}

// sameBits compares the elements of want.
func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i, v := range want {
		if math.Float32bits(got[i]) != math.Float32bits(v) && (v == v || got[i] == got[i]) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], v)
		}
	}
}
