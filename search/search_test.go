package search

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
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/machine"
)

func TestMain(m *testing.M) { testenv.Main(m, kernels.Supported()) }

func TestForced(t *testing.T) { testenv.CheckForced(t, kernels.Active()) }

func eachTier(t *testing.T, test func(t *testing.T)) {
	testenv.EachTier(t, kernels.Supported(), kernels.Active(), machine.Use, test)
}

// random returns n vectors of dim small integers, whose dot products are exact in float32.
func random(seed uint64, n, dim int) [][]float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	v := make([][]float32, n)
	for i := range v {
		v[i] = make([]float32, dim)
		for j := range v[i] {
			v[i][j] = float32(r.IntN(15) - 7)
		}
	}
	return v
}

// oracle returns the k best vectors by a score, and of equal scores by id.
func oracle(ids []int64, n, k int, score func(i int) float64) []Hit {
	all := make([]Hit, n)
	for i := range all {
		all[i] = Hit{int64(i), float32(score(i))}
		if ids != nil {
			all[i].ID = ids[i]
		}
	}
	slices.SortStableFunc(all, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return all[:min(k, n)]
}

func exactDot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func sign(x float32) float64 {
	if x > 0 {
		return 1
	}
	return -1
}

func signDot(a, b []float32) (sum float64) {
	for i := range a {
		sum += sign(a[i]) * sign(b[i])
	}
	return sum
}

func fill(t *testing.T, dim int, o Options, ids []int64, vectors [][]float32) *Index {
	t.Helper()
	x, err := New(dim, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Add(ids, vectors); err != nil {
		t.Fatal(err)
	}
	return x
}

func find(t *testing.T, x *Index, queries [][]float32, k int) [][]Hit {
	t.Helper()
	hits, err := x.Search(context.Background(), queries, k)
	if err != nil {
		t.Fatal(err)
	}
	if len(hits) != len(queries) {
		t.Fatalf("hits of %d queries, want %d", len(hits), len(queries))
	}
	return hits
}

// sizes returns sizes of indexes: 0, 1, and sizes near those of a segment and a panel.
func sizes() []int {
	if testenv.Emulated() || testing.Short() {
		return []int{0, 1, 193, segment + 1}
	}
	return []int{0, 1, 2, 191, 192, 193, segment - 1, segment, segment + 1, 3*segment + 5}
}

// TestSearch compares hits with those of sorting all scores. Scores of small integers are exact,
// and many are equal.
func TestSearch(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		dims := []int{1, 3, 33, 64, 65}
		if testing.Short() {
			dims = []int{1, 65}
		}
		for _, dim := range dims {
			queries := random(2, 70, dim)
			for _, n := range sizes() {
				vectors := random(1, n, dim)
				var ids []int64
				if n%2 == 1 {
					ids = make([]int64, n)
					for i := range ids {
						ids[i] = int64(n-i) * 1e10
					}
				}
				checkSearch(t, dim, ids, vectors, queries)
			}
		}
	})
}

// checkSearch compares hits for several k, numbers of queries and numbers of threads.
func checkSearch(t *testing.T, dim int, ids []int64, vectors, queries [][]float32) {
	t.Helper()
	n := len(vectors)
	want := map[Precision]map[int][]Hit{Float32: {}, Binary: {}}
	for i := 0; i < len(queries); i += 23 {
		q := queries[i]
		want[Float32][i] = oracle(ids, n, n, func(j int) float64 { return exactDot(q, vectors[j]) })
		want[Binary][i] = oracle(ids, n, n, func(j int) float64 { return signDot(q, vectors[j]) })
	}
	for p, want := range want {
		for _, threads := range []int{1, 3} {
			x := fill(t, dim, Options{Precision: p, Threads: threads}, ids, vectors)
			for _, k := range []int{1, 10, n + 1} {
				for _, m := range []int{0, 1, len(queries)} {
					got := find(t, x, queries[:m], k)
					for i := 0; i < m; i += 23 {
						if want := want[i][:min(k, n)]; !slices.Equal(got[i], want) {
							t.Fatalf("%v, dim %d, %d vectors, %d threads, k %d, query %d of %d: %v, want %v", p, dim, n, threads, k, i, m, got[i], want)
						}
					}
				}
			}
		}
	}
}

// normal returns n vectors of length 1.
func normal(seed uint64, n, dim int) [][]float32 {
	r := rand.New(rand.NewPCG(seed, 2))
	v := make([][]float32, n)
	for i := range v {
		v[i] = make([]float32, dim)
		var sum float64
		for j := range v[i] {
			x := r.NormFloat64()
			v[i][j] = float32(x)
			sum += x * x
		}
		for j := range v[i] {
			v[i][j] /= float32(math.Sqrt(sum))
		}
	}
	return v
}

