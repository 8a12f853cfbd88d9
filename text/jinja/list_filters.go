// Filters of sequences.

package jinja

import (
	"slices"
	"strings"
)

var listFilters = map[string]filter{
	"list":       func(v any, a *args) (any, error) { items, err := iterate(v); return &list{items: items}, err },
	"first":      firstFilter,
	"last":       lastFilter,
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

func firstFilter(v any, _ *args) (any, error) {
	next, err := iterator(v)
	if err != nil {
		return nil, err
	}
	if v, ok, err := next(); ok || err != nil {
		return v, err
	}
	return undefined{"first of nothing"}, nil
}

func lastFilter(v any, _ *args) (any, error) {
	if _, ok := v.(*generator); ok {
		return nil, failf("generator object is not reversible")
	}
	items, err := iterate(v)
	if err != nil || len(items) == 0 {
		return undefined{"last of nothing"}, err
	}
	return alike(v, items[len(items)-1]), nil // the end of a text is made by its subscript
}

// getter returns the function that takes attribute from an element: names and places with points
// between them. Without attribute it is the element.
func getter(attr any) func(v any) (any, error) { return getterOr(attr, nil) }

// getterOr takes fallback, unless that is nil, where it finds nothing.
func getterOr(attr, fallback any) func(v any) (any, error) {
	if attr == nil {
		return func(v any) (any, error) { return v, nil }
	}
	var keys []any
	if s, ok := asText(attr); ok {
		for _, part := range strings.Split(s, ".") {
			var key any = part
			if strings.Trim(part, "0123456789") == "" {
				if i, ok := parseInteger(part, 10); ok {
					key = i
				}
			}
			keys = append(keys, key)
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
			if _, missing := v.(undefined); missing && fallback != nil {
				v = fallback
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
	return deferred(a.env, func() (pull, error) {
		switch v := v.(type) {
		case undefined:
			return noElement, nil
		case *dict:
			return elements(v.items()), nil
		}
		return nil, failf("items: want a mapping, got %s", typeName(v))
	}), nil
}

func uniqueFilter(v any, a *args) (any, error) {
	p, err := a.bind("unique", "case_sensitive", false, "attribute", nil)
	if err != nil {
		return nil, err
	}
	get, seen := getter(p[1]), newDict()
	return deferred(a.env, func() (pull, error) {
		next, err := iterator(v)
		return next.where(func(x any) (bool, error) {
			k, err := get(x)
			if err != nil {
				return false, err
			}
			if s, ok := asText(k); ok && !truth(p[0]) {
				k = lower(s)
			}
			_, ok, err := seen.get(k)
			if !ok && err == nil {
				err = seen.set(k, nil)
			}
			return !ok, err
		}), err
	}), nil
}

func reverseFilter(v any, a *args) (any, error) {
	items, err := iterate(v)
	if err != nil {
		return nil, err
	}
	items = slices.Clone(items)
	slices.Reverse(items)
	switch v.(type) {
	case string, markup:
		var b strings.Builder
		for _, x := range items {
			b.WriteString(x.(string))
		}
		return alike(v, b.String()), nil
	case *generator:
		return sized(&list{items: items})
	}
	return &generator{elements(items)}, nil
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
	if _, ok := asText(total); ok {
		return nil, failf("sum: cannot sum strings")
	}
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

// extreme returns the first of the elements that no other is op.
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
			if s, ok := asText(k); ok && !truth(p[0]) {
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
	return deferred(a.env, func() (pull, error) {
		if !truth(v) {
			return noElement, nil
		}
		apply, err := mapper(a)
		if err != nil {
			return nil, err
		}
		next, err := iterator(v)
		return func() (any, bool, error) {
			x, ok, err := next()
			if ok && err == nil {
				x, err = apply(x)
			}
			return x, ok, err
		}, err
	}), nil
}

// mapper is what the arguments of map say is done with each element.
func mapper(a *args) (func(x any) (any, error), error) {
	if attr, ok := a.take(-1, "attribute"); ok && len(a.plain) == 0 {
		fallback, _ := a.take(-1, "default")
		if len(a.named.keys) > 0 {
			return nil, failf("map: unexpected argument %q", a.named.keys[0])
		}
		return getterOr(attr, fallback), nil
	}
	if len(a.plain) == 0 {
		return nil, failf("map requires a filter argument")
	}
	name, _ := asText(a.plain[0])
	f := filters[name]
	if f == nil {
		return nil, failf("filter %q is unknown or not supported", name)
	}
	return func(x any) (any, error) {
		return f(x, &args{env: a.env, plain: a.plain[1:], named: a.named})
	}, nil
}

// selector keeps the elements for which a test, or truth itself, is keep.
func selector(attribute, keep bool) filter {
	return func(v any, a *args) (any, error) {
		return deferred(a.env, func() (pull, error) {
			if !truth(v) {
				return noElement, nil
			}
			holds, err := condition(a, attribute)
			if err != nil {
				return nil, err
			}
			next, err := iterator(v)
			return next.where(func(x any) (bool, error) {
				if err := a.env.step(); err != nil {
					return false, err
				}
				ok, err := holds(x)
				return ok == keep, err
			}), err
		}), nil
	}
}

// condition is what the arguments of a selector ask of each element.
func condition(a *args, attribute bool) (func(x any) (bool, error), error) {
	rest, get := a.plain, getter(nil)
	if attribute {
		if len(rest) == 0 {
			return nil, failf("selectattr or rejectattr: missing argument \"attribute\"")
		}
		get, rest = getter(rest[0]), rest[1:]
	}
	is := func(v any, _ *args) (bool, error) { return truth(v), nil }
	if len(rest) > 0 {
		name, _ := asText(rest[0])
		if is = tests[name]; is == nil {
			return nil, failf("test %q is unknown or not supported", name)
		}
		rest = rest[1:]
	}
	return func(x any) (bool, error) {
		y, err := get(x)
		if err != nil {
			return false, err
		}
		return is(y, &args{env: a.env, plain: rest, named: a.named})
	}, nil
}
