package tokenizer

// tokenizer.json: fields and their types.

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// object holds the fields of one part of the file. Those that are read are
// forgotten; the first error stays.
type object struct {
	what   string // for messages, such as "normalizer"
	in     value
	fields map[string]value
	err    error

	repeated []string // fields that stand there twice
}

func parseObject(what string, in value) (*object, error) {
	o := &object{what: what, in: in, fields: map[string]value{}}
	if len(in) == 0 || in[0] != '{' {
		return nil, fmt.Errorf("%w: %s must be an object", ErrFormat, what)
	}
	in.each(func(key, v value) error {
		name, _ := key.text()
		if _, ok := o.fields[name]; ok {
			o.repeated = append(o.repeated, name)
		}
		o.fields[name] = v
		return nil
	})
	return o, nil
}

// parseOnce is parseObject for the parts in which Hugging Face's library takes no field
// twice; in others the last one counts.
func parseOnce(what string, in value) (*object, error) {
	o, err := parseObject(what, in)
	if err == nil {
		err = o.once(o.repeated...)
	}
	return o, err
}

// once is an error if one of the fields stands there twice.
func (o *object) once(names ...string) error {
	for _, name := range names {
		if slices.Contains(o.repeated, name) {
			return fmt.Errorf("%w: %s.%s stands there twice", ErrFormat, o.what, name)
		}
	}
	return nil
}

func (o *object) fail(kind error, format string, args ...any) {
	if o.err == nil {
		o.err = fmt.Errorf("%w: %s%s", kind, o.what, fmt.Sprintf(format, args...))
	}
}

// take gives a field, which is missing if it is null.
func (o *object) take(name string) (value, bool) {
	v, ok := o.fields[name]
	delete(o.fields, name)
	return v, ok && !v.isNull()
}

// text reads a string. Without a fallback the field must be there.
func (o *object) text(name string, fallback ...string) string {
	v, ok := o.take(name)
	if !ok && len(fallback) > 0 {
		return fallback[0]
	}
	s, isText := v.text()
	if !isText {
		o.fail(ErrFormat, ".%s must be a string", name)
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
		o.fail(ErrFormat, ".%s must be true or false", name)
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
		o.fail(ErrFormat, ".%s must be a whole number of up to 31 bits", name)
	}
	return int(n)
}

func (o *object) rune(name string) rune {
	s := o.text(name)
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 || n != len(s) {
		o.fail(ErrFormat, ".%s must be one character", name)
	}
	return r
}

// choice reads a string that must be one of the names.
func choice[T any](o *object, name string, names map[string]T, fallback ...string) T {
	s := o.text(name, fallback...)
	v, ok := names[s]
	if !ok {
		o.fail(ErrUnsupported, ".%s: %q", name, s)
	}
	return v
}

// done reports the first error, or a field that nobody read.
func (o *object) done() error {
	delete(o.fields, "type")
	for name, v := range o.fields {
		if o.err == nil && !v.isNull() {
			o.fail(ErrUnsupported, ".%s", name)
		}
	}
	return o.err
}

// parts reads an array of objects with a type each.
func parts[T any](o *object, name string, parse func(what string, in value) (T, error)) []T {
	v, ok := o.take(name)
	if !ok || v[0] != '[' {
		o.fail(ErrFormat, ".%s must be an array", name)
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
		return nil, "", fmt.Errorf("%w: %s has no type", ErrUnsupported, what)
	}
	return o, kind, nil
}

func unknownType(what, kind string) error {
	return fmt.Errorf("%w: %s.type: %q", ErrUnsupported, what, kind)
}
