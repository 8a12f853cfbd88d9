package grammar

import "slices"

// This file proves that the branches of a oneOf exclude each other.

// exclusive returns an error unless no value that is generated for one branch is valid in another.
func (c *schemaCompiler) exclusive(of choice, branches []*facts) error {
	for i, a := range branches {
		for j, b := range branches[:i] {
			apart, err := c.apart(a, b)
			if err != nil {
				return err
			}
			if !apart {
				return errorf(ErrUnsupported, "%s: both %d and %d may hold, want schemas of which only one can, or anyOf", of.path, j, i)
			}
		}
	}
	return nil
}

// apart reports whether it is plain that what is generated for one of a and b is not valid for the
// other.
func (c *schemaCompiler) apart(a, b *facts) (bool, error) {
	if c.work++; c.work > maxSchemas {
		return false, errorf(ErrTooLarge, "more than %d schemas, each counted as often as it applies with others", maxSchemas)
	}
	// A schema without type is valid for other types than those that are generated for it.
	common := a.generated()&b.valid() | b.generated()&a.valid()
	if common == 0 {
		return true, nil
	}
	if a.enum != nil && b.enum != nil {
		return differ(a, b), nil
	}
	if common != kindObject {
		return false, nil
	}
	p, q := a.plan(), b.plan()
	for _, m := range p.members {
		i := slices.IndexFunc(q.members, func(o member) bool { return o.name == m.name })
		if i < 0 || !m.required || !q.members[i].required {
			continue
		}
		x, err := c.factsOf(m.of)
		if err != nil {
			return false, err
		}
		y, err := c.factsOf(q.members[i].of)
		if err != nil {
			return false, err
		}
		if x.enum != nil && y.enum != nil && differ(x, y) {
			return true, nil
		}
	}
	return len(a.choices)+len(b.choices) == 0 && p.lacks(q) && q.lacks(p), nil
}

// generated are the types that may be generated whatever is chosen of anyOf and oneOf in f.
func (f *facts) generated() kind {
	if len(f.choices) > 0 {
		return f.valid()
	}
	return f.kinds()
}

// lacks reports whether no object that is generated for p is valid for q: it lacks what q requires.
func (p objectPlan) lacks(q objectPlan) bool {
	if p.open {
		return false
	}
	return slices.ContainsFunc(q.members, func(m member) bool {
		return m.required && !slices.ContainsFunc(p.members, func(o member) bool { return o.name == m.name })
	})
}

// differ reports whether the enumerations of a and b have no value in common.
func differ(a, b *facts) bool {
	return !slices.ContainsFunc(a.enum, func(v *value) bool { return slices.ContainsFunc(b.enum, v.equal) })
}
