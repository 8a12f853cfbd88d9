package transformer

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// inPieces has a task do n parts in runs of a few, side by side, the last one first.
func inPieces(task interface{ Do(from, to int) }, n int) {
	var group sync.WaitGroup
	for to := n; to > 0; {
		from := max(0, to-1-to%4)
		last := to
		group.Go(func() { task.Do(from, last) })
		to = from
	}
	group.Wait()
}

func normal(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 0))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// TestPlacesInPieces places the rows of sequences that continue from earlier ones, some of them
// empty, run by run, and wants the bits of all at once.
func TestPlacesInPieces(t *testing.T) {
	for _, pairing := range []Pairing{PairHalves, PairNeighbours} {
		a, err := NewMultiHeadAttention(AttentionConfig{
			Dim: 32, Heads: 4, KVHeads: 2, HeadDim: 8, QKNorm: &NormConfig{RMS: true, Eps: 1e-6}, Rotary: &RotaryConfig{Pairing: pairing, Dim: 6},
		}, AttentionNames{Query: "q.", Key: "k.", Value: "v.", Out: "o.", QueryNorm: "qn.", KeyNorm: "kn."}, Random(1), "")
		if err != nil {
			t.Fatal(err)
		}
		const width = 4*8 + 2*2*8
		whole, pieces := NewCache(4), NewCache(4)
		for pass, lengths := range [][]int{{3, 0, 70, 1}, {0, 9, 5, 2}} {
			batch := Ragged(lengths...)
			rows := batch.Rows()
			place := func(c *Cache) projected {
				x := normal(uint64(pass), rows*width)
				return projected{q: x, k: x[32:], v: x[48:], qRow: width, kRow: width, vRow: width, cache: c.Layer(0)}
			}
			for _, c := range []*Cache{whole, pieces} {
				if err := c.Begin(batch, 1); err != nil {
					t.Fatal(err)
				}
			}
			want, got := place(whole), place(pieces)
			before := slices.Clone(want.q)
			if err := a.place(new(Workspace), batch, want, whole.Layer(0), nil); err != nil {
				t.Fatal(err)
			}
			if err := pieces.Layer(0).open(2, 8); err != nil {
				t.Fatal(err)
			}
			inPieces(&placing{a, batch, got, pieces.Layer(0), nil}, rows)
			if !slices.Equal(got.q, want.q) || slices.Equal(want.q, before) {
				t.Errorf("pairing %d, pass %d: other bits in pieces, or those from before", pairing, pass)
			}
			whole.End(batch)
			pieces.End(batch)
		}
		for i := range 4 {
			if k := whole.Keys(0, i); !slices.Equal(pieces.Keys(0, i), k) || !slices.Equal(pieces.Values(0, i), whole.Values(0, i)) || len(k) == 0 {
				t.Errorf("pairing %d: other pages of sequence %d in pieces", pairing, i)
			}
		}
	}
}

// TestRoutesInPieces routes rows run by run.
func TestRoutesInPieces(t *testing.T) {
	const rows, experts, topK = 41, 12, 3
	for _, normalize := range []bool{true, false} {
		m := &Mixture{MixtureConfig: MixtureConfig{Experts: experts, TopK: topK, Normalize: normalize}}
		route := func(run func(r *routes)) ([]int32, []float32) {
			r := &routes{picked: make([]int32, rows*topK), of: m, scores: normal(7, rows*experts), weights: make([]float32, rows*topK)}
			run(r)
			return r.picked, r.weights
		}
		picked, weights := route(func(r *routes) { r.Do(0, rows) })
		p, w := route(func(r *routes) { inPieces(r, rows) })
		if !slices.Equal(p, picked) || !slices.Equal(w, weights) || slices.Max(weights) == 0 {
			t.Errorf("normalize %t: other experts or weights in pieces", normalize)
		}
	}
}

// TestLookupInPieces looks vectors up run by run.
func TestLookupInPieces(t *testing.T) {
	const rows, dim = 23, 5
	e, err := NewEmbedding(11, dim, normal(3, 11*dim))
	if err != nil {
		t.Fatal(err)
	}
	e.Scale = 1.7
	tokens := make([]int, rows)
	for i := range tokens {
		tokens[i] = i * 7 % 11
	}
	for _, add := range []bool{false, true} {
		want, got := normal(4, rows*dim), normal(4, rows*dim)
		if err := e.look(new(Workspace), want, tokens, add); err != nil {
			t.Fatal(err)
		}
		inPieces(&lookup{e, got, tokens, add}, rows)
		if !slices.Equal(got, want) {
			t.Errorf("add %t: other vectors in pieces", add)
		}
		vector := make([]float32, dim)
		e.Row(vector, tokens[1])
		if d := want[dim] - float32(1.7*vector[0]); !add && d != 0 || add && d == 0 {
			t.Errorf("add %t: the vector of row 1 begins with %g", add, want[dim])
		}
	}
}
