// Control tokens in what users write.

package chat

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Literal marks texts in which control tokens are text, for [tokenizer.Options].Literal. A nil one marks none.
type Literal struct {
	Tokens []string      // that are text there
	first  map[rune]bool // their first characters
	all    bool          // every character may become the first of one
}

// NewLiteral returns the marker for the special tokens of a vocabulary, and for other added tokens that the templates of its folder write.
func NewLiteral(t *tokenizer.Tokenizer) *Literal {
	c := t.Config()
	sources := append(slices.Collect(maps.Values(c.Templates)), c.ChatTemplate)
	l := &Literal{Tokens: []string{}, first: map[rune]bool{}}
	for _, a := range t.AddedTokens() {
		written := strings.TrimSpace(a.Content) != "" && slices.ContainsFunc(sources, func(s string) bool { return strings.Contains(s, a.Content) })
		if !a.Special && !written {
			continue
		}
		r, _ := utf8.DecodeRuneInString(a.Content)
		l.Tokens, l.first[r] = append(l.Tokens, a.Content), true
		l.all = l.all || a.Normalized // other characters may become r
	}
	return l
}

// trusted are the roles whose texts may have control tokens: those of the program, and of the model, whose thoughts and calls templates look for.
var trusted = map[string]bool{"system": true, "developer": true, "assistant": true}

// messages marks the contents of messages.
func (l *Literal) messages(list conversation) error {
	if l == nil {
		return nil
	}
	for _, m := range list {
		role, _ := text(m.fields["role"])
		content, ok := m.fields["content"]
		if trusted[role] || !ok {
			continue
		}
		marked, err := l.mark(content)
		if err != nil {
			return err
		}
		m.fields["content"] = marked
	}
	return nil
}

// documents marks all strings of documents.
func (l *Literal) documents(list []*object) error {
	if l == nil {
		return nil
	}
	for _, d := range list {
		for name, raw := range d.fields {
			marked, err := l.mark(raw)
			if err != nil {
				return err
			}
			d.fields[name] = marked
		}
	}
	return nil
}

// mark marks the strings of a JSON value, except for the types of parts.
func (l *Literal) mark(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return raw, nil
	}
	switch raw[0] {
	case '"':
		s, _ := text(raw)
		return encode(l.text(s))
	case '[':
		var items []json.RawMessage
		if err := pyjson.Unmarshal(raw, &items); err != nil {
			return nil, err
		}
		for i, item := range items {
			var err error
			if items[i], err = l.mark(item); err != nil {
				return nil, err
			}
		}
		return encode(items)
	case '{':
		o, err := decodeObject(raw)
		if err != nil {
			return nil, err
		}
		for name, v := range o.fields {
			if name == "type" {
				continue
			}
			if o.fields[name], err = l.mark(v); err != nil {
				return nil, err
			}
		}
		return encode(o)
	}
	return raw, nil
}

// text puts a mark after each character with which a control token may begin. Marks that are there become U+FFFD.
func (l *Literal) text(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == tokenizer.LiteralMark {
			r = utf8.RuneError
		}
		b.WriteRune(r)
		if l.first[r] || l.all && !unicode.IsSpace(r) {
			b.WriteRune(tokenizer.LiteralMark)
		}
	}
	return b.String()
}
