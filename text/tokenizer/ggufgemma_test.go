package tokenizer

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/transformer/gguf"
)

// TestGemma4GGUF opens the vocabulary of a Gemma as a GGUF file of the model gemma4 and as
// tokenizer.json: texts have the same ids, and these the same texts.
func TestGemma4GGUF(t *testing.T) {
	t.Parallel()
	var file map[string]json.RawMessage
	decodeFile(t, "testdata/gemma2/tokenizer.json", &file)
	var model struct {
		Vocab  map[string]int
		Merges []any
	}
	var added []struct {
		ID      int
		Special bool
	}
	for field, to := range map[string]any{"model": &model, "added_tokens": &added} {
		if err := json.Unmarshal(file[field], to); err != nil {
			t.Fatal(err)
		}
	}
	want, err := OpenFS(fstest.MapFS{"tokenizer.json": {Data: patched(file, map[string]any{"post_processor": nil})}})
	if err != nil {
		t.Fatal(err)
	}
	types := slices.Repeat([]int32{pieceNormal}, want.Size())
	for id := range types {
		if token, _ := want.Token(id); strings.HasPrefix(token, "<0x") {
			types[id] = pieceByte
		}
	}
	for _, a := range added {
		if types[a.ID] = pieceUserDefined; a.Special {
			types[a.ID] = pieceControl
		}
	}
	got := vocabularyGGUF(t, "gemma4", want, model.Merges, gguf.Pair{Key: "tokenizer.ggml.token_type", Value: types},
		gguf.Pair{Key: "tokenizer.ggml.unknown_token_id", Value: uint32(model.Vocab["<unk>"])})
	begins := vocabularyGGUF(t, "gemma4", want, model.Merges, gguf.Pair{Key: "tokenizer.ggml.bos_token_id", Value: uint32(2)}, gguf.Pair{Key: "tokenizer.ggml.add_bos_token", Value: false})
	if e, err := begins.Encode("", Options{}); err != nil || !slices.Equal(e.IDs, []int{2}) {
		t.Errorf("ids %v, error %v, want bos", e.IDs, err)
	}
	for _, s := range append(preTexts(), "<start_of_turn>user\n  two  spaces\n\n\nthe end<end_of_turn>") {
		a, errA := got.Encode(s, Options{})
		b, errB := want.Encode(s, Options{})
		if errA != nil || errB != nil || !slices.Equal(a.IDs, b.IDs) {
			t.Fatalf("%q: ids %v, %v, want %v, %v", s, a.IDs, errA, b.IDs, errB)
		}
		if x, y := got.Decode(a.IDs, false), want.Decode(b.IDs, false); x != y {
			t.Fatalf("%q becomes %q, want %q", s, x, y)
		}
	}
}
