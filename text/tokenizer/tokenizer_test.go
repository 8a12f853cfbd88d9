package tokenizer

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/avoformer/avoformer/fault"
)

// TestRefused lists what is an error on loading, and what the message names.
func TestRefused(t *testing.T) {
	const model = `"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}`
	const doubles = `{"type":"Replace","pattern":{"String":"a"},"content":"aa"}`
	for _, x := range []struct {
		name, json string
		is         error
		says       string
	}{
		{"not JSON", `{`, fault.ErrFormat, "byte 1"},
		{"lone surrogate", `{"a":"\ud800"}`, fault.ErrFormat, "surrogate"},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", fault.ErrFormat, "UTF-8"},
		{"text after", `{} x`, fault.ErrFormat, "byte 3"},
		{"deep", strings.Repeat("[", 5000), fault.ErrFormat, "deep"},
		{"version", `{"version":"2.0",` + model + `}`, fault.ErrConfig, "version = 2.0"},
		{"field", `{"colour":1,` + model + `}`, fault.ErrConfig, "colour"},
		{"model", `{"model":{"type":"Neural","vocab":{}}}`, fault.ErrConfig, `"Neural"`},
		{"no model", `{}`, fault.ErrFormat, "model"},
		{"type twice", `{"model":{"type":"WordLevel","type":"WordLevel","vocab":{"a":0},"unk_token":"a"}}`, fault.ErrFormat, "twice"},
		{"field of truncation twice", `{"truncation":{"max_length":1,"max_length":2,"stride":0,"strategy":"LongestFirst"},` + model + `}`, fault.ErrFormat, "max_length"},
		{"field of a post-processor twice", `{"post_processor":{"type":"BertProcessing","sep":["a",0],"cls":["a",0],"sep":["a",0]},` + model + `}`, fault.ErrFormat, ".sep"},
		{"key in another case", `{"normalizer":{"type":"Strip","Strip_left":true,"strip_right":true},` + model + `}`, fault.ErrFormat, "strip_left"},
		{"model that is none", `{"model":{"vocab":{"a":0}}}`, fault.ErrFormat, "type"},
		{"model of a null type", `{"model":{"type":null,"vocab":{"a":0},"unk_token":"a"}}`, fault.ErrFormat, "null"},
		{"WordPiece without its limit", `{"model":{"type":"WordPiece","vocab":{"a":0},"unk_token":"a","continuing_subword_prefix":"##"}}`, fault.ErrFormat, "max_input_chars_per_word"},
		{"decoders without end", `{"decoder":{"type":"Sequence","decoders":[` + strings.Repeat(doubles+",", 39) + doubles + `]},` + model + `}`, fault.ErrConfig, "long"},
		{"added token without end", `{"normalizer":{"type":"Sequence","normalizers":[` + strings.Repeat(doubles+",", 39) + doubles + `]},"added_tokens":[` +
			`{"id":0,"content":"a","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":false}],` + model + `}`, fault.ErrFormat, "normalizing"},
		{"id", `{"model":{"type":"WordLevel","vocab":{"a":-1},"unk_token":"a"}}`, fault.ErrFormat, "-1"},
		{"dropout", `{"model":{"type":"BPE","dropout":0.1,"vocab":{"a":0},"merges":[]}}`, fault.ErrConfig, "dropout"},
		{"merge", `{"model":{"type":"BPE","vocab":{"a":0},"merges":["a a"]}}`, fault.ErrFormat, `"aa"`},
		{"merge of three", `{"model":{"type":"BPE","vocab":{"a":0},"merges":["a a a"]}}`, fault.ErrFormat, "a a a"},
		{"unk_id", `{"model":{"type":"Unigram","vocab":[["a",0]],"unk_id":1}}`, fault.ErrFormat, "unk_id"},
		{"score", `{"model":{"type":"Unigram","vocab":[["a","b"]],"unk_id":0}}`, fault.ErrFormat, "vocab[1]"},
		{"normalizer", `{"normalizer":{"type":"Upper"},` + model + `}`, fault.ErrConfig, `"Upper"`},
		{"normalizer in a sequence", `{"normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Upper"}]},` + model + `}`, fault.ErrConfig, "normalizers[1]"},
		{"charsmap", `{"normalizer":{"type":"Precompiled","precompiled_charsmap":"////////"},` + model + `}`, fault.ErrFormat, "charsmap"},
		{"pre-tokenizer", `{"pre_tokenizer":{"type":"UnicodeScripts"},` + model + `}`, fault.ErrConfig, "UnicodeScripts"},
		{"behavior", `{"pre_tokenizer":{"type":"Split","pattern":{"String":"a"},"behavior":"Sometimes","invert":false},` + model + `}`, fault.ErrConfig, "Sometimes"},
		{"look-behind", `{"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(?<=ab)c"},"behavior":"Isolated","invert":false},` + model + `}`, fault.ErrConfig, "(?<=ab)"},
		{"property", `{"pre_tokenizer":{"type":"Split","pattern":{"Regex":"\\p{Klingon}"},"behavior":"Isolated","invert":false},` + model + `}`, fault.ErrConfig, "Klingon"},
		{"empty match", `{"pre_tokenizer":{"type":"Split","pattern":{"Regex":"a*"},"behavior":"Isolated","invert":false},` + model + `}`, fault.ErrConfig, "a*"},
		{"anchor", `{"pre_tokenizer":{"type":"Split","pattern":{"Regex":"\\Ga"},"behavior":"Isolated","invert":false},` + model + `}`, fault.ErrConfig, `\\Ga`},
		{"prepend_scheme", `{"pre_tokenizer":{"type":"Metaspace","replacement":"_","prepend_scheme":"last"},` + model + `}`, fault.ErrConfig, "last"},
		{"field of a part", `{"pre_tokenizer":{"type":"Digits","individual_digits":true,"hex":true},` + model + `}`, fault.ErrConfig, "hex"},
		{"template", `{"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x","type_id":0}}],"pair":[],"special_tokens":{}},` + model + `}`, fault.ErrFormat, `"x"`},
		{"template of one with B", `{"post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"B","type_id":0}}],"pair":[],"special_tokens":{}},` + model + `}`, fault.ErrConfig, "B"},
		{"decoder", `{"decoder":{"type":"Morse"},` + model + `}`, fault.ErrConfig, "Morse"},
		{"truncation", `{"truncation":{"max_length":1,"stride":0,"strategy":"Fair"},` + model + `}`, fault.ErrConfig, "Fair"},
		{"truncation that is a number", `{"truncation":1,` + model + `}`, fault.ErrFormat, "must be an object"},
		{"padding", `{"padding":{"strategy":"Round","direction":"Left","pad_id":0,"pad_type_id":0,"pad_token":"a"},` + model + `}`, fault.ErrConfig, "Round"},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, err := Parse([]byte(x.json))
			if !errors.Is(err, x.is) || !strings.Contains(fmt.Sprint(err), x.says) {
				t.Errorf("Parse: %v, want %v that says %s", err, x.is, x.says)
			}
		})
	}
}

