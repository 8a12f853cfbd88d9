// Arithmetic, equality and order of Python's values.

package jinja

import (
	"cmp"
	"errors"
	"math"
	"math/big"
	"slices"
	"strings"
)

func isNumber(v any) bool {
	switch v.(type) {
	case bool, int64, *big.Int, float64:
		return true
	}
	return false
}

func arithmetic(op string, a, b any) (any, error) {
	if s, ok := a.(string); ok && op == "%" {
		return percent(s, b)
	}
	for _, v := range []any{a, b} {
		if u, ok := v.(undefined); ok {
			return nil, u.err()
		}
	}
	if m, ok := a.(markup); ok && op == "%" {
		return nil, failf("%q %% is not supported, being Markup", string(m))
	}
	if op == "+" || op == "*" {
		if v, ok, err := sequence(op, a, b); ok || err != nil {
			return v, err
		}
	}
	i, iok := asBig(a)
	j, jok := asBig(b)
	if iok && jok {
		return integers(op, i, j)
	}
	x, xok, errX := asFloat(a)
	y, yok, errY := asFloat(b)
	if err := errors.Join(errX, errY); err != nil {
		return nil, err
	}
	if xok && yok {
		return floats(op, x, y)
	}
	return nil, failf("unsupported operand types for %s: %s and %s", op, typeName(a), typeName(b))
}

// sequence returns a sum of strings or lists, or one of them some times.
func sequence(op string, a, b any) (v any, ok bool, err error) {
	if op == "*" {
		if _, ok := asBig(a); ok {
			a, b = b, a
		}
		times, ok := asBig(b)
		if !ok {
			return nil, false, nil
		}
		n := max(times.Int64(), 0)
		switch a := a.(type) {
		case string:
			if !times.IsInt64() {
				return nil, false, failf("a string of more than %d bytes", maxOutput)
			}
			if int64(len(a)) > maxOutput/max(n, 1) {
				return nil, false, failf("a string of more than %d bytes", maxOutput)
			}
			return strings.Repeat(a, int(n)), true, nil
		case markup:
			v, ok, err := sequence(op, string(a), b)
			return alike(a, v), ok, err
		case *list:
			if a.view != "" {
				break
			}
			if int64(size(a)) > maxSteps/max(n, 1) || !times.IsInt64() {
				return nil, false, failf("a value of more than %d elements", maxSteps)
			}
			v, err := sized(&list{items: slices.Repeat(a.items, int(n)), tuple: a.tuple})
			return v, true, err
		}
		return nil, false, nil
	}
	if v, ok, err := addMarkup(a, b); ok {
		return v, true, err
	}
	switch a := a.(type) {
	case string:
		if t, ok := b.(string); ok {
			v, err := concat(a, t)
			return v, true, err
		}
	case *list:
		if l, ok := b.(*list); ok && a.tuple == l.tuple && a.view == "" && l.view == "" {
			v, err := sized(&list{items: slices.Concat(a.items, l.items), tuple: a.tuple})
			return v, true, err
		}
	}
	return nil, false, nil
}

func equal(a, b any) bool {
	if isNumber(a) && isNumber(b) {
		return orderNumbers(a, b) == 0
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		t, ok := asText(b)
		return ok && a == t
	case markup:
		return equal(string(a), b)
	case undefined:
		_, ok := b.(undefined)
		return ok
	case *list:
		l, ok := b.(*list)
		return ok && a.tuple == l.tuple && a.view == l.view && slices.EqualFunc(a.items, l.items, equal)
	case *dict:
		d, ok := b.(*dict)
		if !ok || len(d.keys) != len(a.keys) {
			return false
		}
		for i, k := range a.keys {
			if v, ok, _ := d.get(k); !ok || !equal(a.values[i], v) {
				return false
			}
		}
		return true
	case *namespace, *loop, *generator:
		return a == b
	}
	return false
}

// unordered is what order returns for NaN.
const unordered = math.MinInt

func orderNumbers(a, b any) int {
	i, iok := asBig(a)
	j, jok := asBig(b)
	if iok && jok {
		return i.Cmp(j)
	}
	x, _ := a.(float64)
	y, _ := b.(float64)
	switch {
	case math.IsNaN(x) || math.IsNaN(y):
		return unordered
	case iok:
		return orderFloat(i, y)
	case jok:
		return -orderFloat(j, x)
	}
	return cmp.Compare(x, y)
}

// order is negative, 0 or positive as a is before, with or after b.
func order(op string, a, b any) (int, error) {
	for _, v := range []any{a, b} {
		if u, ok := v.(undefined); ok {
			return 0, u.err()
		}
	}
	if isNumber(a) && isNumber(b) {
		return orderNumbers(a, b), nil
	}
	switch a := a.(type) {
	case string:
		if t, ok := asText(b); ok {
			return strings.Compare(a, t), nil // UTF-8 has the order of its code points
		}
	case markup:
		return order(op, string(a), b)
	case *list:
		l, ok := b.(*list)
		if !ok || a.tuple != l.tuple || a.view != "" || l.view != "" {
			break
		}
		for i, x := range a.items {
			if i == len(l.items) {
				return 1, nil
			}
			if !equal(x, l.items[i]) {
				return order(op, x, l.items[i])
			}
		}
		return cmp.Compare(len(a.items), len(l.items)), nil
	}
	return 0, failf("%s not supported between instances of %s and %s", op, typeName(a), typeName(b))
}

func concat(s, t string) (any, error) {
	if len(s)+len(t) > maxOutput {
		return nil, failf("a string of more than %d bytes", maxOutput)
	}
	return s + t, nil
}

// addMarkup returns the sum of two texts if at least one of them is marked; ok is false for other
// values.
func addMarkup(a, b any) (sum any, ok bool, err error) {
	_, markedA := a.(markup)
	_, markedB := b.(markup)
	_, textA := asText(a)
	_, textB := asText(b)
	if !textA || !textB || !markedA && !markedB {
		return nil, false, nil
	}
	var parts [2]string
	for i, v := range []any{a, b} {
		m, err := escaped(v)
		if err != nil {
			return nil, true, err
		}
		parts[i], _ = asText(m)
	}
	v, err := concat(parts[0], parts[1])
	return alike(markup(""), v), true, err
}
