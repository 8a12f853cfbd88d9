package tokenizer

// What a small file or a short text cannot make large or slow.

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avoformer/avoformer/fault"
)

// parse reads a tokenizer.json of a word-level model, of which fields are given.
func parse(tb testing.TB, fields string) *Tokenizer {
	tb.Helper()
	tok, err := Parse([]byte(`{"version":"1.0",` + fields + `"model":{"type":"WordLevel","vocab":{"a":0,"<unk>":1},"unk_token":"<unk>"}}`))
	if err != nil {
		tb.Fatal(err)
	}
	return tok
}

// TestNormalizersWithoutEnd: steps that double the text end with an error, and short texts are
// encoded as long as they stay short.
func TestNormalizersWithoutEnd(t *testing.T) {
	const twice = `{"type":"Replace","pattern":{"String":"a"},"content":"aa"}`
	tok := parse(t, `"normalizer":{"type":"Sequence","normalizers":[`+strings.Repeat(twice+",", 39)+twice+`]},`)
	if _, err := tok.Encode("a", Options{}); !errors.Is(err, fault.ErrText) {
		t.Errorf("40 doublings: %v", err)
	}
	if e, err := tok.Encode("b", Options{}); err != nil || len(e.IDs) != 1 {
		t.Errorf("a text that stays: %v", err)
	}
	levels := `"pre_tokenizer":{"type":"Sequence","pretokenizers":[` +
		strings.Repeat(`{"type":"ByteLevel","add_prefix_space":false,"use_regex":false},`, 39) + `{"type":"Whitespace"}]},`
	if _, err := parse(t, levels).Encode("é", Options{}); !errors.Is(err, fault.ErrText) {
		t.Errorf("40 spellings of bytes: %v", err)
	}
}

// TestPaddingLimits: lengths that only a file claims take no memory.
func TestPaddingLimits(t *testing.T) {
	for _, strategy := range []string{`{"Fixed":100000000}`, `{"Fixed":2147483646}`, `"BatchLongest"`} {
		fields := fmt.Sprintf(`"padding":{"strategy":%s,"direction":"Right","pad_to_multiple_of":2147483646,"pad_id":0,"pad_type_id":0,"pad_token":"a"},`, strategy)
		tok := parse(t, fields)
		if _, err := tok.Encode("a", Options{}); !errors.Is(err, fault.ErrPadding) {
			t.Errorf("%s: %v", strategy, err)
		}
		if _, err := tok.EncodeBatch([]string{"a", "a"}, Options{}); !errors.Is(err, fault.ErrPadding) {
			t.Errorf("%s of two: %v", strategy, err)
		}
	}
	tok := parse(t, "").WithPadding(&Padding{Length: maxPadding})
	if _, err := tok.EncodeBatch(make([]string, maxPaddingOfAll/maxPadding+1), Options{}); !errors.Is(err, fault.ErrPadding) {
		t.Errorf("many of a length that is possible: %v", err)
	}
	if e, err := tok.WithPadding(&Padding{Length: 64}).Encode("a", Options{}); err != nil || len(e.IDs) != 64 {
		t.Errorf("64 tokens: %v", err)
	}
}

// TestFinder: at each place the longest string, against a search one by one.
func TestFinder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	word := func(n int) string {
		b := make([]byte, 1+rng.IntN(n))
		for i := range b {
			b[i] = "abc"[rng.IntN(3)]
		}
		return string(b)
	}
	for range 300 {
		list := []string{""}
		for range rng.IntN(8) {
			if s := word(5); !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
		f, text := newFinder(list), word(40)
		got := f.appendAll(nil, []byte(text))
		slices.Reverse(got)
		var want []found
		for at := range text {
			best := 0
			for i, s := range list {
				if strings.HasPrefix(text[at:], s) && len(s) > len(list[best]) {
					best = i
				}
			}
			if best > 0 {
				want = append(want, found{int32(at), int32(best)})
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q in %q: %v, want %v", list, text, got, want)
		}
	}
}

// TestAddedTokensScale: texts that nearly hold a long token, or white space that tokens take, are
// no slower than other texts by more than the machine's moods. What looked again from each place
// would take minutes.
func TestAddedTokensScale(t *testing.T) {
	token := func(id int, content string, strip string) string {
		return fmt.Sprintf(`{"id":%d,"content":%q,"single_word":false,"lstrip":%t,"rstrip":%t,"normalized":%t,"special":false}`,
			id, content, strings.Contains(strip, "l"), strings.Contains(strip, "r"), strings.Contains(strip, "n"))
	}
	const size = 1 << 20
	for _, x := range []struct{ name, tokens, text string }{
		{"long", token(2, strings.Repeat("a", 30_000), ""), strings.Repeat(strings.Repeat("a", 29_999)+"b", size/30_000)},
		{"long and short", token(2, strings.Repeat("a", 30_000)+"b", "") + "," + token(3, "aa", ""), strings.Repeat("a", size)},
		{"long, normalized", token(2, strings.Repeat("a", 30_000), "n"), strings.Repeat(strings.Repeat("a", 29_999)+"b", size/30_000)},
		{"spaces before", token(2, " ", "l"), strings.Repeat(" ", size)},
		{"spaces after", token(2, " ", "r"), strings.Repeat(" ", size)},
		{"spaces around", token(2, "  ", "lr"), strings.Repeat(" ", size)},
		{"ideographic spaces", token(2, "\u3000", "r"), strings.Repeat("\u3000", size/3)},
		{"spaces before words", token(2, "b", "l") + "," + token(3, " ", "r"), strings.Repeat(" ", size) + "b"},
	} {
		tok := parse(t, `"added_tokens":[`+x.tokens+`],`)
		start := time.Now()
		if e, err := tok.Encode(x.text, Options{Offsets: Characters}); err != nil || len(e.IDs) == 0 {
			t.Errorf("%s: %v", x.name, err)
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s: a megabyte took %v", x.name, d)
		}
	}
}

// TestCharsmapEnd: a character map whose last string lacks its zero byte.
func TestCharsmapEnd(t *testing.T) {
	m, key := must(parseCharsmap(readContents(t, "testdata/t5").charsmap)), []byte("ﬁ")
	want, _ := m.lookup(key)
	m.text = m.text[:cap(m.text)-cap(want)+len(want)]
	if got, ok := m.lookup(key); !ok || string(got) != "fi" || string(want) != "fi" {
		t.Errorf("%q, before %q", got, want)
	}
}
