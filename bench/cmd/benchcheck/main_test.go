package main

import (
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
