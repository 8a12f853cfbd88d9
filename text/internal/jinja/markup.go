// Markup: text that the filters safe and escape have marked, which escapes what is added to it
// though nothing else is escaped in chat templates.

package jinja

import (
	"html"
	"slices"
)

// markup is Python's Markup, which is a str.
type markup string

// asText is a string, marked or not.
func asText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case markup:
		return string(v), true
	}
	return "", false
}

// escaped is v with the entities of Python's MarkupSafe, unless it is marked.
func escaped(v any) (any, error) {
	if m, ok := v.(markup); ok {
		return m, nil
	}
	s, err := str(v)
	return markup(html.EscapeString(s)), err
}

// alike is v as a string that is marked if like is.
func alike(like, v any) any {
	if s, ok := v.(string); ok {
		if _, ok := like.(markup); ok {
			return markup(s)
		}
	}
	return v
}

// addMarkup is a sum of two texts one of which, at least, is marked; ok is false for other values.
func addMarkup(a, b any) (sum any, ok bool, err error) {
	_, markedA := a.(markup)
	_, markedB := b.(markup)
	_, textA := asText(a)
	_, textB := asText(b)
	if !textA || !textB || !markedA && !markedB {
		return nil, false, nil
	}
	var parts [2]string
	for i, v := range []any{a, b} {
		m, err := escaped(v)
		if err != nil {
			return nil, true, err
		}
		parts[i], _ = asText(m)
	}
	v, err := concat(parts[0], parts[1])
	return alike(markup(""), v), true, err
}

// escapes are the methods of Markup that escape arguments, with the number of the first.
var escapes = map[string]int{"replace": 1, "join": 0}

// markupMethod is a method of str for marked text: what is made of parts of the text is marked too.
func markupMethod(name string, m stringMethod) stringMethod {
	return func(s string, a *args) (any, error) {
		if at, ok := escapes[name]; ok {
			if len(a.named.keys) > 0 || len(a.plain) <= at {
				return nil, failf("%s of Markup takes its arguments without names", name)
			}
			b := *a
			b.plain = slices.Clone(a.plain)
			arg, err := escapedEach(b.plain[at], name == "join")
			if err != nil {
				return nil, err
			}
			b.plain[at], a = arg, &b
		}
		v, err := m(s, a)
		if l, ok := v.(*list); ok {
			l = &list{items: slices.Clone(l.items), tuple: l.tuple}
			for i, x := range l.items {
				l.items[i] = alike(markup(""), x)
			}
			return l, err
		}
		return alike(markup(""), v), err
	}
}

// escapedEach is v escaped as a string, or each of its elements.
func escapedEach(v any, each bool) (any, error) {
	if !each {
		return escaped(v)
	}
	items, err := iterate(v)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(items))
	for i, x := range items {
		if out[i], err = escaped(x); err != nil {
			return nil, err
		}
	}
	return &list{items: out}, nil
}