// TestLengths verifies that vectors of very large and very small lengths are ordered by their
// products. In Lucene the cosine of a tiny vector is infinite; some libraries return a vector of
// zeros first.
func TestLengths(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		vectors := [][]float32{{0, 0}, {1e-30, 0}, {-1, 0}, {1, 0.5}, {1e-45, 1e-45}, {2, 1}, {1e6, 0}}
		for _, p := range []Precision{Float32, Int8} {
			x := fill(t, 2, Options{Precision: p}, nil, vectors)
			got := find(t, x, [][]float32{{1, 0.5}}, len(vectors))[0]
			var order []int64
			for _, hit := range got {
				order = append(order, hit.ID)
				if math.IsNaN(float64(hit.Score)) || math.IsInf(float64(hit.Score), 0) {
					t.Errorf("%v: the score of vector %d is %g", p, hit.ID, hit.Score)
				}
			}
			if !slices.Equal(order[:3], []int64{6, 5, 3}) || order[len(order)-1] != 2 {
				t.Errorf("%v: order %d, want 6, 5, 3, then tiny vectors and zeros, and 2 at the end", p, order)
			}
		}
	})
}

// TestInt8 compares scores with exact ones. The tolerance is the error of rounding vectors and
// queries to multiples of a 127th of the largest of 32 numbers.
func TestInt8(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		const n, dim = 400, 70
		vectors, queries := normal(1, n, dim), normal(2, 3, dim)
		x := fill(t, dim, Options{Precision: Int8}, nil, vectors)
		alone := find(t, x, queries[1:2], n)[0]
		for i, hits := range find(t, x, queries, n) {
			if i == 1 && !slices.Equal(hits, alone) {
				t.Error("a single query finds other hits than among more queries")
			}
			for _, h := range hits {
				if want := exactDot(queries[i], vectors[h.ID]); math.Abs(float64(h.Score)-want) > 0.01 {
					t.Errorf("query %d, vector %d: %g, want %g", i, h.ID, h.Score, want)
				}
			}
			if !slices.IsSortedFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) }) {
				t.Errorf("query %d: not in order", i)
			}
		}
	})
}

// TestRescore verifies that with all vectors as candidates, hits and scores are those of the
// vectors in more bits.
func TestRescore(t *testing.T) {
	const n, dim = 500, 40
	vectors, queries := random(1, n, dim), random(2, 5, dim)
	for _, o := range []Options{
		{Precision: Binary, Rescore: Float32, Oversample: 1000},
		{Precision: Int8, Rescore: Float32, Oversample: 1000},
		{Precision: Binary, Rescore: Float32, Oversample: math.MaxInt},
	} {
		x := fill(t, dim, o, nil, vectors)
		for i, hits := range find(t, x, queries, 7) {
			q := queries[i]
			if want := oracle(nil, n, 7, func(j int) float64 { return exactDot(q, vectors[j]) }); !slices.Equal(hits, want) {
				t.Errorf("%+v, query %d: %v, want %v", o, i, hits, want)
			}
		}
	}
	x := fill(t, dim, Options{Precision: Binary, Rescore: Int8, Oversample: 2}, nil, vectors)
	for i, hits := range find(t, x, queries, 7) {
		q := queries[i]
		var candidates []int
		for _, h := range oracle(nil, n, 14, func(j int) float64 { return signDot(q, vectors[j]) }) {
			candidates = append(candidates, int(h.ID))
		}
		if len(hits) != 7 {
			t.Fatalf("%d hits", len(hits))
		}
		for _, h := range hits {
			if want := exactDot(q, vectors[h.ID]); math.Abs(float64(h.Score)-want) > 0.03*exactDot(q, q) {
				t.Errorf("query %d, vector %d: %g, want %g", i, h.ID, h.Score, want)
			}
			if !slices.Contains(candidates, int(h.ID)) {
				t.Errorf("query %d: vector %d is not one of the best by signs", i, h.ID)
			}
		}
	}
}

// TestSameBits verifies that hits are the same for any number of threads and any order of adding,
// for a single query and among several, and on every tier.
func TestSameBits(t *testing.T) {
	tiers := map[Precision]string{}
	eachTier(t, func(t *testing.T) {
		const n, dim = 2*segment + 100, 48
		vectors, queries := normal(1, n, dim), normal(2, 9, dim)
		copy(vectors[n-1], vectors[0]) // in the last column and in the first
		copy(vectors[segment+17], vectors[0])
		queries[0] = vectors[0]
		ids := make([]int64, n)
		for i := range ids {
			ids[i] = int64(i)
		}
		for _, p := range []Precision{Float32, Int8, Binary} {
			one := fill(t, dim, Options{Precision: p, Threads: 1}, ids, vectors)
			want := find(t, one, queries, 20)
			if w := want[0]; w[0].ID != 0 || w[1].ID != segment+17 || w[2].ID != n-1 || w[0].Score != w[2].Score {
				t.Errorf("%v: the same vector three times: %v", p, w[:4])
			}
			if got := fmt.Sprint(want); tiers[p] == "" {
				tiers[p] = got
			} else if got != tiers[p] {
				t.Errorf("%v: %v, want %v as on the other tiers", p, got, tiers[p])
			}
			for i := range queries {
				if got := find(t, one, queries[i:i+1], 20)[0]; !slices.Equal(got, want[i]) {
					t.Errorf("%v: query %d by itself: %v, want %v", p, i, got, want[i])
				}
			}
			r := rand.New(rand.NewPCG(3, 3))
			for threads := 2; threads < 5; threads++ {
				x, _ := New(dim, Options{Precision: p, Threads: threads})
				order := r.Perm(n)
				for len(order) > 0 {
					some := order[:min(len(order), 700)]
					order = order[len(some):]
					var ids []int64
					var v [][]float32
					for _, i := range some {
						ids, v = append(ids, int64(i)), append(v, vectors[i])
					}
					if err := x.Add(ids, v); err != nil {
						t.Fatal(err)
					}
				}
				if got := find(t, x, queries, 20); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%v, %d threads: %v, want %v", p, threads, got, want)
				}
			}
		}
	})
}

