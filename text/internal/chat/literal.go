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

// Literal marks texts in which control tokens are text, for [tokenizer.Options].Literal. A nil one
// marks none.
type Literal struct {
	Tokens []string      // that are text there
	first  map[rune]bool // their first characters
	all    bool          // every character may become the first of one
}

// NewLiteral returns the marker for the special tokens of a vocabulary, and for other added tokens
// that the templates of its folder write.
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

// trusted are the roles whose texts may have control tokens: those of the program, and of the
// model, whose thoughts and calls templates look for.
var trusted = map[string]bool{"system": true, "developer": true, "assistant": true}

// comparedFields are the fields whose values templates compare, where those are plain.
var comparedFields = map[string]bool{"type": true, "role": true, "name": true, "id": true, "tool_call_id": true}

// messages marks all strings of the messages whose roles are not trusted.
func (l *Literal) messages(list conversation) error {
	return l.objects(list, func(m *object) bool {
		role, _ := text(m.fields["role"])
		return !trusted[role]
	})
}

// documents marks all strings of documents.
func (l *Literal) documents(list []*object) error {
	return l.objects(list, func(*object) bool { return true })
}

func (l *Literal) objects(list []*object, marked func(o *object) bool) error {
	if l == nil {
		return nil
	}
	for i, o := range list {
		if !marked(o) {
			continue
		}
		var err error
		if list[i], err = l.object(o); err != nil {
			return err
		}
	}
	return nil
}

// mark marks the strings of a JSON value, the names of fields too.
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
		if o, err = l.object(o); err != nil {
			return nil, err
		}
		return encode(o)
	}
	return raw, nil
}

// object returns an object with marks. Names of fields, and values that are names, have none where
// they are plain.
func (l *Literal) object(o *object) (*object, error) {
	out := newObject()
	for _, name := range o.names {
		v := o.fields[name]
		if s, ok := text(v); !comparedFields[name] || !ok || !l.plain(s) {
			var err error
			if v, err = l.mark(v); err != nil {
				return nil, err
			}
		}
		if !l.plain(name) {
			name = l.text(name)
		}
		out.set(name, v)
	}
	return out, nil
}

// plain reports whether s consists of letters, digits, - and _ of ASCII, and has no control token.
func (l *Literal) plain(s string) bool {
	other := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	}
	return !strings.ContainsFunc(s, other) && !slices.ContainsFunc(l.Tokens, func(token string) bool { return strings.Contains(s, token) })
}

// text puts a mark after each character with which a control token may begin. Marks that are there
// become U+FFFD.
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
