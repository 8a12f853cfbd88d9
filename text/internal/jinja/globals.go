// Global functions, the loop variable, formatting of strings and of dates.

package jinja

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// now is what strftime_now tells; a test stops it.
var now = time.Now

var globals map[string]any

func init() {
	globals = map[string]any{
		"range":           function(rangeGlobal),
		"dict":            function(dictGlobal),
		"namespace":       function(namespaceGlobal),
		"raise_exception": function(raiseGlobal),
		"strftime_now":    function(strftimeGlobal),
	}
}

func rangeGlobal(a *args) (any, error) {
	if len(a.plain) == 0 || len(a.plain) > 3 || len(a.named.keys) > 0 {
		return nil, failf("range takes one to three arguments")
	}
	v := [3]int{0, 0, 1}
	for i, x := range a.plain {
		n, err := wantInt("range", x)
		if err != nil {
			return nil, err
		}
		if len(a.plain) == 1 {
			i = 1
		}
		if n > 1<<30 || n < -1<<30 {
			return nil, failf("range of %d", n)
		}
		v[i] = n
	}
	if v[2] == 0 {
		return nil, failf("range: the step must not be zero")
	}
	l := &list{view: "range"}
	for i := v[0]; v[2] > 0 && i < v[1] || v[2] < 0 && i > v[1]; i += v[2] {
		if len(l.items) == maxRange {
			return nil, failf("range of more than %d elements", maxRange)
		}
		l.items = append(l.items, int64(i))
	}
	return l, nil
}

func dictGlobal(a *args) (any, error) {
	if len(a.plain) > 0 {
		return nil, failf("dict takes named arguments alone")
	}
	return sized(a.named)
}

func namespaceGlobal(a *args) (any, error) {
	ns := &namespace{map[string]any{}}
	sources := []*dict{a.named}
	for _, v := range a.plain {
		d, ok := v.(*dict)
		if !ok {
			return nil, failf("namespace: want a dict, got %s", typeName(v))
		}
		sources = append([]*dict{d}, sources...)
	}
	for _, d := range sources {
		for i, k := range d.keys {
			if s, ok := k.(string); ok {
				ns.vars[s] = d.values[i]
			}
		}
	}
	return ns, nil
}

func raiseGlobal(a *args) (any, error) {
	p, err := a.bind("raise_exception", "message", required)
	if err != nil {
		return nil, err
	}
	s, err := str(p[0])
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%w: %s", ErrRaised, s)
}

// directives are Go's layouts for those of strftime.
var directives = map[byte]string{
	'd': "02", 'm': "01", 'Y': "2006", 'y': "06", 'B': "January", 'b': "Jan", 'A': "Monday", 'a': "Mon",
	'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'j': "002", 'F': "2006-01-02", 'T': "15:04:05",
}

func strftimeGlobal(a *args) (any, error) {
	p, err := a.bind("strftime_now", "format", required)
	if err != nil {
		return nil, err
	}
	format, err := wantString("strftime_now", p[0])
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	t := now()
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		strip := format[i] == '-' && i+1 < len(format) // no leading zero
		if strip {
			i++
		}
		layout, ok := directives[format[i]]
		switch {
		case ok && strip:
			b.WriteString(strings.TrimPrefix(t.Format(layout), "0"))
		case ok:
			b.WriteString(t.Format(layout))
		case format[i] == '%':
			b.WriteByte('%')
		default:
			return nil, failf("strftime_now: directive %%%c is not supported", format[i])
		}
	}
	return b.String(), nil
}

// loop is the variable that a loop gives its body.
type loop struct {
	items []any
	index int
}

func (l *loop) attribute(name string) (any, error) {
	i, n := int64(l.index), int64(len(l.items))
	switch name {
	case "index":
		return i + 1, nil
	case "index0":
		return i, nil
	case "revindex":
		return n - i, nil
	case "revindex0":
		return n - i - 1, nil
	case "first":
		return i == 0, nil
	case "last":
		return i == n-1, nil
	case "length":
		return n, nil
	case "depth":
		return nil, failf("loop.depth is not supported")
	case "previtem":
		if i > 0 {
			return l.items[i-1], nil
		}
	case "nextitem":
		if i < n-1 {
			return l.items[i+1], nil
		}
	case "cycle":
		return function(func(a *args) (any, error) {
			if len(a.plain) == 0 {
				return nil, failf("no items for cycling given")
			}
			return a.plain[l.index%len(a.plain)], nil
		}), nil
	case "changed":
		return nil, failf("loop.changed is not supported")
	}
	return undefined{name}, nil
}

// percent is format % v.
func percent(format string, v any) (any, error) {
	values := []any{v}
	if l, ok := v.(*list); ok && l.tuple {
		values = l.items
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		start := i + 1
		for i++; i < len(format) && strings.IndexByte("-+ 0#.123456789", format[i]) >= 0; i++ {
		}
		if i == len(format) {
			return nil, failf("incomplete format %q", format)
		}
		flags, verb := format[start:i], format[i]
		if verb == '%' {
			b.WriteByte('%')
			continue
		}
		if len(values) == 0 {
			return nil, failf("not enough arguments for format %q", format)
		}
		s, err := percentOne(flags, verb, values[0])
		if err != nil {
			return nil, err
		}
		b.WriteString(s)
		values = values[1:]
	}
	if len(values) > 0 {
		if _, ok := v.(*dict); !ok {
			return nil, failf("not all arguments converted by format %q", format)
		}
	}
	return b.String(), nil
}

func percentOne(flags string, verb byte, v any) (string, error) {
	for _, n := range strings.FieldsFunc(flags, func(r rune) bool { return r < '0' || r > '9' }) {
		if w, err := strconv.Atoi(n); err != nil || w > 10_000 {
			return "", failf("width %s in a format", n)
		}
	}
	switch verb {
	case 's', 'r':
		text := str
		if verb == 'r' {
			text = repr
		}
		s, err := text(v)
		return fmt.Sprintf("%"+flags+"s", s), err
	case 'd', 'i':
		if f, ok := v.(float64); ok {
			v = int64(f)
		}
		n, ok := asInt(v)
		if !ok {
			return "", failf("%%%c format: a number is required, not %s", verb, typeName(v))
		}
		return fmt.Sprintf("%"+flags+"d", n), nil
	case 'f', 'e', 'x', 'X':
		if verb == 'x' || verb == 'X' {
			if n, ok := asInt(v); ok && n >= 0 {
				return fmt.Sprintf("%"+flags+string(verb), n), nil
			}
		} else if f, ok := asFloat(v); ok {
			return fmt.Sprintf("%"+flags+string(verb), f), nil
		}
		return "", failf("%%%c format: %s", verb, typeName(v))
	}
	return "", failf("format character %q is not supported", verb)
}
