package tokenizer

// Decoders turn tokens into text.

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/avoformer/avoformer/text/tokenizer/internal/onig"
)

// decoder changes the strings of tokens. Decode then joins them.
type decoder interface {
	decode(tokens []string) []string
}

type decoders []decoder

func (list decoders) decode(tokens []string) []string {
	for _, d := range list {
		tokens = d.decode(tokens)
	}
	return tokens
}

// maxGrowth bounds the factor by which decoders may lengthen a text.
const maxGrowth = 1 << 10

// growth returns a bound on the bytes that d makes of one byte, without the bytes that it puts
// between tokens.
func growth(d decoder) float64 {
	each := func(content, found int) float64 { return max(1, float64(content)/float64(max(1, found))) }
	switch d := d.(type) {
	case decoders:
		product := 1.0
		for _, x := range d {
			product *= growth(x)
		}
		return product
	case replaceDecoder:
		if p, ok := d.pattern.(literal); ok {
			return each(len(d.content), len(p))
		}
		return each(len(d.content), 1)
	case bpeDecoder:
		if d == "" { // matches between all characters
			return 2
		}
	case ctcDecoder:
		if d.delimiter == "" {
			return 2
		}
	}
	return 1
}

// byteLevelDecoder turns the byte alphabet into bytes. A token with any other character stays as it
// is.
type byteLevelDecoder struct{}

func (byteLevelDecoder) decode(tokens []string) []string {
	var out []byte
	for _, t := range tokens {
		out = appendBytes(out, t)
	}
	return []string{lossy(out)}
}

// appendBytes appends the bytes that a token spells in the byte alphabet, or the bytes of the token
// itself if it has other characters.
func appendBytes(out []byte, token string) []byte {
	start := len(out)
	for _, r := range token {
		b := alphabetByte(r)
		if b < 0 {
			return append(out[:start], token...)
		}
		out = append(out, byte(b))
	}
	return out
}

// lossy replaces bytes that are not UTF-8 with U+FFFD, one for each maximal part of a character.
// The Unicode Standard recommends this (section 3.9), and Rust does it.
func lossy(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			n = brokenLength(b)
			out.WriteRune(utf8.RuneError)
		} else {
			out.Write(b[:n])
		}
		b = b[n:]
	}
	return out.String()
}

// brokenLength returns the length of the incomplete character at the beginning of b: its first byte
// and the bytes after it that fit.
func brokenLength(b []byte) int {
	lo, hi := byte(0x80), byte(0xBF) // the range of the second byte
	switch c := b[0]; {
	case c < 0xC2 || c > 0xF4: // not a first byte
		return 1
	case c == 0xE0:
		lo = 0xA0
	case c == 0xED:
		hi = 0x9F
	case c == 0xF0:
		lo = 0x90
	case c == 0xF4:
		hi = 0x8F
	}
	n := 1
	for n < len(b) && b[n] >= lo && b[n] <= hi {
		lo, hi = 0x80, 0xBF
		n++
	}
	return n
}

// wordPieceDecoder joins continuations to the token before, and puts a space before every other
// token.
type wordPieceDecoder struct {
	prefix  string
	cleanup bool
}

func (d wordPieceDecoder) decode(tokens []string) []string {
	for i, t := range tokens {
		if i > 0 {
			if rest, ok := strings.CutPrefix(t, d.prefix); ok {
				t = rest
			} else {
				t = " " + t
			}
		}
		if d.cleanup {
			t = CleanUp(t)
		}
		tokens[i] = t
	}
	return tokens
}

var cleanUps = [][2]string{
	{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"},
	{" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
}

// CleanUp removes the spaces that tokenizing English inserts, like clean_up_tokenization of
// transformers.
func CleanUp(s string) string {
	if !strings.Contains(s, " ") {
		return s
	}
	for _, c := range cleanUps {
		s = strings.ReplaceAll(s, c[0], c[1])
	}
	return s
}

type metaspaceDecoder struct {
	replacement rune
	prepended   bool
}

func (d metaspaceDecoder) decode(tokens []string) []string {
	for i, t := range tokens {
		to := " "
		if i == 0 && d.prepended {
			to = ""
		}
		tokens[i] = strings.ReplaceAll(t, string(d.replacement), to)
	}
	return tokens
}

// bpeDecoder turns the mark at the end of a word into a space.
type bpeDecoder string

func (d bpeDecoder) decode(tokens []string) []string {
	for i, t := range tokens {
		to := " "
		if i == len(tokens)-1 {
			to = ""
		}
		tokens[i] = strings.ReplaceAll(t, string(d), to)
	}
	return tokens
}

// byteFallbackDecoder joins successive tokens such as <0x0A>. If they are not UTF-8 together, each
// of them becomes U+FFFD.
type byteFallbackDecoder struct{}

func (byteFallbackDecoder) decode(tokens []string) []string {
	var out []string
	var row []byte
	flush := func() {
		out = appendRow(out, row)
		row = row[:0]
	}
	for _, t := range tokens {
		if b, ok := byteToken(t); ok {
			row = append(row, b)
			continue
		}
		flush()
		out = append(out, t)
	}
	flush()
	return out
}

// appendRow appends successive bytes as one string if they are UTF-8, and otherwise U+FFFD for each
// byte.
func appendRow(out []string, row []byte) []string {
	if utf8.Valid(row) && len(row) > 0 {
		return append(out, string(row))
	}
	for range row {
		out = append(out, string(utf8.RuneError))
	}
	return out
}

func byteToken(t string) (byte, bool) {
	if len(t) != 6 || t[:3] != "<0x" || t[5] != '>' {
		return 0, false
	}
	digits := t[3:5]
	if digits[0] == '+' { // Rust accepts a sign
		digits = digits[1:]
	}
	n, err := strconv.ParseUint(digits, 16, 8)
	return byte(n), err == nil
}

type fuseDecoder struct{}

func (fuseDecoder) decode(tokens []string) []string { return []string{strings.Join(tokens, "")} }

// stripDecoder removes characters from the ends of each token.
type stripDecoder struct {
	content     string
	start, stop int
}

func (d stripDecoder) decode(tokens []string) []string {
	for i, t := range tokens {
		for n := 0; n < d.start && strings.HasPrefix(t, d.content); n++ {
			t = t[len(d.content):]
		}
		for n := 0; n < d.stop && strings.HasSuffix(t, d.content); n++ {
			t = t[:len(t)-len(d.content)]
		}
		tokens[i] = t
	}
	return tokens
}

type replaceDecoder struct {
	pattern pattern
	content string
}

func (d replaceDecoder) decode(tokens []string) []string {
	var places []onig.Place
	for i, t := range tokens {
		var out []byte
		text, done := []byte(t), int32(0)
		places = d.pattern.appendAll(places[:0], text)
		for _, x := range places {
			out = append(append(out, text[done:x.Start]...), d.content...)
			done = x.End
		}
		if done > 0 {
			tokens[i] = string(append(out, text[done:]...))
		}
	}
	return tokens
}

// ctcDecoder drops repeated tokens and padding.
type ctcDecoder struct {
	pad, delimiter string
	cleanup        bool
}

func (d ctcDecoder) decode(tokens []string) []string {
	var out []string
	for i, t := range tokens {
		if i > 0 && t == tokens[i-1] {
			continue
		}
		t = strings.ReplaceAll(t, d.pad, "")
		if d.cleanup {
			t = strings.ReplaceAll(CleanUp(t), d.delimiter, " ")
		}
		if t != "" {
			out = append(out, t)
		}
	}
	return out
}
