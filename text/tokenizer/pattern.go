package tokenizer

// Patterns that cut or replace text.

import (
	"bytes"
	"fmt"
	"regexp"
	"unicode/utf8"
)

// pattern finds places in a text.
type pattern interface {
	// find gives the first place at or behind at, which is not empty, or -1.
	find(text []byte, at int) (start, end int)
}

type literal string

func (p literal) find(text []byte, at int) (int, int) {
	n := bytes.Index(text[at:], []byte(p))
	if n < 0 {
		return -1, -1
	}
	return at + n, at + n + len(p)
}

// scanner matches one of the well-known patterns at the beginning of a text and
// gives the length of the match, 0 for none.
type scanner func(text []byte) int

func (p scanner) find(text []byte, at int) (int, int) {
	for at < len(text) {
		if n := p(text[at:]); n > 0 {
			return at, at + n
		}
		_, n := utf8.DecodeRune(text[at:])
		at += n
	}
	return -1, -1
}

// expression is for patterns that Go's regexp can take and that look neither
// behind nor match the empty string.
type expression struct{ re *regexp.Regexp }

func (p expression) find(text []byte, at int) (int, int) {
	loc := p.re.FindIndex(text[at:])
	if loc == nil {
		return -1, -1
	}
	return at + loc[0], at + loc[1]
}

// parsePattern reads {"String": …} or {"Regex": …}.
func parsePattern(what string, v value) (p pattern, err error) {
	err = v.each(func(key, v value) error {
		kind, _ := key.text()
		s, ok := v.text()
		switch {
		case !ok || p != nil:
			return fmt.Errorf("%w: %s.pattern must hold one string", ErrFormat, what)
		case kind == "String" && s == "":
			return fmt.Errorf("%w: %s.pattern is empty", ErrUnsupported, what)
		case kind == "String":
			p = literal(s)
			return nil
		case kind == "Regex":
			p, err = compile(s)
			if err != nil {
				return fmt.Errorf("%s.pattern: %w", what, err)
			}
			return nil
		}
		return fmt.Errorf("%w: %s.pattern.%s", ErrUnsupported, what, kind)
	})
	if err == nil && p == nil {
		err = fmt.Errorf("%w: %s.pattern must hold one string", ErrFormat, what)
	}
	return p, err
}

// compile gives the scanner of a well-known pattern, or translates the pattern.
func compile(source string) (pattern, error) {
	if s, ok := scanners[source]; ok {
		return s, nil
	}
	translated, err := translate(source)
	if err != nil {
		return nil, fmt.Errorf("%w: pattern %q: %v", ErrUnsupported, source, err)
	}
	re, err := regexp.Compile(translated)
	if err != nil {
		return nil, fmt.Errorf("%w: pattern %q: %v", ErrUnsupported, source, err)
	}
	if re.MatchString("") || re.MatchString("a") && re.FindStringIndex("a")[1] == 0 {
		return nil, fmt.Errorf("%w: pattern %q matches the empty string", ErrUnsupported, source)
	}
	return expression{re}, nil
}
