// The filter tojson.

package jinja

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// tojsonFilter is json.dumps as transformers calls it: no escaping of HTML or, unless asked for, of
// letters beyond ASCII.
func tojsonFilter(v any, a *args) (any, error) {
	p, err := a.bind("tojson", "ensure_ascii", false, "indent", nil, "separators", nil, "sort_keys", false)
	if err != nil {
		return nil, err
	}
	w := jsonWriter{ascii: truth(p[0]), sort: truth(p[3]), comma: ", ", colon: ": "}
	if p[1] != nil {
		if err := w.setIndent(p[1]); err != nil {
			return nil, err
		}
	}
	if p[2] != nil {
		if err := w.setSeparators(p[2]); err != nil {
			return nil, err
		}
	}
	err = w.write(v, 1)
	return w.String(), err
}

type jsonWriter struct {
	strings.Builder
	ascii, sort  bool
	lines        bool   // each element on a line of its own,
	indent       string // after one of these for each level
	comma, colon string
}

// setIndent takes a string, or a number of spaces.
func (w *jsonWriter) setIndent(v any) error {
	w.lines, w.comma = true, ","
	s, ok := asText(v)
	if !ok {
		n, err := wantInt("tojson", v)
		if err != nil {
			return err
		}
		if n > maxOutput {
			return failf("tojson: indent %d", n)
		}
		s = strings.Repeat(" ", max(n, 0))
	}
	w.indent = s
	return nil
}

// setSeparators takes those of elements, and of a key and its value.
func (w *jsonWriter) setSeparators(v any) error {
	items, err := iterate(v)
	if err != nil {
		return err
	}
	if len(items) != 2 {
		return failf("tojson: %d separators, want 2", len(items))
	}
	if w.comma, err = wantString("tojson", items[0]); err == nil {
		w.colon, err = wantString("tojson", items[1])
	}
	return err
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
	case int64, *big.Int:
		s, err := str(v)
		w.WriteString(s)
		return err
	case float64:
		s := floatRepr(v)
		if t := map[string]string{"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}[s]; t != "" {
			s = t
		}
		w.WriteString(s)
	case string:
		w.quote(v)
	case markup:
		w.quote(string(v))
	case *list:
		if v.view != "" {
			return failf("object of type %s is not JSON serializable", v.view)
		}
		return w.elements("[", "]", len(v.items), depth, func(i int) error { return w.write(v.items[i], depth+1) })
	case *dict:
		return w.dict(v, depth)
	default:
		return failf("object of type %s is not JSON serializable", typeName(v))
	}
	return nil
}

func (w *jsonWriter) dict(d *dict, depth int) error {
	places := make([]int, len(d.keys))
	for i := range places {
		places[i] = i
	}
	if w.sort {
		var failed error
		slices.SortStableFunc(places, func(i, j int) int {
			c, err := order("<", d.keys[i], d.keys[j])
			if err != nil {
				failed = err
			}
			return c
		})
		if failed != nil {
			return failed
		}
	}
	return w.elements("{", "}", len(places), depth, func(i int) error {
		if err := w.key(d.keys[places[i]]); err != nil {
			return err
		}
		w.WriteString(w.colon)
		return w.write(d.values[places[i]], depth+1)
	})
}

func (w *jsonWriter) elements(open, end string, n, depth int, element func(i int) error) error {
	w.WriteString(open)
	for i := range n {
		if i > 0 {
			w.WriteString(w.comma)
		}
		if err := w.newline(depth); err != nil {
			return err
		}
		if err := element(i); err != nil {
			return err
		}
	}
	if n > 0 {
		if err := w.newline(depth - 1); err != nil {
			return err
		}
	}
	w.WriteString(end)
	return nil
}

func (w *jsonWriter) newline(depth int) error {
	if !w.lines {
		return nil
	}
	if w.Len()+depth*len(w.indent) > maxOutput {
		return failf("a string of more than %d bytes", maxOutput)
	}
	w.WriteByte('\n')
	for range depth {
		w.WriteString(w.indent)
	}
	return nil
}

func (w *jsonWriter) key(k any) error {
	s, ok := asText(k)
	if !ok {
		if _, isList := k.(*list); isList {
			return failf("keys must be strings, numbers or None, not tuple")
		}
		var w jsonWriter
		if err := w.write(k, 0); err != nil {
			return err
		}
		s = w.String()
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
		case r < 0x20 && strings.ContainsRune("\b\t\n\f\r", r):
			w.WriteByte('\\')
			w.WriteByte("btnfr"[strings.IndexRune("\b\t\n\f\r", r)])
		case r < 0x20 || w.ascii && r >= 0x7f && r < 0x10000:
			fmt.Fprintf(w, `\u%04x`, r)
		case w.ascii && r >= 0x10000:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(w, `\u%04x\u%04x`, high, low)
		default:
			w.WriteRune(r)
		}
	}
	w.WriteByte('"')
}
