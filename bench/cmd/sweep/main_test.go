package main

import (
	"strings"
	"testing"

	"github.com/avoformer/avoformer/bench/internal/sweep"
)

func TestPage(t *testing.T) {
	sweeps := []sweep.Sweep{{Name: "first"}, {Name: "second"}, {Name: "third"}}
	p := &page{cpu: "CPU", made: map[string]bool{}}
	p.add("first", "## First\n")
	if text := p.text(sweeps); !strings.Contains(text, "without second, third.") || !strings.HasSuffix(text, "\n\n## First\n") {
		t.Errorf("the page after the first sweep is %q, want one that names the others and ends with the first", text)
	}
	p.add("second", "## Second\n")
	p.add("third", "## Third\n")
	if text := p.text(sweeps); strings.Contains(text, "incomplete") || !strings.HasSuffix(text, "## First\n\n## Second\n\n## Third\n") {
		t.Errorf("the page of all sweeps is %q, want one that lacks nothing and has them in order", text)
	}
}
