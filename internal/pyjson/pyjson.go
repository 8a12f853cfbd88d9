// Package pyjson reads JSON files into Go's structs as Python's json module does, and therefore as
// transformers and sentence-transformers do.
//
// It differs from encoding/json in points that matter for models:
//
//   - the key of a field is its tag, letter for letter; encoding/json accepts Hidden_Size for
//     hidden_size;
//   - if a key occurs twice, the last value replaces the first; encoding/json merges objects;
//   - NaN, Infinity and -Infinity are numbers, and numbers beyond float64 are infinite; integers
//     that do not fit the field are errors;
//   - invalid UTF-8 is an error, as in Python, and a list must have the length of the array that
//     it goes into.
//
// Text after the value is an error in all three, and so is a byte order mark. The escape of half of
// a surrogate pair is an error only in this package, because no valid text can be made of it.
// Python accepts it.
package pyjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// A TypeError is the error for a value that does not fit its Go type.
type TypeError struct {
	Path string // the names of the fields that lead to the value, with dots; "" for the outermost value
	Want reflect.Type
	Have string // the value, shortened
}

func (e *TypeError) Error() string {
	at := ""
	if e.Path != "" {
		at = e.Path + " = "
	}
	return fmt.Sprintf("%s%s, want %v", at, e.Have, e.Want)
}

// Unmarshal fills the value that into points to from text. Fields of structs keep their values if
// text lacks them or has them as null. Types may be booleans, integers, floats, strings, structs,
// slices, arrays, maps from strings, pointers, json.RawMessage, other implementations of
// json.Unmarshaler, and any, which is filled as encoding/json fills it.
func Unmarshal(text []byte, into any) error {
	if err := valid(text); err != nil {
		return err
	}
	r := reader{text: text}
	return r.decode(reflect.ValueOf(into).Elem())
}

// Members calls f for each member of the object in text, in their order. If a key occurs twice, it
// calls f for both values. It stops at the first error.
func Members(text []byte, f func(key string, value json.RawMessage) error) error {
	if err := valid(text); err != nil {
		return err
	}
	r := reader{text: text}
	return r.members(reflect.TypeFor[map[string]any](), f)
}

// The rest of the file reads only well-formed JSON.

// raw skips a value and returns its text.
func (r *reader) raw() []byte {
	r.space()
	start := r.at
	r.value(0)
	return r.text[start:r.at:r.at]
}

// mismatch returns the error of a value that does not fit.
func mismatch(text []byte, t reflect.Type) error {
	const most = 60
	if len(text) > most {
		return &TypeError{Want: t, Have: strings.ToValidUTF8(string(text[:most]), "") + "…"}
	}
	return &TypeError{Want: t, Have: string(text)}
}

// within adds a field to the path of an error.
func within(err error, field string) error {
	if e, ok := err.(*TypeError); ok {
		e.Path = strings.TrimSuffix(field+"."+e.Path, ".")
	}
	return err
}

func (r *reader) decode(v reflect.Value) error {
	r.space()
	null := r.next() == 'n'
	if v.CanAddr() && !(null && v.Kind() == reflect.Pointer) {
		if u, ok := v.Addr().Interface().(json.Unmarshaler); ok {
			return u.UnmarshalJSON(r.raw())
		}
	}
	switch kind := v.Kind(); {
	case null:
		r.raw()
		if kind == reflect.Pointer || kind == reflect.Map || kind == reflect.Slice || kind == reflect.Interface {
			v.SetZero()
		}
		return nil
	case kind == reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		v.Set(p)
		return r.decode(p.Elem())
	case kind == reflect.Struct:
		return r.object(v)
	case kind == reflect.Map:
		return r.mapping(v)
	case kind == reflect.Slice:
		return r.slice(v)
	case kind == reflect.Array:
		s := reflect.New(reflect.SliceOf(v.Type().Elem())).Elem()
		start := r.at
		if err := r.slice(s); err != nil {
			return err
		}
		if s.Len() != v.Len() {
			return mismatch(r.text[start:r.at], v.Type())
		}
		reflect.Copy(v, s)
		return nil
	case kind == reflect.Interface:
		v.Set(reflect.ValueOf(r.any()))
		return nil
	}
	return scalar(r.raw(), v)
}

