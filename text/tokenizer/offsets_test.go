package tokenizer

// Offsets in bytes and in characters.

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unicode/utf8"
)

// TestByteOffsetsAreWhole: offsets in bytes lie where characters begin and end, where a
// post-processor takes white space of several bytes off, too.
func TestByteOffsetsAreWhole(t *testing.T) {
	const text = "a\u3000 b\u3000\u00a0é\u3000"
	tok, err := Parse([]byte(`{"model":{"type":"WordLevel","vocab":{"a":0,"\u3000 b":1,"\u3000\u00a0é":2,"\u3000":3},"unk_token":"a"},
		"pre_tokenizer":{"type":"Split","pattern":{"Regex":"\\s*\\w"},"behavior":"Isolated","invert":false},
		"post_processor":{"type":"RobertaProcessing","sep":["a",0],"cls":["a",0],"trim_offsets":true,"add_prefix_space":false}}`))
	if err != nil {
		t.Fatal(err)
	}
	for unit, want := range map[Offsets][]Offset{
		Characters: {{0, 1}, {3, 4}, {6, 7}, {8, 8}},
		Bytes:      {{0, 1}, {5, 6}, {11, 13}, {16, 16}},
	} {
		e, err := tok.Encode(text, Options{NoSpecial: true, Offsets: unit})
		if err != nil || !slices.Equal(e.Offsets, want) {
			t.Errorf("unit %d: %v, %v, want %v", unit, e.Offsets, err, want)
		}
	}
}

// TestSpaceAtStart compares with the offsets of Hugging Face's tokenizers where text begins with
// space, one of which the tokenizer may have put there itself.
func TestSpaceAtStart(t *testing.T) {
	for _, x := range []struct {
		text         string
		plain, added []Offset // by add_prefix_space
	}{
		{" ", []Offset{{1, 1}}, []Offset{{0, 0}}},
		{"  a", []Offset{{1, 1}, {2, 3}}, []Offset{{0, 0}, {2, 3}}},
		{"   a", []Offset{{2, 2}, {3, 4}}, []Offset{{2, 2}, {3, 4}}},
		{" a ", []Offset{{1, 2}, {3, 3}}, []Offset{{0, 2}, {3, 3}}},
	} {
		for prefixSpace, want := range map[string][]Offset{"false": x.plain, "true": x.added} {
			tok, err := Parse([]byte(`{"model":{"type":"WordLevel","vocab":{"a":0," ":1,"  ":2," a":3},"unk_token":"a"},
				"pre_tokenizer":{"type":"Split","pattern":{"Regex":"\\s+(?=\\s)|\\s*\\w|\\s+"},"behavior":"Isolated","invert":false},
				"post_processor":{"type":"RobertaProcessing","sep":["a",0],"cls":["a",0],"trim_offsets":true,"add_prefix_space":` + prefixSpace + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			e, err := tok.Encode(x.text, Options{NoSpecial: true, Offsets: Bytes})
			if err != nil || !slices.Equal(e.Offsets, want) {
				t.Errorf("add_prefix_space %s, %q: %v, %v, want %v", prefixSpace, x.text, e.Offsets, err, want)
			}
		}
	}
}

func TestWholeCharacters(t *testing.T) {
	const text = "aé\xff東\xe6\x9d"
	for _, x := range []struct{ in, want Offset }{
		{Offset{0, 1}, Offset{0, 1}},
		{Offset{1, 2}, Offset{1, 3}},
		{Offset{2, 3}, Offset{1, 3}},
		{Offset{2, 2}, Offset{1, 3}},
		{Offset{1, 1}, Offset{1, 1}},
		{Offset{3, 4}, Offset{3, 4}},
		{Offset{5, 6}, Offset{4, 7}},
		{Offset{8, 9}, Offset{8, 9}},
		{Offset{7, 8}, Offset{7, 8}},
		{Offset{0, 99}, Offset{0, 9}},
		{Offset{50, 99}, Offset{9, 9}},
	} {
		got := []Offset{x.in}
		if wholeCharacters(text, got); got[0] != x.want {
			t.Errorf("%v: %v, want %v", x.in, got[0], x.want)
		}
	}
}

// TestCountCharacters: places in any order, against counting anew.
func TestCountCharacters(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var text []byte
		for range 300 {
			text = utf8.AppendRune(text, []rune("aé東😀")[rng.IntN(4)])
		}
		var places, want []Offset
		for range 200 {
			start := rng.IntN(len(text))
			end := start + rng.IntN(len(text)-start+1)
			places = append(places, Offset{start, end})
			count := func(to int) (n int) {
				for at := range string(text) {
					if _, size := utf8.DecodeRune(text[at:]); at+size <= to {
						n++
					}
				}
				return n
			}
			want = append(want, Offset{count(start), count(end)})
		}
		countCharacters(string(text), places)
		if !slices.Equal(places, want) {
			t.Fatalf("%v, want %v", places, want)
		}
	}
}
