// Filters and tests that do not exist.

package jinja

// absent has the unknown filters and tests of a template. Jinja allows them directly in an if
// statement or a conditional expression, where a condition may keep them from being reached: there
// they are an error of rendering. Elsewhere they are an error of the template, also in a block with
// its own scope inside an if statement. The text after the filter decides which of the two it is:
// "x|f if c".
type absent struct {
	found  []error // of which it is not known yet
	failed error   // the first that is an error of the template
}

func (a *absent) mark() int { return len(a.found) }

func (a *absent) add(err error) { a.found = append(a.found, err) }

// optional ends a condition that began at mark.
func (a *absent) optional(mark int) { a.found = a.found[:mark] }

// settle ends a scope that began at mark.
func (a *absent) settle(mark int) {
	if len(a.found) > mark && a.failed == nil {
		a.failed = a.found[mark]
	}
	a.found = a.found[:mark]
}

// unknownFilter and unknownTest are what fails when it is reached.
func unknownFilter(name string) filter {
	return func(any, *args) (any, error) { return nil, failf("filter %q is unknown or not supported", name) }
}

func unknownTest(name string) test {
	return func(any, *args) (bool, error) { return false, failf("test %q is unknown or not supported", name) }
}
