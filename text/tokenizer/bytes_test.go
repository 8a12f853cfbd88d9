package tokenizer

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// TestTokenBytes: the bytes of random tokens, joined, are the text that Decode gives, except for a
// space at its beginning.
func TestTokenBytes(t *testing.T) {
	for name, spells := range map[string]bool{"gpt2": true, "llama-untied": true, "llama-rope3-new": true, "gemma2": true, "qwen2": true, "qwen3": true, "t5": true, "xlm-roberta": true,
		"roberta": true, "whisper": true, "bert": false, "mpnet": false} {
		t.Run(name, func(t *testing.T) {
			tok, err := Open("testdata/" + name)
			if err != nil {
				t.Fatal(err)
			}
			all, err := tok.TokenBytes()
			if !spells {
				if !errors.Is(err, fault.ErrConfig) {
					t.Fatalf("%v, want fault.ErrConfig", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, 2))
			for range 300 {
				var ids []int
				var bytes []byte
				for range 1 + r.IntN(12) {
					if id := r.IntN(len(all)); len(all[id]) > 0 {
						ids = append(ids, id)
						bytes = append(bytes, all[id]...)
					}
				}
				want, got := tok.Decode(ids, true), lossy(bytes)
				if strings.Contains(want+got, "\ufffd") { // one for each byte or for each part of a character
					continue
				}
				if got != want && strings.TrimPrefix(got, " ") != want {
					t.Fatalf("%v: %q, want %q", ids, got, want)
				}
			}
			for id, b := range all {
				if s, ok := tok.Token(id); (!ok || tok.IsSpecial(id)) && len(b) > 0 || ok && !tok.IsSpecial(id) && s != "" && len(b) == 0 {
					t.Errorf("token %d, %q, has the bytes %q", id, s, b)
				} else if shown := string(tok.SpellToken(id)); shown != string(b) && shown != s || tok.IsSpecial(id) && shown != s {
					t.Errorf("token %d, %q, is shown as %q, its bytes are %q", id, s, shown, b)
				}
			}
			if slices.ContainsFunc(all, func(b []byte) bool { return string(b) == " " }) == slices.ContainsFunc(all, func(b []byte) bool { return string(b) == "▁" || string(b) == "Ġ" }) {
				t.Error("no token is a space, or one is the letter for it")
			}
		})
	}
}
