package jinja

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// TestExpressions compares with what jinja2 makes of expressions, as scripts/expressions.py has
// recorded it: the same text, or an error where it has one.
func TestExpressions(t *testing.T) {
	data, err := os.ReadFile("testdata/expressions.json")
	if err != nil {
		t.Fatal(err)
	}
	var pairs [][2]*string
	if err := json.Unmarshal(data, &pairs); err != nil {
		t.Fatal(err)
	}
	for _, p := range pairs {
		source, want := *p[0], p[1]
		var got string
		template, err := Parse("{{ " + source + " }}")
		if err == nil {
			got, err = template.Render(nil)
		}
		switch {
		case err != nil && !errors.Is(err, fault.ErrTemplate):
			t.Errorf("%s: error %v of no kind", source, err)
		case want == nil && err == nil:
			t.Errorf("%s: %q, want an error", source, got)
		case want != nil && err != nil:
			t.Errorf("%s: %v, want %q", source, err, *want)
		case want != nil && got != *want:
			t.Errorf("%s: %q, want %q", source, got, *want)
		}
	}
}
