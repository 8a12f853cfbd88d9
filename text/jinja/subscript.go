// Subscripts and slices.

package jinja

import (
	"math"
	"strings"
)

type itemExpr struct{ x, key expr }

func (x *itemExpr) eval(e *env) (any, error) {
	if err := e.step(); err != nil {
		return nil, err
	}
	v, err := x.x.eval(e)
	if err != nil {
		return nil, err
	}
	key, err := x.key.eval(e)
	if err != nil {
		return nil, err
	}
	return item(v, key)
}

// item is v[key]: undefined if v does not have the key.
func item(v, key any) (any, error) {
	switch v := v.(type) {
	case undefined:
		return nil, v.err()
	case *dict:
		if x, ok, err := v.get(key); ok || err != nil {
			return x, err
		}
	case *list:
		if i, ok := index(key, len(v.items)); ok && v.plain() {
			return v.items[i], nil
		}
	case string:
		if r := []rune(v); true {
			if i, ok := index(key, len(r)); ok {
				return string(r[i]), nil
			}
		}
	case markup:
		if _, ok := asInt(key); ok {
			x, err := item(string(v), key)
			return alike(v, x), err
		}
	}
	if s, ok := asText(key); ok {
		return attribute(v, s, false)
	}
	s, err := repr(key)
	return undefined{s}, err
}

// index returns a place in n elements, which may be counted from the end.
func index(key any, n int) (int, bool) {
	i, ok := asInt(key)
	if i < 0 {
		i += int64(n)
	}
	return int(i), ok && i >= 0 && i < int64(n)
}

type sliceExpr struct {
	x      expr
	bounds [3]expr // start, end, step
}

func (x *sliceExpr) eval(e *env) (any, error) {
	if err := e.step(); err != nil {
		return nil, err
	}
	v, err := x.x.eval(e)
	if err != nil {
		return nil, err
	}
	var bounds [3]*int64
	for i, b := range x.bounds {
		if b == nil {
			continue
		}
		y, err := b.eval(e)
		if err != nil {
			return nil, err
		}
		if y == nil {
			continue
		}
		n, ok := asBig(y)
		if !ok {
			return nil, failf("slice indices must be integers or None, not %s", typeName(y))
		}
		// Nothing is as long as this, so that the slice stays the same.
		clipped := int64(math.MaxInt32) * int64(n.Sign())
		if n.IsInt64() {
			clipped = max(min(n.Int64(), math.MaxInt32), -math.MaxInt32)
		}
		bounds[i] = &clipped
	}
	whole := v
	if s, ok := asText(v); ok {
		v = s
	}
	switch v := v.(type) {
	case string:
		r := []rune(v)
		var b strings.Builder
		err := slice(len(r), bounds, func(i int) { b.WriteRune(r[i]) })
		if err == nil {
			err = e.charge(b.String())
		}
		return alike(whole, b.String()), err
	case *list:
		if !v.plain() {
			break
		}
		out := &list{tuple: v.tuple, view: v.view}
		err := slice(len(v.items), bounds, func(i int) { out.items = append(out.items, v.items[i]) })
		return out, err
	case undefined:
		return nil, v.err()
	}
	return nil, failf("%s cannot be sliced", typeName(v))
}

// slice calls f with the places start:end:step among n elements.
func slice(n int, bounds [3]*int64, f func(i int)) error {
	step := int64(1)
	if bounds[2] != nil {
		step = *bounds[2]
	}
	if step == 0 {
		return failf("slice step cannot be zero")
	}
	low, high := int64(0), int64(n) // where an end that lies outside is moved to
	start, end := low, high
	if step < 0 {
		low, high = -1, int64(n)-1
		start, end = high, low
	}
	clip := func(p *int64, v int64) int64 {
		if p == nil {
			return v
		}
		v = *p
		if v < 0 {
			v += int64(n)
		}
		return min(max(v, low), high)
	}
	start, end = clip(bounds[0], start), clip(bounds[1], end)
	for i := start; step > 0 && i < end || step < 0 && i > end; i += step {
		f(int(i))
		if step > int64(n) || step < -int64(n) {
			break // and i cannot overflow
		}
	}
	return nil
}
