package grammar

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
)

// This file reads JSON, keeps the order of its members, and writes it for a grammar.

type kind uint8

const (
	kindNull kind = 1 << iota
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject
)

// A value is a JSON value.
type value struct {
	kind    kind
	yes     bool     // of a bool
	text    string   // of a string, or of a number as it is written
	list    []*value // of an array, or the values of an object
	keys    []string // of an object, in their order
	members map[string]*value
	made    bool // a schema that is in no document
	size    int  // bytes of its text, if it was read
}

// parseJSON reads a JSON text.
func parseJSON(text []byte) (*value, error) {
	switch {
	case len(text) > maxSource:
		return nil, errorf(fault.ErrTooLarge, "a schema of %d bytes", len(text))
	case !utf8.Valid(text):
		return nil, errorf(fault.ErrSyntax, "the schema is not valid UTF-8")
	case !json.Valid(text):
		var ignored json.RawMessage
		return nil, errorf(fault.ErrSyntax, "the schema is not JSON: %v", json.Unmarshal(text, &ignored))
	}
	return newJSONReader(text, false).value(0)
}

// parseInstance reads the JSON text of a value. Of members with the same name, the last one counts.
func parseInstance(text []byte) (*value, error) {
	switch {
	case len(text) > maxInstance:
		return nil, errorf(fault.ErrTooLarge, "a text of %d bytes", len(text))
	case !json.Valid(text):
		return nil, errorf(fault.ErrSyntax, "it is not JSON, or was cut off")
	}
	return newJSONReader(text, true).value(0)
}

const maxInstance = 16 << 20

// A jsonReader reads a JSON text.
type jsonReader struct {
	*json.Decoder
	again bool // a member may occur twice
}

func newJSONReader(text []byte, again bool) jsonReader {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return jsonReader{d, again}
}

// value reads a value.
func (d jsonReader) value(depth int) (*value, error) {
	from := d.InputOffset()
	v, err := d.read(depth)
	if err != nil {
		return nil, err
	}
	v.size = int(d.InputOffset() - from)
	return v, nil
}

func (d jsonReader) read(depth int) (*value, error) {
	if depth > maxNesting {
		return nil, errorf(fault.ErrTooLarge, "%s nests deeper than %d", d.what(), maxNesting)
	}
	t, err := d.Token()
	if err != nil {
		return nil, errorf(fault.ErrSyntax, "%s is not JSON: %v", d.what(), err)
	}
	switch t := t.(type) {
	case bool:
		return &value{kind: kindBool, yes: t}, nil
	case json.Number:
		return &value{kind: kindNumber, text: string(t)}, nil
	case string:
		return &value{kind: kindString, text: t}, nil
	case json.Delim:
		return d.members(t, depth)
	}
	return &value{kind: kindNull}, nil
}

func (d jsonReader) what() string {
	if d.again {
		return "the text"
	}
	return "the schema"
}

// members reads an object or an array, whose beginning has been read.
func (d jsonReader) members(begin json.Delim, depth int) (*value, error) {
	v := &value{kind: kindArray}
	if begin == '{' {
		v.kind, v.members = kindObject, map[string]*value{}
	}
	for d.More() {
		key := ""
		if v.kind == kindObject {
			t, err := d.Token()
			if err != nil {
				return nil, errorf(fault.ErrSyntax, "%s is not JSON: %v", d.what(), err)
			}
			key = t.(string)
			if v.members[key] != nil && !d.again {
				return nil, errorf(fault.ErrSyntax, "the key %q occurs twice", key)
			}
		}
		m, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if old := v.members[key]; old != nil { // v.list has the same pointer
			*old = *m
			continue
		}
		if v.kind == kindObject {
			v.keys = append(v.keys, key)
		}
		v.list = append(v.list, m)
		if v.kind == kindObject {
			v.members[key] = m
		}
	}
	_, err := d.Token()
	return v, err
}

// maxExponent limits the exponent and the length of numbers, and with them the cost of exact
// arithmetic.
const maxExponent = 400

