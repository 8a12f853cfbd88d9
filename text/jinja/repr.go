// The texts that Python's repr has for values.

package jinja

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// repr is repr(v).
func repr(v any) (string, error) {
	var b strings.Builder
	err := writeRepr(&b, v)
	return b.String(), err
}

func writeRepr(b *strings.Builder, v any) error {
	if b.Len() > maxOutput {
		return failf("a string of more than %d bytes", maxOutput)
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		b.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case *big.Int:
		s, err := decimal(v)
		b.WriteString(s)
		return err
	case float64:
		b.WriteString(floatRepr(v))
	case string:
		reprString(b, v)
	case markup:
		b.WriteString("Markup(")
		reprString(b, string(v))
		b.WriteByte(')')
	case undefined:
		b.WriteString("Undefined")
	case *list:
		return reprList(b, v)
	case *dict:
		b.WriteByte('{')
		for i, k := range v.keys {
			if i > 0 {
				b.WriteString(", ")
			}
			if err := writeRepr(b, k); err != nil {
				return err
			}
			b.WriteString(": ")
			if err := writeRepr(b, v.values[i]); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	default:
		return failf("%s has no text that means anything", typeName(v))
	}
	return nil
}

func reprList(b *strings.Builder, v *list) error {
	open, end := "[", "]"
	switch {
	case v.tuple:
		open, end = "(", ")"
		if len(v.items) == 1 {
			end = ",)"
		}
	case v.view == "range":
		return failf("a range has to be made a list first")
	case v.view != "":
		open, end = v.view+"([", "])"
	}
	b.WriteString(open)
	for i, x := range v.items {
		if i > 0 {
			b.WriteString(", ")
		}
		if err := writeRepr(b, x); err != nil {
			return err
		}
	}
	b.WriteString(end)
	return nil
}

// floatRepr has the shortest digits that mean v, with an exponent from 1e16 and below 1e-4.
func floatRepr(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	case math.IsNaN(v):
		return "nan"
	}
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func reprString(b *strings.Builder, s string) {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == quote || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case strconv.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			fmt.Fprintf(b, `\U%08x`, r)
		}
	}
	b.WriteRune(quote)
}

// str is str(v).
func str(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case markup:
		return string(v), nil
	case undefined:
		return "", nil
	}
	return repr(v)
}