// TestConcurrent searches while vectors are added. A search sees the vectors that were added first,
// without gaps.
func TestConcurrent(t *testing.T) {
	for _, o := range []Options{{}, {Precision: Int8}, {Precision: Binary, Rescore: Float32, Oversample: 100}} {
		const n, dim = segment + 300, 16
		vectors := random(1, n, dim)
		x, _ := New(dim, o)
		done := make(chan error)
		go func() {
			var err error
			for i := 0; i < n && err == nil; i += 60 {
				err = x.Add(nil, vectors[i:min(n, i+60)])
			}
			done <- err
		}()
		before := 0
		for running := true; running; {
			select {
			case err := <-done:
				if err != nil {
					t.Fatal(err)
				}
				running = false
			default:
			}
			hits := find(t, x, vectors[:2], n)[0]
			if len(hits) < before || len(hits)%60 != 0 && len(hits) != n {
				t.Fatalf("%d hits after %d", len(hits), before)
			}
			before = len(hits)
		}
		if before != n || x.Len() != n {
			t.Fatalf("%d hits of %d, want %d", before, x.Len(), n)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, o := range []Options{{Precision: 9}, {Rescore: 1}, {Rescore: 9}, {Precision: Int8, Rescore: Int8}, {Precision: Binary, Rescore: Binary}, {Oversample: -1}, {Threads: -1}} {
		if _, err := New(3, o); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, dim := range []int{-1, 0, maxDim + 1} {
		if _, err := New(dim, Options{}); !errors.Is(err, fault.ErrOption) {
			t.Errorf("dim %d: %v", dim, err)
		}
	}
	if _, err := ParsePrecision("int4"); !errors.Is(err, fault.ErrOption) {
		t.Error(err)
	}
	if p, err := ParsePrecision("int8"); p != Int8 || err != nil {
		t.Error(p, err)
	}
	ok, nan, inf := []float32{1, 2}, []float32{1, float32(math.NaN())}, []float32{float32(math.Inf(-1)), 0}
	x := fill(t, 2, Options{}, nil, [][]float32{ok})
	for _, bad := range [][][]float32{{ok, nan}, {inf}, {{1}}, {{1, 2, 3}}, {nil}} {
		if err := x.Add(nil, bad); !errors.Is(err, fault.ErrInput) {
			t.Errorf("Add(%v): %v", bad, err)
		}
		if _, err := x.Search(context.Background(), bad, 1); !errors.Is(err, fault.ErrInput) {
			t.Errorf("Search(%v): %v", bad, err)
		}
	}
	if err := x.Add([]int64{1}, [][]float32{ok}); !errors.Is(err, fault.ErrInput) {
		t.Errorf("ids after none: %v", err)
	}
	if err := x.Add([]int64{1, 2}, [][]float32{ok}); !errors.Is(err, fault.ErrInput) {
		t.Errorf("more ids than vectors: %v", err)
	}
	if _, err := x.Search(context.Background(), [][]float32{ok}, 0); !errors.Is(err, fault.ErrInput) {
		t.Errorf("k = 0: %v", err)
	}
	if x.Len() != 1 {
		t.Errorf("%d vectors after calls with errors", x.Len())
	}
	eight := fill(t, 2, Options{Precision: Int8}, nil, nil)
	if err := eight.Add(nil, [][]float32{{9e6, 0}}); !errors.Is(err, fault.ErrInput) {
		t.Errorf("too large for a scale of 16 bits: %v", err)
	}
	if err := eight.Add(nil, [][]float32{{8e6, 0}}); err != nil {
		t.Error(err)
	}
	if h := find(t, eight, [][]float32{{1, 0}}, 1)[0]; len(h) != 1 || math.Abs(float64(h[0].Score)/8e6-1) > 0.01 {
		t.Error(h)
	}
	huge := fill(t, 2, Options{}, nil, [][]float32{{3e38, -3e38}, {1, 0}})
	if h := find(t, huge, [][]float32{{3e38, 3e38}}, 2)[0]; slices.ContainsFunc(h, func(h Hit) bool { return h.Score != h.Score }) {
		t.Error("a score that is not a number is found:", h)
	}
}

// TestCancel verifies that a search of a cancelled context returns the cause.
func TestCancel(t *testing.T) {
	x := fill(t, 4, Options{}, nil, random(1, 3*segment, 4))
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	cancel(why)
	if _, err := x.Search(ctx, random(2, 1, 4), 1); !errors.Is(err, why) {
		t.Error(err)
	}
}