func TestNoTokenizer(t *testing.T) {
	if _, err := OpenFS(fstest.MapFS{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
	_, err := OpenFS(fstest.MapFS{"vocab.txt": {Data: []byte("a")}, "tokenizer_config.json": {Data: []byte(`{"tokenizer_class":"FunnyTokenizer"}`)}})
	if !errors.Is(err, fault.ErrConfig) || !strings.Contains(err.Error(), "FunnyTokenizer") {
		t.Errorf("an unknown class: %v", err)
	}
}

// TestInvalidUTF8: each byte that is not UTF-8 is one U+FFFD, with its own offset.
func TestInvalidUTF8(t *testing.T) {
	tok := open(t, "gpt2")
	const bad, good = "a\xffé\xc3(", "a\ufffdé\ufffd("
	for _, unit := range []Offsets{NoOffsets, Bytes, Characters} {
		x, err := tok.Encode(bad, Options{Offsets: unit})
		if err != nil {
			t.Fatal(err)
		}
		y, err := tok.Encode(good, Options{Offsets: unit})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(x.IDs, y.IDs) || unit == Characters && !slices.Equal(x.Offsets, y.Offsets) {
			t.Errorf("%q: %v %v, want %v %v", bad, x.IDs, x.Offsets, y.IDs, y.Offsets)
		}
		if unit == Bytes && x.Offsets[len(x.Offsets)-1] != (Offset{5, 6}) {
			t.Errorf("%q: offsets in bytes %v", bad, x.Offsets)
		}
	}
}

// TestLongWords: work grows no faster than n log n.
func TestLongWords(t *testing.T) {
	const size = 1 << 20
	texts := map[string]string{"a": strings.Repeat("a", size), "marks": "e" + strings.Repeat("\u0301\u0316", size/4),
		"spaces": strings.Repeat(" ", size), "Chinese": strings.Repeat("東", size/3), "tokens": strings.Repeat("<s>", size/3)}
	for _, name := range []string{"bert", "gpt2", "modernbert", "llama-untied", "xlm-roberta", "marian"} {
		tok := open(t, name)
		for what, text := range texts {
			start := time.Now()
			e, err := tok.Encode(text, Options{Offsets: Characters})
			if err != nil || len(e.IDs) == 0 {
				t.Errorf("%s: %s: %v", name, what, err)
			}
			if d := time.Since(start); d > time.Minute {
				t.Errorf("%s: a megabyte of %s took %v", name, what, d)
			}
		}
	}
	if _, err := open(t, "gpt2").Encode(strings.Repeat("a", maxText+1), Options{}); !errors.Is(err, fault.ErrText) {
		t.Errorf("a text that is too long: %v", err)
	}
}

// TestBatch: a batch gives what its texts give one by one, from any goroutine.
func TestBatch(t *testing.T) {
	processors := runtime.GOMAXPROCS(0)
	texts := make([]string, 200)
	for i := range texts {
		texts[i] = strings.Repeat("Hello, wörld 東京! ", i%7) + fmt.Sprint(i)
	}
	for _, name := range []string{"bert", "qwen3", "t5", "llama-untied"} {
		tok := open(t, name)
		want := make([][]int, len(texts))
		for i, s := range texts {
			e, err := tok.Encode(s, Options{})
			if err != nil {
				t.Fatal(err)
			}
			want[i] = e.IDs
		}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				all, err := tok.EncodeBatch(texts, Options{})
				if err != nil {
					t.Error(err)
					return
				}
				for i, e := range all {
					if !slices.Equal(e.IDs, want[i]) {
						t.Errorf("%s: text %d: %d, want %d", name, i, e.IDs, want[i])
					}
				}
			})
		}
		group.Wait()
	}
	if n := runtime.GOMAXPROCS(0); n != processors {
		t.Errorf("GOMAXPROCS is %d afterwards, and was %d", n, processors)
	}
}

