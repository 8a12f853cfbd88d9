// This file reads bodies of requests. An unknown field is an error.

package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/serve/internal/engine"
)

// Neutral has fields of other servers that do not affect answers here, each with its allowed JSON
// values; without values, any value is allowed.
type Neutral map[string][]string

// neutral is implemented by requests that accept such fields in addition to those of their structs.
type neutral interface{ Neutral() Neutral }

// ReadJSON reads the body, a JSON object, into a struct, as Decode does.
func (c *Call) ReadJSON(into any) error {
	b := buffers.Get().(*bytes.Buffer)
	defer putBuffer(b)
	if err := c.read(b); err != nil {
		return err
	}
	return c.Decode(b.Bytes(), into)
}

// Decode reads a JSON object into a struct. A field that the struct lacks is an error that names
// it, or a warning with Limits.WarnUnknown, unless the struct's method Neutral has the field.
// Halves of surrogate pairs and bytes that are not UTF-8 become U+FFFD; data is changed. Errors
// have a kind.
func (c *Call) Decode(data []byte, into any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return engine.Errorf(engine.Invalid, "the request has no body")
	}
	data = repaired(data)
	var d *json.Decoder
	err := withWholes(data, into, func() (err error) {
		d = json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		return d.Decode(into)
	})
	if err == nil {
		if _, more := d.Token(); more == io.EOF {
			return nil
		}
		return engine.Errorf(engine.Invalid, "the body is not JSON: something follows the object")
	}
	if !strings.HasPrefix(err.Error(), "json: unknown field ") {
		return jsonError(err, data, into)
	}
	if err := c.others(data, into); err != nil {
		return err
	}
	if err := withWholes(data, into, func() error { return json.Unmarshal(data, into) }); err != nil {
		return jsonError(err, data, into)
	}
	return nil
}

// mostWholes is the largest number of integers in a body that may be written with a fraction of
// zeros.
const mostWholes = 32

// withWholes reads data into a struct. It repeats that after each integer that it rewrites.
func withWholes(data []byte, into any, read func() error) error {
	v := reflect.ValueOf(into).Elem()
	before := reflect.New(v.Type()).Elem()
	before.Set(v)
	err := read()
	for tries := 0; tries < mostWholes && whole(data, err); tries++ {
		v.Set(before)
		err = read()
	}
	return err
}

// whole rewrites the number that an error is about if it is an integer such as 64.0, and reports
// whether it did. Some libraries of languages without integers, such as JavaScript and Lua, write
// integers in this way.
func whole(data []byte, err error) bool {
	e, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok || !strings.HasPrefix(e.Value, "number ") {
		return false
	}
	digits, zeros, _ := strings.Cut(e.Value[len("number "):], ".")
	if zeros == "" || strings.Trim(zeros, "0") != "" {
		return false
	}
	end := int(e.Offset)
	start := end - len(e.Value) + len("number ")
	if start < 0 || end > len(data) || string(data[start:end]) != e.Value[len("number "):] {
		return false
	}
	for i := start + len(digits); i < end; i++ {
		data[i] = ' '
	}
	return true
}

// Peek reads the fields of a JSON object that a struct has. The whole body is read later. Errors
// have a kind.
func Peek(data []byte, into any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return engine.Errorf(engine.Invalid, "the request has no body")
	}
	if err := json.Unmarshal(data, into); err != nil {
		return jsonError(err, data, into)
	}
	return nil
}

// others checks the fields that a struct lacks.
func (c *Call) others(data []byte, into any) error {
	known := Neutral{}
	if n, ok := into.(neutral); ok {
		known = n.Neutral()
	}
	var names []string
	var wrong error
	unknown(reflect.TypeOf(into), data, "", func(name string, value json.RawMessage) {
		values, ok := known[name]
		switch {
		case !ok:
			names = append(names, name)
		case wrong == nil && len(values) > 0 && !IsNull(value) && !slices.ContainsFunc(values, func(v string) bool { return sameJSON(value, v) }):
			wrong = engine.Errorf(engine.Invalid, "%s %.100s is not supported here, want %s", name, value, strings.Join(values, " or ")).At(name)
		}
	})
	switch {
	case len(names) == 0 || wrong != nil:
		return wrong
	case c.limits.WarnUnknown:
		for _, name := range names {
			c.Record.Warn("%.100q is not known here and was ignored", name)
		}
		return nil
	case len(names) == 1:
		return engine.Errorf(engine.Invalid, "%.100q is not supported here", names[0]).At(names[0])
	}
	return engine.Errorf(engine.Invalid, "%.500q are not supported here", names).At(names[0])
}

