// Filters: what follows a bar.

package jinja

import (
	"maps"
	"regexp"
	"strings"
	"sync"
)

func init() {
	filters = map[string]filter{
		"string":     stringFilter,
		"safe":       safeFilter,
		"trim":       trimFilter,
		"upper":      onString(upper),
		"lower":      onString(lower),
		"title":      onText(titleFilter),
		"capitalize": onString(capitalize),
		"e":          escapeFilter,
		"escape":     escapeFilter,
		"replace":    replaceFilter,
		"indent":     indentFilter,
		"wordcount":  wordcountFilter,
		"format":     func(v any, a *args) (any, error) { return formatFilter(v, a) },
		"tojson":     tojsonFilter,
		"default":    defaultFilter,
		"d":          defaultFilter,
		"length":     lengthFilter,
		"count":      lengthFilter,
	}
	maps.Copy(filters, numberFilters)
	maps.Copy(filters, listFilters)
}

// onText makes a filter of a function of texts, whose result is not marked.
func onText(f func(string) string) filter {
	return func(v any, a *args) (any, error) {
		if _, err := a.bind("the filter"); err != nil {
			return nil, err
		}
		s, err := str(v)
		return f(s), err
	}
}

// onString is onText with a result that is marked if the text is.
func onString(f func(string) string) filter {
	return func(v any, a *args) (any, error) {
		x, err := onText(f)(v, a)
		return alike(v, x), err
	}
}

func stringFilter(v any, a *args) (any, error) {
	x, err := onText(func(s string) string { return s })(v, a)
	return alike(v, x), err
}

func safeFilter(v any, a *args) (any, error) {
	x, err := onText(func(s string) string { return s })(v, a)
	return alike(markup(""), x), err
}

func escapeFilter(v any, a *args) (any, error) {
	if _, err := a.bind("escape"); err != nil {
		return nil, err
	}
	return escaped(v)
}

func trimFilter(v any, a *args) (any, error) {
	s, err := str(v)
	if err != nil {
		return nil, err
	}
	x, err := stringMethods["strip"](s, a)
	return alike(v, x), err
}

var wordBeginning = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[-\s({\[<]+`) })

// titleFilter differs from the method: a word begins after a space, a hyphen or an opening bracket.
func titleFilter(s string) string {
	var b strings.Builder
	for s != "" {
		part := s
		if at := wordBeginning().FindStringIndex(s); at != nil && at[0] == 0 {
			part = s[:at[1]]
		} else if at != nil {
			part = s[:at[0]]
		}
		b.WriteString(capitalize(part))
		s = s[len(part):]
	}
	return b.String()
}

func replaceFilter(v any, a *args) (any, error) {
	p, err := a.bind("replace", "old", required, "new", required, "count", nil)
	if err != nil {
		return nil, err
	}
	if p[2] == nil {
		p[2] = int64(-1)
	}
	for i := range 2 {
		if p[i], err = str(p[i]); err != nil {
			return nil, err
		}
	}
	s, err := str(v)
	if err != nil {
		return nil, err
	}
	return replace(s, p[0], p[1], p[2])
}

func indentFilter(v any, a *args) (any, error) {
	p, err := a.bind("indent", "width", int64(4), "first", false, "blank", false)
	if err != nil {
		return nil, err
	}
	s, err := wantString("indent", v)
	if err != nil {
		return nil, err
	}
	mark, ok := asText(p[0])
	if !ok {
		n, err := wantInt("indent", p[0])
		if err != nil {
			return nil, err
		}
		if n > 10_000 {
			return nil, failf("indent: width %d", n)
		}
		mark = strings.Repeat(" ", max(n, 0))
	}
	lines := splitLines(s + "\n")
	for i, line := range lines {
		if i > 0 && (line != "" || truth(p[2])) || i == 0 && truth(p[1]) {
			lines[i] = mark + line
		}
	}
	x, err := joinAll(lines, "\n")
	return alike(v, x), err
}

var word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\p{L}\p{N}\p{M}_]+`) })

func wordcountFilter(v any, a *args) (any, error) {
	s, err := str(v)
	return int64(len(word().FindAllStringIndex(s, -1))), err
}

func formatFilter(v any, a *args) (any, error) {
	s, err := str(v)
	if err != nil {
		return nil, err
	}
	if len(a.named.keys) > 0 {
		return nil, failf("format: named values are not supported")
	}
	return percent(s, &list{items: a.plain, tuple: true})
}

func defaultFilter(v any, a *args) (any, error) {
	p, err := a.bind("default", "default_value", "", "boolean", false)
	if err != nil {
		return nil, err
	}
	if _, ok := v.(undefined); ok || truth(p[1]) && !truth(v) {
		return p[0], nil
	}
	return v, nil
}

func lengthFilter(v any, a *args) (any, error) { return length(v) }
