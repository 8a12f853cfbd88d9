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
	Cases []testCase `json:"cases"`
	Pairs []testCase `json:"pairs"`
}

// testCase is a text, or two. Folders differ in their fields.
type testCase struct {
	Text           string   `json:"text"`
	Pair           *string  `json:"pair"`
	Error          string   `json:"error"` // what Hugging Face's library says
	IDs            []int    `json:"ids"`
	Plain          []int    `json:"ids_plain"`
	TypeIDs        []int    `json:"type_ids"`
	Attention      []int    `json:"attention_mask"`
	Offsets        [][2]int `json:"offsets"`
	PlainOffsets   [][2]int `json:"offsets_plain"`
	Overflowing    [][]int  `json:"overflowing"`
	Decoded        *string  `json:"decoded"`
	DecodedSpecial *string  `json:"decoded_special"`
}

// caseFolders are those of testdata, among them the combinations of parts that scripts/parts.py
// made and the SentencePiece models of scripts/pieces.py, or of the directory in AVOFORMER_HF.
func caseFolders(tb testing.TB) []string {
	root := os.Getenv("AVOFORMER_HF")
	if root == "" {
		root = "testdata"
	}
	files, err := filepath.Glob(filepath.Join(root, "*", "tokenizer_cases.json"))
	parts, _ := filepath.Glob(filepath.Join(root, "p*s", "*", "tokenizer_cases.json"))
	files = append(files, parts...)
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
			for _, x := range append(c.Cases, c.Pairs...) {
				x.check(t, tok)
			}
		})
	}
}

// encode encodes the case's text or pair.
func (x *testCase) encode(tok *Tokenizer, opts Options) (*Encoding, error) {
	if x.Pair != nil {
		return tok.EncodePair(x.Text, *x.Pair, opts)
	}
	return tok.Encode(x.Text, opts)
}

func (x *testCase) check(t *testing.T, tok *Tokenizer) {
	t.Helper()
	for _, opts := range []Options{{}, {Offsets: Characters, Tokens: true}, {Offsets: Characters, Overflow: true}} {
		e, err := x.encode(tok, opts)
		switch {
		case x.Error != "" && err == nil:
			t.Errorf("%q: %d, want an error: %s", x.Text, e.IDs, x.Error)
		case x.Error != "":
		case err != nil:
			t.Errorf("%q: %v", x.Text, err)
		default:
			x.compare(t, e, opts)
		}
	}
	if x.Plain != nil {
		e, err := x.encode(tok, Options{NoSpecial: true, Offsets: Characters})
		if err != nil || !slices.Equal(e.IDs, x.Plain) {
			t.Errorf("%q without special tokens: %d, %v, want %d", x.Text, e.IDs, err, x.Plain)
		} else if x.PlainOffsets != nil && !slices.Equal(offsetPairs(e), x.PlainOffsets) {
			t.Errorf("%q without special tokens: offsets %d, want %d", x.Text, offsetPairs(e), x.PlainOffsets)
		}
	}
	for skip, want := range map[bool]*string{true: x.Decoded, false: x.DecodedSpecial} {
		if want != nil && tok.Decode(x.IDs, skip) != *want {
			t.Errorf("Decode(%d, %t) = %q, want %q", x.IDs, skip, tok.Decode(x.IDs, skip), *want)
		}
	}
}

func (x *testCase) compare(t *testing.T, e *Encoding, opts Options) {
	t.Helper()
	if !slices.Equal(e.IDs, x.IDs) {
		t.Errorf("%q %+v: ids %d, want %d", x.Text, opts, e.IDs, x.IDs)
		return
	}
	if x.TypeIDs != nil && !slices.Equal(e.TypeIDs, x.TypeIDs) {
		t.Errorf("%q: types %d, want %d", x.Text, e.TypeIDs, x.TypeIDs)
	}
	for i, a := range x.Attention {
		if e.Attention[i] != (a == 1) {
			t.Errorf("%q: attention %t, want %d", x.Text, e.Attention, x.Attention)
			break
		}
	}
	if x.Offsets != nil && opts.Offsets == Characters && !slices.Equal(offsetPairs(e), x.Offsets) {
		t.Errorf("%q: offsets %d, want %d", x.Text, offsetPairs(e), x.Offsets)
	}
	if x.Overflowing != nil && opts.Overflow {
		same := slices.EqualFunc(e.Overflowing, x.Overflowing, func(o *Encoding, ids []int) bool { return slices.Equal(o.IDs, ids) })
		if !same {
			t.Errorf("%q: %d parts overflow, want %d", x.Text, len(e.Overflowing), len(x.Overflowing))
		}
	}
}

func offsetPairs(e *Encoding) [][2]int {
	pairs := make([][2]int, len(e.Offsets))
	for i, o := range e.Offsets {
		pairs[i] = [2]int{o.Start, o.End}
	}
	return pairs
}
