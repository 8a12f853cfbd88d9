// Filters of sequences.

package jinja

import (
	"slices"
	"strings"
)

var listFilters = map[string]filter{
	"list":       func(v any, a *args) (any, error) { items, err := iterate(v); return &list{items: items}, err },
	"first":      func(v any, a *args) (any, error) { return endOf(v, func(n int) int { return 0 }) },
	"last":       func(v any, a *args) (any, error) { return endOf(v, func(n int) int { return n - 1 }) },
	"join":       joinFilter,
	"items":      itemsFilter,
	"dictsort":   dictsortFilter,
	"sort":       sortFilter,
	"unique":     uniqueFilter,
	"reverse":    reverseFilter,
	"sum":        sumFilter,
	"min":        extreme("<"),
	"max":        extreme(">"),
	"map":        mapFilter,
	"select":     selector(false, true),
	"reject":     selector(false, false),
	"selectattr": selector(true, true),
	"rejectattr": selector(true, false),
}

func endOf(v any, place func(n int) int) (any, error) {
	items, err := iterate(v)
	if err != nil || len(items) == 0 {
		return undefined{"first or last of nothing"}, err
	}
	return items[place(len(items))], nil
}

// getter is the function that takes attribute from an element: names and
// places with points between them. Without attribute it is the element.
func getter(attr any) func(v any) (any, error) {
	if attr == nil {
		return func(v any) (any, error) { return v, nil }
	}
	var keys []any
	if s, ok := attr.(string); ok {
		for _, part := range strings.Split(s, ".") {
			if integerText.MatchString(part) {
				i, _ := intFilter(part, &args{named: newDict()})
				keys = append(keys, i)
			} else {
				keys = append(keys, part)
			}
		}
	} else {
		keys = []any{attr}
	}
	return func(v any) (any, error) {
		var err error
		for _, k := range keys {
			if v, err = item(v, k); err != nil {
				return nil, err
			}
		}
		return v, nil
	}
}

func joinFilter(v any, a *args) (any, error) {
	p, err := a.bind("join", "d", "", "attribute", nil)
	if err != nil {
		return nil, err
	}
	items, err := iterate(v)
	if err != nil {
		return nil, err
	}
	sep, err := str(p[0])
	if err != nil {
		return nil, err
	}
	get := getter(p[1])
	parts := make([]string, len(items))
	for i, x := range items {
		if x, err = get(x); err != nil {
			return nil, err
		}
		if parts[i], err = str(x); err != nil {
			return nil, err
		}
	}
	return joinAll(parts, sep)
}

func itemsFilter(v any, a *args) (any, error) {
	switch v := v.(type) {
	case undefined:
		return yield(nil), nil
	case *dict:
		return yield(v.items()), nil
	}
	return nil, failf("items: want a mapping, got %s", typeName(v))
}

