package main

import (
	"slices"
	"strings"
	"testing"
)

func lines(name string, ns ...string) string {
	var b strings.Builder
	for _, v := range ns {
		b.WriteString("Benchmark" + name + " 10 " + v + " ns/op\n")
	}
	return b.String()
}

func TestWorse(t *testing.T) {
	base := lines("Same", "100", "101", "99", "100", "102", "98") + lines("Slower", "100", "101", "99", "100", "102", "98") +
		lines("Little", "100", "101", "99", "100", "102", "98") + lines("Noisy", "100", "150", "60", "100", "140", "70")
	tree := lines("Same", "101", "100", "99", "99", "102", "98") + lines("Slower", "120", "121", "119", "120", "122", "118") +
		lines("Little", "103", "104", "102", "103", "105", "101") + lines("Noisy", "110", "160", "70", "110", "150", "65")
	old, err := read(strings.NewReader(base))
	if err != nil {
		t.Fatal(err)
	}
	new, err := read(strings.NewReader(tree))
	if err != nil {
		t.Fatal(err)
	}
	got := worse(old, new, 5)
	if len(got) != 1 || !strings.HasPrefix(got[0], "Slower: +20.0%") {
		t.Errorf("worse = %q, want Slower alone", got)
	}
}

func TestReadRefusesNothing(t *testing.T) {
	if _, err := read(strings.NewReader("PASS\n")); err == nil {
		t.Error("no error for output without a benchmark")
	}
}

func TestMeans(t *testing.T) {
	old := map[string][]float64{"A/threads=1": {4, 4, 4}, "B/threads=1": {9, 9, 9}, "A/threads=2": {2, 2, 1}, "gone/threads=2": {1}, "C": {1}}
	new := map[string][]float64{"A/threads=1": {1, 1, 1}, "B/threads=1": {9, 9, 9}, "A/threads=2": {4, 4, 4}, "come/threads=2": {7}, "C": {5}}
	want := []string{
		"threads=1: geometric mean of base/tree 2.000, of the least times 2.000, of which the worst 1.000 (2 benchmarks)",
		"threads=2: geometric mean of base/tree 0.500, of the least times 0.250, of which the worst 0.250 (1 benchmarks)",
	}
	if got := means(old, new); !slices.Equal(got, want) {
		t.Errorf("means = %q, want %q", got, want)
	}
}
