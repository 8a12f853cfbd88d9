package tokenizer

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// TestWarningsOfClasses: a folder whose class builds another tokenizer than its tokenizer.json is
// opens with a warning that names the class, and one whose class builds the same tokenizer, or that
// is opened as it is written, without one.
func TestWarningsOfClasses(t *testing.T) {
	for _, c := range []struct{ folder, config, warn string }{
		{"qwen2", `{"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": false}`, "the class GPT2Tokenizer builds"},
		{"gpt2", `{"tokenizer_class": "Qwen2Tokenizer", "add_prefix_space": false}`, "the class Qwen2Tokenizer builds"},
		{"gemma2", `{"tokenizer_class": "LlamaTokenizer"}`, "the class LlamaTokenizer builds"},
		{"qwen2", `{"tokenizer_class": "Qwen2Tokenizer", "add_prefix_space": false}`, ""},
		{"gpt2", `{"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": false}`, ""},
		{"gemma2", `{"tokenizer_class": "GemmaTokenizer"}`, ""},
		{"bert", `{"tokenizer_class": "BertTokenizer", "do_lower_case": true}`, ""},
		{"t5", `{"tokenizer_class": "T5Tokenizer"}`, ""},
		{"qwen2", `{"tokenizer_class": "PreTrainedTokenizerFast"}`, ""},
	} {
		data, err := os.ReadFile("testdata/" + c.folder + "/tokenizer.json")
		if err != nil {
			t.Fatal(err)
		}
		fsys := fstest.MapFS{"tokenizer.json": {Data: data}, "tokenizer_config.json": {Data: []byte(c.config)}}
		tok, err := OpenFS(fsys)
		if err != nil {
			t.Errorf("%s %s: %v", c.folder, c.config, err)
			continue
		}
		if w := tok.Warnings(); c.warn == "" && len(w) > 0 || c.warn != "" && (len(w) != 1 || !strings.Contains(w[0], c.warn)) {
			t.Errorf("%s %s: warnings %q, want one about %q", c.folder, c.config, w, c.warn)
		}
		if tok, err := (Opening{AsWritten: true}).OpenFS(fsys); err != nil || len(tok.Warnings()) > 0 {
			t.Errorf("%s %s, as written: %v and warnings", c.folder, c.config, err)
		}
	}
}

// TestWarningOfScores: pieces whose scores have another order than their ids give a warning, with
// classes that merge by ids.
func TestWarningOfScores(t *testing.T) {
	data, err := os.ReadFile("testdata/pieces/LlamaTokenizer-bpe/tokenizer.model")
	if err != nil {
		t.Fatal(err)
	}
	for _, swapped := range []bool{false, true} {
		m, err := parseSPM(data)
		if err != nil {
			t.Fatal(err)
		}
		_, made := m.merges()
		a, b := &m.pieces[made[0]], &m.pieces[made[len(made)-1]]
		if a.score <= b.score {
			t.Fatalf("scores %v and %v of the first and the last merge", a.score, b.score)
		}
		if swapped {
			a.score, b.score = b.score, a.score
		}
		f := &spmFolder{spmModel: m, settings: &settings{}, t: new(Tokenizer)}
		if err := f.bpe(f.texts(), "", true); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(f.notes, ""); swapped != strings.Contains(got, "while SentencePiece merges by scores") || swapped != (len(f.notes) == 1) {
			t.Errorf("scores exchanged: %v; warnings %q", swapped, f.notes)
		}
	}
}
