package grammar

import (
	"slices"

	"github.com/avoformer/avoformer/fault"
)

// This file compiles anyOf and oneOf, and ensures that the branches of a oneOf exclude each other.

// maxCombined is the largest number of combinations of the alternatives in the negations for a
// branch.
const maxCombined = 256

// choose returns the expression of the alternatives of the first anyOf or oneOf of f, each combined
// with the rest of f.
func (c *schemaCompiler) choose(f *facts) (*expr, error) {
	first := f.choices[0]
	alone := f.plain && len(f.choices) == 1
	var branches []*facts
	for _, s := range first.of {
		branch := f.clone()
		branch.choices = branch.choices[1:]
		if branch.chosen++; branch.chosen > maxNesting {
			return nil, errorf(fault.ErrTooLarge, "%s: more than %d of anyOf and oneOf apply together", first.path, maxNesting)
		}
		if err := c.absorb(branch, s, 0, first.scopes); err != nil {
			return nil, err
		}
		branches = append(branches, branch)
	}
	not := make([]schemas, len(branches))
	if first.one {
		var err error
		if not, err = c.exclusive(first, branches); err != nil {
			return nil, err
		}
	}
	var list []*expr
	for i, branch := range branches {
		if alone && len(first.scopes) == 0 {
			e, err := c.call(append(schemas{first.of[i]}, not[i]...))
			if err != nil {
				return nil, err
			}
			list = append(list, e)
			continue
		}
		for _, s := range not[i] {
			if err := c.absorb(branch, s, 0, nil); err != nil {
				return nil, err
			}
		}
		if branch.valid() == 0 {
			continue
		}
		e, err := c.write(branch)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return alt(list...), nil
}

// exclusive returns, for each branch of a oneOf, the negations of the branches that may match the
// same values.
func (c *schemaCompiler) exclusive(of choice, branches []*facts) ([]schemas, error) {
	not, size := make([]schemas, len(branches)), make([]int, len(branches))
	for i := range size {
		size[i] = 1
	}
	for i, a := range branches {
		for j, b := range branches[:i] {
			apart, err := c.apart(a, b)
			if err != nil {
				return nil, err
			}
			for _, pair := range [][2]int{{i, j}, {j, i}} {
				if apart {
					continue
				}
				n, err := c.negation(of.of[pair[1]])
				if err == nil {
					not[pair[0]] = append(not[pair[0]], n)
					size[pair[0]] *= max(1, len(n.child("anyOf").alternatives()))
					if size[pair[0]] > maxCombined {
						err = unheldAt(fault.ErrTooLarge, of.path, "too many combinations of alternatives")
					}
				}
				if err != nil {
					if !isRefusal(err) {
						return nil, err
					}
					err := unheldAt(err, of.path, "schemas %d and %d may match the same value, want schemas that exclude each other, or anyOf", j, i)
					return make([]schemas, len(branches)), c.leave(err)
				}
			}
		}
	}
	return not, nil
}

// alternatives returns the elements of s, if it has any.
func (s schemaAt) alternatives() []*value {
	if s.value == nil {
		return nil
	}
	return s.list
}

// apart reports whether no value that is generated for one of a and b is valid for the other. It
// returns false if that is not obvious.
func (c *schemaCompiler) apart(a, b *facts) (bool, error) {
	if err := c.count(); err != nil {
		return false, err
	}
	// A schema without type is valid for other types than those that are generated for it.
	common := c.generated(a)&b.valid() | c.generated(b)&a.valid()
	if common == 0 {
		return true, nil
	}
	if a.enum != nil && b.enum != nil {
		return differ(a, b), nil
	}
	if common != kindObject {
		return false, nil
	}
	p, err := c.plan(a)
	if err != nil {
		return false, err
	}
	q, err := c.plan(b)
	if err != nil {
		return false, err
	}
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

// generated returns the types that may be generated, for any choice among the anyOf and oneOf of f.
func (c *schemaCompiler) generated(f *facts) kind {
	if len(f.choices) > 0 {
		return f.valid()
	}
	return c.kinds(f)
}

// lacks reports whether objects that are generated for p lack a member that q requires.
func (p *objectPlan) lacks(q *objectPlan) bool {
	if len(p.others) > 0 {
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