// rational returns the value of a number, nil if it has too many digits.
func (v *value) rational() *big.Rat {
	if v.kind != kindNumber {
		return nil
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(v.text), "e")
	e, err := strconv.Atoi(cmp.Or(exponent, "0"))
	if err != nil || e < -maxExponent || e > maxExponent || len(mantissa) > maxExponent {
		return nil
	}
	r, ok := new(big.Rat).SetString(v.text)
	if !ok {
		return nil
	}
	return r
}

// equal reports whether values are equal for JSON schemas: numbers compare by value, and objects
// regardless of the order of their members.
func (v *value) equal(w *value) bool {
	if v.kind != w.kind || len(v.list) != len(w.list) {
		return false
	}
	switch v.kind {
	case kindBool:
		return v.yes == w.yes
	case kindString:
		return v.text == w.text
	case kindNumber:
		a, b := v.rational(), w.rational()
		return v.text == w.text || a != nil && b != nil && a.Cmp(b) == 0
	case kindObject:
		for key, m := range v.members {
			if other := w.members[key]; other == nil || !m.equal(other) {
				return false
			}
		}
		return true
	}
	return slices.EqualFunc(v.list, w.list, (*value).equal)
}

// write appends v with a space after each comma and colon, and with strings as quote writes them.
func (v *value) write(to []byte) []byte {
	switch v.kind {
	case kindNull:
		return append(to, "null"...)
	case kindBool:
		return strconv.AppendBool(to, v.yes)
	case kindNumber:
		return append(to, v.text...)
	case kindString:
		return append(to, quote(v.text)...)
	}
	brackets := "[]"
	if v.kind == kindObject {
		brackets = "{}"
	}
	to = append(to, brackets[0])
	for i, m := range v.list {
		if i > 0 {
			to = append(to, ", "...)
		}
		if v.kind == kindObject {
			to = append(append(to, quote(v.keys[i])...), ": "...)
		}
		to = m.write(to)
	}
	return append(to, brackets[1])
}

// expr returns the expression of v, with or without a space after each comma and colon.
func (v *value) expr() *expr {
	if v.kind != kindObject && v.kind != kindArray {
		return literal(string(v.write(nil)))
	}
	space := optional(literal(" "))
	var sub []*expr
	for i, m := range v.list {
		if i > 0 {
			sub = append(sub, literal(","), space)
		}
		if v.kind == kindObject {
			sub = append(sub, literal(quote(v.keys[i])+":"), space)
		}
		sub = append(sub, m.expr())
	}
	if v.kind == kindObject {
		return concat(literal("{"), concat(sub...), literal("}"))
	}
	return concat(literal("["), concat(sub...), literal("]"))
}

// quote returns s as a JSON string, in the only form that is generated for keys, enumerations and
// patterns: it escapes only the characters that JSON requires to be escaped.
func quote(s string) string {
	b := []byte{'"'}
	for _, r := range s {
		b = append(b, escapeRune(r)...)
	}
	return string(append(b, '"'))
}

// escapeRune returns a character as quote writes it.
func escapeRune(r rune) string {
	switch r {
	case '"', '\\':
		return `\` + string(r)
	case '\b':
		return `\b`
	case '\f':
		return `\f`
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	if r < ' ' {
		const hex = "0123456789abcdef"
		return `\u00` + string(hex[r>>4]) + string(hex[r&15])
	}
	return string(r)
}

// jsonRunes encodes characters of a JSON string as quote writes them.
type jsonRunes struct{}

func (jsonRunes) class(set []runeRange) *expr {
	set = normalised(set)
	var plain []runeRange
	var escaped []string
	for _, r := range set {
		for c := r.lo; c <= min(r.hi, '\\'); c++ {
			if s := escapeRune(c); len(s) > 1 {
				escaped = append(escaped, s)
			}
		}
	}
	for _, part := range []runeRange{{' ', '!'}, {'#', '['}, {']', utf8.MaxRune}} {
		for _, r := range set {
			if lo, hi := max(r.lo, part.lo), min(r.hi, part.hi); lo <= hi {
				plain = append(plain, runeRange{lo, hi})
			}
		}
	}
	slices.Sort(escaped)
	return alt(class(plain), words(escaped))
}