// sameJSON reports whether two values are equal, as 0 and 0.0 are.
func sameJSON(a json.RawMessage, b string) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// unknown calls found for each field of data that a type lacks, with its path. Types with
// UnmarshalJSON are assumed to have all fields.
func unknown(t reflect.Type, data json.RawMessage, path string, found func(path string, value json.RawMessage)) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return
	}
	switch t.Kind() {
	case reflect.Slice:
		var items []json.RawMessage
		if json.Unmarshal(data, &items) != nil {
			return
		}
		for i, item := range items {
			unknown(t.Elem(), item, fmt.Sprintf("%s[%d]", path, i), found)
		}
	case reflect.Struct:
		var fields map[string]json.RawMessage
		if json.Unmarshal(data, &fields) != nil {
			return
		}
		if path != "" {
			path += "."
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if f, ok := fieldOf(t, name); ok {
				unknown(f, fields[name], path+name, found)
			} else {
				found(path+name, fields[name])
			}
		}
	}
}

// Fields returns the fields of requests that are read into a struct, by their names in JSON, and
// the neutral fields.
func Fields(body any) (fields map[string]reflect.Type, without Neutral) {
	fields = map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(body).Elem()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && len(f.Index) > 0 {
			fields[name] = f.Type
		}
	}
	if n, ok := body.(neutral); ok {
		without = n.Neutral()
	}
	return fields, without
}

// fieldOf returns the type of a struct's field by its JSON name, regardless of case.
func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	for _, f := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag != "" && strings.EqualFold(tag, name) {
			return f.Type, true
		}
	}
	return nil, false
}

// jsonError returns an error for a malformed body. It names the field as the client wrote it.
func jsonError(err error, data []byte, into any) error {
	if e, ok := errors.AsType[*engine.Error](err); ok {
		if e.Param == "" {
			e.Param = blamed(data, into)
		}
		return e
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		path := clientPath(reflect.TypeOf(into), e.Field)
		if path == "" {
			return engine.Errorf(engine.Invalid, "the body is a JSON %s, want an object", e.Value)
		}
		return engine.Errorf(engine.Invalid, "%s: a JSON %s, want %s", path, e.Value, wanted(e.Type)).At(path)
	}
	if name := blamed(data, into); name != "" {
		return engine.Errorf(engine.Invalid, "%s: %v", name, err).At(name)
	}
	return engine.Errorf(engine.Invalid, "the body is not JSON: %v", err)
}

// clientPath returns a path of a field without the names of embedded structs, which are not in the
// JSON.
func clientPath(t reflect.Type, path string) string {
	var out []string
	for name := range strings.SplitSeq(path, ".") {
		for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map) {
			t = t.Elem()
		}
		if t != nil && t.Kind() == reflect.Struct {
			if f, ok := t.FieldByName(name); ok && f.Anonymous && f.Tag.Get("json") == "" {
				t = f.Type
				continue
			}
			t, _ = fieldOf(t, name)
		}
		out = append(out, name)
	}
	return strings.Join(out, ".")
}

// wanted describes the JSON values that a Go type accepts.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number from 0"
	}
	return "another type"
}

// blamed returns the field of an object that cannot be read into a struct, or "".
func blamed(data []byte, into any) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return ""
	}
	t := reflect.TypeOf(into).Elem()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		one, err := json.Marshal(map[string]json.RawMessage{name: fields[name]})
		if err == nil && json.Unmarshal(one, reflect.New(t).Interface()) != nil {
			return name
		}
	}
	return ""
}

// IsNull reports whether a field is absent or null.
func IsNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// Stops is a list of strings that end a text, or a single string. Empty ones, which some clients
// send, are ignored.
type Stops []string

// UnmarshalJSON reads either form.
func (s *Stops) UnmarshalJSON(data []byte) error {
	var one string
	var all []string
	switch {
	case string(data) == "null":
		*s = nil
		return nil
	case json.Unmarshal(data, &one) == nil:
		all = []string{one}
	case json.Unmarshal(data, &all) != nil:
		return engine.Errorf(engine.Invalid, "%.100s, want a string or a list of strings", data)
	}
	*s = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	return nil
}
