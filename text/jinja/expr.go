// Expressions: operators, attributes, subscripts and calls.

package jinja

import (
	"math/big"
	"strings"
)

type literal struct{ v any }

func (x literal) eval(*env) (any, error) { return x.v, nil }

type name string

func (x name) eval(e *env) (any, error) { return e.get(string(x)), nil }

type listExpr struct {
	items []expr
	tuple bool
}

func (x *listExpr) eval(e *env) (any, error) {
	items, err := evalAll(e, x.items)
	if err != nil {
		return nil, err
	}
	return sized(&list{items: items, tuple: x.tuple})
}

type dictExpr struct{ keys, values []expr }

func (x *dictExpr) eval(e *env) (any, error) {
	keys, err := evalAll(e, x.keys)
	if err != nil {
		return nil, err
	}
	values, err := evalAll(e, x.values)
	if err != nil {
		return nil, err
	}
	d := newDict()
	for i, k := range keys {
		if err := d.set(k, values[i]); err != nil {
			return nil, err
		}
	}
	return sized(d)
}

type condExpr struct{ then, test, otherwise expr }

func (x *condExpr) eval(e *env) (any, error) {
	v, err := x.test.eval(e)
	if err != nil {
		return nil, err
	}
	if truth(v) {
		return x.then.eval(e)
	}
	if x.otherwise == nil {
		return undefined{}, nil
	}
	return x.otherwise.eval(e)
}

type unaryExpr struct {
	op string
	x  expr
}

func (x *unaryExpr) eval(e *env) (any, error) {
	v, err := x.x.eval(e)
	if err != nil {
		return nil, err
	}
	if x.op == "not" {
		return !truth(v), nil
	}
	sign := int64(1)
	if x.op == "-" {
		sign = -1
	}
	if f, ok := v.(float64); ok {
		return f * float64(sign), nil
	}
	if !isNumber(v) {
		return nil, failf("bad operand for unary %s: %s", x.op, typeName(v))
	}
	return arithmetic("*", sign, v)
}

type binaryExpr struct {
	op   string
	a, b expr
}

func (x *binaryExpr) eval(e *env) (any, error) {
	if err := e.step(); err != nil {
		return nil, err
	}
	a, err := x.a.eval(e)
	if err != nil {
		return nil, err
	}
	switch x.op {
	case "and":
		if !truth(a) {
			return a, nil
		}
		return x.b.eval(e)
	case "or":
		if truth(a) {
			return a, nil
		}
		return x.b.eval(e)
	}
	b, err := x.b.eval(e)
	if err != nil {
		return nil, err
	}
	for _, v := range []any{a, b} {
		if big, ok := v.(*big.Int); ok {
			if err := e.charge(big); err != nil {
				return nil, err
			}
		}
	}
	if x.op != "~" {
		return charged(e)(arithmetic(x.op, a, b))
	}
	s, err := str(a)
	if err != nil {
		return nil, err
	}
	t, err := str(b)
	if err != nil {
		return nil, err
	}
	return charged(e)(concat(s, t))
}

// charged counts the work that making a result took.
func charged(e *env) func(v any, err error) (any, error) {
	return func(v any, err error) (any, error) {
		if err == nil {
			err = e.charge(v)
		}
		return v, err
	}
}

type compareExpr struct {
	first expr
	ops   []string
	rest  []expr
}

func (x *compareExpr) eval(e *env) (any, error) {
	if err := e.step(); err != nil {
		return nil, err
	}
	a, err := x.first.eval(e)
	if err != nil {
		return nil, err
	}
	for i, op := range x.ops {
		b, err := x.rest[i].eval(e)
		if err != nil {
			return nil, err
		}
		ok, err := compare(op, a, b)
		if err != nil || !ok {
			return false, err
		}
		a = b
	}
	return true, nil
}

