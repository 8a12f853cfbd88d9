// Methods of strings, lists and dicts.

package jinja

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// beyond names the methods of Python that are not known here: asking for one is an error, not an
// undefined name. Those that would change a value are undefined, as in the sandbox.
var beyond = map[string]string{
	"str":  " casefold center encode expandtabs format format_map isascii isdecimal isidentifier isnumeric isprintable ljust maketrans rindex rjust swapcase translate zfill ",
	"dict": " fromkeys ",
}

func init() { beyond["Markup"] = beyond["str"] + "escape striptags unescape " }

// method returns the method name of v, or nil if Python does not have it either.
func method(v any, name string) (any, error) {
	var f func(a *args) (any, error)
	switch v := v.(type) {
	case string:
		if m := stringMethods[name]; m != nil {
			f = func(a *args) (any, error) { return m(v, a) }
		}
	case markup:
		if m := stringMethods[name]; m != nil {
			f = func(a *args) (any, error) { return markupMethod(name, m)(string(v), a) }
		}
	case *list:
		if m := listMethods[name]; m != nil && v.plain() && (name != "copy" || typeName(v) == "list") {
			f = func(a *args) (any, error) { return m(v, a) }
		}
	case *dict:
		if m := dictMethods[name]; m != nil {
			f = func(a *args) (any, error) { return m(v, a) }
		}
	}
	if f != nil {
		return function(f), nil
	}
	if strings.Contains(beyond[typeName(v)], " "+name+" ") {
		return nil, failf("method %s of %s is not supported in templates", name, typeName(v))
	}
	return nil, nil
}

var dictMethods = map[string]func(d *dict, a *args) (any, error){
	"copy":   func(d *dict, _ *args) (any, error) { return d, nil },
	"items":  func(d *dict, _ *args) (any, error) { return &list{items: d.items(), view: "dict_items"}, nil },
	"keys":   func(d *dict, _ *args) (any, error) { return &list{items: d.keys, view: "dict_keys"}, nil },
	"values": func(d *dict, _ *args) (any, error) { return &list{items: d.values, view: "dict_values"}, nil },
	"get": func(d *dict, a *args) (any, error) {
		p, err := a.bind("get", "key", required, "default", nil)
		if err != nil {
			return nil, err
		}
		if v, ok, err := d.get(p[0]); ok || err != nil {
			return v, err
		}
		return p[1], nil
	},
}

var listMethods = map[string]func(l *list, a *args) (any, error){
	"copy": func(l *list, _ *args) (any, error) { return l, nil }, // nothing changes it
	"index": func(l *list, a *args) (any, error) {
		p, err := a.bind("index", "value", required)
		if err != nil {
			return nil, err
		}
		for i, x := range l.items {
			if equal(x, p[0]) {
				return int64(i), nil
			}
		}
		return nil, failf("index: no such value in the list")
	},
	"count": func(l *list, a *args) (any, error) {
		p, err := a.bind("count", "value", required)
		if err != nil {
			return nil, err
		}
		n := int64(0)
		for _, x := range l.items {
			if equal(x, p[0]) {
				n++
			}
		}
		return n, nil
	},
}

var stringMethods map[string]stringMethod

func init() {
	stringMethods = map[string]stringMethod{
		"strip":        stripper(strings.TrimFunc),
		"lstrip":       stripper(strings.TrimLeftFunc),
		"rstrip":       stripper(strings.TrimRightFunc),
		"upper":        converter(upper),
		"lower":        converter(lower),
		"title":        converter(title),
		"capitalize":   converter(capitalize),
		"startswith":   affix(strings.HasPrefix),
		"endswith":     affix(strings.HasSuffix),
		"removeprefix": remover(strings.TrimPrefix),
		"removesuffix": remover(strings.TrimSuffix),
		"find":         finder(strings.Index, false),
		"rfind":        finder(strings.LastIndex, false),
		"index":        finder(strings.Index, true),
		"split":        splitter(false),
		"rsplit":       splitter(true),
		"isdigit":      all(unicode.IsDigit),
		"isalpha":      all(unicode.IsLetter),
		"isalnum":      all(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }),
		"isspace":      all(isSpace),
		"isupper":      func(s string, _ *args) (any, error) { return s == upper(s) && s != lower(s), nil },
		"islower":      func(s string, _ *args) (any, error) { return s == lower(s) && s != upper(s), nil },
		"splitlines":   splitLinesMethod,
		"replace":      replaceMethod,
		"join":         joinMethod,
		"count":        countMethod,
		"partition":    partition(strings.Index, 0),
		"rpartition":   partition(strings.LastIndex, 2),
	}
}

func upper(s string) string { return cases.Upper(language.Und).String(s) }
func lower(s string) string { return cases.Lower(language.Und).String(s) }

func capitalize(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return cases.Title(language.Und, cases.NoLower).String(s[:n]) + lower(s[n:])
}

