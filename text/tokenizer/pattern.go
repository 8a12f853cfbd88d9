package tokenizer

// Patterns that cut or replace text.

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text/tokenizer/internal/onig"
)

// pattern finds its matches in a text.
type pattern interface {
	// appendAll appends the matches from left to right. No match is empty.
	appendAll(places []onig.Place, text []byte) []onig.Place
}

type literal string

func (p literal) appendAll(places []onig.Place, text []byte) []onig.Place {
	for at := 0; ; {
		n := bytes.Index(text[at:], []byte(p))
		if n < 0 {
			return places
		}
		start := at + n
		at = start + len(p)
		places = append(places, onig.Place{Start: int32(start), End: int32(at)})
	}
}

func (p scanner) appendAll(places []onig.Place, text []byte) []onig.Place {
	for at := 0; at < len(text); {
		if n := p.scan(text[at:]); n > 0 {
			places = append(places, onig.Place{Start: int32(at), End: int32(at + n)})
			at += n
			continue
		}
		_, n := utf8.DecodeRune(text[at:])
		at += n
	}
	return places
}

type expression struct{ *onig.Regexp }

func (p expression) appendAll(places []onig.Place, text []byte) []onig.Place {
	return p.AppendAll(places, text)
}

// parsePattern reads {"String": …} or {"Regex": …}.
func parsePattern(what string, v value) (p pattern, err error) {
	err = v.each(func(key, v value) error {
		kind, _ := key.text()
		s, ok := v.text()
		switch {
		case !ok || p != nil:
			return fmt.Errorf("%w: %s.pattern must hold one string", fault.ErrFormat, what)
		case kind == "String" && s == "":
			return fmt.Errorf("%w: %s.pattern is empty", fault.ErrConfig, what)
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
		return fmt.Errorf("%w: %s.pattern.%s", fault.ErrConfig, what, kind)
	})
	if err == nil && p == nil {
		err = fmt.Errorf("%w: %s.pattern must hold one string", fault.ErrFormat, what)
	}
	return p, err
}

// compile returns the scanner of a well-known pattern, or compiles any other pattern.
func compile(source string) (pattern, error) {
	if s, ok := scanners[lineBreaks.Replace(source)]; ok {
		return s, nil
	}
	re, err := onig.Compile(source)
	if err != nil {
		return nil, fmt.Errorf("%w: pattern %q: %v", fault.ErrConfig, source, err)
	}
	return expression{re}, nil
}

// lineBreaks escapes line breaks, which are literal in some files.
var lineBreaks = strings.NewReplacer("\r", `\r`, "\n", `\n`)
