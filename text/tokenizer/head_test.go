package tokenizer

// Texts that are tokenized in part have the tokens of the whole.

import (
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// shorten makes texts of so many bytes long ones, until the test is over.
func shorten(t testing.TB, n int) {
	old := longText
	longText = n
	t.Cleanup(func() { longText = old })
}

// drawText returns a text of the pieces that tokenizers trip over, and of tokens of tok.
func drawText(rng *rand.Rand, tok *Tokenizer, n int) string {
	pieces := []string{"a", "word ", "Another", "don't ", "I'LL ", "é", "e\u0301", " \u0301", "ſ", "ǅ", "İ", "中", "文。", "，", "の", "カ゛", "ｶﾞ", "한", "ᄒ", "ا", "\u0600", "न", "्", "क",
		"1", "234 ", "²", "٣", " ", "  ", " \n", "\n\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2028", ".", ", ", "! ", "?", "/", "_", "▁", "Ġ", "``", "''", "-", "$", "€",
		"👩\u200d🚀 ", "🇩🇪", "\x00", "\u200b", "\xff", "\xe4\xb8", "Hello, world. ", "the cat sat on the mat ", "<", ">", "|"}
	b := new(strings.Builder)
	few := pieces
	if rng.IntN(2) == 0 { // texts of few kinds of characters
		few = nil
		for range 1 + rng.IntN(5) {
			few = append(few, pieces[rng.IntN(len(pieces))])
		}
	}
	for b.Len() < n {
		switch rng.IntN(12) {
		case 0:
			if added := tok.added.list; len(added) > 0 {
				b.WriteString(added[rng.IntN(len(added))].Content)
			}
		case 1:
			if s, ok := tok.Token(rng.IntN(tok.Size())); ok {
				b.WriteString(strings.ReplaceAll(strings.TrimPrefix(s, "##"), "▁", " "))
			}
		default:
			b.WriteString(few[rng.IntN(len(few))])
		}
	}
	return b.String()
}

// neverInPart are folders whose normalizers or pieces reach over any place, as far as seam.go can
// tell.
var neverInPart = []string{"002-gpt2-hub", "003-gemma2", "011-llama-rope3-new", "017-whisper", "PreTrainedTokenizerFast-roles", "RemBertTokenizer-unigram", "TokenizersBackend-characters", "XLNetTokenizer-unigram"}

// TestPart: whatever is cut off, and how, a text that is tokenized in part has the encoding of the
// whole.
func TestPart(t *testing.T) {
	folders := caseFolders(t)
	for _, dir := range folders {
		tok, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		parts := 0
		for range max(40, 6000/len(folders)) {
			text, second := drawText(rng, tok, 60+rng.IntN(400)), (*string)(nil)
			if rng.IntN(3) == 0 {
				s := drawText(rng, tok, 1+rng.IntN(400))
				second = &s
			}
			c := Truncation{MaxLength: 4 + rng.IntN(9), Left: rng.IntN(3) == 0, Strategy: Strategy(rng.IntN(3))}
			opts := Options{NoSpecial: rng.IntN(2) == 0, Tokens: rng.IntN(2) == 0, Offsets: Offsets(rng.IntN(3))}
			cutting := tok.WithTruncation(&c).WithPadding(nil)
			shorten(t, 1<<20)
			want, wantErr := cutting.unpadded(text, second, &opts)
			shorten(t, 16)
			got, gotErr := cutting.unpadded(text, second, &opts)
			if wantErr != nil { // it may lie in what is not tokenized
				if gotErr == nil && !got.CutMore {
					t.Fatalf("%s: %q: no error, want %v", dir, text, wantErr)
				}
				continue
			}
			if gotErr != nil {
				t.Fatalf("%s: %q: %v", dir, text, gotErr)
			}
			if got.CutMore {
				parts++
				if got.Cut < 1 || got.Cut > want.Cut {
					t.Fatalf("%s: %q: at least %d tokens are cut off, want %d", dir, text, got.Cut, want.Cut)
				}
				got.Cut, got.CutMore = want.Cut, false
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %+v, %+v\n%q %v:\n%+v, want\n%+v", dir, c, opts, text, second, got, want)
			}
		}
		if parts == 0 && !slices.Contains(neverInPart, filepath.Base(dir)) {
			t.Errorf("%s: no text was tokenized in part", dir)
		}
	}
}

// TestSeams: at each place of a text that is a seam, the tokens before it are those of the text up
// to there, and after one that is sealed those of the text from anywhere before.
func TestSeams(t *testing.T) {
	folders := caseFolders(t)
	for _, dir := range folders {
		tok, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(3, 4))
		plain := tok.WithTruncation(nil).WithPadding(nil)
		ids := func(text string) []int {
			e, err := plain.Encode(text, Options{NoSpecial: true})
			if err != nil {
				return nil
			}
			return e.IDs
		}
		for range max(50, 30000/len(folders)) {
			text := drawText(rng, tok, 10+rng.IntN(40))
			whole := ids(text)
			if whole == nil {
				continue
			}
			for from := 1; from < len(text); {
				at, ok := tok.seam(text, from, openSeam)
				if !ok {
					break
				}
				from = at + 1
				before := ids(text[:at])
				if len(before) > len(whole) || !slices.Equal(before, whole[:len(before)]) {
					t.Fatalf("%s: %q | %q: %d before, of %d", dir, text[:at], text[at:], before, whole)
				}
				if sealed, _ := tok.seam(text, at, sealedSeam); sealed != at {
					continue
				}
				start := rng.IntN(at)
				for !utf8.RuneStart(text[start]) {
					start--
				}
				if start == at {
					continue
				}
				from, middle := ids(text[start:]), ids(text[start:at])
				if len(middle) > len(from) || !slices.Equal(from[len(middle):], whole[len(before):]) {
					t.Fatalf("%s: %q | %q | %q: %d after, of %d", dir, text[:start], text[start:at], text[at:], from[len(middle):], whole)
				}
			}
		}
	}
}
