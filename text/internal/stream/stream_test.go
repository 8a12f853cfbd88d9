package stream

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/text/tokenizer"
)

// TestStreamStops streams random tokens with random stop strings, and finds what decoding all
// tokens each time finds: the text up to the first stop string.
func TestStreamStops(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, name := range []string{"gpt2", "llama-untied", "bert", "t5"} {
		tok, err := tokenizer.Open("../../tokenizer/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		stopped := 0
		for range 400 {
			tokens := make([]int, r.IntN(40))
			for i := range tokens {
				tokens[i] = r.IntN(tok.Size())
			}
			var stop []string
			for range r.IntN(4) { // pieces of the text, mostly
				all := tok.Decode(tokens, true)
				at := r.IntN(len(all) + 1)
				stop = append(stop, strings.ReplaceAll(strings.ToValidUTF8(all[at:min(at+1+r.IntN(4), len(all))], ""), "\ufffd", "")+[]string{"", "", "x"}[r.IntN(3)])
				if stop[len(stop)-1] == "" {
					stop[len(stop)-1] = "e"
				}
			}
			want := ""
			for i := range tokens {
				want = tok.Decode(tokens[:i+1], true)
				if at := first(want, stop); at >= 0 {
					want = want[:at]
					break
				}
			}
			s, got, ended := New(tok, Stops{Strings: stop}, nil), "", false
			for _, token := range tokens {
				var piece string
				if piece, ended = s.Add(token); piece != "" {
					got += piece
				}
				if ended {
					stopped++
					break
				}
				if at := first(got, stop); at >= 0 {
					t.Fatalf("%s: stop %q: %q came out", name, stop, got)
				}
			}
			if !ended {
				got += s.Rest()
			}
			if got != want && !(name == "llama-untied" && strings.Contains(want, "\ufffd")) { // what stops may be part of a row of bytes that breaks later
				t.Fatalf("%s: stop %q: %q, want %q", name, stop, got, want)
			}
		}
		if stopped < 50 {
			t.Errorf("%s: %d texts ended early", name, stopped)
		}
	}
}

func TestCertain(t *testing.T) {
	for _, c := range []struct {
		text string
		stop []string
		want string
	}{
		{"xabc", []string{"abcd", "cx"}, "x"}, {"xabc", []string{"cx", "abcd"}, "x"}, {"abab", []string{"abc"}, "ab"}, {"aa", []string{"aaa"}, ""},
		{"xyz", []string{"q"}, "xyz"}, {"xé", []string{"\xa9!"}, "x"}, {"é", nil, "é"},
	} {
		s := &Stream{stop: Stops{Strings: c.stop}}
		if got := c.text[:s.certain(c.text)]; got != c.want {
			t.Errorf("%q before one of %q: %q is certain, want %q", c.text, c.stop, got, c.want)
		}
	}
}

// first is where the first of some strings begins in s, or -1.
func first(s string, of []string) int {
	least := -1
	for _, x := range of {
		if at := strings.Index(s, x); at >= 0 && (least < 0 || at < least) {
			least = at
		}
	}
	return least
}

// TestStreamMemory: 4,096 tokens cost as many times what 256 do.
func TestStreamMemory(t *testing.T) {
	tok, err := tokenizer.Open("../../tokenizer/testdata/llama-untied")
	if err != nil {
		t.Fatal(err)
	}
	e, err := tok.Encode("The quick brown fox jumps over the lazy dog, naïve café 東京. ", tokenizer.Options{NoSpecial: true})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := New(tok, Stops{Strings: []string{"\nUser:", "</answer>"}}, nil)
	for i := range 4096 {
		s.Add(e.IDs[i%len(e.IDs)])
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes for 4,096 tokens", got)
	}
}

// TestMarkers lets the special tokens through that are named.
func TestMarkers(t *testing.T) {
	tok, err := tokenizer.Open("../../testdata/generate")
	if err != nil {
		t.Fatal(err)
	}
	e, err := tok.Encode("<|im_start|>So<|endoftext|> be it", tokenizer.Options{NoSpecial: true})
	if err != nil {
		t.Fatal(err)
	}
	for want, markers := range map[string][]string{"So be it": nil, "<|im_start|>So be it": {"<|im_start|>"}, "So<|endoftext|> be it": {"x", "<|endoftext|>"}} {
		s, got := New(tok, Stops{}, markers), ""
		for _, id := range e.IDs {
			text, _ := s.Add(id)
			got += text
		}
		if got += s.Rest(); got != want {
			t.Errorf("%q: %q, want %q", markers, got, want)
		}
	}
}
