// The filter tojson.

package jinja

import (
	"fmt"
	"strconv"
	"strings"
)

// tojsonFilter is json.dumps as transformers calls it: no escaping of HTML or
// of letters beyond ASCII.
func tojsonFilter(v any, a *args) (any, error) {
	p, err := a.bind("tojson", "ensure_ascii", false, "indent", nil, "separators", nil, "sort_keys", false)
	if err != nil {
		return nil, err
	}
	if truth(p[0]) || p[2] != nil || truth(p[3]) {
		return nil, failf("tojson: ensure_ascii, separators and sort_keys are not supported")
	}
	w := jsonWriter{indent: -1}
	if p[1] != nil {
		if w.indent, err = wantInt("tojson", p[1]); err != nil {
			return nil, err
		}
		w.indent = min(max(w.indent, 0), 100)
	}
	err = w.write(v, 1)
	return w.String(), err
}

type jsonWriter struct {
	strings.Builder
	indent int // or -1: on one line
}

func (w *jsonWriter) newline(depth int) {
	if w.indent >= 0 {
		w.WriteByte('\n')
		for range w.indent * depth {
			w.WriteByte(' ')
		}
	}
}

func (w *jsonWriter) separator(i int) {
	if i > 0 && w.indent >= 0 {
		w.WriteString(",")
	} else if i > 0 {
		w.WriteString(", ")
	}
}

func (w *jsonWriter) write(v any, depth int) error {
	if w.Len() > maxOutput {
		return failf("a string of more than %d bytes", maxOutput)
	}
	switch v := v.(type) {
	case nil:
		w.WriteString("null")
	case bool:
		w.WriteString(strconv.FormatBool(v))
	case int64:
		w.WriteString(strconv.FormatInt(v, 10))
	case float64:
		s := floatRepr(v)
		if t := map[string]string{"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}[s]; t != "" {
			s = t
		}
		w.WriteString(s)
	case string:
		w.quote(v)
	case *list:
		if v.view != "" {
			return failf("object of type %s is not JSON serializable", v.view)
		}
		return w.elements("[", "]", len(v.items), depth, func(i int) error { return w.write(v.items[i], depth+1) })
	case *dict:
		return w.elements("{", "}", len(v.keys), depth, func(i int) error {
			if err := w.key(v.keys[i]); err != nil {
				return err
			}
			w.WriteString(": ")
			return w.write(v.values[i], depth+1)
		})
	default:
		return failf("object of type %s is not JSON serializable", typeName(v))
	}
	return nil
}

func (w *jsonWriter) elements(open, end string, n, depth int, element func(i int) error) error {
	w.WriteString(open)
	for i := range n {
		w.separator(i)
		w.newline(depth)
		if err := element(i); err != nil {
			return err
		}
	}
	if n > 0 {
		w.newline(depth - 1)
	}
	w.WriteString(end)
	return nil
}

func (w *jsonWriter) key(k any) error {
	s, ok := k.(string)
	if !ok {
		var text jsonWriter
		text.indent = -1
		if _, isList := k.(*list); isList {
			return failf("keys must be strings, numbers or None, not tuple")
		}
		if err := text.write(k, 0); err != nil {
			return err
		}
		s = text.String()
	}
	w.quote(s)
	return nil
}

func (w *jsonWriter) quote(s string) {
	w.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			w.WriteByte('\\')
			w.WriteRune(r)
		case r < 0x20:
			if i := strings.IndexRune("\b\t\n\f\r", r); i >= 0 {
				w.WriteByte('\\')
				w.WriteByte("btnfr"[i])
			} else {
				fmt.Fprintf(w, `\u%04x`, r)
			}
		default:
			w.WriteRune(r)
		}
	}
	w.WriteByte('"')
}