// any returns a value with the types that encoding/json uses for an empty interface.
func (r *reader) any() any {
	r.space()
	switch r.next() {
	case '{':
		m := map[string]any{}
		r.list('}', func() error {
			key := r.key()
			m[key] = r.any()
			return nil
		})
		return m
	case '[':
		s := []any{}
		r.list(']', func() error {
			s = append(s, r.any())
			return nil
		})
		return s
	case '"':
		return text(r.raw())
	case 't', 'f':
		return r.raw()[0] == 't'
	case 'n':
		r.raw()
		return nil
	}
	return number(r.raw())
}

// key returns the key of a member. The reader is then after the colon.
func (r *reader) key() string {
	key := text(r.raw())
	r.space()
	r.at++
	return key
}

// members calls f for each member of an object that a value of type t is read from.
func (r *reader) members(t reflect.Type, f func(key string, value json.RawMessage) error) error {
	r.space()
	if r.next() != '{' {
		return mismatch(r.raw(), t)
	}
	return r.list('}', func() error { return f(r.key(), r.raw()) })
}

// last returns the last value of each key of an object.
func (r *reader) last(t reflect.Type) (map[string]json.RawMessage, error) {
	last := map[string]json.RawMessage{}
	err := r.members(t, func(key string, value json.RawMessage) error {
		last[key] = value
		return nil
	})
	return last, err
}

// object fills a struct.
func (r *reader) object(v reflect.Value) error {
	last, err := r.last(v.Type())
	if err != nil {
		return err
	}
	for _, f := range reflect.VisibleFields(v.Type()) {
		tag, tagged := f.Tag.Lookup("json")
		if !tagged && f.IsExported() && !f.Anonymous {
			panic(fmt.Sprintf("pyjson: field %s of %v has no tag; json:\"-\" if it is not to be filled", f.Name, v.Type()))
		}
		name, _, _ := strings.Cut(tag, ",")
		value, ok := last[name]
		if name == "" || name == "-" || !ok {
			continue
		}
		field := reader{text: value}
		if err := field.decode(v.FieldByIndex(f.Index)); err != nil {
			return within(err, name)
		}
	}
	return nil
}

// mapping fills a map.
func (r *reader) mapping(v reflect.Value) error {
	t := v.Type()
	last, err := r.last(t)
	if err != nil {
		return err
	}
	if v.IsNil() {
		v.Set(reflect.MakeMapWithSize(t, len(last)))
	}
	for key, value := range last {
		x := reflect.New(t.Elem()).Elem()
		member := reader{text: value}
		if err := member.decode(x); err != nil {
			return within(err, key)
		}
		v.SetMapIndex(reflect.ValueOf(key).Convert(t.Key()), x)
	}
	return nil
}

// slice fills a slice.
func (r *reader) slice(v reflect.Value) error {
	if r.next() != '[' {
		return mismatch(r.raw(), v.Type())
	}
	s := reflect.MakeSlice(v.Type(), 0, 0)
	err := r.list(']', func() error {
		x := reflect.New(v.Type().Elem()).Elem()
		if err := r.decode(x); err != nil {
			return within(err, strconv.Itoa(s.Len()))
		}
		s = reflect.Append(s, x)
		return nil
	})
	v.Set(s)
	return err
}

// scalar fills a value that is not a list.
func scalar(raw []byte, v reflect.Value) error {
	isNumber := raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
	switch {
	case v.Kind() == reflect.String && raw[0] == '"':
		v.SetString(text(raw))
	case v.Kind() == reflect.Bool && (raw[0] == 't' || raw[0] == 'f'):
		v.SetBool(raw[0] == 't')
	case v.CanInt() && isNumber:
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil || v.OverflowInt(n) {
			return mismatch(raw, v.Type())
		}
		v.SetInt(n)
	case v.CanUint() && isNumber:
		n, err := strconv.ParseUint(string(raw), 10, 64)
		if err != nil || v.OverflowUint(n) {
			return mismatch(raw, v.Type())
		}
		v.SetUint(n)
	case v.CanFloat() && (isNumber || raw[0] == 'N' || raw[0] == 'I'):
		v.SetFloat(number(raw))
	default:
		return mismatch(raw, v.Type())
	}
	return nil
}

// number returns the value of a number; it is infinite if it is too large for float64.
func number(raw []byte) float64 {
	switch raw[0] {
	case 'N':
		return math.NaN()
	case 'I':
		return math.Inf(1)
	}
	x, _ := strconv.ParseFloat(string(raw), 64) // "-Infinity" too
	return x
}

// text returns the value of a string.
func text(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	json.Unmarshal(raw, &s)
	return s
}
