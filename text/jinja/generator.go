// Generators: what filters yield one by one, once.

package jinja

func noElement() (any, bool, error) { return nil, false, nil }

// elements returns the elements of items.
func elements(items []any) pull {
	return func() (any, bool, error) {
		if len(items) == 0 {
			return nil, false, nil
		}
		v := items[0]
		items = items[1:]
		return v, true, nil
	}
}

// iterator is Python's iter(v).
func iterator(v any) (pull, error) {
	if g, ok := v.(*generator); ok {
		return g.next, nil
	}
	items, err := iterate(v)
	return elements(items), err
}

// where yields the elements for which keep holds.
func (next pull) where(keep func(v any) (bool, error)) pull {
	return func() (any, bool, error) {
		for {
			v, ok, err := next()
			if !ok || err != nil {
				return nil, false, err
			}
			if ok, err = keep(v); ok || err != nil {
				return v, ok, err
			}
		}
	}
}

// deferred returns a generator that is made when its first element is asked for, and that has
// errors only then.
func deferred(e *env, start func() (pull, error)) *generator {
	var next pull
	return &generator{func() (any, bool, error) {
		if err := e.step(); err != nil {
			return nil, false, err
		}
		if next == nil {
			var err error
			if next, err = start(); err != nil {
				return nil, false, err
			}
		}
		v, ok, err := next()
		if ok && err == nil {
			err = e.charge(v)
		}
		if !ok || err != nil {
			next = noElement
		}
		return v, ok, err
	}}
}
