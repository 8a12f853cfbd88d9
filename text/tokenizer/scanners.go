package tokenizer

// Scanners for the patterns of common byte-level tokenizers, written by hand because they are
// faster than package onig. The text of a pattern selects its scanner.

import (
	"sync"
	"unicode/utf8"

	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
)

const (
	gpt2Source     = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	gpt2Short      = `'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	cl100kSource   = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwen35Source   = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwen2Source    = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	marksSource    = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	o200kSource    = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	tekkenSource   = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	deepseekSource = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
)

var scanners = scannersOf(map[string]func(text []byte) int{
	gpt2Source:     scanGPT2,
	gpt2Short:      scanGPT2,
	cl100kSource:   func(text []byte) int { return scanWords(text, ucd.L, 3) },
	qwen2Source:    func(text []byte) int { return scanWords(text, ucd.L, 1) },
	marksSource:    func(text []byte) int { return scanWords(text, ucd.L|ucd.M, 1) },
	o200kSource:    func(text []byte) int { return scanCased(text, true, 3) },
	tekkenSource:   func(text []byte) int { return scanCased(text, false, 1) },
	deepseekSource: scanDeepSeek,
})

func scannersOf(scans map[string]func(text []byte) int) map[string]scanner {
	all := map[string]scanner{}
	for source, scan := range scans {
		all[source] = scanner{scan, source}
	}
	return all
}

var gpt2Scanner = scanner{scanGPT2, gpt2Source}

// The properties of characters, which are there once needProperties has run: each function that
// makes a tokenizer calls it.
var (
	properties ucd.Table
	asciiProps [utf8.RuneSelf]ucd.Props
)

// needProperties takes a millisecond, which programs without a tokenizer do not pay.
var needProperties = sync.OnceFunc(func() {
	properties = ucd.Properties()
	for r := range asciiProps {
		asciiProps[r] = properties.Of(rune(r))
	}
})

// at returns the properties and the size of the character at text[i:]. The size is 0 at the end.
func at(text []byte, i int) (ucd.Props, int) {
	if i >= len(text) {
		return 0, 0
	}
	if b := text[i]; b < utf8.RuneSelf {
		return asciiProps[b], 1
	}
	r, n := utf8.DecodeRune(text[i:])
	return properties.Of(r), n
}

// run returns the end of the characters at text[i:] that have one of the properties.
func run(text []byte, i int, in ucd.Props) int {
	for {
		p, n := at(text, i)
		if p&in == 0 {
			return i
		}
		i += n
	}
}

// runOthers returns the end of the characters at text[i:] that have none of the properties.
func runOthers(text []byte, i int, out ucd.Props) int {
	for {
		p, n := at(text, i)
		if n == 0 || p&out != 0 {
			return i
		}
		i += n
	}
}

func isNewline(text []byte, i int) bool {
	return i < len(text) && (text[i] == '\n' || text[i] == '\r')
}

// contraction matches 's, 't, 're, 've, 'm, 'll and 'd. With fold it ignores case, and ſ is an s.
func contraction(text []byte, fold bool) int {
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	lower := func(i int) byte {
		if i >= len(text) {
			return 0
		}
		b := text[i]
		if fold && 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		return b
	}
	switch lower(1) {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if lower(2) == 'e' {
			return 3
		}
	case 'l':
		if lower(2) == 'l' {
			return 3
		}
	case 0xC5: // ſ is C5 BF
		if fold && lower(2) == 0xBF {
			return 3
		}
	}
	return 0
}

// white matches \s*[\r\n]+|\s+(?!\S)|\s+, or without lines only \s+(?!\S)|\s+. It takes white space
// up to its last line break. Without a line break it takes all but the last character, which
// belongs to the next match, or that character if there is only one.
func white(text []byte, lines bool) int {
	end, last, newline := 0, 0, 0
	for {
		p, n := at(text, end)
		if p&ucd.White == 0 {
			break
		}
		last = end
		end += n
		if lines && (text[last] == '\n' || text[last] == '\r') {
			newline = end
		}
	}
	switch {
	case newline > 0:
		return newline
	case end < len(text) && last > 0:
		return last
	}
	return end
}

func scanGPT2(text []byte) int {
	if n := contraction(text, false); n > 0 {
		return n
	}
	i := 0
	if text[0] == ' ' {
		i = 1
	}
	switch p, n := at(text, i); {
	case n == 0:
	case p&ucd.L != 0:
		return run(text, i+n, ucd.L)
	case p&ucd.N != 0:
		return run(text, i+n, ucd.N)
	case p&ucd.White == 0:
		return runOthers(text, i+n, ucd.White|ucd.L|ucd.N)
	}
	return white(text, false)
}

// digits matches one to limit numbers.
func digits(text []byte, limit int) int {
	i := 0
	for range limit {
		p, n := at(text, i)
		if p&ucd.N == 0 {
			break
		}
		i += n
	}
	return i
}

// others matches ` ?[^…]+[\r\n]*`, where … are white space and out. With slashes, a slash at the
// end counts as a line break.
func others(text []byte, out ucd.Props, slashes bool) int {
	start := 0
	if text[0] == ' ' {
		start = 1
	}
	i := runOthers(text, start, ucd.White|out)
	if i == start {
		return 0
	}
	for isNewline(text, i) || slashes && i < len(text) && text[i] == '/' {
		i++
	}
	return i
}

// scanWords returns the pattern of cl100k. The letters of words have a property of letter, and
// numbers are cut after limit digits.
func scanWords(text []byte, letter ucd.Props, limit int) int {
	p, n := at(text, 0)
	if p&letter != 0 && p&ucd.L != 0 {
		return run(text, n, letter)
	}
	if n := contraction(text, true); n > 0 {
		return n
	}
	if p&ucd.N == 0 && !isNewline(text, 0) {
		if end := run(text, n, letter); end > n {
			return end
		}
	}
	switch {
	case p&letter != 0:
		return run(text, n, letter)
	case p&ucd.N != 0:
		return digits(text, limit)
	}
	if n := others(text, letter|ucd.N, false); n > 0 {
		return n
	}
	return white(text, true)
}

const (
	upper = ucd.Lu | ucd.Lt | ucd.Lm | ucd.Lo | ucd.M
	lower = ucd.Ll | ucd.Lm | ucd.Lo | ucd.M
)

// scanCased returns the pattern of o200k, which also cuts words where lower case ends.
func scanCased(text []byte, contractions bool, limit int) int {
	p, n := at(text, 0)
	prefix := 0
	if p&(ucd.L|ucd.N) == 0 && !isNewline(text, 0) {
		prefix = n
	}
	word := 0
	if prefix > 0 {
		word = endsLower(text, prefix)
	}
	if word == 0 {
		word = endsLower(text, 0)
	}
	if word == 0 && prefix > 0 {
		word = allUpper(text, prefix)
	}
	if word == 0 {
		word = allUpper(text, 0)
	}
	if word > 0 {
		if contractions {
			word += contraction(text[word:], true)
		}
		return word
	}
	if p&ucd.N != 0 {
		return digits(text, limit)
	}
	if n := others(text, ucd.L|ucd.N, true); n > 0 {
		return n
	}
	return white(text, true)
}

// endsLower matches upper*lower+ at text[i:]. Letters without case and marks are in both classes.
func endsLower(text []byte, i int) int {
	shared := 0 // the end of the last character that is in both classes
	for {
		p, n := at(text, i)
		if p&upper == 0 {
			if end := run(text, i, lower); end > i {
				return end
			}
			return shared
		}
		i += n
		if p&lower != 0 {
			shared = i
		}
	}
}

// allUpper matches upper+lower*.
func allUpper(text []byte, i int) int {
	if end := run(text, i, upper); end > i {
		return run(text, end, lower)
	}
	return 0
}

// scanDeepSeek returns the third pattern of DeepSeek V3. The first two isolate numbers, and Chinese
// and Japanese.
func scanDeepSeek(text []byte) int {
	p, n := at(text, 0)
	if text[0] < utf8.RuneSelf && p&(ucd.P|ucd.S) != 0 {
		i := 1
		for i < len(text) && (text[i]|0x20) >= 'a' && (text[i]|0x20) <= 'z' {
			i++
		}
		if i > 1 {
			return i
		}
	}
	if p&(ucd.L|ucd.P|ucd.S) == 0 && !isNewline(text, 0) {
		if end := run(text, n, ucd.L|ucd.M); end > n {
			return end
		}
	}
	if p&(ucd.L|ucd.M) != 0 {
		return run(text, n, ucd.L|ucd.M)
	}
	start := 0
	if text[0] == ' ' {
		start = 1
	}
	if i := run(text, start, ucd.P|ucd.S); i > start {
		for isNewline(text, i) {
			i++
		}
		return i
	}
	return white(text, true)
}

// scanner is a well-known pattern.
type scanner struct {
	scan   func(text []byte) int // returns the length of the match at the beginning of a text, or 0
	source string
}
