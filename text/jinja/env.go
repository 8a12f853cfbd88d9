// The data of a rendering: the tree, scopes, arguments, and the tables of functions that templates
// may call.

package jinja

import (
	"math/big"
	"strings"
	"time"
)

// expr is an expression of the tree; the types are in expr.go.
type expr interface {
	eval(e *env) (any, error)
}

// stmt is a statement of the tree; the types are in stmt.go.
type stmt interface {
	exec(e *env, out *output) (flow, error)
}

// flow says how a statement ended.
type flow uint8

// run is one rendering: its limits and its clock.
type run struct {
	steps, depth int
	now          func() time.Time
}

// env is a scope: names set here hide those outside.
type env struct {
	*run
	parent *env
	vars   map[string]any
}

// output is the text that a rendering has written.
type output struct{ strings.Builder }

// arguments are those of a call as the template has them.
type arguments struct {
	plain []expr
	names []string
	named []expr
	// More of both kinds, after * and **.
	list, dict expr
}

// args are the values of arguments.
type args struct {
	env   *env
	plain []any
	named *dict
}

// The kinds of functions that templates call.
type (
	test         func(v any, a *args) (bool, error)
	filter       func(v any, a *args) (any, error)
	stringMethod func(s string, a *args) (any, error)
	function     func(*args) (any, error)
)

// The tables of functions by name, which tests.go, filters.go and globals.go fill.
var (
	tests   map[string]test
	filters map[string]filter
	globals map[string]any
)

func (e *env) inner() *env { return &env{run: e.run, parent: e} }

func (e *env) set(name string, v any) {
	if e.vars == nil {
		e.vars = map[string]any{}
	}
	e.vars[name] = v
}

func (e *env) get(name string) any {
	for s := e; s != nil; s = s.parent {
		if v, ok := s.vars[name]; ok {
			return v
		}
	}
	if f, ok := globals[name]; ok {
		return f
	}
	return undefined{name}
}

// step counts the work that a template makes.
func (e *env) step() error {
	if e.steps++; e.steps > maxSteps {
		return failf("more than %d steps", maxSteps)
	}
	return nil
}

func (e *env) enter() error {
	if e.depth++; e.depth > maxDepth {
		return failf("macros and blocks nested more than %d deep", maxDepth)
	}
	return e.step()
}

func (e *env) leave() { e.depth-- }

func (o *output) write(s string) error {
	if o.Len()+len(s) > maxOutput {
		return failf("more than %d bytes of output", maxOutput)
	}
	o.WriteString(s)
	return nil
}

// print writes a value as text.
func (o *output) print(v any) error {
	s, err := str(v)
	if err != nil {
		return err
	}
	return o.write(s)
}

// charge counts the work that making v took.
func (e *env) charge(v any) error {
	switch v := v.(type) {
	case string:
		if len(v) > maxOutput {
			return failf("a string of more than %d bytes", maxOutput)
		}
		e.steps += len(v) / 256
	case markup:
		return e.charge(string(v))
	case *big.Int:
		e.steps += v.BitLen() / 64
	case *list:
		e.steps += len(v.items) / 8
	}
	return e.step()
}
