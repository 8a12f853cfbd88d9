package report

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/bench/internal/interleave"
	"github.com/avoformer/avoformer/bench/internal/peak"
	"github.com/avoformer/avoformer/bench/internal/workload"
)

func sample() *Run {
	softmax, gemm := workload.MustParse("softmax 1536x128"), workload.MustParse("gemm_nn 128x768x768")
	r := &Run{CPU: "Test CPU (R) 9000", System: "linux/amd64, 2 CPUs", Go: "go1.26", Commit: "abc", Command: "report", Peers: []string{"openblas 0.3", "onednn 3.2"},
		Peaks: []peak.Machine{{Threads: 1, FMA: map[string]float64{"avx2": 100}, Copy: map[string]float64{"8MiB": 80, "256KiB": 100, "memory": 20}}}}
	r.Entries = append(r.Entries,
		NewEntry(Listed, gemm, 1, []interleave.Result{
			{Name: Ours + "generic", Seconds: []float64{30e-3}},
			{Name: Ours + "avx2", Seconds: []float64{2e-3, 4e-3, 2e-3}},
			{Name: "openblas", Version: "0.3", Seconds: []float64{1.5e-3, 3e-3, 1.6e-3}},
			{Name: "onednn", Version: "3.2", Refused: errors.New("wrong result, not timed: off")},
		}),
		NewEntry(Listed, softmax, 1, []interleave.Result{
			{Name: Ours + "avx2", Seconds: []float64{50e-6, 51e-6, 49e-6}},
			{Name: "onednn", Version: "3.2", Variant: "primitive", Seconds: []float64{100e-6, 102e-6, 98e-6}},
		}))
	return r
}

func TestRatioIsTheMedianWithinRounds(t *testing.T) {
	r := sample()
	if q, ok := r.Entries[0].Ratio(); !ok || math.Abs(q-0.75) > 1e-9 {
		t.Errorf("gemm: %g, want 0.75: the median of 0.75, 0.75 and 0.8", q)
	}
	if q, ok := r.Entries[1].Ratio(); !ok || math.Abs(q-2) > 1e-9 {
		t.Errorf("softmax: %g, want 2", q)
	}
	if r.Slug() != "test-cpu-r-9000" {
		t.Errorf("slug %q", r.Slug())
	}
}

func TestMarkdown(t *testing.T) {
	text := sample().Markdown(nil)
	for _, want := range []string{
		"of 2 cases, avoformer is faster than the best of the others in 1, within 3% of it in 0, slower in 1",
		"Slower: gemm_nn 128x768x768 0.75? (openblas 0.3)", "In 1 of them, marked with a question mark",
		"| gemm_nn | 128x768x768 | 2000 | avx2 | 75.5 GFLOP/s | 75% |", "| **0.75**? |",
		"## Refused", "onednn 3.2: wrong result, not timed: off",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "Incomplete") {
		t.Error("says that it is incomplete")
	}
}

// TestApart: entries whose threads ran on processors with different last-level caches are marked.
func TestApart(t *testing.T) {
	r := &Run{}
	for i, ns := range []float64{27, 29, 31, 160, 0} {
		e := entryOf(fmt.Sprintf("softmax 100x%d", 100+i), Listed, 2, 1, 1.5)
		e.Transfer = ns
		r.Entries = append(r.Entries, e)
	}
	text := r.Markdown(nil)
	for _, want := range []string{"In 1 of 4, marked with a dagger,", "a cache line took 160 ns from one to the other, and 29 ns in the rest."} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if n := strings.Count(text, "1.50†"); n != 1 {
		t.Errorf("%d marked entries, want 1", n)
	}
	r.Entries[3].Transfer = 30
	if text := r.Markdown(nil); strings.Contains(text, "dagger") {
		t.Error("the text mentions daggers although there are none")
	}
}

