// Filters that sort.

package jinja

import (
	"slices"
	"strings"
)

// sorted sorts items by key, strings without regard to case unless told.
func sorted(items []any, key func(any) (any, error), caseSensitive, reverse bool) ([]any, error) {
	type pair struct{ key, item any }
	pairs := make([]pair, len(items))
	for i, x := range items {
		k, err := key(x)
		if err != nil {
			return nil, err
		}
		if s, ok := asText(k); ok && !caseSensitive {
			k = lower(s)
		}
		pairs[i] = pair{k, x}
	}
	var failed error
	slices.SortStableFunc(pairs, func(a, b pair) int {
		if reverse {
			a, b = b, a
		}
		c, err := order("<", a.key, b.key)
		if err != nil {
			failed = err
		}
		return c
	})
	out := make([]any, len(items))
	for i, p := range pairs {
		out[i] = p.item
	}
	return out, failed
}

func dictsortFilter(v any, a *args) (any, error) {
	p, err := a.bind("dictsort", "case_sensitive", false, "by", "key", "reverse", false)
	if err != nil {
		return nil, err
	}
	d, ok := v.(*dict)
	if !ok {
		return nil, failf("dictsort: want a mapping, got %s", typeName(v))
	}
	place := map[any]int64{"key": 0, "value": 1}
	i, ok := place[p[1]]
	if !ok {
		return nil, failf("dictsort: by must be key or value")
	}
	items, err := sorted(d.items(), getter(i), truth(p[0]), truth(p[2]))
	return &list{items: items}, err
}

func sortFilter(v any, a *args) (any, error) {
	p, err := a.bind("sort", "reverse", false, "case_sensitive", false, "attribute", nil)
	if err != nil {
		return nil, err
	}
	gets := []func(any) (any, error){getter(p[2])}
	if s, ok := asText(p[2]); ok {
		gets = gets[:0]
		for _, attr := range strings.Split(s, ",") {
			gets = append(gets, getter(attr))
		}
	}
	items, err := iterate(v)
	if err != nil {
		return nil, err
	}
	// Keys are lists, in which equal values of any kind have an order.
	keys := func(x any) (any, error) {
		k := &list{}
		for _, get := range gets {
			v, err := get(x)
			if err != nil {
				return nil, err
			}
			if s, ok := asText(v); ok && !truth(p[1]) {
				v = lower(s)
			}
			k.items = append(k.items, v)
		}
		return k, nil
	}
	items, err = sorted(items, keys, true, truth(p[0]))
	return &list{items: items}, err
}
