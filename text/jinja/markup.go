// Markup: text that the filters safe and escape have marked, which escapes what is added to it
// though nothing else is escaped in chat templates.

package jinja

import (
	"html"
)

// escaped is v with the entities of Python's MarkupSafe, unless it is marked.
func escaped(v any) (any, error) {
	if m, ok := v.(markup); ok {
		return m, nil
	}
	s, err := str(v)
	return markup(html.EscapeString(s)), err
}

// escapes are the methods of Markup that escape arguments, with the number of the first.
var escapes = map[string]int{"replace": 1, "join": 0}

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
