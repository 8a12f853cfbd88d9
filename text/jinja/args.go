// The arguments of a call: as the template has them, and bound to the names of parameters.

package jinja

func (a *arguments) eval(e *env) (*args, error) {
	plain, err := evalAll(e, a.plain)
	if err != nil {
		return nil, err
	}
	named, err := evalAll(e, a.named)
	if err != nil {
		return nil, err
	}
	out := &args{env: e, plain: plain, named: newDict()}
	for i, n := range a.names {
		if err := out.named.set(n, named[i]); err != nil {
			return nil, err
		}
	}
	return out, a.more(e, out)
}

// more adds the arguments after * and **.
func (a *arguments) more(e *env, out *args) error {
	if a.list != nil {
		v, err := a.list.eval(e)
		if err != nil {
			return err
		}
		items, err := iterate(v)
		if err != nil {
			return err
		}
		out.plain = append(out.plain, items...)
	}
	if a.dict == nil {
		return nil
	}
	v, err := a.dict.eval(e)
	if err != nil {
		return err
	}
	d, ok := v.(*dict)
	if !ok {
		return failf("argument after ** must be a mapping, not %s", typeName(v))
	}
	for i, k := range d.keys {
		if _, ok := asText(k); !ok {
			return failf("keywords must be strings, not %s", typeName(k))
		}
		if _, taken, _ := out.named.get(k); taken {
			return failf("got multiple values for argument %q", k)
		}
		if err := out.named.set(k, d.values[i]); err != nil {
			return err
		}
	}
	return nil
}

// take returns the argument at place i, or by name; -1 has no place. A named argument is taken
// once: rest returns what nobody took.
func (a *args) take(i int, name string) (any, bool) {
	if i >= 0 && i < len(a.plain) {
		return a.plain[i], true
	}
	v, ok, _ := a.named.get(name)
	if ok {
		left := newDict()
		for j, k := range a.named.keys {
			if k != name {
				_ = left.set(k, a.named.values[j])
			}
		}
		a.named = left
	}
	return v, ok
}

func (a *args) rest(n int) ([]any, *dict) { return a.plain[min(n, len(a.plain)):], a.named }

// bind returns the arguments in the order of the parameters' names; where one is missing, its
// default. A parameter without default has the value required.
func (a *args) bind(what string, params ...any) ([]any, error) {
	out := make([]any, 0, len(params)/2)
	for i := 0; i < len(params); i += 2 {
		name := params[i].(string)
		v, ok := a.take(i/2, name)
		if !ok {
			v = params[i+1]
		}
		if v == required {
			return nil, failf("%s: missing argument %q", what, name)
		}
		out = append(out, v)
	}
	if more, named := a.rest(len(params) / 2); len(more) > 0 || len(named.keys) > 0 {
		return nil, failf("%s: too many arguments", what)
	}
	return out, nil
}

type requiredArgument struct{}

var required any = requiredArgument{}

func wantString(what string, v any) (string, error) {
	if s, ok := asText(v); ok {
		return s, nil
	}
	return "", failf("%s: want a string, got %s", what, typeName(v))
}

func wantInt(what string, v any) (int, error) {
	if i, ok := asInt(v); ok && int64(int(i)) == i {
		return int(i), nil
	}
	return 0, failf("%s: want an integer, got %s", what, typeName(v))
}

func evalAll(e *env, xs []expr) ([]any, error) {
	if err := e.step(); err != nil {
		return nil, err
	}
	items := make([]any, len(xs))
	for i, x := range xs {
		var err error
		if items[i], err = x.eval(e); err != nil {
			return nil, err
		}
	}
	return items, nil
}
