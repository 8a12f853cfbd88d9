package configuration_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// config.json is read as Python reads it.
func TestConfigJSON(t *testing.T) {
	const plain = `{"model_type": "gpt2", "vocab_size": 8, "n_embd": 4, "n_layer": 1, "n_head": 2, "n_positions": 16}`
	for _, c := range []struct {
		name, old, new string
		dim            int // 0: an error
	}{
		{"plain", "", "", 4},
		{"key in other case", `"n_embd": 4`, `"n_embd": 4, "N_EMBD": 8`, 4},
		{"only in other case", `"n_embd": 4`, `"N_embd": 4`, 768},
		{"duplicate", `"n_embd": 4`, `"n_embd": 8, "n_embd": 4`, 4},
		{"duplicate of another kind", `"n_embd": 4`, `"n_embd": "8", "n_embd": 4`, 4},
		{"trailing", `16}`, `16} {}`, 0},
		{"mark", `{"model`, "\ufeff" + `{"model`, 0},
		{"invalid UTF-8", `{"model`, "{\"x\": \"\xff\", \"model", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := models.New([]byte(strings.Replace(plain, c.old, c.new, 1)), transformer.Random(1), models.Options{})
			switch {
			case c.dim == 0 && !errors.Is(err, fault.ErrConfig):
				t.Fatalf("error %v, want an ErrConfig", err)
			case c.dim != 0 && err != nil:
				t.Fatal(err)
			case c.dim != 0 && m.Config.Dim != c.dim:
				t.Fatalf("width %d, want %d", m.Config.Dim, c.dim)
			}
		})
	}
}
