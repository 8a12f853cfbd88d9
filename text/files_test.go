package text

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/models"
)

// TestGenerationFields compares what fields of generation_config.json make of a text with what transformers 5.24 does.
func TestGenerationFields(t *testing.T) {
	for _, c := range []struct{ folder, fields, input, want string }{
		// The prompt is what a decoder without an encoder has as its encoder's tokens.
		{"generate", `{"max_new_tokens": 12, "encoder_repetition_penalty": 4.0}`, "My neighbour reads the long letter in the morning, and", " in in in reads letter reads in in reads in reads letter"},
		{"summarize", `{"max_new_tokens": 14, "min_length": 5, "min_new_tokens": 0, "eos_token_id": [142, 32]}`, "Où est 東京?", ""},
	} {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(c.fields), &fields); err != nil {
			t.Fatal(err)
		}
		run, err := generating(overlay(c.folder, map[string]string{"generation_config.json": merged(t, c.folder, fields)}), c.folder)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for piece, err := range run(t, c.input) {
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(piece.Text)
		}
		if b.String() != c.want {
			t.Errorf("%s with %s: %q, want %q", c.folder, c.fields, b.String(), c.want)
		}
	}
}

// TestGenerationAccount: a field of generation_config.json that nothing knows is a warning.
func TestGenerationAccount(t *testing.T) {
	for config, want := range map[string]string{
		`{"of_tomorrow": 3}`:   "generation_config.json: of_tomorrow = 3",
		`{"use_cache": false}`: "",
		`{"prompt_lookup_num_tokens": 3, "top_h": 0.5, "_from_model_config": true}`: "",
	} {
		var said []string
		if _, err := OpenGenerator(".", Options{FS: overlay("generate", map[string]string{"generation_config.json": config}), Model: models.Options{Warn: func(w string) { said = append(said, w) }}}); err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(said, "; "); !strings.Contains(all, want) || want == "" && all != "" {
			t.Errorf("%s: warnings %q, want %q", config, all, want)
		}
	}
}