// TestShort: entries whose threads had fewer cores than threads are marked, and left out of the
// mean.
func TestShort(t *testing.T) {
	r := &Run{}
	for i, cores := range []float64{1.97, 1.05, 1.81, 0} {
		ratio := 1.5
		if cores == 1.05 {
			ratio = 0.5
		}
		e := entryOf(fmt.Sprintf("softmax 100x%d", 100+i), Listed, 2, 1, ratio)
		e.Cores = cores
		r.Entries = append(r.Entries, e)
	}
	text := r.Markdown(nil)
	for _, want := range []string{"In 1 of 3, marked with a double dagger,", ": 1.1 at the least", "geometric mean of best/ours 1.50"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if n := strings.Count(text, "0.50**‡"); n != 1 || strings.Contains(text, "1.50‡") {
		t.Errorf("%d marked entries, want 1, of that ratio", n)
	}
	r.Entries[1].Cores = 1.9
	if text := r.Markdown(nil); strings.Contains(text, "dagger") {
		t.Error("the text mentions daggers although there are none")
	}
	cores := []float64{1.1, 1.2, 1.9, 1.1}
	e := Settle(func() Entry {
		e := entryOf("softmax 100x100", Listed, 2, 1, 1.5)
		e.Cores, cores = cores[0], cores[1:]
		return e
	}, func(Entry) bool { return false })
	if e.Cores != 1.9 {
		t.Errorf("settled with %g cores, want those of the third measurement", e.Cores)
	}
}

// TestIncomplete: all texts with the figures of a comparison say that a required library is
// missing.
func TestIncomplete(t *testing.T) {
	r := sample()
	r.Missing = []string{"onnxruntime"}
	for name, text := range map[string]string{"report": r.Markdown(nil), "excerpt": r.Excerpt("x", Plot{}, []*Run{r})} {
		if !strings.Contains(text, "**Incomplete**: measured without onnxruntime") {
			t.Errorf("the %s does not say that onnxruntime is missing:\n%s", name, text)
		}
	}
}

// TestVariables: the report has the notes on the environment, also after a run that continues it.
func TestVariables(t *testing.T) {
	r, later := sample(), sample()
	r.Variables = []string{"not passed on to other libraries: OMP_NUM_THREADS=1"}
	for name, text := range map[string]string{"report": r.Markdown(nil), "merged": r.Merged(later).Markdown(nil)} {
		if !strings.Contains(text, "Variables of the environment not passed on to other libraries: OMP_NUM_THREADS=1.") {
			t.Errorf("the %s does not say which variables were left out:\n%s", name, text)
		}
	}
	if text := later.Markdown(nil); strings.Contains(text, "environment") {
		t.Error("the text mentions variables although there were none")
	}
}

// TestInterrupted: all texts with the figures of an interrupted run say so, until a run that
// continues it has the missing cases.
func TestInterrupted(t *testing.T) {
	whole := sample()
	r := sample()
	r.Entries = nil
	for _, e := range whole.Entries {
		r.Lacking = append(r.Lacking, e.Key)
	}
	later := *r
	later.Lacking = slices.Clone(r.Lacking)
	r.Add(whole.Entries[0])
	for name, text := range map[string]string{"report": r.Markdown(nil), "excerpt": r.Excerpt("x", Plot{}, []*Run{r})} {
		for _, want := range map[string][]string{
			"report":  {"**Incomplete**: interrupted with 1 of 2 cases left", "**Incomplete**: 1 further cases were not measured"},
			"excerpt": {"**Incomplete**: interrupted with 1 of 2 cases left", "| 1 | 0.75, incomplete |"},
		}[name] {
			if !strings.Contains(text, want) {
				t.Errorf("the %s lacks %q:\n%s", name, want, text)
			}
		}
	}
	later.Continue(r)
	if len(later.Lacking) != 1 || later.Lacking[0] != whole.Entries[1].Key {
		t.Fatalf("to continue: %+v", later.Lacking)
	}
	merged := r.Merged(&later)
	if len(merged.Lacking) != 1 {
		t.Errorf("before it is measured: %+v", merged.Lacking)
	}
	later.Add(whole.Entries[1])
	merged = r.Merged(&later)
	if len(merged.Lacking) != 0 || len(merged.Entries) != 2 || len(r.Entries) != 1 || strings.Contains(merged.Markdown(nil), "Incomplete") {
		t.Errorf("continued: %+v", merged)
	}
}

func TestMergeReplacesAndKeeps(t *testing.T) {
	r, later := sample(), sample()
	later.Entries = later.Entries[1:]
	later.Entries[0].Results[0].Seconds = 1
	r = r.Merged(later)
	if len(r.Entries) != 2 || r.Entries[1].Results[0].Seconds != 1 || r.Entries[0].Results[1].Seconds != 2e-3 {
		t.Errorf("%+v", r.Entries)
	}
}

func TestPlotsAndRoundTrip(t *testing.T) {
	dir := t.TempDir()
	r := sample()
	plots, err := r.Plots(dir)
	if err != nil || len(plots) != 2 {
		t.Fatalf("%v, %v", plots, err)
	}
	for _, p := range plots {
		b, err := os.ReadFile(p.File)
		if err != nil || !strings.Contains(string(b), "<svg") || !strings.Contains(string(b), "softmax") {
			t.Errorf("%s: %v", p.File, err)
		}
	}
	file := filepath.Join(dir, "run.json")
	if err := r.Save(file); err != nil {
		t.Fatal(err)
	}
	again, err := Load(file)
	if err != nil || again.Markdown(nil) != r.Markdown(nil) {
		t.Errorf("a saved run renders differently: %v", err)
	}
}

// entryOf returns an entry for a case with our time and that of another library.
func entryOf(name string, s Set, threads int, ours, theirs float64) Entry {
	return NewEntry(s, workload.MustParse(name), threads, []interleave.Result{
		{Name: Ours + "avx2", Seconds: []float64{ours}}, {Name: "onednn", Version: "3.2", Seconds: []float64{theirs}},
	})
}

func TestBehind(t *testing.T) {
	r := sample() // its FMA peak is 100 GFLOP/s
	const product = "gemm_nn 100x100x100"
	at := func(share float64) float64 { return 2e6 / (share * 100e9) }
	for _, c := range []struct {
		set            Set
		ratio, reached float64
		name           string
		want           bool
	}{
		{Listed, 0.94, 0.91, product, true}, {Listed, 0.96, 0.5, product, false}, {Listed, 0.94, 0.93, product, false},
		{Drawn, 0.94, 0.91, product, true}, {"avx2", 0.94, 0.91, product, false}, {"avx2", 0.92, 0.91, product, true},
		{Listed, 0.94, 0.99, "softmax 100x100", true}, // for softmax no share of a peak is enough
	} {
		e := entryOf(c.name, c.set, 1, at(c.reached), at(c.reached)*c.ratio)
		if got := r.Behind(e); got != c.want {
			t.Errorf("%+v: behind %v", c, got)
		}
	}
	several := entryOf(product, Listed, 2, at(0.5), at(0.5)*0.94)
	r.Peaks = append(r.Peaks, peak.Machine{Threads: 2, FMA: map[string]float64{"avx2": 200}})
	if r.Behind(several) {
		t.Error("0.94 on two threads is behind")
	}
}

// TestSettle: a case that is behind is measured twice more, and the median counts. If one of the
// three measurements is not behind, the case is not listed.
func TestSettle(t *testing.T) {
	r := sample()
	for _, c := range []struct {
		ratios    []float64
		median    float64
		measured  int
		confirmed bool
	}{
		{[]float64{1, 9, 9}, 1, 1, false}, {[]float64{0.9, 0.8, 0.7}, 0.8, 3, true}, {[]float64{0.9, 0.8, 1}, 0.9, 3, false},
	} {
		i := 0
		e := Settle(func() Entry {
			i++
			return entryOf("softmax 100x100", Listed, 1, 1, c.ratios[i-1])
		}, r.Behind)
		if q, _ := e.Ratio(); q != c.median || i != c.measured || r.confirmed(e) != c.confirmed {
			t.Errorf("%v: ratio %g after %d measurements, confirmed %v; want %g, %d, %v", c.ratios, q, i, r.confirmed(e), c.median, c.measured, c.confirmed)
		}
	}
}

// TestSets: each set has its own sections, mean and plots. A case counts only in its own set.
func TestSets(t *testing.T) {
	r := sample()
	r.Entries = append(r.Entries, entryOf("softmax 1536x128", "avx2", 1, 1, 3), entryOf("softmax 7x9", Drawn, 1, 1, 5))
	text := r.Markdown(nil)
	order := []string{"## Summary: cases of the report", "geometric mean of best/ours 1.22", "## Summary: shapes drawn at random", "best/ours 5.00",
		"## Summary: held to avx2", "best/ours 3.00", "## shapes drawn at random, 1 thread", "| softmax | 7x9 |", "## held to avx2, 1 thread"}
	at := 0
	for _, want := range order {
		i := strings.Index(text[at:], want)
		if i < 0 {
			t.Fatalf("lacks %q after %q:\n%s", want, text[:at], text[at:])
		}
		at += i
	}
	later := sample()
	later.Entries = []Entry{entryOf("softmax 1536x128", "avx2", 1, 1, 4)}
	r = r.Merged(later)
	if len(r.Entries) != 4 || mean(r.entries("avx2", 1)) != 4 || math.Abs(mean(r.entries(Listed, 1))-math.Sqrt(0.75*2)) > 1e-9 {
		t.Errorf("merged: %+v", r.Entries)
	}
	excerpt := r.Excerpt("bench/results", Plot{"title", "x/y.svg"}, []*Run{r})
	for _, want := range []string{"| softmax | 1536x128 |", "![title](bench/results/y.svg)", "| [Test CPU (R) 9000](bench/results/test-cpu-r-9000.md) | 1 | 1.22 | 5.00 | 4.00 |"} {
		if !strings.Contains(excerpt, want) {
			t.Errorf("lacks %q:\n%s", want, excerpt)
		}
	}
}

func TestNameOf(t *testing.T) {
	const zen4 = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor lm\n\nprocessor\t: 1\nmodel\t: 1\n"
	for info, want := range map[string]string{
		zen4: "AMD EPYC (Zen 4), 2 vCPU",
		strings.Replace(zen4, " hypervisor", "", 1):     "AMD EPYC (Zen 4)",
		strings.Replace(zen4, ": 25", ": 26", 1):        "AMD EPYC (Zen 5), 2 vCPU",
		strings.Replace(zen4, "AuthenticAMD", "Any", 1): "AMD EPYC, 2 vCPU",
		"processor : 0\n": "",
	} {
		if got := nameOf(info); got != want {
			t.Errorf("%q, want %q, of %q", got, want, info)
		}
	}
}
