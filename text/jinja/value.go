// Python's values: nil, bool, int64, *big.Int, float64 and string are Go's own types. This file has
// the other types. Except for namespaces, values never change.

package jinja

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"unicode/utf8"
)

// undefined is what a name without value has.
type undefined struct{ name string }

func (u undefined) err() error { return failf("%q is undefined", u.name) }

// list is a list or a tuple or, where view says so, a range or a dict's view.
type list struct {
	items []any
	tuple bool
	view  string
	size  int // see sized
}

// plain reports whether l has subscripts and a sum.
func (l *list) plain() bool { return l.view == "" || l.view == "range" }

// dict keeps the order in which keys were set.
type dict struct {
	keys, values []any
	at           map[any]int // by hashable key
	size         int
}

func newDict() *dict { return &dict{at: map[any]int{}} }

// tupleKey and bigKey are a tuple and an integer beyond 64 bits as keys.
type (
	tupleKey string
	bigKey   string
)

// hashable returns the key under which equal values meet.
func hashable(k any) (any, error) {
	switch v := k.(type) {
	case nil, string, int64:
		return k, nil
	case markup:
		return string(v), nil
	case undefined:
		return undefined{}, nil // all are equal
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case float64:
		if v != math.Trunc(v) || math.IsInf(v, 0) {
			return v, nil
		}
		i, err := floatInteger(v)
		if err != nil {
			return nil, err
		}
		return hashable(i)
	case *big.Int:
		return bigKey(v.Text(62)), nil
	case *list:
		if !v.tuple {
			break
		}
		var b strings.Builder
		for _, x := range v.items {
			h, err := hashable(x)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "%T %#v,", h, h)
		}
		return tupleKey(b.String()), nil
	case *generator, *namespace, *loop:
		return k, nil
	}
	return nil, failf("unhashable type: %s", typeName(k))
}

func (d *dict) get(k any) (any, bool, error) {
	h, err := hashable(k)
	if err != nil {
		return nil, false, err
	}
	i, ok := d.at[h]
	if !ok {
		return nil, false, nil
	}
	return d.values[i], true, nil
}

func (d *dict) set(k, v any) error {
	h, err := hashable(k)
	if err != nil {
		return err
	}
	if i, ok := d.at[h]; ok {
		d.values[i] = v
		return nil
	}
	d.at[h] = len(d.keys)
	d.keys, d.values = append(d.keys, k), append(d.values, v)
	return nil
}

func (d *dict) items() []any {
	items := make([]any, len(d.keys))
	for i, k := range d.keys {
		items[i] = &list{items: []any{k, d.values[i]}, tuple: true}
	}
	return items
}

type namespace struct{ vars map[string]any }

// sized counts the elements of a new list or dict, those of its elements included: a few lines of
// template can nest 2^100 of them.
func sized(v any) (any, error) {
	n := size(v)
	if n > maxSteps {
		return nil, failf("a value of more than %d elements", maxSteps)
	}
	switch v := v.(type) {
	case *list:
		v.size = n
	case *dict:
		v.size = n
	}
	return v, nil
}

func size(v any) int {
	var items []any
	switch v := v.(type) {
	case *list:
		if v.size > 0 {
			return v.size
		}
		items = v.items
	case *dict:
		if v.size > 0 {
			return v.size
		}
		items = v.values
	}
	n := 1
	for _, x := range items {
		n += size(x)
	}
	return n
}

func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case markup:
		return "Markup"
	case *list:
		if v.tuple {
			return "tuple"
		} else if v.view != "" {
			return v.view
		}
		return "list"
	case *dict:
		return "dict"
	case undefined:
		return "Undefined"
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", v), "*jinja.")
}

// truth is bool(v).
func truth(v any) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case markup:
		return v != ""
	case *list:
		return len(v.items) > 0
	case *dict:
		return len(v.keys) > 0
	}
	return true
}

// iterate returns the elements of v, all that a generator has left.
func iterate(v any) ([]any, error) {
	switch v := v.(type) {
	case *generator:
		return v.next.drain()
	case *list:
		return v.items, nil
	case *dict:
		return v.keys, nil
	case undefined:
		return nil, nil
	case string:
		items := make([]any, 0, len(v))
		for _, r := range v {
			items = append(items, string(r))
		}
		return items, nil
	case markup:
		return iterate(string(v))
	}
	return nil, failf("%s object is not iterable", typeName(v))
}

// length is len(v).
func length(v any) (int64, error) {
	switch v := v.(type) {
	case string:
		return int64(utf8.RuneCountInString(v)), nil
	case markup:
		return length(string(v))
	case *list:
		return int64(len(v.items)), nil
	case *dict:
		return int64(len(v.keys)), nil
	case undefined:
		return 0, nil
	}
	return 0, failf("object of type %s has no len()", typeName(v))
}

// markup is Python's Markup, which is a str.
type markup string

// asText returns a string, marked or not.
func asText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case markup:
		return string(v), true
	}
	return "", false
}

// loop is the variable that a loop gives its body. Elements are made when they are asked for, by
// the loop or by its attributes.
type loop struct {
	next              pull
	index             int64 // of current; -1 before the first
	size              int64 // of all elements; -1 if it is not known
	previous, current any
	after             any // the element after current, if it is known
	peeked            bool
	changed           *list // what loop.changed got last
}

// pull is a function that gives the next element, until ok is false.
type pull func() (v any, ok bool, err error)

// generator yields elements when they are asked for, and each of them once: a template that uses
// one twice finds it empty the second time, as in Python.
type generator struct{ next pull }

// drain returns the elements that are left.
func (next pull) drain() ([]any, error) {
	var items []any
	for {
		v, ok, err := next()
		if !ok || err != nil {
			return items, err
		}
		items = append(items, v)
	}
}

// floatInteger is int(f).
func floatInteger(f float64) (any, error) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, failf("cannot convert float %s to integer", floatRepr(f))
	}
	b, _ := big.NewFloat(f).Int(nil)
	return integer(b), nil
}

// alike is v as a string that is marked if like is.
func alike(like, v any) any {
	if s, ok := v.(string); ok {
		if _, ok := like.(markup); ok {
			return markup(s)
		}
	}
	return v
}