// sorted sorts items by key, strings without regard to case unless told.
func sorted(items []any, key func(any) (any, error), caseSensitive, reverse bool) ([]any, error) {
	type pair struct{ key, item any }
	pairs := make([]pair, len(items))
	for i, x := range items {
		k, err := key(x)
		if err != nil {
			return nil, err
		}
		if s, ok := k.(string); ok && !caseSensitive {
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
	if s, ok := p[2].(string); ok && strings.Contains(s, ",") {
		return nil, failf("sort: several attributes are not supported")
	}
	items, err := iterate(v)
	if err != nil {
		return nil, err
	}
	items, err = sorted(items, getter(p[2]), truth(p[1]), truth(p[0]))
	return &list{items: items}, err
}

func uniqueFilter(v any, a *args) (any, error) {
	p, err := a.bind("unique", "case_sensitive", false, "attribute", nil)
	if err != nil {
		return nil, err
	}
	items, err := iterate(v)
	if err != nil {
		return nil, err
	}
	get, seen := getter(p[1]), newDict()
	out := yield(nil)
	for _, x := range items {
		k, err := get(x)
		if err != nil {
			return nil, err
		}
		if s, ok := k.(string); ok && !truth(p[0]) {
			k = lower(s)
		}
		if _, ok, err := seen.get(k); err != nil {
			return nil, err
		} else if !ok {
			_ = seen.set(k, nil)
			out.items = append(out.items, x)
		}
	}
	return out, nil
}

func reverseFilter(v any, a *args) (any, error) {
	items, err := iterate(v)
	if err != nil {
		return nil, err
	}
	items = slices.Clone(items)
	slices.Reverse(items)
	if _, ok := v.(string); ok {
		var b strings.Builder
		for _, x := range items {
			b.WriteString(x.(string))
		}
		return b.String(), nil
	}
	return yield(items), nil
}

func sumFilter(v any, a *args) (any, error) {
	p, err := a.bind("sum", "attribute", nil, "start", int64(0))
	if err != nil {
		return nil, err
	}
	items, err := iterate(v)
	if err != nil {
		return nil, err
	}
	get, total := getter(p[0]), p[1]
	for _, x := range items {
		if x, err = get(x); err != nil {
			return nil, err
		}
		if total, err = arithmetic("+", total, x); err != nil {
			return nil, err
		}
	}
	return total, nil
}

// extreme is the first of the elements that no other is op.
func extreme(op string) filter {
	return func(v any, a *args) (any, error) {
		p, err := a.bind("min or max", "case_sensitive", false, "attribute", nil)
		if err != nil {
			return nil, err
		}
		items, err := iterate(v)
		if err != nil || len(items) == 0 {
			return undefined{"extreme of nothing"}, err
		}
		get := getter(p[1])
		var best, bestKey any
		for i, x := range items {
			k, err := get(x)
			if err != nil {
				return nil, err
			}
			if s, ok := k.(string); ok && !truth(p[0]) {
				k = lower(s)
			}
			better := i == 0
			if !better {
				if better, err = compare(op, k, bestKey); err != nil {
					return nil, err
				}
			}
			if better {
				best, bestKey = x, k
			}
		}
		return best, nil
	}
}

// mapFilter applies a filter to each element, or takes an attribute of it.
func mapFilter(v any, a *args) (any, error) {
	items, err := iterate(v)
	if err != nil {
		return nil, err
	}
	out := yield(nil)
	if attr, ok := a.take(-1, "attribute"); ok && len(a.plain) == 0 {
		fallback, hasDefault := a.take(-1, "default")
		get := getter(attr)
		for _, x := range items {
			if x, err = get(x); err != nil {
				return nil, err
			}
			if _, missing := x.(undefined); missing && hasDefault {
				x = fallback
			}
			out.items = append(out.items, x)
		}
		return out, nil
	}
	if len(a.plain) == 0 {
		return nil, failf("map requires a filter argument")
	}
	name, _ := a.plain[0].(string)
	f := filters[name]
	if f == nil {
		return nil, failf("filter %q is unknown or not supported", name)
	}
	for _, x := range items {
		if x, err = f(x, &args{env: a.env, plain: a.plain[1:], named: a.named}); err != nil {
			return nil, err
		}
		if err := a.env.charge(x); err != nil {
			return nil, err
		}
		out.items = append(out.items, x)
	}
	return out, nil
}

// selector keeps the elements for which a test, or truth itself, is keep.
func selector(attribute, keep bool) filter {
	return func(v any, a *args) (any, error) {
		items, err := iterate(v)
		if err != nil {
			return nil, err
		}
		rest, get := a.plain, getter(nil)
		if attribute {
			if len(rest) == 0 {
				return nil, failf("selectattr or rejectattr: missing argument \"attribute\"")
			}
			get, rest = getter(rest[0]), rest[1:]
		}
		is := func(v any, _ *args) (bool, error) { return truth(v), nil }
		if len(rest) > 0 {
			name, _ := rest[0].(string)
			if is = tests[name]; is == nil {
				return nil, failf("test %q is unknown or not supported", name)
			}
			rest = rest[1:]
		}
		out := yield(nil)
		for _, x := range items {
			y, err := get(x)
			if err != nil {
				return nil, err
			}
			ok, err := is(y, &args{env: a.env, plain: rest, named: a.named})
			if err != nil {
				return nil, err
			}
			if err := a.env.step(); err != nil {
				return nil, err
			}
			if ok == keep {
				out.items = append(out.items, x)
			}
		}
		return out, nil
	}
}