// title makes the first letter of each run of letters a capital.
func title(s string) string {
	var b strings.Builder
	inside := false
	for _, r := range s {
		switch {
		case !unicode.IsLetter(r):
			b.WriteRune(r)
		case inside:
			b.WriteString(lower(string(r)))
		default:
			b.WriteString(capitalize(string(r)))
		}
		inside = unicode.IsLetter(r)
	}
	return b.String()
}

func converter(f func(string) string) stringMethod {
	return func(s string, a *args) (any, error) {
		_, err := a.bind("the method")
		return f(s), err
	}
}

func stripper(trim func(string, func(rune) bool) string) stringMethod {
	return func(s string, a *args) (any, error) {
		p, err := a.bind("strip", "chars", nil)
		if err != nil {
			return nil, err
		}
		if p[0] == nil {
			return trim(s, isSpace), nil
		}
		chars, err := wantString("strip", p[0])
		return trim(s, func(r rune) bool { return strings.ContainsRune(chars, r) }), err
	}
}

func affix(has func(s, t string) bool) stringMethod {
	return func(s string, a *args) (any, error) {
		p, err := a.bind("startswith or endswith", "prefix", required)
		if err != nil {
			return nil, err
		}
		choices := []any{p[0]}
		if l, ok := p[0].(*list); ok && l.tuple {
			choices = l.items
		}
		for _, c := range choices {
			t, err := wantString("startswith or endswith", c)
			if err != nil || has(s, t) {
				return err == nil, err
			}
		}
		return false, nil
	}
}

func remover(remove func(s, t string) string) stringMethod {
	return func(s string, a *args) (any, error) {
		p, err := a.bind("removeprefix or removesuffix", "prefix", required)
		if err != nil {
			return nil, err
		}
		t, err := wantString("removeprefix or removesuffix", p[0])
		return remove(s, t), err
	}
}

func finder(find func(s, t string) int, must bool) stringMethod {
	return func(s string, a *args) (any, error) {
		p, err := a.bind("find", "sub", required)
		if err != nil {
			return nil, err
		}
		t, err := wantString("find", p[0])
		i := find(s, t)
		if i < 0 && must && err == nil {
			err = failf("index: substring not found")
		}
		return int64(utf8.RuneCountInString(s[:max(i, 0)])) + int64(min(i, 0)), err
	}
}

func all(is func(rune) bool) stringMethod {
	return func(s string, _ *args) (any, error) {
		for _, r := range s {
			if !is(r) {
				return false, nil
			}
		}
		return s != "", nil
	}
}

func replaceMethod(s string, a *args) (any, error) {
	p, err := a.bind("replace", "old", required, "new", required, "count", int64(-1))
	if err != nil {
		return nil, err
	}
	return replace(s, p[0], p[1], p[2])
}

func replace(s string, from, to, count any) (any, error) {
	old, err := wantString("replace", from)
	if err != nil {
		return nil, err
	}
	neu, err := wantString("replace", to)
	if err != nil {
		return nil, err
	}
	n, err := wantInt("replace", count)
	if err != nil {
		return nil, err
	}
	if (strings.Count(s, old)+1)*len(neu) > maxOutput {
		return nil, failf("a string of more than %d bytes", maxOutput)
	}
	return strings.Replace(s, old, neu, n), nil
}

func joinMethod(s string, a *args) (any, error) {
	p, err := a.bind("join", "iterable", required)
	if err != nil {
		return nil, err
	}
	items, err := iterate(p[0])
	if err != nil {
		return nil, err
	}
	parts := make([]string, len(items))
	for i, x := range items {
		if parts[i], err = wantString("join", x); err != nil {
			return nil, err
		}
	}
	return joinAll(parts, s)
}

func joinAll(parts []string, sep string) (any, error) {
	n := len(sep) * len(parts)
	for _, p := range parts {
		n += len(p)
	}
	if n > maxOutput {
		return nil, failf("a string of more than %d bytes", maxOutput)
	}
	return strings.Join(parts, sep), nil
}

func countMethod(s string, a *args) (any, error) {
	p, err := a.bind("count", "sub", required)
	if err != nil {
		return nil, err
	}
	t, err := wantString("count", p[0])
	return int64(strings.Count(s, t)), err
}

func partition(find func(s, t string) int, missing int) stringMethod {
	return func(s string, a *args) (any, error) {
		p, err := a.bind("partition", "sep", required)
		if err != nil {
			return nil, err
		}
		sep, err := wantString("partition", p[0])
		if err != nil {
			return nil, err
		}
		if sep == "" {
			return nil, failf("partition: empty separator")
		}
		parts := []any{"", "", ""}
		if i := find(s, sep); i >= 0 {
			parts = []any{s[:i], sep, s[i+len(sep):]}
		} else {
			parts[missing] = s
		}
		return &list{items: parts, tuple: true}, nil
	}
}

// markupMethod returns a method of str for marked text: results made of parts of the text are
// marked too.
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
