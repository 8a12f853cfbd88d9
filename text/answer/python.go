// Literals of Python.

package answer

import (
	"math/big"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/runenames"
)

// escape appends what a backslash and the bytes after it mean in a string of Python. The escapes
// that Python does not know stay as they are, and so do all in a raw string.
func (r *reader) escape(dst []byte, raw bool) (all []byte, ok bool) {
	r.at++
	c := r.peek()
	if r.short {
		return dst, false
	}
	if raw {
		r.at++
		return append(appendText(append(dst, `\\`...), ""), appendText(nil, r.in[r.at-1:r.at])...), true
	}
	r.at++
	const escaped, means = "\\'\"abfnrtv", "\\'\"\a\b\f\n\r\t\v"
	switch at := strings.IndexByte(escaped, c); {
	case at >= 0:
		return appendText(dst, means[at:at+1]), true
	case c == '\n':
		return dst, true
	case c >= '0' && c <= '7':
		code := int(c - '0')
		for range 2 {
			if c = r.peek(); c < '0' || c > '7' {
				break
			}
			code = 8*code + int(c-'0')
			r.at++
		}
		return appendRune(dst, rune(code)), true
	case c == 'N':
		name, ok := r.braced()
		if !ok {
			return dst, false
		}
		code, ok := named(name)
		return appendRune(dst, code), ok
	case c == 'x' || c == 'u' || c == 'U':
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
		if len(r.in)-r.at < digits {
			r.at, r.short = len(r.in), true
			return dst, false
		}
		code, err := strconv.ParseUint(r.in[r.at:r.at+digits], 16, 32)
		r.at += digits
		return appendRune(dst, rune(code)), err == nil && code <= utf8.MaxRune
	}
	r.at-- // the byte is text
	return append(dst, `\\`...), true
}

// braced passes and returns the text between { and }.
func (r *reader) braced() (text string, ok bool) {
	if r.peek() != '{' {
		return "", false
	}
	rest := r.in[r.at+1:]
	end := strings.IndexByte(rest, '}')
	if end < 0 {
		r.short = len(rest) <= maxWord
		return "", false
	}
	r.at += end + 2
	return rest[:end], true
}

// appendRune appends a character to a string of JSON. Half of a surrogate pair can only be written
// as an escape.
func appendRune(dst []byte, c rune) []byte {
	if c >= 0xd800 && c < 0xe000 {
		return append(append(dst, `\u`...), strconv.FormatInt(int64(c), 16)...)
	}
	return appendText(dst, string(c))
}

// named returns the character that has a name in Unicode, in any case.
func named(name string) (rune, bool) {
	name = strings.ToUpper(name)
	const ideograph = "CJK UNIFIED IDEOGRAPH-"
	if digits, ok := strings.CutPrefix(name, ideograph); ok {
		code, err := strconv.ParseUint(digits, 16, 32)
		return rune(code), err == nil && code <= utf8.MaxRune && strings.HasPrefix(runenames.Name(rune(code)), "<CJK Ideograph")
	}
	c, ok := names()[name]
	return c, ok
}

// names has the characters by their names. It is made when a name is first looked up.
var names = sync.OnceValue(func() map[string]rune {
	all := make(map[string]rune, 1<<15)
	for c := rune(0); c <= utf8.MaxRune; c++ {
		if name := runenames.Name(c); name != "" && name[0] != '<' {
			all[name] = c
		}
	}
	for i := range len(hangulL) * len(hangulV) * len(hangulT) {
		l, v, t := i/(len(hangulV)*len(hangulT)), i/len(hangulT)%len(hangulV), i%len(hangulT)
		all["HANGUL SYLLABLE "+hangulL[l]+hangulV[v]+hangulT[t]] = 0xac00 + rune(i)
	}
	return all
})

// The parts of the names of Hangul syllables, in the order of their code points (Unicode, 3.12).
var (
	hangulL = strings.Split("G GG N D DD R M B BB S SS  J JJ C K T P H", " ")
	hangulV = strings.Split("A AE YA YAE EO E YEO YE O WA WAE OE YO U WEO WE WI YU EU YI I", " ")
	hangulT = strings.Split(" G GG GS N NJ NH D L LG LM LB LS LT LP LH M B BS S SS NG J C K T P H", " ")
)

