package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// TestTextLogProbs: each likely token of a completion has a name and a number of its own, and the
// drawn one is among them.
func TestTextLogProbs(t *testing.T) {
	// Tokens of bytes: 0 and 1 are parts of characters, 2 and 3 are written alike, the rest differ.
	vocab := map[string]int{"<0xE2>": 0, "<0x80>": 1, "A": 2, "<0x41>": 3, "<unk>": 4, "b": 5}
	file, err := json.Marshal(map[string]any{
		"model":   map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{}, "byte_fallback": true, "unk_token": "<unk>"},
		"decoder": map[string]any{"type": "Sequence", "decoders": []any{map[string]string{"type": "ByteFallback"}, map[string]string{"type": "Fuse"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	top := func(n int) (list []generation.TokenLogProb) {
		for id := range n {
			list = append(list, generation.TokenLogProb{Token: id, LogProb: -float32(id + 1)})
		}
		return list
	}
	names := []string{`bytes:\xe2`, `bytes:\x80`, "A", `bytes:\x41`, "<unk>", "b"}
	for drawn := range names {
		for n := range len(names) + 1 {
			var l textLogProbs
			l.add(tok, []generation.Choice{{Token: drawn, LogProb: -float32(drawn + 1), Top: top(n)}})
			want := map[string]float64{}
			for id := range n {
				want[names[id]] = -float64(id + 1)
			}
			name := names[drawn]
			if drawn >= n {
				if drawn == 3 && n <= 2 {
					name = "A" // the only token that is written so
				}
				want[name] = -float64(drawn + 1)
			}
			if !maps.Equal(l.Top[0], want) || l.Tokens[0] != name || l.LogProbs[0] != -float64(drawn+1) {
				t.Errorf("token %d drawn, %d asked for: %q %v, want %q %v", drawn, n, l.Tokens, fmt.Sprint(l.Top[0]), name, want)
			}
		}
	}
}
