package tokenizer

// Reading the fields of tokenizer.json.

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// object holds the fields of one part of the file. Reading a field removes it. Only the first error
// is kept.
type object struct {
	what   string // for messages, such as "normalizer"
	in     value
	fields map[string]value
	err    error

	taken    string   // the field that was read last
	value    value    // the value of that field
	repeated []string // fields that occur twice
}

func parseObject(what string, in value) (*object, error) { return parseObjectOf(nil, what, in) }

// parseObjectOf is parseObject in a text whose spans are known.
func parseObjectOf(known spans, what string, in value) (*object, error) {
	o := &object{what: what, in: in, fields: map[string]value{}}
	if len(in) == 0 || in[0] != '{' {
		return nil, failure(fault.ErrFormat, what, "", "must be an object")
	}
	in.eachOf(known, func(key, v value) error {
		name, _ := key.text()
		if _, ok := o.fields[name]; ok {
			o.repeated = append(o.repeated, name)
		}
		o.fields[name] = v
		return nil
	})
	return o, nil
}

// parseOnce is parseObject for the parts in which Hugging Face's library refuses repeated fields.
// In all other parts the last field of a name counts.
func parseOnce(what string, in value) (*object, error) {
	o, err := parseObject(what, in)
	if err == nil {
		err = o.once(o.repeated...)
	}
	return o, err
}

// once returns an error if one of the fields occurs twice.
func (o *object) once(names ...string) error {
	for _, name := range names {
		if slices.Contains(o.repeated, name) {
			return failure(fault.ErrFormat, o.what, name, "occurs twice")
		}
	}
	return nil
}

// failure returns an error about a field of an object, or about the object if field is empty. If
// what begins with the name of a file, that name becomes the error's File. Otherwise the caller
// that read the file must add it.
func failure(kind error, what, field, format string, args ...any) *fault.Error {
	e := &fault.Error{Kind: kind, Field: what}
	if file, rest, ok := strings.Cut(what, ".json"); ok {
		e.File, e.Field = file+".json", strings.TrimPrefix(rest, ".")
	}
	e.Field = strings.TrimPrefix(e.Field+"."+field, ".")
	e.Field = strings.TrimSuffix(e.Field, ".")
	if format != "" {
		e.Err = fmt.Errorf(format, args...)
	}
	return e
}

// inFile adds the name of the file to an error that does not have one.
func inFile(name string, err error) error {
	if e := (*fault.Error)(nil); errors.As(err, &e) && e.File != "" {
		return err
	}
	return check.InFile(name, fault.ErrFormat, err)
}

// fail keeps the first error about a field. format and its arguments say what is wrong.
func (o *object) fail(kind error, field, format string, args ...any) {
	if o.err != nil {
		return
	}
	e := failure(kind, o.what, field, format, args...)
	if field != "" && field == o.taken {
		e.Value = check.JSON([]byte(o.value))
	}
	o.err = e
}

// take removes a field and returns it. A field that is null counts as missing.
func (o *object) take(name string) (value, bool) {
	v, ok := o.fields[name]
	delete(o.fields, name)
	o.taken, o.value = name, v
	return v, ok && !v.isNull()
}

// text reads a string. Without a fallback the field is required.
func (o *object) text(name string, fallback ...string) string {
	v, ok := o.take(name)
	if !ok && len(fallback) > 0 {
		return fallback[0]
	}
	s, isText := v.text()
	if !isText {
		o.fail(fault.ErrFormat, name, "must be a string")
	}
	return s
}

func (o *object) bool(name string, fallback ...bool) bool {
	v, ok := o.take(name)
	if !ok && len(fallback) > 0 {
		return fallback[0]
	}
	b, isBool := v.bool()
	if !isBool {
		o.fail(fault.ErrFormat, name, "must be true or false")
	}
	return b
}

func (o *object) number(name string, fallback ...int) int {
	v, ok := o.take(name)
	if !ok && len(fallback) > 0 {
		return fallback[0]
	}
	n, isNumber := v.uint32()
	if !isNumber || n > maxID {
		o.fail(fault.ErrFormat, name, "must be a whole number of up to 31 bits")
	}
	return int(n)
}

func (o *object) rune(name string) rune {
	s := o.text(name)
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 || n != len(s) {
		o.fail(fault.ErrFormat, name, "must be one character")
	}
	return r
}

// choice reads a string that must be one of names.
func choice[T any](o *object, name string, names map[string]T, fallback ...string) T {
	s := o.text(name, fallback...)
	v, ok := names[s]
	if !ok {
		o.fail(fault.ErrConfig, name, "not supported")
	}
	return v
}

// done returns the first error, or an error for a field that was not read.
func (o *object) done() error {
	delete(o.fields, "type")
	for name, v := range o.fields {
		if o.err == nil && !v.isNull() {
			o.fail(fault.ErrConfig, name, "not supported")
		}
	}
	return o.err
}

// parts reads an array of objects that each have a type.
func parts[T any](o *object, name string, parse func(what string, in value) (T, error)) []T {
	v, ok := o.take(name)
	if !ok || v[0] != '[' {
		o.fail(fault.ErrFormat, name, "must be an array")
		return nil
	}
	var list []T
	err := v.each(func(_, v value) error {
		p, err := parse(fmt.Sprintf("%s.%s[%d]", o.what, name, len(list)), v)
		list = append(list, p)
		return err
	})
	if err != nil && o.err == nil {
		o.err = err
	}
	return list
}

// typed reads an object and its type.
func typed(what string, in value) (*object, string, error) {
	o, err := parseObject(what, in)
	if err != nil {
		return nil, "", err
	}
	kind, ok := o.fields["type"].text()
	if !ok {
		return nil, "", failure(fault.ErrConfig, what, "type", "missing")
	}
	return o, kind, nil
}

func unknownType(what, kind string) error {
	e := failure(fault.ErrConfig, what, "type", "not supported")
	e.Value = strconv.Quote(kind)
	return e
}
