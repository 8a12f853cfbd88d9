package bm25

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/search"
)

var texts = []string{
	"the dough rests in a warm place", "The engine needs new oil.", "bake the loaf until the crust is dark", "the, the; THE",
	"oil the engine with oil", "a warm engine runs well and a cold engine does not", "", "bread dough bread",
}

func fill(t testing.TB, o Options, ids []int64, texts []string) *Index {
	t.Helper()
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Add(ids, texts); err != nil {
		t.Fatal(err)
	}
	return x
}

func find(t testing.TB, x *Index, query string, k int) []search.Hit {
	t.Helper()
	hits, err := x.Search(context.Background(), []string{query}, k)
	if err != nil {
		t.Fatal(err)
	}
	return hits[0]
}

// TestScores compares scores with bm25s 0.3.16, method "lucene", in float64. The score of several
// words is the sum of the scores of each.
func TestScores(t *testing.T) {
	for _, c := range []struct {
		k1, b float64
		query string
		want  []float64
	}{
		{0, 0, "warm dough", []float64{1.024747, 0, 0, 0, 0, 0.4020869, 0, 0.7060265}},
		{0, 0, "engine oil", []float64{0, 1.03164, 0, 0, 1.249281, 0.4512786, 0, 0}},
		{0, 0, "the", []float64{0.1969906, 0.2283004, 0.2682751, 0.3873411, 0.2283004, 0, 0, 0}},
		{0, 0, "oil oil engine bread", []float64{0, 1.625451, 0, 0, 2.060732, 0.4512786, 0, 1.273332}},
		{0, 0, "none", make([]float64, 8)},
		{2, 0.3, "warm dough", []float64{0.8005837, 0, 0, 0, 0, 0.3502553, 0, 0.4670071}},
		{2, 0.3, "oil oil engine bread", []float64{0, 1.180015, 0, 0, 1.607997, 0.405597, 0, 0.9574287}},
		{0.9, 0.4, "engine oil", []float64{0, 1.181925, 0, 0, 1.390267, 0.5733939, 0, 0}},
		{0.9, 0.4, "the", []float64{0.2438002, 0.2615581, 0.3189024, 0.394432, 0.2615581, 0, 0, 0}},
	} {
		hits := find(t, fill(t, Options{K1: c.k1, B: c.b}, nil, texts), c.query, 9)
		got := make([]float64, len(texts))
		for i, h := range hits {
			got[h.ID] = float64(h.Score)
			if i > 0 && (h.Score > hits[i-1].Score || h.Score == hits[i-1].Score && h.ID < hits[i-1].ID) {
				t.Errorf("%q: %v are not in order", c.query, hits)
			}
		}
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 1e-6*c.want[i] {
				t.Errorf("k1 %g, b %g, %q, text %d: %g, want %g", c.k1, c.b, c.query, i, got[i], c.want[i])
			}
		}
	}
}

// TestParameters verifies that a negative number switches off a part of the formula.
func TestParameters(t *testing.T) {
	for _, c := range []struct {
		o    Options
		same bool
	}{{Options{}, false}, {Options{B: -1}, true}, {Options{K1: -1}, true}} {
		if hits := find(t, fill(t, c.o, nil, []string{"a", "a b b b b", "c"}), "a", 2); len(hits) != 2 || (hits[0].Score == hits[1].Score) != c.same {
			t.Errorf("%v: %v", c.o, hits)
		}
	}
	for _, o := range []Options{{K1: math.NaN()}, {K1: math.Inf(1)}, {K1: math.Inf(-1)}, {B: 1.1}, {B: math.NaN()}, {B: math.Inf(-1)}} {
		if _, err := New(o); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%v: %v", o, err)
		}
	}
	if x := fill(t, Options{}, nil, nil); x.Options().K1 != 1.2 || x.Options().B != 0.75 {
		t.Errorf("defaults: %+v", x.Options())
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"Don't STOP, 3rd-party 2.5": "don|t|stop|3rd|party|2|5",
		"ÉTÉ straße ΣΑΣ":            "été|straße|σασ",
		"हिन्दी में e\u0301te\u0301":    "हिन्दी|में|e\u0301te\u0301",
		"東京 タワー\u3000x_y":               "東京|タワー|x|y",
		"bad\xffbytes\x00and\u200bmore": "bad|bytes|and|more",
	} {
		if got := strings.Join(Words(text), "|"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	x := fill(t, Options{Words: func(text string) []string { return strings.Split(text, "") }}, nil, []string{"ab", "cd"})
	if hits := find(t, x, "c", 5); len(hits) != 1 || hits[0].ID != 1 {
		t.Errorf("by letters: %v", hits)
	}
}

// sentence returns n random words of a small vocabulary.
func sentence(r *rand.Rand, n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprint("w", int(r.ExpFloat64()*6))
	}
	return strings.Join(words, " ")
}

