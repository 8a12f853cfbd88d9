package main

import (
	"os"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/text"
)

func TestSearch(t *testing.T) {
	e, err := text.OpenEmbedder("../models/embed", text.Options{})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("../models/sentences.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(file)), "\n")
	index, err := newIndex(t.Context(), e, lines)
	if err != nil {
		t.Fatal(err)
	}
	for question, want := range map[string]string{ // of the group of four lines that the first has to be of
		"my bread did not rise":                  "A good loaf has a dark crust and an open crumb.",
		"who repairs my vehicle?":                "The mechanic says the engine is as good as new.",
		"my teeth hurt":                          "The dentist found a cavity and had to drill.",
		"with what do I play on a tennis court?": "My racket lies on the court.",
	} {
		hits, err := find(t.Context(), e, index, question, 2)
		if err != nil || len(hits) != 2 {
			t.Fatalf("%d hits, %v", len(hits), err)
		}
		group := -1
		for i, l := range lines {
			if l == want {
				group = i / 4
			}
		}
		for _, h := range hits {
			found := false
			for _, l := range lines[4*group : 4*group+4] {
				found = found || lines[h.ID] == l
			}
			if !found {
				t.Errorf("%s: %q", question, lines[h.ID])
			}
		}
	}
}