// TestPaddedBatch: all encodings of a batch have the length of the longest.
func TestPaddedBatch(t *testing.T) {
	tok := open(t, "bert").WithPadding(&Padding{MultipleOf: 8, ID: 0, Token: "[PAD]"})
	all, err := tok.EncodeBatch([]string{"a", "a longer text of a few words more"}, Options{Offsets: Bytes, Tokens: true})
	if err != nil {
		t.Fatal(err)
	}
	n := len(all[0].IDs)
	if n%8 != 0 || len(all[1].IDs) != n {
		t.Errorf("lengths %d and %d", n, len(all[1].IDs))
	}
	if e := all[0]; e.Attention[n-1] || !e.Special[n-1] || e.Tokens[n-1] != "[PAD]" || e.Words[n-1] != -1 || e.Sequence(n-1) != -1 || e.Sequence(1) != 0 {
		t.Errorf("padding: %+v", e)
	}
	if tok.WithPadding(nil).Padding() != nil || tok.Padding().MultipleOf != 8 {
		t.Error("WithPadding changed its receiver")
	}
}

// TestStream: bytes that complete a character come out when they do.
func TestStream(t *testing.T) {
	for _, name := range []string{"gpt2", "llama-untied", "bert", "xlm-roberta"} {
		tok := open(t, name)
		e, err := tok.Encode("né 東 y", Options{NoSpecial: true})
		if err != nil {
			t.Fatal(err)
		}
		s := tok.Stream(true)
		var parts []string
		for _, id := range e.IDs {
			part := s.Next(id)
			if strings.Contains(part, "\ufffd") {
				t.Errorf("%s: a part of a character: %q", name, part)
			}
			parts = append(parts, part)
		}
		parts = append(parts, s.Flush())
		if got, want := strings.Join(parts, ""), tok.Decode(e.IDs, true); got != want {
			t.Errorf("%s: %q, want %q", name, parts, want)
		}
		if name == "gpt2" && parts[len(parts)-2] == "" {
			t.Errorf("the last token waits: %q", parts)
		}
	}
}

