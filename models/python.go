package models

import (
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/avoformer/avoformer/internal/pyjson"
)

// Values of JSON as Python takes them where it wants another type.

// truth is whether Python takes the value of a field for true; otherwise is for fields that are absent.
func (d Document) truth(field string, otherwise bool) bool {
	d.note(field)
	if _, ok := d.fields[field]; !ok {
		return otherwise
	}
	return !d.empty(field)
}

// empty reports whether a field is absent, or what Python takes for false.
func (d Document) empty(name string) bool {
	var x any
	if d.Has(name) && pyjson.Unmarshal(d.fields[name], &x) != nil {
		return false
	}
	return empty(x)
}

func empty(x any) bool {
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

// integer is a field that is an integer for Python: true is 1, and those beyond an int32 become the
// largest and the smallest of it.
func (d Document) integer(field string) (int, error) {
	d.note(field)
	switch text := string(d.fields[field]); text {
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

// tokenCount is a field that is a number of tokens, 0 if it is absent or null.
func (d Document) tokenCount(field string) (int, error) {
	if !d.Has(field) {
		return 0, nil
	}
	n, err := d.integer(field)
	if err == nil && n < 1 {
		err = d.Errorf(field, "want a number of tokens")
	}
	return n, err
}

// known returns an error unless all fields are among names.
func (d Document) known(names ...string) error {
	for _, field := range slices.Sorted(maps.Keys(d.fields)) {
		if !slices.Contains(names, field) {
			return d.Errorf(field, "unknown field")
		}
	}
	return nil
}

// says reports whether a field is a string of that value.
func (d Document) says(field, value string) bool {
	var s string
	_, ok := d.fields[field]
	return ok && pyjson.Unmarshal(d.fields[field], &s) == nil && s == value
}

// among returns an error if a field is there with another value than those.
func (d Document) among(field string, values ...string) error {
	if v, ok := d.fields[field]; ok && !slices.Contains(values, string(v)) {
		return d.Errorf(field, "want %s", values[0])
	}
	return nil
}
