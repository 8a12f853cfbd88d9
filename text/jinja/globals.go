// Global functions, formatting of strings and of dates.

package jinja

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

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
	d, err := dictOf(a)
	if err != nil {
		return nil, err
	}
	return sized(d)
}

// dictOf is Python's dict(): of a dict or of pairs, and of named arguments.
func dictOf(a *args) (*dict, error) {
	if len(a.plain) > 1 {
		return nil, failf("dict expected at most 1 argument, got %d", len(a.plain))
	}
	out := newDict()
	for _, v := range a.plain {
		if u, ok := v.(undefined); ok {
			return nil, u.err()
		}
		pairs, err := iterate(v)
		if err != nil {
			return nil, err
		}
		if d, ok := v.(*dict); ok {
			pairs = d.items()
		}
		for _, pair := range pairs {
			kv, err := iterate(pair)
			if err == nil && len(kv) != 2 {
				err = failf("dict: an element of length %d, want 2", len(kv))
			}
			if err == nil {
				err = out.set(kv[0], kv[1])
			}
			if err != nil {
				return nil, err
			}
		}
	}
	for i, k := range a.named.keys {
		if err := out.set(k, a.named.values[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func namespaceGlobal(a *args) (any, error) {
	d, err := dictOf(a)
	if err != nil {
		return nil, err
	}
	ns := &namespace{map[string]any{}}
	for i, k := range d.keys {
		if s, ok := asText(k); ok {
			if err := ns.set(s, d.values[i]); err != nil {
				return nil, err
			}
		}
	}
	return ns, nil
}

func (ns *namespace) set(name string, v any) error {
	if strings.HasPrefix(name, "_") {
		return failf("namespace: attribute %q begins with an underscore", name)
	}
	ns.vars[name] = v
	return nil
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
	return nil, check.Errorf(fault.ErrTemplateRaised, "%s", s)
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
	t := a.env.now()
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
		if !subscripted(v) {
			return nil, failf("not all arguments converted by format %q", format)
		}
	}
	return b.String(), nil
}

// subscripted says whether v may be a source of named values, which need not all be used.
func subscripted(v any) bool {
	switch v := v.(type) {
	case *dict, undefined:
		return true
	case *list:
		return !v.tuple && v.plain()
	}
	return false
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
			var err error
			if v, err = floatInteger(f); err != nil {
				return "", err
			}
		}
		n, ok := asBig(v)
		if !ok {
			return "", failf("%%%c format: a number is required, not %s", verb, typeName(v))
		}
		if _, err := decimal(n); err != nil {
			return "", err
		}
		return fmt.Sprintf("%"+flags+"d", n), nil
	case 'x', 'X':
		n, ok := asBig(v)
		if !ok {
			return "", failf("%%%c format: an integer is required, not %s", verb, typeName(v))
		}
		return fmt.Sprintf("%"+flags+string(verb), n), nil
	case 'f', 'e':
		f, ok, err := asFloat(v)
		if !ok {
			return "", failf("%%%c format: a number is required, not %s", verb, typeName(v))
		}
		return fmt.Sprintf("%"+flags+string(verb), f), err
	}
	return "", failf("format character %q is not supported", verb)
}
