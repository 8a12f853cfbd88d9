package tokenizer

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// streamed returns the pieces that a stream gives.
func streamed(s *Stream, ids []int) (pieces []string) {
	for _, id := range ids {
		pieces = append(pieces, s.Next(id))
	}
	return append(pieces, s.Flush())
}

// TestStreamIsDecode streams random ids, and finds together what Decode gives for all, for every
// tokenizer of the folders. Nothing is given that a later id would change.
func TestStreamIsDecode(t *testing.T) {
	var names []string
	for _, pattern := range []string{"testdata/*/tokenizer_cases.json", "testdata/parts/*/tokenizer_cases.json", "testdata/pieces/*/tokenizer_cases.json"} {
		found, _ := filepath.Glob(pattern)
		for _, name := range found {
			names = append(names, filepath.Dir(name))
		}
	}
	streams := 0
	for i, name := range names {
		tok, err := Open(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		streams++
		compareStream(t, name, tok, rand.New(rand.NewPCG(uint64(i), 5)))
	}
	if streams < 35 {
		t.Errorf("%d tokenizers", streams)
	}
}

// TestStages has decoders that no folder has, alone and after others.
func TestStages(t *testing.T) {
	// Tokens that the decoders below do something with.
	words := []string{"▁", "a", "▁▁b", "xy", "x", "yx", " ", "  c", "é</w>", "</w>", "##a", "<pad>", "|", " n't", ".", " ."}
	for _, b := range []byte("é東!\xff") {
		words = append(words, fmt.Sprintf("<0x%02X>", b))
	}
	tokens := make([]string, 0, len(words))
	for i, w := range words {
		tokens = append(tokens, fmt.Sprintf("%q: %d", w, i))
	}
	model := `"model":{"type":"WordLevel","unk_token":"a","vocab":{` + strings.Join(tokens, ",") + `}}}`
	one := []string{
		`{"type":"Fuse"}`, `{"type":"ByteFallback"}`, `{"type":"ByteLevel"}`, `{"type":"Metaspace","replacement":"▁","prepend_scheme":"always"}`,
		`{"type":"WordPiece","prefix":"##","cleanup":true}`, `{"type":"BPEDecoder","suffix":"</w>"}`, `{"type":"BPEDecoder","suffix":""}`,
		`{"type":"CTC","pad_token":"<pad>","word_delimiter_token":"|","cleanup":true}`, `{"type":"Strip","content":" ","start":1,"stop":2}`, `{"type":"Strip","content":"a","start":2,"stop":0}`,
		`{"type":"Replace","pattern":{"String":"▁"},"content":" "}`, `{"type":"Replace","pattern":{"String":"xyx"},"content":"!"}`, `{"type":"Replace","pattern":{"Regex":"x+y"},"content":"-"}`,
	}
	var all []string
	for _, a := range one {
		all = append(all, a)
		for _, b := range one {
			all = append(all, `{"type":"Sequence","decoders":[`+a+","+b+`]}`)
			for _, c := range []string{one[8], one[10], one[11]} { // after others
				all = append(all, `{"type":"Sequence","decoders":[`+a+","+b+","+c+`]}`)
			}
		}
	}
	for i, d := range append(all, "null") {
		tok, err := Parse([]byte(`{"version":"1.0","decoder":` + d + "," + model))
		if err != nil {
			t.Errorf("%s: %v", d, err)
			continue
		}
		compareStream(t, d, tok, rand.New(rand.NewPCG(uint64(i), 6)))
	}
}

// compareStream draws ids, many for single bytes and special ones among them.
func compareStream(t *testing.T, name string, tok *Tokenizer, r *rand.Rand) {
	t.Helper()
	var often []int
	for id := range tok.Size() {
		if s, ok := tok.Token(id); ok {
			if _, isByte := byteToken(s); isByte || utf8.RuneCountInString(s) == 1 && alphabetByte([]rune(s)[0]) > utf8.RuneSelf || tok.IsSpecial(id) {
				often = append(often, id)
			}
		}
	}
	for range 60 {
		ids := make([]int, r.IntN(30))
		for i := range ids {
			if ids[i] = r.IntN(tok.Size() + 1); len(often) > 0 && r.IntN(2) == 0 {
				ids[i] = often[r.IntN(len(often))]
			}
		}
		for _, skip := range []bool{false, true} {
			s := tok.Stream(skip)
			for range 2 { // the second time after Flush
				pieces := streamed(s, ids)
				if got, want := strings.Join(pieces, ""), tok.Decode(ids, skip); got != want {
					t.Fatalf("%s: the stream of %d gives %q, want %q", name, ids, pieces, want)
				}
			}
		}
	}
}

// TestStreamGives: a character comes as soon as its last byte has, except for tokens of bytes,
// whose row has to end.
func TestStreamGives(t *testing.T) {
	for _, name := range []string{"gpt2", "qwen3", "llama-untied", "gemma2", "bert", "xlm-roberta", "t5"} {
		tok := open(t, name)
		e, err := tok.Encode("Naïve 東京, and 🙂🙂 once more: ça va?", Options{NoSpecial: true})
		if err != nil {
			t.Fatal(err)
		}
		s, given := tok.Stream(true), ""
		for i, id := range e.IDs {
			given += s.Next(id)
			if token, _ := tok.Token(id); len(token) == 6 && strings.HasPrefix(token, "<0x") {
				continue
			}
			if want := strings.TrimRight(tok.Decode(e.IDs[:i+1], true), "\ufffd"); given != want {
				t.Errorf("%s: after %d ids %q came out, want %q", name, i+1, given, want)
			}
		}
	}
}

// TestStreamBytes has a character of each length as tokens of a byte each.
func TestStreamBytes(t *testing.T) {
	tok := open(t, "gpt2")
	alphabet := map[int]string{}
	for r := rune(0); r < 0x180; r++ {
		if b := alphabetByte(r); b >= 0 {
			alphabet[int(b)] = string(r)
		}
	}
	for _, c := range []string{"a", "é", "東", "🙂"} {
		s := tok.Stream(true)
		for i := range len(c) {
			id, ok := tok.TokenID(alphabet[int(c[i])])
			if !ok {
				t.Fatalf("no token for byte %02X", c[i])
			}
			if got, last := s.Next(id), i == len(c)-1; got != "" != last || last && got != c {
				t.Errorf("%s: %q with byte %d", c, got, i)
			}
		}
	}
}

// TestLongRows: bytes that go on for long come out nonetheless, and those that are not UTF-8 at
// once.
func TestLongRows(t *testing.T) {
	tok := open(t, "llama-untied")
	of := func(b byte) int {
		id, ok := tok.TokenID(fmt.Sprintf("<0x%02X>", b))
		if !ok {
			t.Fatalf("no token for byte %02X", b)
		}
		return id
	}
	var ids []int
	for _, b := range []byte(strings.Repeat("é", 100)) {
		ids = append(ids, of(b))
	}
	pieces := streamed(tok.Stream(true), append(slices.Clone(ids), of(0xff)))
	if first := slices.IndexFunc(pieces, func(s string) bool { return s != "" }); first != maxWaiting-1 {
		t.Errorf("the first piece comes with token %d", first)
	}
	if got := strings.Join(pieces, ""); !strings.HasPrefix(got, strings.Repeat("é", maxWaiting/2)) || !strings.HasSuffix(got, "\ufffd") {
		t.Errorf("a long row that breaks: %q", got)
	}
	s := tok.Stream(true)
	for i := range 9 {
		if got := s.Next(of(0xff)); got != "\ufffd" {
			t.Errorf("broken byte %d: %q", i, got)
		}
	}
}

// TestStreamCost: a token costs the same however many came before.
func TestStreamCost(t *testing.T) {
	for _, name := range []string{"gpt2", "llama-untied", "bert", "xlm-roberta"} {
		tok := open(t, name)
		e, err := tok.Encode("The quick brown fox jumps over the lazy dog, naïve café 東京. ", Options{NoSpecial: true})
		if err != nil {
			t.Fatal(err)
		}
		s := tok.Stream(true)
		cost := func(tokens int) uint64 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for i := range tokens {
				s.Next(e.IDs[i%len(e.IDs)])
			}
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		cost(100)
		if each := float64(cost(20000)) / 20000; each > 100 {
			t.Errorf("%s: %.0f bytes a token", name, each)
		}
	}
}

// BenchmarkStream decodes a token after many.
func BenchmarkStream(b *testing.B) {
	for _, name := range []string{"bert", "gpt2", "llama-untied", "xlm-roberta"} {
		tok := open(b, name)
		e, err := tok.Encode("The quick brown fox jumps over the lazy dog, naïve café 東京. ", Options{NoSpecial: true})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			s, i := tok.Stream(true), 0
			for b.Loop() {
				s.Next(e.IDs[i%len(e.IDs)])
				i++
			}
		})
	}
}