// pythonWord passes a constant or a number, and appends its JSON.
func (r *reader) pythonWord(dst []byte, constants map[string]string) (all []byte, ok bool) {
	const stop = ",:()[]{}#\\"
	sign := ""
	if c := r.peek(); c == '+' || c == '-' {
		r.at++
		r.blank(true)
		if c == '-' {
			sign = "-"
		}
		groups := 0 // around the number
		for ; r.peek() == '(' && groups < maxSpace; groups++ {
			r.at++
			r.blank(true)
		}
		word, ok := r.constant(stop)
		for ; ok && groups > 0; groups-- {
			r.blank(true)
			ok = r.literal(")")
		}
		number, valid := pythonNumber(word)
		return append(append(dst, sign...), number...), ok && valid
	}
	word, ok := r.constant(stop)
	if constant, known := constants[word]; known {
		return append(dst, constant...), ok
	}
	number, valid := pythonNumber(word)
	return append(dst, number...), ok && valid
}

// pythonNumber returns the JSON of a number without a sign.
func pythonNumber(word string) (number string, ok bool) {
	if word == "" || word[0] != '.' && (word[0] < '0' || word[0] > '9') {
		return "", false
	}
	lower := strings.ToLower(word)
	if len(lower) > 1 && lower[0] == '0' && strings.IndexByte("xob", lower[1]) >= 0 || strings.Trim(lower, "0123456789_") == "" {
		if plain := strings.ReplaceAll(lower, "_", ""); plain != strings.Repeat("0", len(plain)) && plain[0] == '0' && plain[1] <= '9' {
			return "", false // Python has no octal numbers that begin with a 0
		}
		base := 0
		if strings.Trim(lower, "0_") == "" {
			base, lower = 10, "0" // any number of zeros
			if strings.HasSuffix(word, "_") || strings.Contains(word, "__") {
				return "", false
			}
		}
		x, ok := new(big.Int).SetString(lower, base) // whose underscores are those of Python
		if !ok {
			return "", false
		}
		return x.String(), true
	}
	mantissa, exponent, has := strings.Cut(lower, "e")
	whole, fraction, point := strings.Cut(mantissa, ".")
	sign := ""
	if has && exponent != "" && (exponent[0] == '+' || exponent[0] == '-') {
		sign, exponent = exponent[:1], exponent[1:]
	}
	if !digits(whole, point && fraction != "") || !digits(fraction, !point || whole != "") || !digits(exponent, !has) {
		return "", false
	}
	clean := func(s string) string { return strings.ReplaceAll(s, "_", "") }
	number = strings.TrimLeft(clean(whole), "0")
	if number == "" {
		number = "0"
	}
	if point {
		if fraction == "" {
			fraction = "0"
		}
		number += "." + clean(fraction)
	}
	if has {
		number += "e" + sign + clean(exponent)
	}
	return number, true
}

// digits reports whether s is decimal digits with single underscores between them; "" if empty
// allows it.
func digits(s string, empty bool) bool {
	if s == "" {
		return empty
	}
	return strings.Trim(s, "0123456789_") == "" && s[0] != '_' && s[len(s)-1] != '_' && !strings.Contains(s, "__")
}

// asKey makes a key of a map of what is in dst from a place on. Numbers and constants become
// strings, as Python's json writes them; other values cannot be keys.
func asKey(dst []byte, from int) (all []byte, ok bool) {
	key := string(dst[from:])
	switch key[0] {
	case '"':
		return dst, true
	case '[', '{':
		return dst, false
	}
	if key == "-0" { // the integer, whose sign Python drops
		key = "0"
	}
	if strings.ContainsAny(key, ".e") && key[len(key)-1] <= '9' { // not true or false
		x, err := strconv.ParseFloat(key, 64)
		if err != nil {
			return dst, false
		}
		key = pythonFloat(x)
	}
	return append(append(append(dst[:from], '"'), key...), '"'), true
}

// pythonFloat writes a number as Python does.
func pythonFloat(x float64) string {
	form := byte('f')
	if _, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'e', -1, 64), "e"); x != 0 {
		if e, _ := strconv.Atoi(exponent); e < -4 || e >= 16 {
			form = 'e'
		}
	}
	s := strconv.FormatFloat(x, form, -1, 64)
	if form == 'f' && !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
