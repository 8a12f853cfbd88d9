// Tests: what follows "is".

package jinja

import (
	"slices"
	"strings"
)

func init() {
	tests = map[string]test{
		"defined":     func(v any, _ *args) (bool, error) { _, ok := v.(undefined); return !ok, nil },
		"undefined":   func(v any, _ *args) (bool, error) { _, ok := v.(undefined); return ok, nil },
		"none":        func(v any, _ *args) (bool, error) { return v == nil, nil },
		"string":      func(v any, _ *args) (bool, error) { _, ok := asText(v); return ok, nil },
		"number":      func(v any, _ *args) (bool, error) { return isNumber(v), nil },
		"integer":     func(v any, _ *args) (bool, error) { return typeName(v) == "int", nil },
		"float":       func(v any, _ *args) (bool, error) { _, ok := v.(float64); return ok, nil },
		"boolean":     func(v any, _ *args) (bool, error) { _, ok := v.(bool); return ok, nil },
		"true":        func(v any, _ *args) (bool, error) { return v == true, nil },
		"false":       func(v any, _ *args) (bool, error) { return v == false, nil },
		"mapping":     func(v any, _ *args) (bool, error) { _, ok := v.(*dict); return ok, nil },
		"iterable":    func(v any, _ *args) (bool, error) { _, err := iterator(v); return err == nil, nil },
		"sequence":    isSequence,
		"escaped":     func(v any, _ *args) (bool, error) { _, ok := v.(markup); return ok, nil },
		"callable":    isCallable,
		"odd":         func(v any, _ *args) (bool, error) { return remainder(v, int64(2), 1) },
		"even":        func(v any, _ *args) (bool, error) { return remainder(v, int64(2), 0) },
		"divisibleby": withArgument(func(v, w any) (bool, error) { return remainder(v, w, 0) }),
		"sameas":      withArgument(func(v, w any) (bool, error) { return typeName(v) == typeName(w) && equal(v, w), nil }),
		"in":          withArgument(func(v, w any) (bool, error) { return contains(w, v) }),
		"upper":       func(v any, _ *args) (bool, error) { s, err := str(v); return s == upper(s) && s != lower(s), err },
		"lower":       func(v any, _ *args) (bool, error) { s, err := str(v); return s == lower(s) && s != upper(s), err },
		"filter":      isFilter,
		"test":        func(v any, _ *args) (bool, error) { s, _ := asText(v); return tests[s] != nil, nil },
	}
	for op, names := range map[string][]string{
		"==": {"eq", "equalto", "=="}, "!=": {"ne", "!="}, "<": {"lt", "lessthan", "<"}, "<=": {"le", "<="}, ">": {"gt", "greaterthan", ">"}, ">=": {"ge", ">="},
	} {
		for _, n := range names {
			tests[n] = withArgument(func(v, w any) (bool, error) { return compare(op, v, w) })
		}
	}
}

// beyondFilters names the filters of Jinja that are not known here.
var beyondFilters = strings.Fields("attr batch center filesizeformat forceescape groupby pprint random slice striptags truncate urlencode urlize wordwrap xmlattr")

func isFilter(v any, _ *args) (bool, error) {
	s, _ := asText(v)
	return filters[s] != nil || slices.Contains(beyondFilters, s), nil
}

func isCallable(v any, _ *args) (bool, error) {
	switch v.(type) {
	case function, undefined, *loop:
		return true, nil // calling the latter two is an error all the same
	}
	return false, nil
}

func isSequence(v any, _ *args) (bool, error) {
	switch v := v.(type) {
	case *list:
		return v.plain(), nil
	case string, markup, *dict, undefined:
		return true, nil
	}
	return false, nil
}

func withArgument(f func(v, w any) (bool, error)) test {
	return func(v any, a *args) (bool, error) {
		p, err := a.bind("the test", "other", required)
		if err != nil {
			return false, err
		}
		return f(v, p[0])
	}
}

func remainder(v, by any, want int64) (bool, error) {
	r, err := arithmetic("%", v, by)
	return err == nil && equal(r, want), err
}
