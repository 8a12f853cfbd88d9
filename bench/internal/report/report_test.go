package report

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/bench/internal/interleave"
	"github.com/avoformer/avoformer/bench/internal/peak"
	"github.com/avoformer/avoformer/bench/internal/work"
)

func sample() *Run {
	softmax, gemm := work.MustParse("softmax 1536x128"), work.MustParse("gemm_nn 128x768x768")
	r := &Run{CPU: "Test CPU (R) 9000", System: "linux/amd64, 2 CPUs", Go: "go1.26", Commit: "abc", Command: "report", Peers: []string{"openblas 0.3", "onednn 3.2"},
		Peaks: []peak.Machine{{Threads: 1, FMA: map[string]float64{"avx2": 100}, Copy: map[string]float64{"8MiB": 80, "256KiB": 100, "256MiB": 20}}}}
	r.Entries = append(r.Entries,
		NewEntry(gemm, 1, []interleave.Result{
			{Name: Ours + "generic", Seconds: []float64{30e-3}},
			{Name: Ours + "avx2", Seconds: []float64{2e-3, 4e-3, 2e-3}},
			{Name: "openblas", Version: "0.3", Seconds: []float64{1.5e-3, 3e-3, 1.6e-3}},
			{Name: "onednn", Version: "3.2", Refused: errors.New("wrong result, not timed: off")},
		}),
		NewEntry(softmax, 1, []interleave.Result{
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

// A comparison without a required library must say so wherever its figures stand.
func TestIncomplete(t *testing.T) {
	r := sample()
	r.Missing = []string{"onnxruntime"}
	for name, text := range map[string]string{"report": r.Markdown(nil), "excerpt": r.Excerpt("x")} {
		if !strings.Contains(text, "**Incomplete**: measured without onnxruntime") {
			t.Errorf("the %s does not say that onnxruntime is missing:\n%s", name, text)
		}
	}
}

func TestMergeReplacesAndKeeps(t *testing.T) {
	r, later := sample(), sample()
	later.Entries = later.Entries[1:]
	later.Entries[0].Results[0].Seconds = 1
	r.Merge(later)
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
