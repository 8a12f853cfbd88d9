// JSON objects whose fields keep their order.

package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/avoformer/avoformer/internal/pyjson"
)

// object is a JSON object whose fields keep their order.
type object struct {
	names  []string
	fields map[string]json.RawMessage
}

func newObject() *object { return &object{fields: map[string]json.RawMessage{}} }

func (o *object) set(name string, v json.RawMessage) {
	if _, ok := o.fields[name]; !ok {
		o.names = append(o.names, name)
	}
	o.fields[name] = v
}

func (o *object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range o.names {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := encode(name)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(o.fields[name])
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

var errNoObject = errors.New("want an object")

func decodeObject(data []byte) (*object, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil {
		return nil, err
	} else if t != json.Delim('{') {
		return nil, errNoObject
	}
	o := newObject()
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		o.set(name.(string), v)
	}
	return o, nil
}

// encode is v's JSON without escapes for HTML.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// objects returns the array of objects that v's JSON is; nil if it is null.
func objects(v any) ([]*object, error) {
	raw, err := encode(v)
	if err != nil {
		return nil, err
	}
	if isNull(raw) {
		return nil, nil
	}
	var items []json.RawMessage
	if err := pyjson.Unmarshal(raw, &items); err != nil {
		return nil, errors.New("want an array of objects")
	}
	list := make([]*object, len(items))
	for i, item := range items {
		if list[i], err = decodeObject(item); err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return list, nil
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// text returns the string that raw is, if it is one.
func text(raw json.RawMessage) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return s, pyjson.Unmarshal(raw, &s) == nil
}

// sameText reports whether a and b mean the same: to the byte, or as strings.
func sameText(a, b json.RawMessage) bool {
	s, isText := text(a)
	t, alsoText := text(b)
	return isText && alsoText && s == t || bytes.Equal(a, b)
}

// only reports whether o has no other fields.
func (o *object) only(names ...string) bool {
	return !slices.ContainsFunc(o.names, func(n string) bool { return !slices.Contains(names, n) })
}
