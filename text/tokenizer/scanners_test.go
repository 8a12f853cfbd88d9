package tokenizer

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/text/tokenizer/internal/onig"
)

// TestScanners: what is scanned by hand is what the pattern says.
func TestScanners(t *testing.T) {
	needProperties()
	pieces := []string{"a", "b", "S", "ſ", "\u212a", "é", "e\u0301", "ǅ", "ʰ", "中", "の", "ا", "'", "'s", "'LL", "'ve", "’", "1", "23", "²", "٣", "Ⅷ",
		" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2028", ".", ",", "!?", "/", "_", "$", "€", "👩\u200d🚀", "\u0301", "\x00", "\u200b", "\U000e0001"}
	for source, scan := range scanners {
		re, err := onig.Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for range 20_000 {
			var text []byte
			for range rng.IntN(12) {
				text = append(text, pieces[rng.IntN(len(pieces))]...)
			}
			got, want := scan.appendAll(nil, text), re.AppendAll(nil, text)
			if !slices.Equal(got, want) {
				t.Fatalf("%s in %q: %v, want %v", source, text, got, want)
			}
		}
	}
}

// TestLineBreaksInPattern: some files hold line breaks where others spell them.
func TestLineBreaksInPattern(t *testing.T) {
	p, err := compile("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+")
	if _, ok := p.(scanner); err != nil || !ok {
		t.Errorf("%T, %v", p, err)
	}
}