// TestChanges replaces and removes texts at random. It compares the hits of the index, and of one
// read from its file, with those of a new index of the same texts.
func TestChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x, want := fill(t, Options{}, nil, nil), map[int64]string{}
	for step := range 120 {
		n := 1 + r.IntN(20)
		ids, changed := make([]int64, 0, n), make([]string, 0, n)
		for len(ids) < n {
			if id := r.Int64N(150) - 50; !slices.Contains(ids, id) {
				ids, changed = append(ids, id), append(changed, sentence(r, r.IntN(12)))
			}
		}
		if r.IntN(3) == 0 {
			there := len(want)
			for _, id := range ids {
				delete(want, id)
			}
			if got := x.Remove(ids...); got != there-len(want) {
				t.Fatalf("step %d: %d removed, want %d", step, got, there-len(want))
			}
		} else {
			if err := x.Replace(ids, changed); err != nil {
				t.Fatal(err)
			}
			for i, id := range ids {
				want[id] = changed[i]
			}
		}
		var all []int64
		var held []string
		for id, text := range want {
			all, held = append(all, id), append(held, text)
		}
		fresh := fill(t, Options{}, all, held)
		again, err := Read(bytes.NewReader(written(t, x)), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, where := range []func(int64) bool{nil, func(id int64) bool { return id%2 == 0 }} {
			queries := []string{"w0 w3", "w1 w2 w9 w1", sentence(r, 3)}
			oracle, err := fresh.SearchWhere(context.Background(), queries, 7, where)
			if err != nil {
				t.Fatal(err)
			}
			for name, y := range map[string]*Index{"itself": x, "its file": again} {
				hits, err := y.SearchWhere(context.Background(), queries, 7, where)
				if err != nil || y.Len() != len(want) {
					t.Fatal(err, y.Len())
				}
				for i := range hits {
					if !slices.Equal(hits[i], oracle[i]) {
						t.Fatalf("step %d, %s, %q: %v, want %v", step, name, queries[i], hits[i], oracle[i])
					}
				}
			}
		}
	}
}

// TestIDs verifies that either all ids are positions or all are given, that hits of equal scores
// are ordered by id, and that Remove removes all texts of an id.
func TestIDs(t *testing.T) {
	x := fill(t, Options{}, nil, []string{"b", "a", "a", "a"})
	if hits := find(t, x, "a", 2); len(hits) != 2 || hits[0].ID != 1 || hits[1].ID != 2 {
		t.Error(hits)
	}
	if err := x.Add([]int64{7}, []string{"a"}); !errors.Is(err, fault.ErrInput) {
		t.Errorf("ids after positions: %v", err)
	}
	if n := x.Remove(1); n != 1 {
		t.Errorf("%d removed", n)
	}
	if err := x.Add(nil, []string{"a"}); !errors.Is(err, fault.ErrInput) {
		t.Errorf("positions after a removal: %v", err)
	}
	if err := x.Add([]int64{-5, -5}, []string{"a", "a"}); err != nil {
		t.Error(err)
	}
	if hits := find(t, x, "a", 9); len(hits) != 4 || hits[0].ID != -5 || hits[1].ID != -5 || hits[2].ID != 2 || hits[3].ID != 3 {
		t.Error(hits)
	}
	if n := x.Remove(-5, 99); n != 2 {
		t.Errorf("%d removed, want both", n)
	}
	y := fill(t, Options{}, nil, []string{"b", "a"})
	if err := y.Replace([]int64{-9}, []string{"a"}); err != nil {
		t.Error(err)
	}
	if hits := find(t, y, "a", 9); len(hits) != 2 || hits[0].ID != -9 || hits[1].ID != 1 {
		t.Errorf("positions after an addition by Replace: %v", hits)
	}
	for name, err := range map[string]error{
		"too few ids":        x.Add([]int64{1}, []string{"a", "b"}),
		"too few to replace": x.Replace(nil, []string{"a"}),
		"k":                  func() error { _, err := x.Search(context.Background(), []string{"a"}, 0); return err }(),
	} {
		if !errors.Is(err, fault.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	late := errors.New("late")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(late)
	if _, err := x.Search(ctx, []string{"a"}, 1); err != late {
		t.Error(err)
	}
}

// TestConcurrent searches while texts are added and replaced. A search finds all texts of a call or
// none.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	const n = 100
	x := fill(t, Options{}, nil, nil)
	ids, round := make([]int64, n), make([]string, n)
	for i := range ids {
		ids[i] = int64(i)
	}
	done := make(chan error)
	go func() {
		var err error
		for i := range 200 {
			for j := range round {
				round[j] = strings.Repeat("a ", i%7+1)
			}
			if err == nil {
				err = x.Replace(ids, round)
			}
			if err == nil {
				err = x.Add([]int64{n}, []string{"b"})
			}
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
		if hits := find(t, x, "a", 2*n); len(hits) != 0 && (len(hits) != n || hits[0].Score != hits[n-1].Score) {
			t.Fatalf("%d hits: %v", len(hits), hits)
		}
	}
}

// BenchmarkSearch measures searches for two words in 100,000 texts.
func BenchmarkSearch(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]string, 100_000)
	for i := range all {
		all[i] = sentence(r, 20)
	}
	x := fill(b, Options{}, nil, all)
	for b.Loop() {
		find(b, x, "w3 w20", 10)
	}
}
