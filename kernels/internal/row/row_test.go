package row

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

func TestMain(m *testing.M) { testenv.Main(m, simd.Supported()) }

func TestForcedTier(t *testing.T) { testenv.CheckForced(t, simd.Active()) }

func eachISA(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	testenv.EachTier(t, simd.Supported(), simd.Active(), simd.Use, f)
}

// bounds collects the bounds that an iterator yields, at most most of them.
func bounds(seq func(yield func(from, to int) bool), most int) (all [][2]int) {
	for from, to := range seq {
		if all = append(all, [2]int{from, to}); len(all) == most {
			break
		}
	}
	return all
}

// TestBudget cuts elements and rows, and may stop early.
func TestBudget(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want [][2]int
	}{
		{"no elements", bounds(budget(4).pieces(0), 9), nil},
		{"fewer", bounds(budget(4).pieces(3), 9), [][2]int{{0, 3}}},
		{"as many", bounds(budget(4).pieces(4), 9), [][2]int{{0, 4}}},
		{"more", bounds(budget(4).pieces(9), 9), [][2]int{{0, 4}, {4, 8}, {8, 9}}},
		{"left early", bounds(budget(4).pieces(9), 2), [][2]int{{0, 4}, {4, 8}}},
		{"no rows", bounds(budget(10).Rows(3, 3, 5), 9), nil},
		{"two rows at a time", bounds(budget(10).Rows(1, 6, 5), 9), [][2]int{{1, 3}, {3, 5}, {5, 6}}},
		{"rows longer than the budget", bounds(budget(10).Rows(0, 3, 11), 9), [][2]int{{0, 1}, {1, 2}, {2, 3}}},
		{"rows without elements", bounds(budget(2).Rows(0, 3, 0), 9), [][2]int{{0, 2}, {2, 3}}},
		{"rows without a budget", bounds(budget(math.MaxInt).Rows(2, 5, 1), 9), [][2]int{{2, 5}}},
		{"without a budget", bounds(budget(math.MaxInt).pieces(5), 9), [][2]int{{0, 5}}},
		{"rows left early", bounds(budget(5).Rows(0, 9, 5), 1), [][2]int{{0, 1}}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

// TestAlone expects calls with one thread, one row, or fewer than two parts to be serial.
func TestAlone(t *testing.T) {
	two := 2 * tune.Used.Rows.PartElements
	for _, c := range []struct {
		t, rows, n int
		want       bool
	}{{1, two, two, true}, {2, 1, two, true}, {2, 2, two - 1, true}, {2, 2, two, false}} {
		if got := alone(c.t, c.rows, c.n); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestSplit computes each row once, in parts of the size in package tune, for rows of any length.
// The data that a call leaves in the pool must not reach the next call.
func TestSplit(t *testing.T) {
	t.Cleanup(par.Stop)
	type args struct {
		mu   *sync.Mutex
		seen []int
	}
	var calls tasks[args]
	part := tune.Used.Rows.PartElements
	for _, s := range [][2]int{{1, 1}, {part, 1}, {part + 1, 1}, {4 * part, 1}, {7, part / 2}, {5, part + 3}, {3, 10 * part}} {
		rows, cols := s[0], s[1]
		a := args{new(sync.Mutex), make([]int, rows)}
		most := max(1, part/cols)
		calls.split(3, rows, cols, &a, func(a *args, from, to int) {
			a.mu.Lock()
			defer a.mu.Unlock()
			if from%most != 0 || from >= to {
				t.Errorf("%d rows of %d: part [%d, %d)", rows, cols, from, to)
			}
			for r := from; r < to; r++ {
				a.seen[r]++
			}
		})
		if i := slices.IndexFunc(a.seen, func(n int) bool { return n != 1 }); i >= 0 {
			t.Errorf("%d rows of %d: row %d was computed %d times", rows, cols, i, a.seen[i])
		}
		if c, _ := calls.pool.Get().(*task[args]); c != nil && c.args.seen != nil {
			t.Error("the pool holds on to the arguments of a call")
		}
	}
}

// TestStreamed: results of a certain size or more are written past the caches, except in place.
func TestStreamed(t *testing.T) {
	kept := tune.Used
	t.Cleanup(func() { tune.Used = kept })
	tune.Used.Rows.StreamElements = 4
	x, dst := make([]float32, 4), make([]float32, 4)
	if Streamed(dst[:3], x) || !Streamed(dst, x) || Streamed(x, x) || Streamed(nil, nil) {
		t.Error("3 elements, 4, or in place")
	}
}

// TestSharedVec grows, keeps its elements, and replaces only nil.
func TestSharedVec(t *testing.T) {
	v := SharedVec{fill: 2}
	three := v.of(3)
	if !slices.Equal(three, []float32{2, 2, 2}) || &v.of(2)[0] != &three[0] || len(v.of(2)) != 2 {
		t.Errorf("%v", three)
	}
	if five := v.of(5); len(five) != 5 || five[4] != 2 {
		t.Errorf("%v", five)
	}
	own := []float32{1, 3, 5}
	if got := v.orNil(own, 3); &got[0] != &own[0] {
		t.Error("a vector was replaced")
	}
	if v.orNil(nil, NormElements+1) != nil || len(v.orNil(nil, NormElements)) != NormElements {
		t.Errorf("rows of %d elements share a vector, or of %d do not", NormElements+1, NormElements)
	}
	if !slices.Equal(v.piece(own, 1, 3), []float32{3, 5}) || len(v.piece(nil, 7, 9)) != 2 {
		t.Error("pieces")
	}
}

// TestLongRowOutlier expects the correct mean of a long row whose first element, the first
// estimate, is far off.
func TestLongRowOutlier(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		const n, eps = NormElements + 77, 1e-5
		for name, f := range map[string]func(i int, x float64) float64{
			"an outlier":          func(i int, x float64) float64 { return map[bool]float64{true: 1e8, false: x}[i == 0] },
			"0 before an offset":  func(i int, x float64) float64 { return map[bool]float64{true: 0, false: 1e6 + x}[i == 0] },
			"0 before a constant": func(i int, _ float64) float64 { return map[bool]float64{true: 0, false: 12345.678}[i == 0] },
			"a constant":          func(int, float64) float64 { return 12345.678 },
		} {
			r := rand.New(rand.NewPCG(3, 4))
			x, dst := make([]float32, n), make([]float32, n)
			mean, variance := 0.0, 0.0
			for i := range x {
				x[i] = float32(f(i, r.NormFloat64()))
				mean += float64(x[i])
			}
			mean /= n
			for _, v := range x {
				variance += (float64(v) - mean) * (float64(v) - mean) / n
			}
			LayerNorm(1, dst, x, 1, n, nil, nil, eps)
			for i, v := range x {
				want := (float64(v) - mean) / math.Sqrt(variance+eps)
				if got := float64(dst[i]); !(math.Abs(got-want) <= 1e-4*(1e-3+math.Abs(want))) {
					t.Fatalf("%s: element %d is %v, want %v", name, i, got, want)
				}
			}
		}
	})
}

// TestGateLimit: elements beyond the limits are clamped, and all other elements stay unchanged.
func TestGateLimit(t *testing.T) {
	g := Gate{Limit: 2}
	for _, c := range []struct {
		x, want []float32
		below   bool
		copied  bool
	}{
		{[]float32{1, -5, 2}, []float32{1, -5, 2}, false, false},
		{[]float32{1, -5, 3}, []float32{1, -5, 2}, false, true},
		{[]float32{1, -2, 2}, []float32{1, -2, 2}, true, false},
		{[]float32{1, -5, 2}, []float32{1, -2, 2}, true, true},
		{[]float32{9, -5, 2}, []float32{2, -2, 2}, true, true},
	} {
		buf := make([]float32, 3)
		got := g.limit(simd.Active(), buf, c.x, c.below)
		if !slices.Equal(got, c.want) || (&got[0] == &buf[0]) != c.copied {
			t.Errorf("%v: %v, want %v", c.x, got, c.want)
		}
	}
}

// TestRowMax uses a row that is longer than a call's budget.
func TestRowMax(t *testing.T) {
	n := int(BudgetOf(simd.KernelMaxVec, simd.Active()))
	if n > 1<<20 {
		n = 1 << 10
	}
	x := make([]float32, n+3)
	for _, at := range []int{0, n - 1, n, n + 2} {
		clear(x)
		if x[at] = 5; rowMax(simd.Active(), x) != 5 {
			t.Errorf("the maximum at %d is not found", at)
		}
	}
	if got := rowMax(simd.Active(), nil); !math.IsInf(float64(got), -1) {
		t.Errorf("of nothing: %v", got)
	}
}

// TestSeesNothing distinguishes rows of only -Inf from rows with any other element, also a NaN.
func TestSeesNothing(t *testing.T) {
	inf := float32(math.Inf(-1))
	for _, c := range []struct {
		x    []float32
		want bool
	}{{nil, true}, {[]float32{inf, inf}, true}, {[]float32{inf, -1}, false}, {[]float32{inf, float32(math.NaN())}, false}} {
		if got := seesNothing(simd.Active(), c.x); got != c.want {
			t.Error(fmt.Sprint(c.x), got)
		}
	}
}
