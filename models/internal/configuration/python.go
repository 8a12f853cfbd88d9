package configuration

import (
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/avoformer/avoformer/internal/pyjson"
)

// Values of JSON as Python takes them where it wants another type.

// Truth is whether Python takes the value of a field for true; otherwise is for fields that are
// absent.
func (d Document) Truth(field string, otherwise bool) bool {
	d.Note(field)
	if _, ok := d.Fields[field]; !ok {
		return otherwise
	}
	return !d.Empty(field)
}

// Empty reports whether a field is absent, or what Python takes for false.
func (d Document) Empty(name string) bool {
	var x any
	if d.Has(name) && pyjson.Unmarshal(d.Fields[name], &x) != nil {
		return false
	}
	return Empty(x)
}

func Empty(x any) bool {
	switch x := x.(type) {
	case nil:
		return true
	case bool:
		return !x
	case float64:
		return x == 0
	case string:
		return x == ""
	case []any:
		return len(x) == 0
	case map[string]any:
		return len(x) == 0
	}
	return false
}

// Integer returns a field that is an integer for Python: true is 1, and those beyond an int32
// become the largest and the smallest of it.
func (d Document) Integer(field string) (int, error) {
	d.Note(field)
	switch text := string(d.Fields[field]); text {
	case "true":
		return 1, nil
	case "false":
		return 0, nil
	default:
		n, err := strconv.ParseInt(text, 10, 32) // the nearest where it does not fit
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return 0, d.Errorf(field, "want an integer")
		}
		return int(n), nil
	}
}

// TokenCount returns a field that is a number of tokens, 0 if it is absent or null.
func (d Document) TokenCount(field string) (int, error) {
	if !d.Has(field) {
		return 0, nil
	}
	n, err := d.Integer(field)
	if err == nil && n < 1 {
		err = d.Errorf(field, "want a number of tokens")
	}
	return n, err
}

// Known returns an error unless all fields are among names.
func (d Document) Known(names ...string) error {
	for _, field := range slices.Sorted(maps.Keys(d.Fields)) {
		if !slices.Contains(names, field) {
			return d.Errorf(field, "unknown field")
		}
	}
	return nil
}

// Says reports whether a field is a string of that value.
func (d Document) Says(field, value string) bool {
	var s string
	_, ok := d.Fields[field]
	return ok && pyjson.Unmarshal(d.Fields[field], &s) == nil && s == value
}

// Among returns an error if a field is there with another value than those.
func (d Document) Among(field string, values ...string) error {
	if v, ok := d.Fields[field]; ok && !slices.Contains(values, string(v)) {
		return d.Errorf(field, "want %s", values[0])
	}
	return nil
}
