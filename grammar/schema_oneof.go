package grammar

import (
	"slices"

	"github.com/avoformer/avoformer/fault"
)

// This file has anyOf and oneOf, and proves that the branches of a oneOf exclude each other.

// maxCombined is how many schemas the negations of a branch may multiply to.
const maxCombined = 256

// choose returns the alternatives of the first anyOf or oneOf of f, each with the rest of f.
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

// exclusive has, for each branch of a oneOf, the negations of the branches that may hold at the
// same time.
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
						err = unheldAt(fault.ErrTooLarge, of.path, "too much")
					}
				}
				if err != nil {
					if !isRefusal(err) {
						return nil, err
					}
					err := unheldAt(err, of.path, "both %d and %d may hold, want schemas of which only one can, or anyOf", j, i)
					return make([]schemas, len(branches)), c.leave(err)
				}
			}
		}
	}
	return not, nil
}

// alternatives returns the elements of a list, if it is one.
func (s schemaAt) alternatives() []*value {
	if s.value == nil {
		return nil
	}
	return s.list
}

// apart reports whether nothing that is generated for one of a and b is valid for the other, as far
// as that is obvious.
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

// generated returns the types that may be generated whatever is chosen of anyOf and oneOf in f.
func (c *schemaCompiler) generated(f *facts) kind {
	if len(f.choices) > 0 {
		return f.valid()
	}
	return c.kinds(f)
}

// lacks reports whether no object that is generated for p is valid for q: it lacks what q requires.
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