// TestSpecialTokens: names and ids, and added ones.
func TestSpecialTokens(t *testing.T) {
	tok := open(t, "roberta")
	id, ok := tok.TokenID("<mask>")
	if s, known := tok.Token(id); !ok || !known || s != "<mask>" {
		t.Errorf("<mask>: %d %t, %q %t", id, ok, s, known)
	}
	if _, ok := tok.Token(-1); ok {
		t.Error("the id -1 has a token")
	}
	if _, ok := tok.Token(math.MaxInt); ok {
		t.Error("a large id has a token")
	}
	if len(tok.AddedTokens()) == 0 || tok.Size() != id+1 {
		t.Errorf("%d added tokens, size %d", len(tok.AddedTokens()), tok.Size())
	}
	if got := tok.Decode([]int{-5, id, 1 << 30}, false); got != "<mask>" {
		t.Errorf("Decode with unknown ids: %q", got)
	}
}

// TestRepeatedToken: of a token that stands twice in the vocabulary the last id counts, for merges
// too.
func TestRepeatedToken(t *testing.T) {
	tok, err := Parse([]byte(`{"version": "1.0", "model": {"type": "BPE", "vocab": {"a": 0, "ab": 1, "b": 2, "ab": 3, "c": 300000, "c": 4}, "merges": [["a", "b"]]}}`))
	if err != nil {
		t.Fatal(err)
	}
	e, err := tok.Encode("abc", Options{})
	if err != nil || !slices.Equal(e.IDs, []int{3, 4}) {
		t.Errorf("%v, %v, want [3 4]", e.IDs, err)
	}
	for _, id := range []int{1, 300000} {
		if s, ok := tok.Token(id); ok {
			t.Errorf("Token(%d) = %q", id, s)
		}
	}
}

// TestUntypedModel: without a type, a model is what Hugging Face's library takes it for.
func TestUntypedModel(t *testing.T) {
	for _, x := range []struct {
		model string
		want  model
	}{
		{`{"vocab":{"a":0},"merges":[]}`, &bpe{}},
		{`{"vocab":{"a":0},"unk_token":"a","merges":[]}`, &bpe{}},
		{`{"vocab":{"a":0},"unk_token":"a","continuing_subword_prefix":"##","max_input_chars_per_word":9}`, &wordPiece{}},
		{`{"vocab":{"a":0},"unk_token":"a"}`, &wordLevel{}},
		{`{"vocab":[["a",0]],"unk_id":0}`, &unigram{}},
		{`{"vocab":[["a",0]]}`, &unigram{}},
	} {
		tok, err := Parse([]byte(`{"model":` + x.model + `}`))
		if err != nil {
			t.Errorf("%s: %v", x.model, err)
		} else if got, want := fmt.Sprintf("%T", tok.model), fmt.Sprintf("%T", x.want); got != want {
			t.Errorf("%s is %s, want %s", x.model, got, want)
		}
	}
}
