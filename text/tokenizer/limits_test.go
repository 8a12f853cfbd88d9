package tokenizer

// What a small file or a short text cannot make large or slow.

import (
	"errors"
	"fmt"
	"strings"
	"testing"
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

// TestNormalizersWithoutEnd: steps that double the text end with an error, and short texts
// are encoded as long as they stay short.
func TestNormalizersWithoutEnd(t *testing.T) {
	const twice = `{"type":"Replace","pattern":{"String":"a"},"content":"aa"}`
	tok := parse(t, `"normalizer":{"type":"Sequence","normalizers":[`+strings.Repeat(twice+",", 39)+twice+`]},`)
	if _, err := tok.Encode("a", Options{}); !errors.Is(err, ErrText) {
		t.Errorf("40 doublings: %v", err)
	}
	if e, err := tok.Encode("b", Options{}); err != nil || len(e.IDs) != 1 {
		t.Errorf("a text that stays: %v", err)
	}
	levels := `"pre_tokenizer":{"type":"Sequence","pretokenizers":[` +
		strings.Repeat(`{"type":"ByteLevel","add_prefix_space":false,"use_regex":false},`, 39) + `{"type":"Whitespace"}]},`
	if _, err := parse(t, levels).Encode("é", Options{}); !errors.Is(err, ErrText) {
		t.Errorf("40 spellings of bytes: %v", err)
	}
}

// TestPaddingLimits: lengths that only a file claims take no memory.
func TestPaddingLimits(t *testing.T) {
	for _, strategy := range []string{`{"Fixed":100000000}`, `{"Fixed":2147483646}`, `"BatchLongest"`} {
		fields := fmt.Sprintf(`"padding":{"strategy":%s,"direction":"Right","pad_to_multiple_of":2147483646,"pad_id":0,"pad_type_id":0,"pad_token":"a"},`, strategy)
		tok := parse(t, fields)
		if _, err := tok.Encode("a", Options{}); !errors.Is(err, ErrPadding) {
			t.Errorf("%s: %v", strategy, err)
		}
		if _, err := tok.EncodeBatch([]string{"a", "a"}, Options{}); !errors.Is(err, ErrPadding) {
			t.Errorf("%s of two: %v", strategy, err)
		}
	}
	tok := parse(t, "").WithPadding(&Padding{Length: maxPadding})
	if _, err := tok.EncodeBatch(make([]string, maxPaddingOfAll/maxPadding+1), Options{}); !errors.Is(err, ErrPadding) {
		t.Errorf("many of a length that is possible: %v", err)
	}
	if e, err := tok.WithPadding(&Padding{Length: 64}).Encode("a", Options{}); err != nil || len(e.IDs) != 64 {
		t.Errorf("64 tokens: %v", err)
	}
}
