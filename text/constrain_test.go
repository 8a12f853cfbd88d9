package text

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/grammar"
)

// TestGrammar: texts follow the grammar of a schema or a regular expression, drawn ones too; those that MaxTokens cuts
// begin as one does.
func TestGrammar(t *testing.T) {
	g, err := OpenGenerator("testdata/generate", Options{})
	if err != nil {
		t.Fatal(err)
	}
	schema, err := grammar.JSONSchema([]byte(`{"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}, "age": {"type": "integer", "minimum": 0, "maximum": 130}},
		"required": ["name", "age"], "additionalProperties": false}`))
	if err != nil {
		t.Fatal(err)
	}
	whole, cut := 0, 0
	for seed := range uint64(12) {
		o := GenerateOptions{MaxTokens: 40, Temperature: float64(seed % 3), Seed: seed + 1, Grammar: schema}
		if seed == 11 {
			o.MaxTokens = 5
		}
		var b strings.Builder
		var last Piece
		for piece, err := range g.Generate(t.Context(), "hello", o) {
			if errors.Is(err, fault.ErrCut) && last.Finish == generation.FinishLength {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(piece.Text)
			last = piece
		}
		if last.Finish == generation.FinishLength {
			if cut++; !strings.HasPrefix(strings.TrimSpace(b.String()), `{`) {
				t.Errorf("cut: %q", b.String())
			}
			continue
		}
		whole++
		var v struct {
			Name *string `json:"name"`
			Age  *int    `json:"age"`
		}
		d := json.NewDecoder(strings.NewReader(b.String()))
		d.DisallowUnknownFields()
		if err := d.Decode(&v); err != nil || v.Name == nil || v.Age == nil || len([]rune(*v.Name)) > 8 || *v.Age < 0 || *v.Age > 130 {
			t.Errorf("%q: %v", b.String(), err)
		}
	}
	if whole == 0 || cut == 0 {
		t.Errorf("%d whole texts, %d cut", whole, cut)
	}
	const pattern = `(yes|no), [a-c]{3}`
	re, err := grammar.Regexp(pattern)
	if err != nil {
		t.Fatal(err)
	}
	got, err := textOf(g.Generate(t.Context(), "hello", GenerateOptions{MaxTokens: 40, Grammar: re}))
	if err != nil || !regexp.MustCompile("^"+pattern+"$").MatchString(got) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := textOf(g.Generate(t.Context(), "hello", GenerateOptions{Beams: 2, Grammar: re})); !errors.Is(err, fault.ErrOption) {
		t.Errorf("a search: %v", err)
	}
}
