package tokenizer

import (
	"slices"
	"testing"
)

// TestWordsStayApart compares small tokenizers with the ids of Hugging Face's library in Rust.
// Its package in JavaScript gives others for the first four, and the last one is where the library
// itself surprises: it drops unknown characters before it merges.
func TestWordsStayApart(t *testing.T) {
	t.Parallel()
	const words = `"pre_tokenizer":{"type":"Whitespace"},`
	for _, c := range []struct {
		name, file, text string
		want             []int
	}{
		{"unknown words in a row", words + `"model":{"type":"BPE","vocab":{"<unk>":0,"a":1},"merges":[],"unk_token":"<unk>","fuse_unk":true}`, "x y a", []int{0, 0, 1}},
		{"unknown word", words + `"model":{"type":"WordLevel","vocab":{"[UNK]":0,"the":1,"fox":2},"unk_token":"[UNK]"}`, "the quick fox", []int{1, 0, 2}},
		{"merged with the piece before", `"pre_tokenizer":{"type":"Split","pattern":{"Regex":"[0-9]"},"behavior":"MergedWithPrevious","invert":false},
			"model":{"type":"WordLevel","vocab":{"[UNK]":0,"ab1":1,"ab":2,"1":3,"cd":4},"unk_token":"[UNK]"}`, "ab1cd", []int{1, 4}},
		{"last sigma", `"normalizer":{"type":"Lowercase"},` + words + `"model":{"type":"WordLevel","vocab":{"[UNK]":0,"ας":1,"ασ":2},"unk_token":"[UNK]"}`, "ΑΣ", []int{2}},
		{"dropped characters", `"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}`, "a--b", []int{2}},
	} {
		tok, err := Parse([]byte(`{"version":"1.0",` + c.file + `}`))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		e, err := tok.Encode(c.text, Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if !slices.Equal(e.IDs, c.want) {
			t.Errorf("%s: %q is %v, want %v", c.name, c.text, e.IDs, c.want)
		}
	}
}
