// Loops.

package jinja

type forStmt struct {
	targets         []string
	single          bool // one name takes the element as it is
	over, where     expr
	body, otherwise []stmt
}

func (s *forStmt) exec(e *env, out *output) (flow, error) {
	v, err := s.over.eval(e)
	if err != nil {
		return 0, err
	}
	l, err := s.loop(e, v)
	if err != nil {
		return 0, err
	}
	if err := e.enter(); err != nil {
		return 0, err
	}
	defer e.leave()
	complete := false // whether any turn came to its end
	for {
		ok, err := l.advance()
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		f, err := s.turn(e, l, out)
		if err != nil {
			return 0, err
		}
		complete = complete || f == flowOn
		if f == flowBreak {
			break
		}
	}
	if complete {
		return flowOn, nil
	}
	return execAll(s.otherwise, e.inner(), out)
}

// loop is what the loop goes over.
func (s *forStmt) loop(e *env, v any) (*loop, error) {
	next, err := iterator(v)
	if err != nil {
		return nil, err
	}
	l := &loop{next: next, index: -1, size: -1}
	if s.where != nil {
		l.next = next.where(func(item any) (bool, error) {
			scope := e.inner()
			if err := assign(scope, s.targets, s.single, item); err != nil {
				return false, err
			}
			v, err := s.where.eval(scope)
			return truth(v), err
		})
	} else if n, err := length(v); err == nil {
		l.size = n
	}
	return l, nil
}

// turn runs the body for the element that l has reached.
func (s *forStmt) turn(e *env, l *loop, out *output) (flow, error) {
	scope := e.inner()
	if err := assign(scope, s.targets, s.single, l.current); err != nil {
		return 0, err
	}
	scope.set("loop", l)
	if err := e.step(); err != nil {
		return 0, err
	}
	return execAll(s.body, scope, out)
}

// advance makes the next element the current one, if there is one.
func (l *loop) advance() (bool, error) {
	ok, err := l.peek()
	if ok {
		l.previous, l.current, l.after, l.peeked = l.current, l.after, nil, false
		l.index++
	}
	return ok, err
}

// peek sets after, if there is one.
func (l *loop) peek() (ok bool, err error) {
	if !l.peeked {
		l.after, l.peeked, err = l.next()
	}
	return l.peeked, err
}

func (l *loop) length() (int64, error) {
	if l.size >= 0 {
		return l.size, nil
	}
	items, err := l.next.drain()
	if err != nil {
		return 0, err
	}
	l.next = elements(items)
	l.size = int64(len(items)) + l.index + 1
	if l.peeked {
		l.size++
	}
	return l.size, nil
}

func (l *loop) attribute(name string) (any, error) {
	switch name {
	case "index":
		return l.index + 1, nil
	case "index0":
		return l.index, nil
	case "first":
		return l.index == 0, nil
	case "revindex", "revindex0", "length":
		n, err := l.length()
		return map[string]int64{"revindex": n - l.index, "revindex0": n - l.index - 1, "length": n}[name], err
	case "last":
		ok, err := l.peek()
		return !ok, err
	case "depth":
		return int64(1), nil
	case "depth0":
		return int64(0), nil
	case "previtem":
		if l.index > 0 {
			return l.previous, nil
		}
	case "nextitem":
		if ok, err := l.peek(); ok || err != nil {
			return l.after, err
		}
	case "cycle":
		return function(func(a *args) (any, error) {
			if len(a.plain) == 0 {
				return nil, failf("no items for cycling given")
			}
			return a.plain[int(l.index)%len(a.plain)], nil
		}), nil
	case "changed":
		return function(l.changedFunction), nil
	}
	return undefined{name}, nil
}

// changedFunction says whether the arguments differ from the last call's.
func (l *loop) changedFunction(a *args) (any, error) {
	last := l.changed
	l.changed = &list{items: a.plain, tuple: true}
	return last == nil || !equal(last, l.changed), nil
}
