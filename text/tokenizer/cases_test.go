package tokenizer

// The texts of testdata, whose ids Hugging Face's library gave.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

type cases struct {
	Cases []struct {
		Text           string `json:"text"`
		IDs            []int  `json:"ids"`
		Plain          []int  `json:"ids_plain"`
		Decoded        string `json:"decoded"`
		DecodedSpecial string `json:"decoded_special"`
	} `json:"cases"`
	Pairs []struct {
		Text    string `json:"text"`
		Pair    string `json:"pair"`
		IDs     []int  `json:"ids"`
		TypeIDs []int  `json:"type_ids"`
	} `json:"pairs"`
}

// caseFolders are those of testdata, or of the directory in AVOFORMER_HF.
func caseFolders(tb testing.TB) []string {
	root := os.Getenv("AVOFORMER_HF")
	if root == "" {
		root = "testdata"
	}
	files, err := filepath.Glob(filepath.Join(root, "*", "tokenizer_cases.json"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no tokenizer_cases.json under %s: %v", root, err)
	}
	for i, f := range files {
		files[i] = filepath.Dir(f)
	}
	return files
}

func TestTokenizerCases(t *testing.T) {
	for _, dir := range caseFolders(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			tok, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(filepath.Join(dir, "tokenizer_cases.json"))
			if err != nil {
				t.Fatal(err)
			}
			var c cases
			if err := json.Unmarshal(data, &c); err != nil {
				t.Fatal(err)
			}
			if len(c.Cases) == 0 {
				t.Fatal("no cases")
			}
			for _, x := range c.Cases {
				check := func(what string, want []int, opts Options) {
					e, err := tok.Encode(x.Text, opts)
					if err != nil {
						t.Errorf("Encode(%q): %v", x.Text, err)
					} else if !slices.Equal(e.IDs, want) {
						t.Errorf("Encode(%q)%s = %d, want %d", x.Text, what, e.IDs, want)
					}
				}
				check("", x.IDs, Options{})
				check(" with offsets", x.IDs, Options{Offsets: Characters, Tokens: true})
				check(" without special tokens", x.Plain, Options{NoSpecial: true})
				if got := tok.Decode(x.IDs, true); got != x.Decoded {
					t.Errorf("Decode(%d) = %q, want %q", x.IDs, got, x.Decoded)
				}
				if got := tok.Decode(x.IDs, false); got != x.DecodedSpecial {
					t.Errorf("Decode(%d) with special tokens = %q, want %q", x.IDs, got, x.DecodedSpecial)
				}
			}
			for _, x := range c.Pairs {
				e, err := tok.EncodePair(x.Text, x.Pair, Options{})
				if err != nil {
					t.Errorf("EncodePair(%q, %q): %v", x.Text, x.Pair, err)
				} else if !slices.Equal(e.IDs, x.IDs) || !slices.Equal(e.TypeIDs, x.TypeIDs) {
					t.Errorf("EncodePair(%q, %q) = %d, types %d, want %d, %d", x.Text, x.Pair, e.IDs, e.TypeIDs, x.IDs, x.TypeIDs)
				}
			}
		})
	}
}
