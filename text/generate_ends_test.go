package text

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/grammar"
	"github.com/avoformer/avoformer/internal/tftest"
)

// TestEnds: what ends a text, and what it may not have.
func TestEnds(t *testing.T) {
	g := tftest.Must(OpenGenerator("testdata/generate", Options{}))(t)
	all := func(o GenerateOptions) Piece {
		t.Helper()
		return tftest.Must(Collect(g.Generate(t.Context(), "hello", o)))(t)
	}
	ids := func(p Piece) (out []int) {
		for _, c := range p.Tokens {
			out = append(out, c.Token)
		}
		return out
	}
	plain := all(GenerateOptions{MaxTokens: 24})
	tokens := ids(plain)
	if len(tokens) < 8 {
		t.Fatalf("%d tokens", len(tokens))
	}
	stop := tokens[5]
	at := slices.Index(tokens, stop)

	ended := all(GenerateOptions{MaxTokens: 24, StopTokens: []int{stop}})
	if got := ids(ended); !slices.Equal(got, tokens[:at]) || ended.Finish != generation.FinishStop {
		t.Errorf("stop token %d: %v, %v, want %v", stop, got, ended.Finish, tokens[:at])
	}
	later := ids(all(GenerateOptions{MaxTokens: 24, StopTokens: []int{stop}, MinTokens: at + 3}))
	if len(later) < at+3 || slices.Contains(later[:at+3], stop) {
		t.Errorf("stop token %d after %d tokens at least: %v", stop, at+3, later)
	}

	eos := g.model.Config.EOSTokens
	forced := GenerateOptions{MaxTokens: 12, LogitBias: map[int]float64{eos[0]: 1000}}
	if got := ids(all(forced)); len(got) != 0 {
		t.Errorf("%v before EOS", got)
	}
	forced.IgnoreEOS = true
	if got := all(forced); len(got.Tokens) != 12 || got.Finish != generation.FinishLength || got.Tokens[3].Token != eos[0] {
		t.Errorf("IgnoreEOS: %v, %v", ids(got), got.Finish)
	}
	forced.IgnoreEOS, forced.MinTokens = false, 4
	if got := ids(all(forced)); len(got) != 4 || slices.Contains(got, eos[0]) {
		t.Errorf("4 tokens at least: %v", got)
	}

	word := plain.Text[2:5]
	before, _, _ := strings.Cut(plain.Text, word)
	for keep, want := range map[bool]string{false: before, true: before + word} {
		if got := all(GenerateOptions{MaxTokens: 24, Stop: []string{word}, KeepStop: keep}); got.Text != want || got.Stop != word {
			t.Errorf("KeepStop %v: %q, %q, want %q", keep, got.Text, got.Stop, want)
		}
	}

	bad, _ := g.tokenizer.Token(tokens[2])
	spelled := tftest.Must(g.tokenizer.Encode(g.tokenizer.Decode(tokens[2:3], false), plainTokens))(t)
	if !slices.Equal(spelled.IDs, tokens[2:3]) {
		t.Fatalf("token %q is %v by itself", bad, spelled.IDs)
	}
	if got := ids(all(GenerateOptions{MaxTokens: 24, BadWords: []string{g.tokenizer.Decode(tokens[2:3], false)}})); slices.Contains(got, tokens[2]) || !slices.Equal(got[:2], tokens[:2]) {
		t.Errorf("bad word %q: %v after %v", bad, got, tokens)
	}

	prompt := tftest.Must(g.tokenizer.Encode("hello", plainTokens))(t).IDs
	if got := tftest.Must(Collect(g.ContinueTokens(t.Context(), prompt, GenerateOptions{MaxTokens: 24})))(t); !slices.Equal(ids(got), ids(tftest.Must(Collect(g.ContinuePrompt(t.Context(), "hello", GenerateOptions{MaxTokens: 24})))(t))) {
		t.Errorf("after tokens %v: %q", prompt, got.Text)
	}
}

// TestEndsRefused: options that contradict one another are errors, as are ids outside the
// vocabulary.
func TestEndsRefused(t *testing.T) {
	g := tftest.Must(OpenGenerator("testdata/generate", Options{}))(t)
	re := tftest.Must(grammar.Regexp("a*"))(t)
	for name, o := range map[string]GenerateOptions{
		"more than MaxTokens": {MaxTokens: 3, MinTokens: 4}, "negative": {MinTokens: -1}, "no token": {StopTokens: []int{-1}}, "beyond the vocabulary": {StopTokens: []int{1 << 20}},
		"grammar and IgnoreEOS": {Grammar: re, IgnoreEOS: true}, "grammar and MinTokens": {Grammar: re, MinTokens: 2}, "grammar and StopTokens": {Grammar: re, StopTokens: []int{1}},
		"empty word": {BadWords: []string{""}},
	} {
		if _, err := Collect(g.Generate(t.Context(), "hello", o)); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%s: error %v, want fault.ErrOption", name, err)
		}
	}
	for _, ids := range [][]int{nil, {-1}, {1, 1 << 30}} {
		if _, err := Collect(g.ContinueTokens(t.Context(), ids, GenerateOptions{})); !errors.Is(err, fault.ErrInput) {
			t.Errorf("tokens %v: error %v, want fault.ErrInput", ids, err)
		}
	}
	if _, err := Collect(g.ContinueTokens(t.Context(), make([]int, 1<<20), GenerateOptions{})); !errors.Is(err, fault.ErrTooLong) {
		t.Errorf("a prompt of 1<<20 tokens: error %v, want fault.ErrTooLong", err)
	}
}
