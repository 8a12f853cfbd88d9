// Statements.

package jinja

const (
	flowOn flow = iota
	flowBreak
	flowContinue
)

// execAll runs statements in e.
func execAll(body []stmt, e *env, out *output) (flow, error) {
	for _, s := range body {
		if err := e.step(); err != nil {
			return 0, err
		}
		if f, err := s.exec(e, out); f != flowOn || err != nil {
			return f, err
		}
	}
	return flowOn, nil
}

// capture is what statements write, in a scope of their own.
func capture(body []stmt, e *env) (string, error) {
	if err := e.enter(); err != nil {
		return "", err
	}
	defer e.leave()
	var out output
	_, err := execAll(body, e, &out)
	return out.String(), err
}

type text string

func (s text) exec(_ *env, out *output) (flow, error) { return flowOn, out.write(string(s)) }

type print struct{ x expr }

func (s print) exec(e *env, out *output) (flow, error) {
	v, err := s.x.eval(e)
	if err != nil {
		return 0, err
	}
	return flowOn, out.print(v)
}

type jump flow

func (s jump) exec(*env, *output) (flow, error) { return flow(s), nil }

// scoped is the body of a generation block.
type scoped []stmt

func (s scoped) exec(e *env, out *output) (flow, error) { return execAll(s, e.inner(), out) }

type ifStmt struct {
	tests     []expr
	bodies    [][]stmt
	otherwise []stmt
}

func (s *ifStmt) exec(e *env, out *output) (flow, error) {
	for i, test := range s.tests {
		v, err := test.eval(e)
		if err != nil {
			return 0, err
		}
		if truth(v) {
			return execAll(s.bodies[i], e, out)
		}
	}
	return execAll(s.otherwise, e, out)
}

// assign gives the targets their values, unpacking v if there are several.
func assign(e *env, targets []string, single bool, v any) error {
	if single {
		e.set(targets[0], v)
		return nil
	}
	items, err := iterate(v)
	if err != nil {
		return err
	}
	if len(items) != len(targets) {
		return failf("%d values to unpack, expected %d", len(items), len(targets))
	}
	for i, t := range targets {
		e.set(t, items[i])
	}
	return nil
}

type setStmt struct {
	targets   []string
	single    bool
	attribute string // of a namespace
	value     expr   // or
	filters   expr   // of what the body writes
	body      []stmt
}

func (s *setStmt) exec(e *env, _ *output) (flow, error) {
	var v any
	var err error
	if s.value != nil {
		v, err = s.value.eval(e)
	} else if v, err = capture(s.body, e.inner()); err == nil && s.filters != nil {
		v, err = captureFilter(e, s.filters, v)
	}
	if err != nil {
		return 0, err
	}
	if s.attribute == "" {
		return flowOn, assign(e, s.targets, s.single, v)
	}
	ns, ok := e.get(s.targets[0]).(*namespace)
	if !ok {
		return 0, failf("cannot assign attribute %q: %q is not a namespace", s.attribute, s.targets[0])
	}
	return flowOn, ns.set(s.attribute, v)
}

// captured is in a chain of filters for the block that they apply to.
type captured struct{}

const capturedName = " captured" // no template can name it

func (captured) eval(e *env) (any, error) { return e.get(capturedName), nil }

func captureFilter(e *env, filters expr, v any) (any, error) {
	scope := e.inner()
	scope.set(capturedName, v)
	return filters.eval(scope)
}

type filterStmt struct {
	filters expr
	body    []stmt
}

func (s *filterStmt) exec(e *env, out *output) (flow, error) {
	text, err := capture(s.body, e.inner())
	if err != nil {
		return 0, err
	}
	v, err := captureFilter(e, s.filters, text)
	if err != nil {
		return 0, err
	}
	return flowOn, out.print(v)
}

type withStmt struct {
	names  []string
	values []expr
	body   []stmt
}

func (s *withStmt) exec(e *env, out *output) (flow, error) {
	scope := e.inner()
	for i, n := range s.names {
		v, err := s.values[i].eval(e) // not in scope: values do not see each other
		if err != nil {
			return 0, err
		}
		scope.set(n, v)
	}
	return execAll(s.body, scope, out)
}

type macroStmt struct {
	name                    string
	params                  []string
	defaults                []expr // nil where a parameter has none
	body                    []stmt
	varargs, kwargs, caller bool // read by the body
}

func (s *macroStmt) exec(e *env, _ *output) (flow, error) {
	e.set(s.name, s.value(e))
	return flowOn, nil
}

// value returns the macro as a function that sees the names of e.
func (s *macroStmt) value(e *env) function {
	return func(a *args) (any, error) {
		scope := e.inner()
		if err := s.bind(scope, a); err != nil {
			return nil, err
		}
		return capture(s.body, scope)
	}
}

// bind gives the parameters their values in scope.
func (s *macroStmt) bind(scope *env, a *args) error {
	for i, p := range s.params {
		v, given := a.take(i, p)
		if !given && s.defaults[i] != nil {
			var err error
			if v, err = s.defaults[i].eval(scope); err != nil {
				return err
			}
		} else if !given {
			v = undefined{p}
		}
		scope.set(p, v)
	}
	caller, given := a.take(-1, "caller")
	if given && !s.caller {
		return failf("macro %q takes no caller", s.name)
	} else if s.caller && !given {
		caller = undefined{"caller"}
	}
	scope.set("caller", caller)
	more, named := a.rest(len(s.params))
	if s.varargs {
		scope.set("varargs", &list{items: more, tuple: true})
	} else if len(more) > 0 {
		return failf("macro %q takes not more than %d arguments", s.name, len(s.params))
	}
	if s.kwargs {
		scope.set("kwargs", named)
	} else if len(named.keys) > 0 {
		return failf("macro %q takes no argument %q", s.name, named.keys[0])
	}
	return nil
}

type callStmt struct {
	call  *callExpr
	block *macroStmt
}
