package tokenizer

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
)

// open reads a folder of testdata.
func open(tb testing.TB, name string) *Tokenizer {
	tb.Helper()
	t, err := Open(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// fuzzTexts encodes and decodes texts with a folder's tokenizer, and checks what holds for every
// text.
func fuzzTexts(f *testing.F, names ...string) {
	for _, s := range []string{"", " ", "Hello, world!", "a\u0300\u0301 e\u0301", "<s>[MASK]<|endoftext|>", "\xff\xfe a\x80",
		"東京 \u1112\u1161\u11ab", strings.Repeat("a", 300), strings.Repeat("\u0300", 50), "👩‍👩‍👧 🇫🇷\r\n", "▁▁ Ġ <0x41>"} {
		f.Add(s, "b c", true)
	}
	var all []*Tokenizer
	for _, name := range names {
		t := open(f, name)
		all = append(all, t, t.WithTruncation(&Truncation{MaxLength: 9, Stride: 1}).WithPadding(&Padding{MultipleOf: 4}))
	}
	f.Fuzz(func(t *testing.T, first, second string, left bool) {
		for i, tok := range all {
			if i%2 == 1 && left {
				tok = tok.WithTruncation(&Truncation{MaxLength: 8, Left: true})
			}
			checkText(t, tok, first)
			e, err := tok.EncodePair(first, second, Options{Offsets: Bytes, Tokens: true, Overflow: true})
			if err == nil {
				checkEncoding(t, tok, e, max(len(first), len(second)))
			} else if !errors.Is(err, fault.ErrTruncation) {
				t.Fatal(err)
			}
		}
	})
}

func checkText(t *testing.T, tok *Tokenizer, text string) {
	for _, opts := range []Options{{}, {Offsets: Bytes, Tokens: true}, {Offsets: Characters, NoSpecial: true}} {
		e, err := tok.Encode(text, opts)
		if err != nil {
			t.Fatal(err)
		}
		limit := len(text)
		if opts.Offsets == Characters {
			limit = utf8.RuneCountInString(text)
		}
		checkEncoding(t, tok, e, limit)
	}
	e, err := tok.Encode(text, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, skip := range []bool{false, true} {
		s := tok.Stream(skip)
		var out strings.Builder
		for _, id := range e.IDs {
			out.WriteString(s.Next(id))
		}
		out.WriteString(s.Flush())
		if want := tok.Decode(e.IDs, skip); out.String() != want {
			t.Fatalf("the stream of %d gives %q, want %q", e.IDs, out.String(), want)
		}
	}
}

// checkEncoding checks lengths, ids and offsets within limit.
func checkEncoding(t *testing.T, tok *Tokenizer, e *Encoding, limit int) {
	n := len(e.IDs)
	if len(e.TypeIDs) != n || len(e.Special) != n || len(e.Attention) != n ||
		e.Offsets != nil && (len(e.Offsets) != n || len(e.Words) != n) || e.Tokens != nil && len(e.Tokens) != n {
		t.Fatalf("slices differ in length: %+v", e)
	}
	for i, id := range e.IDs {
		if _, ok := tok.Token(id); !ok {
			t.Fatalf("no token has the id %d", id)
		}
		if e.Offsets != nil && (e.Offsets[i].Start < 0 || e.Offsets[i].Start > e.Offsets[i].End || e.Offsets[i].End > limit) {
			t.Fatalf("offsets %v of %d", e.Offsets[i], limit)
		}
	}
	for _, o := range e.Overflowing {
		checkEncoding(t, tok, o, limit)
	}
}

func FuzzWordPiece(f *testing.F) { fuzzTexts(f, "bert", "bert-classify", "mpnet") }
func FuzzByteBPE(f *testing.F) {
	fuzzTexts(f, "gpt2", "roberta", "modernbert", "qwen3", "llama-rope3-new")
}
func FuzzFallbackBPE(f *testing.F) { fuzzTexts(f, "llama-untied", "gemma2") }
func FuzzUnigram(f *testing.F)     { fuzzTexts(f, "t5", "xlm-roberta", "marian") }

// FuzzWordLevel also runs pre-tokenizers and normalizers that no folder has.
func FuzzWordLevel(f *testing.F) {
	tok, err := Parse([]byte(wordLevelJSON))
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"", "Hello a-b 12", "\u0345é\r\n", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { checkText(t, tok, text) })
}

const wordLevelJSON = `{"version":"1.0","added_tokens":[{"id":9,"content":"a b","single_word":true,"lstrip":true,"rstrip":true,"normalized":true,"special":false}],
"normalizer":{"type":"Sequence","normalizers":[{"type":"Nmt"},{"type":"NFKC"},{"type":"StripAccents"},{"type":"Replace","pattern":{"Regex":"\\s{2,}|[^\\w\\s]"},"content":"-é"},{"type":"Strip","strip_left":true,"strip_right":true}]},
"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"\\d+"},"behavior":"MergedWithNext","invert":true},{"type":"Metaspace","replacement":"_","prepend_scheme":"first","split":true},{"type":"FixedLength","length":3}]},
"model":{"type":"WordLevel","vocab":{"?":0,"_a":1,"ab":2},"unk_token":"?"}}`

// FuzzParse reads any tokenizer.json, and encodes with what it accepts.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"bert", "gpt2", "gpt2-hub", "gemma2", "llama-untied"} {
		data, err := os.ReadFile(filepath.Join("testdata", name, "tokenizer.json"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(wordLevelJSON))
	f.Add([]byte(`{"model":{"type":"Unigram","unk_id":0,"vocab":[["?",0],["a",-1.5e-3]],"byte_fallback":true},"normalizer":{"type":"Precompiled","precompiled_charsmap":"AAAAAA=="}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tok, err := Parse(data)
		checkError(t, err)
		if err == nil {
			tok.Encode("Hello \u00e9\u0301 <s>\xff", Options{Offsets: Characters, Tokens: true})
			tok.Decode([]int{0, 1, 2, 3}, true)
		}
	})
}

// FuzzOlder reads any files of before tokenizer.json.
func FuzzOlder(f *testing.F) {
	f.Add("spiece.model", []byte("\x0a\x0e\x0a\x05<unk>\x15\x00\x00\x00\x00\x18\x02\x0a\x08\x0a\x01a\x15\x00\x00\x80\xbf"), []byte(`{"tokenizer_class":"T5Tokenizer"}`))
	f.Add("vocab.txt", []byte("[UNK]\n[CLS]\n[SEP]\na\n##b\n"), []byte(`{"do_lower_case":false,"model_max_length":1e30}`))
	f.Add("merges.txt", []byte("#version: 0.2\na b\n"), []byte(`{"tokenizer_class":"GPT2Tokenizer","added_tokens_decoder":{"5":{"content":"x"}}}`))
	f.Add("model.gguf", []byte("GGUF\x03\x00\x00\x00"), []byte(`{}`))
	f.Fuzz(func(t *testing.T, name string, data, config []byte) {
		if !fs.ValidPath(name) {
			return
		}
		fsys := fstest.MapFS{name: {Data: data}, "vocab.json": {Data: []byte(`{"a":0,"b":1,"ab":2,"</s>":3}`)}, "tokenizer_config.json": {Data: config}}
		tok, err := OpenFS(fsys)
		checkError(t, err)
		if err == nil {
			tok.Encode("a ab b\xff", Options{Offsets: Characters, Tokens: true})
		}
	})
}

// checkError demands that an error is one of those promised.
func checkError(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, fault.ErrFormat) && !errors.Is(err, fault.ErrConfig) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid) {
		t.Fatalf("%v matches no error of this package", err)
	}
}
