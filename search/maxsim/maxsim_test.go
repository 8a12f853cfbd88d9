package maxsim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/search"
)

func fill(t testing.TB, dim int, ids []int64, documents [][][]float32) *Index {
	t.Helper()
	x, err := New(dim, Options{Threads: 3})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Add(ids, documents); err != nil {
		t.Fatal(err)
	}
	return x
}

// random returns n vectors of integers, whose products are exact.
func random(r *rand.Rand, n, dim int) [][]float32 {
	vectors := make([][]float32, n)
	for i := range vectors {
		vectors[i] = make([]float32, dim)
		for j := range vectors[i] {
			vectors[i][j] = float32(r.IntN(9) - 4)
		}
	}
	return vectors
}

// maxSim computes a score by its definition.
func maxSim(query, document [][]float32) float32 {
	sum := 0.0
	for _, q := range query {
		best := math.Inf(-1)
		for _, d := range document {
			dot := 0.0
			for i := range q {
				dot += float64(q[i]) * float64(d[i])
			}
			best = max(best, dot)
		}
		if len(document) > 0 {
			sum += best
		}
	}
	return float32(sum)
}

// TestSearch changes an index at random, and compares its hits among all documents, among some, and
// among given ones with the definition.
func TestSearch(t *testing.T) {
	const dim = 19
	r := rand.New(rand.NewPCG(1, 2))
	x, held := fill(t, dim, nil, nil), map[int64][][]float32{}
	for step := range 60 {
		var ids []int64
		var documents [][][]float32
		for range 1 + r.IntN(9) {
			if id := r.Int64N(90) - 30; !slices.Contains(ids, id) {
				ids, documents = append(ids, id), append(documents, random(r, r.IntN(40), dim))
			}
		}
		if r.IntN(3) == 0 {
			before := len(held)
			for _, id := range ids {
				delete(held, id)
			}
			if got := x.Remove(append(ids, ids[0])...); got != before-len(held) {
				t.Fatalf("step %d: %d removed, want %d", step, got, before-len(held))
			}
		} else {
			if err := x.Replace(ids, documents); err != nil {
				t.Fatal(err)
			}
			for i, id := range ids {
				held[id] = documents[i]
			}
		}
		if x.Len() != len(held) {
			t.Fatalf("step %d: %d documents, want %d", step, x.Len(), len(held))
		}
		query := random(r, r.IntN(9), dim)
		few := []int64{3, -7, 3, 5, 11, 1000, 20}
		even := func(id int64) bool { return id%2 == 0 }
		for name, c := range map[string]struct {
			find  func() ([]search.Hit, error)
			where func(int64) bool
		}{
			"all":   {func() ([]search.Hit, error) { return x.Search(context.Background(), query, 6) }, func(int64) bool { return true }},
			"some":  {func() ([]search.Hit, error) { return x.SearchWhere(context.Background(), query, 6, even) }, even},
			"given": {func() ([]search.Hit, error) { return x.SearchAmong(context.Background(), query, 6, few) }, search.WithID(few...)},
		} {
			want := []search.Hit{}
			for id, d := range held {
				if c.where(id) {
					want = append(want, search.Hit{ID: id, Score: maxSim(query, d)})
				}
			}
			slices.SortFunc(want, func(a, b search.Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID)) })
			want = want[:min(6, len(want))]
			if got, err := c.find(); err != nil || !slices.Equal(got, want) {
				t.Fatalf("step %d, %s: %v, %v, want %v", step, name, got, err, want)
			}
		}
	}
}

// TestIDs verifies that either all ids are positions or all are given, and that each id occurs
// once.
func TestIDs(t *testing.T) {
	one := [][][]float32{{{1}}}
	x := fill(t, 1, nil, [][][]float32{{{1}, {2}}, {{3}}, {}})
	if got, err := x.Search(context.Background(), [][]float32{{1}, {-1}}, 9); err != nil || fmt.Sprint(got) != "[{0 1} {1 0} {2 0}]" {
		t.Error(got, err)
	}
	nan := float32(math.NaN())
	late := errors.New("late")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(late)
	if _, err := x.Search(ctx, nil, 1); err != late {
		t.Error(err)
	}
	find := func(query [][]float32, k int) error { _, err := x.Search(context.Background(), query, k); return err }
	for name, err := range map[string]error{
		"ids after positions": x.Add([]int64{9}, one), "too few ids": x.Add([]int64{}, one), "a long vector": x.Add(nil, [][][]float32{{{1, 2}}}),
		"a NaN": x.Add(nil, [][][]float32{{{nan}}}), "replaced twice": x.Replace([]int64{1, 1}, [][][]float32{{{1}}, {{1}}}),
		"too few to replace": x.Replace(nil, one), "k": find(nil, 0), "a long query": find([][]float32{{1, 2}}, 1), "a query of NaN": find([][]float32{{nan}}, 1),
	} {
		if !errors.Is(err, fault.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if x.Len() != 3 || x.Remove(0) != 1 {
		t.Error("the index has changed")
	}
	if err := x.Add(nil, one); !errors.Is(err, fault.ErrInput) {
		t.Errorf("positions after a removal: %v", err)
	}
	if err := x.Add([]int64{2}, one); !errors.Is(err, fault.ErrInput) {
		t.Errorf("an id again: %v", err)
	}
	if err := x.Add([]int64{0}, one); err != nil {
		t.Error(err)
	}
	if x.Remove(0, 1, 2) != 3 || x.Add(nil, one) != nil {
		t.Error("an empty index does not accept either kind of ids")
	}
	if got, err := x.Search(context.Background(), [][]float32{{5}}, 9); err != nil || fmt.Sprint(got) != "[{0 5}]" {
		t.Error(got, err)
	}
	for _, dim := range []int{0, maxDim + 1} {
		if _, err := New(dim, Options{}); !errors.Is(err, fault.ErrOption) {
			t.Errorf("dim %d: %v", dim, err)
		}
	}
	if _, err := New(1, Options{Threads: -1}); !errors.Is(err, fault.ErrOption) {
		t.Error(err)
	}
}

// TestConcurrent searches while all documents are replaced. A search sees all documents of a call
// or none.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	const n = 50
	ids, documents := make([]int64, n), make([][][]float32, n)
	round := func(value int) [][][]float32 {
		for i := range documents {
			ids[i], documents[i] = int64(i), [][]float32{{float32(value)}, {0}}
		}
		return documents
	}
	x := fill(t, 1, []int64{}, nil)
	done := make(chan error)
	go func() {
		var err error
		for i := 0; i < 200 && err == nil; i++ {
			err = x.Replace(ids, round(i))
		}
		done <- err
	}()
	for running := true; running; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			running = false
		default:
		}
		hits, err := x.Search(context.Background(), [][]float32{{1}}, 2*n)
		if err != nil || len(hits) != 0 && (len(hits) != n || hits[0].Score != hits[n-1].Score) {
			t.Fatal(hits, err)
		}
	}
}
