// Filters: what stands behind a bar.

package jinja

import (
	"html"
	"math"
	"regexp"
	"strconv"
	"strings"
)

type filter func(v any, a *args) (any, error)

var filters map[string]filter

func init() {
	filters = map[string]filter{
		"string":     func(v any, a *args) (any, error) { return str(v) },
		"safe":       func(v any, a *args) (any, error) { return str(v) },
		"trim":       trimFilter,
		"upper":      onString(upper),
		"lower":      onString(lower),
		"title":      onString(titleFilter),
		"capitalize": onString(capitalize),
		"e":          onString(escapeHTML),
		"escape":     onString(escapeHTML),
		"replace":    replaceFilter,
		"indent":     indentFilter,
		"wordcount":  wordcountFilter,
		"format":     func(v any, a *args) (any, error) { return formatFilter(v, a) },
		"tojson":     tojsonFilter,
		"default":    defaultFilter,
		"d":          defaultFilter,
		"length":     lengthFilter,
		"count":      lengthFilter,
		"int":        intFilter,
		"float":      floatFilter,
		"round":      roundFilter,
		"abs":        absFilter,
	}
	for name, f := range listFilters {
		filters[name] = f
	}
}

func onString(f func(string) string) filter {
	return func(v any, a *args) (any, error) {
		if _, err := a.bind("the filter"); err != nil {
			return nil, err
		}
		s, err := str(v)
		return f(s), err
	}
}

// escapeHTML has the entities of Python's MarkupSafe.
func escapeHTML(s string) string { return html.EscapeString(s) }

func trimFilter(v any, a *args) (any, error) {
	s, err := str(v)
	if err != nil {
		return nil, err
	}
	return stringMethods["strip"](s, a)
}

var wordBeginning = regexp.MustCompile(`[-\s({\[<]+`)

// titleFilter differs from the method: a word begins behind a space, a hyphen
// or an opening bracket.
func titleFilter(s string) string {
	var b strings.Builder
	for s != "" {
		part := s
		if at := wordBeginning.FindStringIndex(s); at != nil && at[0] == 0 {
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
	s, err := str(v)
	if err != nil {
		return nil, err
	}
	mark, ok := p[0].(string)
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
	return joinAll(lines, "\n")
}

var word = regexp.MustCompile(`[\p{L}\p{N}\p{M}_]+`)

func wordcountFilter(v any, a *args) (any, error) {
	s, err := str(v)
	return int64(len(word.FindAllStringIndex(s, -1))), err
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

var integerText = regexp.MustCompile(`^[-+]?[0-9]+(_[0-9]+)*$`)

func intFilter(v any, a *args) (any, error) {
	p, err := a.bind("int", "default", int64(0), "base", int64(10))
	if err != nil {
		return nil, err
	}
	base, err := wantInt("int", p[1])
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case string:
		s := strings.TrimFunc(v, isSpace)
		if base != 10 {
			s = strings.TrimPrefix(strings.ToLower(s), map[int]string{2: "0b", 8: "0o", 16: "0x"}[base])
			if i, err := strconv.ParseInt(s, base, 64); err == nil {
				return i, nil
			}
		} else if integerText.MatchString(s) {
			if i, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64); err == nil {
				return i, nil
			}
			return nil, failf("int: %s: integers beyond 64 bits are not supported", s)
		} else if f, ok := parseFloat(s); ok && math.Abs(f) < 1<<62 {
			return int64(f), nil
		}
	case float64:
		if math.Abs(v) < 1<<62 {
			return int64(v), nil
		}
	default:
		if i, ok := asInt(v); ok {
			return i, nil
		}
	}
	return p[0], nil
}

// parseFloat is Python's float(s): not all that Go reads.
func parseFloat(s string) (float64, bool) {
	s = strings.TrimFunc(s, isSpace)
	if strings.ContainsAny(s, "xXpP_") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

func floatFilter(v any, a *args) (any, error) {
	p, err := a.bind("float", "default", 0.0)
	if err != nil {
		return nil, err
	}
	if s, ok := v.(string); ok {
		if f, ok := parseFloat(s); ok {
			return f, nil
		}
	} else if f, ok := asFloat(v); ok {
		return f, nil
	}
	return p[0], nil
}

func roundFilter(v any, a *args) (any, error) {
	p, err := a.bind("round", "precision", int64(0), "method", "common")
	if err != nil {
		return nil, err
	}
	n, err := wantInt("round", p[0])
	if err != nil {
		return nil, err
	}
	f, ok := asFloat(v)
	if !ok {
		return nil, failf("round: want a number, got %s", typeName(v))
	}
	if n < 0 || n > 300 {
		return nil, failf("round: precision %d is not supported", n)
	}
	scale := math.Pow(10, float64(n))
	switch p[1] {
	case "ceil":
		return math.Ceil(f*scale) / scale, nil
	case "floor":
		return math.Floor(f*scale) / scale, nil
	case "common":
		if i, ok := asInt(v); ok {
			return i, nil // round() leaves an integer one
		}
		// To the even neighbour of the exact value, as in Python.
		return strconv.ParseFloat(strconv.FormatFloat(f, 'f', n, 64), 64)
	}
	return nil, failf("round: method must be common, ceil or floor")
}

func absFilter(v any, a *args) (any, error) {
	switch v := v.(type) {
	case float64:
		return math.Abs(v), nil
	default:
		i, ok := asInt(v)
		if !ok || i == math.MinInt64 {
			return nil, failf("abs: want a number, got %s", typeName(v))
		}
		return max(i, -i), nil
	}
}
