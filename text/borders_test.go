package text

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/text/internal/settings"
)

// TestBorders compares, for each field of sampling at the ends of its range and beyond them, the
// tokens that a folder's generation_config.json leaves, and their probabilities, with those of
// transformers. scripts/borders.py has recorded them.
func TestBorders(t *testing.T) {
	var recorded struct {
		Logits []float32
		Prompt []int
		EOS    int
		Cases  [][2]json.RawMessage
	}
	tftest.NoError(t, json.Unmarshal(tftest.Must(os.ReadFile("testdata/borders.json"))(t), &recorded))
	if len(recorded.Cases) < 143 {
		t.Fatalf("%d cases", len(recorded.Cases))
	}
	vocab := len(recorded.Logits)
	for _, c := range recorded.Cases {
		var tokens [][2]float64 // nil: transformers refuses
		tftest.NoError(t, json.Unmarshal(c[1], &tokens))
		got, err := leftBy(c[0], recorded.Logits, recorded.Prompt, recorded.EOS)
		if refused := tokens == nil || slices.ContainsFunc(meaningless, func(s string) bool { return strings.Contains(string(c[0]), s) }); (err != nil) != refused {
			t.Errorf("%s: error %v, want one: %t", c[0], err, refused)
		}
		if err != nil || tokens == nil {
			continue
		}
		want := make([]float64, vocab)
		for _, x := range tokens {
			want[int(x[0])] = x[1]
		}
		for token, p := range got {
			if !(math.Abs(p-want[token]) <= 2e-6) {
				t.Errorf("%s: probabilities %.6f, want %.6f", c[0], got, want)
				break
			}
		}
	}
}

// meaningless are values that transformers skips, and that are errors here: they are not what their
// writer meant.
var meaningless = []string{`"top_k": 0, "top_p": 1.5`, `"typical_p": 1.5`, `"no_repeat_ngram_size": -1`}

// leftBy returns the probability that each token has to be the first after a prompt, by a
// generation_config.json.
func leftBy(file []byte, logits []float32, prompt []int, eos int) ([]float64, error) {
	s, err := settings.Read(fstest.MapFS{"generation_config.json": {Data: file}}, len(logits), func(string) {})
	if err != nil {
		return nil, err
	}
	o, err := defaultsOf(s)
	if err != nil {
		return nil, err
	}
	rules := s.Rules([]int{eos}, prompt)
	o.apply(rules)
	c := o.sampler(rules)
	c.Vocab, c.Prompt, c.MaxTokens = len(logits), prompt, o.MaxTokens
	sampler, err := generation.NewSampler(c)
	if err != nil {
		return nil, err
	}
	left, err := sampler.Distribution(nil, logits)
	if err != nil {
		return nil, err
	}
	p := make([]float64, len(logits))
	for _, x := range left {
		p[x.Token] = x.P
	}
	return p, nil
}
