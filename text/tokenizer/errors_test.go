package tokenizer

import (
	"errors"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// TestErrorsTellWhere: an error about a file has its kind, the field and the value.
func TestErrorsTellWhere(t *testing.T) {
	for text, want := range map[string]fault.Error{
		`{`:                {Kind: fault.ErrFormat},
		`[]`:               {Kind: fault.ErrFormat},
		`{"version": "9"}`: {Kind: fault.ErrConfig, Field: "version", Value: "9"},
		`{"model": {"type": "WordPiece", "unk_token": 3, "vocab": {}}}`:                                  {Kind: fault.ErrFormat, Field: "model.unk_token", Value: "3"},
		`{"model": {"type": "WordLevel", "unk_token": "u", "vocab": {}}, "normalizer": {"type": "New"}}`: {Kind: fault.ErrConfig, Field: "normalizer.type", Value: `"New"`},
	} {
		_, err := Parse([]byte(text))
		var e *fault.Error
		if !errors.As(err, &e) || !errors.Is(err, want.Kind) || e.File != "tokenizer.json" || e.Field != want.Field || e.Value != want.Value {
			t.Errorf("%s: error %v (%+v), want %+v", text, err, e, want)
		}
	}
}
