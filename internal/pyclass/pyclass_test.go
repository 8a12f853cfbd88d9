package pyclass_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/pyclass"
)

// TestClasses checks one class of each kind against the file.
func TestClasses(t *testing.T) {
	t.Parallel()
	if c := pyclass.Config("gpt2"); c == nil || c.Fields["n_embd"] != "768" || c.Aliases["hidden_size"] != "n_embd" {
		t.Errorf("gpt2: %+v", c)
	}
	if c := pyclass.Config("llama"); c == nil || !slices.Contains(c.Needed, "rms_norm_eps") || slices.Contains(c.Needed, "num_key_value_heads") || slices.Contains(c.Needed, "attention_bias") {
		t.Errorf("llama: %+v", c)
	}
	if c := pyclass.Config("clip"); c == nil || c.Parts["vision_config"] != "clip_vision_model" {
		t.Errorf("clip: %+v", c)
	}
	if c := pyclass.File("WeightedLayerPooling"); !c.Strict || c.Library != "sentence-transformers 6.2.0" || c.Fields["layer_start"] != "4" {
		t.Errorf("WeightedLayerPooling: %+v", c)
	}
	if c := pyclass.Tokenizer("CohereTokenizer"); c == nil || c.Reads != pyclass.VocabularyOnly || c.Fields["mask_token"] != `"<MASK_TOKEN>"` {
		t.Errorf("CohereTokenizer: %+v", c)
	}
	if pyclass.Config("base") == nil || slices.Contains(pyclass.ConfigTypes(), "base") || !slices.Contains(pyclass.ConfigTypes(), "bert") {
		t.Errorf("types: %q", pyclass.ConfigTypes())
	}
	if pyclass.Config("of tomorrow") != nil || pyclass.Tokenizer("of tomorrow") != nil || len(pyclass.File("of tomorrow").Fields) != 0 {
		t.Error("a class for an unknown name")
	}
	if got := pyclass.Table("tokenizers by model_type"); got["bert"] != "BertTokenizer" {
		t.Errorf("the tokenizer of bert is %q", got["bert"])
	}
}

// TestFile: every line is parsed, and the version in the first line is Transformers.
func TestFile(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("classes.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if !strings.Contains(lines[0], "transformers "+pyclass.Transformers+",") {
		t.Errorf("Transformers is %s, the file begins with %q", pyclass.Transformers, lines[0])
	}
	classes := false
	for i, line := range lines[1:] {
		if section, ok := strings.CutPrefix(line, "["); ok {
			kind, _, _ := strings.Cut(section, " ")
			classes = kind == "config" || kind == "file" || kind == "tokenizer"
			continue
		}
		word := strings.SplitN(line, " ", 3)
		switch {
		case line == "" || word[0] == "@library" || word[0] == "@strict" || word[0] == "@reads" || word[0] == "@needed":
		case len(word) < 2 || !slices.Contains([]string{"=", "->", "is"}, word[1]):
			t.Errorf("line %d: %q", i+2, line)
		case classes && word[1] == "=" && !json.Valid([]byte(word[2])):
			t.Errorf("line %d: not JSON: %q", i+2, line)
		}
	}
}