// compare returns a op b for the operators of comparisons.
func compare(op string, a, b any) (bool, error) {
	switch op {
	case "==":
		return equal(a, b), nil
	case "!=":
		return !equal(a, b), nil
	case "in":
		return contains(b, a)
	case "not in":
		ok, err := contains(b, a)
		return !ok, err
	}
	c, err := order(op, a, b)
	if err != nil {
		return false, err
	}
	switch op {
	case "<":
		return c < 0, nil
	case "<=":
		return c <= 0 && c != unordered, nil
	case ">":
		return c > 0 && c != unordered, nil
	}
	return c >= 0 && c != unordered, nil
}

// contains is item in v.
func contains(v, item any) (bool, error) {
	switch v := v.(type) {
	case string:
		s, ok := asText(item)
		if !ok {
			return false, failf("'in <string>' requires string, not %s", typeName(item))
		}
		return strings.Contains(v, s), nil
	case markup:
		return contains(string(v), item)
	case *dict:
		_, ok, err := v.get(item)
		return ok, err
	}
	next, err := iterator(v)
	if err != nil {
		return false, err
	}
	for {
		x, ok, err := next()
		if !ok || err != nil || equal(x, item) {
			return ok && err == nil, err
		}
	}
}

type attrExpr struct {
	x    expr
	name string
}

func (x *attrExpr) eval(e *env) (any, error) {
	v, err := x.x.eval(e)
	if err != nil {
		return nil, err
	}
	return attribute(v, x.name, true)
}

// attribute is v.name. Python's own attributes come first: a dict's items is its method though
// there be a key "items".
func attribute(v any, name string, subscripts bool) (any, error) {
	if u, ok := v.(undefined); ok {
		return nil, u.err()
	}
	if strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__") {
		return undefined{name}, nil // the sandbox hides Python's own
	}
	switch v := v.(type) {
	case *namespace:
		if x, ok := v.vars[name]; ok {
			return x, nil
		}
	case *loop:
		return v.attribute(name)
	}
	if m, err := method(v, name); m != nil || err != nil {
		return m, err
	}
	if d, ok := v.(*dict); ok && subscripts {
		if x, ok, _ := d.get(name); ok {
			return x, nil
		}
	}
	return undefined{name}, nil
}

type callExpr struct {
	fn expr
	arguments
}

func (x *callExpr) eval(e *env) (any, error) { return x.with(e, "", nil) }

// with calls with one more named argument, unless name is empty.
func (x *callExpr) with(e *env, name string, v any) (any, error) {
	f, err := x.fn.eval(e)
	if err != nil {
		return nil, err
	}
	a, err := x.arguments.eval(e)
	if err != nil {
		return nil, err
	}
	if name != "" {
		if err := a.named.set(name, v); err != nil {
			return nil, err
		}
	}
	switch f := f.(type) {
	case function:
		return charged(e)(f(a))
	case undefined:
		return nil, f.err()
	}
	return nil, failf("%s is not callable", typeName(f))
}

type filterExpr struct {
	x     expr
	name  string
	apply filter
	arguments
}

func (x *filterExpr) eval(e *env) (any, error) {
	v, err := x.x.eval(e)
	if err != nil {
		return nil, err
	}
	a, err := x.arguments.eval(e)
	if err != nil {
		return nil, err
	}
	return charged(e)(x.apply(v, a))
}

type testExpr struct {
	x      expr
	name   string
	apply  test
	negate bool
	arguments
}

func (x *testExpr) eval(e *env) (any, error) {
	v, err := x.x.eval(e)
	if err != nil {
		return nil, err
	}
	a, err := x.arguments.eval(e)
	if err != nil {
		return nil, err
	}
	ok, err := x.apply(v, a)
	return ok != x.negate, err
}

func (s *callStmt) exec(e *env, out *output) (flow, error) {
	v, err := s.call.with(e, "caller", s.block.value(e))
	if err != nil {
		return 0, err
	}
	return flowOn, out.print(v)
}
