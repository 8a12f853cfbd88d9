// Splitting of strings, as in Python.

package jinja

import (
	"strings"
	"unicode/utf8"
)

func splitter(right bool) stringMethod {
	return func(s string, a *args) (any, error) {
		p, err := a.bind("split", "sep", nil, "maxsplit", int64(-1))
		if err != nil {
			return nil, err
		}
		n, err := wantInt("split", p[1])
		if err != nil {
			return nil, err
		}
		sep := ""
		if p[0] != nil {
			if sep, err = wantString("split", p[0]); err != nil {
				return nil, err
			}
			if sep == "" {
				return nil, failf("split: empty separator")
			}
		}
		return stringList(split(s, sep, n, right)), nil
	}
}

// split splits s at most n times, everywhere for negative n; at runs of whitespace if sep is empty.
func split(s, sep string, n int, right bool) []string {
	switch {
	case sep == "" && n < 0:
		return strings.FieldsFunc(s, isSpace)
	case sep == "" && !right:
		var out []string
		for s = strings.TrimLeftFunc(s, isSpace); s != ""; n-- {
			i := strings.IndexFunc(s, isSpace)
			if n == 0 || i < 0 {
				return append(out, s) // what is left keeps its trailing whitespace
			}
			out, s = append(out, s[:i]), strings.TrimLeftFunc(s[i:], isSpace)
		}
		return out
	case sep == "":
		var out []string
		for s = strings.TrimRightFunc(s, isSpace); s != ""; n-- {
			i := strings.LastIndexFunc(s, isSpace)
			if n == 0 || i < 0 {
				out = append([]string{s}, out...)
				break
			}
			_, w := utf8.DecodeRuneInString(s[i:])
			out, s = append([]string{s[i+w:]}, out...), strings.TrimRightFunc(s[:i], isSpace)
		}
		return out
	case n < 0:
		return strings.Split(s, sep)
	case !right:
		return strings.SplitN(s, sep, n+1)
	}
	parts := strings.Split(s, sep)
	if k := len(parts) - n; k > 1 {
		parts = append([]string{strings.Join(parts[:k], sep)}, parts[k:]...)
	}
	return parts
}

func stringList(parts []string) *list {
	l := &list{}
	for _, p := range parts {
		l.items = append(l.items, p)
	}
	return l
}

// splitLines splits at all of Python's line boundaries.
func splitLines(s string) []string {
	var lines []string
	for s != "" {
		i := strings.IndexFunc(s, func(r rune) bool {
			return r >= '\n' && r <= '\r' || r >= 0x1c && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
		})
		if i < 0 {
			return append(lines, s)
		}
		_, w := utf8.DecodeRuneInString(s[i:])
		if strings.HasPrefix(s[i:], "\r\n") {
			w = 2
		}
		lines, s = append(lines, s[:i]), s[i+w:]
	}
	return lines
}

func splitLinesMethod(s string, a *args) (any, error) {
	_, err := a.bind("splitlines")
	return stringList(splitLines(s)), err
}
