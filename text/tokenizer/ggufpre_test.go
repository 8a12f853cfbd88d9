package tokenizer

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/transformer/gguf"
)

// preFamily is an entry of testdata/pres.json: names that GGUF files give pre-tokenizers, and the
// parts that tokenizer.json has in models of these families.
type preFamily struct {
	Names        []string
	Normalizer   json.RawMessage
	PreTokenizer json.RawMessage `json:"pre_tokenizer"`
	IgnoreMerges bool            `json:"ignore_merges"`
}

// TestPres opens one vocabulary as a GGUF file with each name of a pre-tokenizer, and as a
// tokenizer.json with the parts of that family: texts have the same ids.
func TestPres(t *testing.T) {
	t.Parallel()
	var families []preFamily
	decodeFile(t, "testdata/pres.json", &families)
	var file map[string]json.RawMessage
	decodeFile(t, "testdata/gpt2/tokenizer.json", &file)
	var model map[string]any
	if err := json.Unmarshal(file["model"], &model); err != nil {
		t.Fatal(err)
	}
	texts := preTexts()
	seen := map[string]bool{}
	for _, family := range families {
		model["ignore_merges"] = family.IgnoreMerges
		own := patched(file, map[string]any{"model": model, "normalizer": family.Normalizer, "pre_tokenizer": family.PreTokenizer, "post_processor": nil})
		want, err := OpenFS(fstest.MapFS{"tokenizer.json": {Data: own}})
		if err != nil {
			t.Fatal(family.Names, err)
		}
		for _, name := range family.Names {
			seen[name] = true
			got := vocabularyGGUF(t, "gpt2", want, model["merges"].([]any), gguf.Pair{Key: "tokenizer.ggml.pre", Value: name}, gguf.Pair{Key: "tokenizer.ggml.add_bos_token", Value: false})
			for _, s := range texts {
				a, errA := got.Encode(s, Options{})
				b, errB := want.Encode(s, Options{})
				if errA != nil || errB != nil || !slices.Equal(a.IDs, b.IDs) {
					t.Errorf("%s: %q: ids %v, %v, want %v, %v", name, s, a.IDs, errA, b.IDs, errB)
					break
				}
			}
		}
	}
	for name, pre := range ggufPres {
		if !seen[name] && pre.ends == byFile { // those with ends are encoders, which are compared with llama.cpp's
			t.Errorf("%s is not in testdata/pres.json", name)
		}
	}
}

// vocabularyGGUF returns a GGUF file with the vocabulary of t, opened.
func vocabularyGGUF(t *testing.T, model string, from *Tokenizer, merges []any, more ...gguf.Pair) *Tokenizer {
	tokens, lines := make([]string, from.Size()), make([]string, len(merges))
	for id := range tokens {
		tokens[id], _ = from.Token(id)
	}
	for i, m := range merges {
		if pair, ok := m.([]any); ok {
			m = pair[0].(string) + " " + pair[1].(string)
		}
		lines[i] = m.(string)
	}
	var b bytes.Buffer
	err := gguf.Write(&b, append([]gguf.Pair{{Key: "tokenizer.ggml.model", Value: model}, {Key: "tokenizer.ggml.tokens", Value: tokens}, {Key: "tokenizer.ggml.merges", Value: lines}}, more...), nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.NewFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	tok, err := FromGGUF(f)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// preTexts are texts that pre-tokenizers cut differently, and random ones.
func preTexts() []string {
	texts := []string{"", "It's 12345 tests, don't YOU'LL? 3.14\r\n\r\n  x\t\ty  ", "العدد ١٢٣ و ٤٥٦", "漢字かな 2024年12月31日", "e\u0301 A\u030a \u1e9b\u0323", "$+<=>^~|`x` a_b--c  ", "   ", "\n\n \n", "½²Ⅷ 4½", "ДОМ's дом"}
	parts := strings.Split("a|B|é|ß|ſ|'s|'LL|1|22|٣|½|Ⅷ| |  |\n|\r\n|\t|\u3000|漢|カ|한|ไ|́|!|?!|…|。|،|$|+|`|_|-|/|😀|\u200b|<|endoftext|>", "|")
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var b strings.Builder
		for range r.IntN(20) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		texts = append(texts, b.String())
	}
	return texts
}

// patched returns a JSON object with some fields replaced.
func patched(object map[string]json.RawMessage, by map[string]any) []byte {
	out := map[string]any{}
	for k, v := range object {
		out[k] = v
	}
	for k, v := range by {
		out[k] = v
	}
	data, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return data
}

func decodeFile(t *testing.T, path string, to any) {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestEndsAreControl wants the tokens that end a turn to be found in texts of a file that does not
// say of which type its tokens are.
func TestEndsAreControl(t *testing.T) {
	t.Parallel()
	var file map[string]json.RawMessage
	decodeFile(t, "testdata/gpt2/tokenizer.json", &file)
	from, err := OpenFS(fstest.MapFS{"tokenizer.json": {Data: patched(file, nil)}})
	if err != nil {
		t.Fatal(err)
	}
	var model struct{ Merges []any }
	if err := json.Unmarshal(file["model"], &model); err != nil {
		t.Fatal(err)
	}
	tok := vocabularyGGUF(t, "gpt2", from, model.Merges, gguf.Pair{Key: "tokenizer.ggml.pre", Value: "gpt-2"})
	e, err := tok.Encode("a<|endoftext|>", Options{})
	if err != nil || len(e.IDs) != 2 {
		t.Errorf("ids %v, error %v, want those of a and <|endoftext|>", e.IDs, err)
	}
}
