// This file joins the tokens of a decoder to words with times.

package speech

import (
	"math"
	"strings"
	"unicode/utf8"
)

// A WordReader joins tokens to words, as transformers' pipeline does with return_timestamps="word".
// A word ends where the model writes a time.
type WordReader struct {
	First   int                    // the token of 0 seconds; tokens from it on are timestamps
	End     int                    // the token that ends a text; each token from it on is a word of its own
	Letters bool                   // each character is a word
	Special func(token int) bool   // reports whether a token is special and has no text
	Decode  func(ids []int) string // returns the text of tokens

	words  []Segment // complete words
	tokens []int     // the tokens after them
	spans  []Segment // the times of these tokens, without texts
	before float64   // the time of the last token
}

// Add appends a token that was said at a time in seconds.
func (r *WordReader) Add(token int, at float64) {
	at = math.Round(at*100) / 100
	switch {
	case r.Special(token):
	case token >= r.First:
		r.close()
	default:
		r.tokens, r.spans = append(r.tokens, token), append(r.spans, Segment{Start: r.before, End: at})
	}
	r.before = at
}

// Words returns the words of all tokens. A word between spaces begins with its space.
func (r *WordReader) Words() []Segment {
	r.close()
	return r.words
}

// close completes the words of the tokens so far.
func (r *WordReader) close() {
	words := r.characters()
	if !r.Letters {
		words = r.spaced(words)
	}
	at := 0
	for _, w := range punctuated(words) {
		if w.text != "" {
			r.words = append(r.words, Segment{r.spans[at].Start, r.spans[at+w.tokens-1].End, w.text})
		}
		at += w.tokens
	}
	r.tokens, r.spans = nil, nil
}

// A tokenText is the text of consecutive tokens.
type tokenText struct {
	text   string
	first  int // the first of the tokens
	tokens int
}

// characters returns the parts of the tokens that are whole characters. It leaves out a character
// of which the last tokens have only some bytes.
func (r *WordReader) characters() (parts []tokenText) {
	const unknown = string(utf8.RuneError)
	whole := []rune(r.Decode(r.tokens))
	offset, from := 0, 0
	for i := range r.tokens {
		text := r.Decode(r.tokens[from : i+1])
		if before, _, cut := strings.Cut(text, unknown); cut { // unless the whole text has it there, too
			if at := offset + utf8.RuneCountInString(before); at < len(whole) && whole[at] != utf8.RuneError {
				continue
			}
		}
		parts = append(parts, tokenText{text, r.tokens[from], i + 1 - from})
		offset, from = offset+utf8.RuneCountInString(text), i+1
	}
	return parts
}

// spaced joins parts to words, which begin with a space or are punctuation.
func (r *WordReader) spaced(parts []tokenText) (words []tokenText) {
	const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	for _, p := range parts {
		last := len(words) - 1
		if last < 0 || p.first >= r.End || strings.HasPrefix(p.text, " ") || strings.Contains(punctuation, strings.TrimSpace(p.text)) {
			words = append(words, p)
			continue
		}
		words[last].text, words[last].tokens = words[last].text+p.text, words[last].tokens+p.tokens
	}
	return words
}

// punctuated joins opening marks with the words after them, and closing marks with those before.
func punctuated(words []tokenText) []tokenText {
	const opening, closing = "\"'“¡¿([{-", "\"'.。,，!！?？:：”)]}、"
	var all []tokenText // in reverse
	for i := len(words) - 1; i >= 0; i-- {
		w, last := words[i], len(all)-1
		if last >= 0 && strings.HasPrefix(w.text, " ") && strings.Contains(opening, strings.TrimSpace(w.text)) {
			all[last].text, all[last].tokens = w.text+all[last].text, all[last].tokens+w.tokens
			continue
		}
		all = append(all, w)
	}
	words = words[:0]
	for i := len(all) - 1; i >= 0; i-- {
		w, last := all[i], len(words)-1
		if last >= 0 && !strings.HasSuffix(words[last].text, " ") && strings.Contains(closing, w.text) {
			words[last].text, words[last].tokens = words[last].text+w.text, words[last].tokens+w.tokens
			continue
		}
		words = append(words, w)
	}
	return words
}
