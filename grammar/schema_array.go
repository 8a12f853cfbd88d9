package grammar

import (
	"fmt"
	"slices"

	"github.com/avoformer/avoformer/fault"
)

// This file generates the lists of JSON schemas.

// array returns the lists that f allows.
func (c *schemaCompiler) array(f *facts) (*expr, error) {
	if f.maxItems >= 0 && f.maxItems < f.minItems {
		return none, nil
	}
	of, rest, open := c.elements(f)
	if f.unique != nil && f.maxItems != 1 && f.maxItems != 0 || len(f.contains) > 0 {
		e, err := c.counting(f, of, rest, open)
		if e != nil || err != nil {
			return e, err
		}
	}
	var prefix []*expr
	for _, s := range of {
		e, err := c.call(s)
		if err != nil {
			return nil, err
		}
		prefix = append(prefix, e)
	}
	item := none
	if open {
		var err error
		if item, err = c.call(rest); err != nil {
			return nil, err
		}
	}
	return c.list(f, prefix, item), nil
}

// list returns the lists of elements that are independent of each other.
func (c *schemaCompiler) list(f *facts, prefix []*expr, item *expr) *expr {
	if f.maxItems >= 0 && f.maxItems < len(prefix) {
		prefix, item = prefix[:f.maxItems], none
	}
	if f.maxItems == 0 {
		return concat(literal("["), c.part(space), literal("]"))
	}
	comma := concat(literal(","), c.part(space))
	// rest is first what may follow after the prefix; the loop puts the prefix before it.
	most := -1
	if f.maxItems >= 0 {
		most = f.maxItems - max(len(prefix), 1)
	}
	rest := repeat(concat(comma, item), max(f.minItems-max(len(prefix), 1), 0), most)
	for i := len(prefix) - 1; i > 0; i-- {
		rest = call(c.rule(nil, concat(comma, prefix[i], rest)))
		if i >= f.minItems {
			rest = optional(rest)
		}
	}
	first := item
	if len(prefix) > 0 {
		first = prefix[0]
	}
	all := concat(first, rest, c.part(space))
	if f.minItems == 0 {
		all = optional(all)
	}
	return concat(literal("["), c.part(space), all, literal("]"))
}

// elements returns the schemas of the first elements and those of further elements. open reports
// whether there may be further elements.
func (c *schemaCompiler) elements(f *facts) (prefix []schemas, rest schemas, open bool) {
	n := 0
	open = true // without a schema for elements, any may follow
	for _, a := range f.arrays {
		n = max(n, len(a.prefix))
		open = open && (a.items != nil || a.prefix == nil || a.quiet)
	}
	open = open || c.Open || f.minItems > n || len(f.looseItems) > 0
	for i := range n + 1 {
		var of schemas
		loose := make([]bool, len(f.looseItems))
		for _, a := range f.arrays {
			evaluated := false
			if i < len(a.prefix) {
				of, evaluated = append(of, a.prefix[i]), true
			} else if a.items != nil {
				of, evaluated = append(of, *a.items), true
			}
			for j, u := range f.looseItems {
				loose[j] = loose[j] || evaluated && !a.quiet && slices.Contains(a.scopes, u.scope)
			}
		}
		for j, u := range f.looseItems {
			inner := slices.ContainsFunc(f.looseItems, func(v unevaluated) bool { return v.scope != u.scope && slices.Contains(v.scopes, u.scope) })
			if !loose[j] && !inner {
				of = append(of, u.of)
			}
		}
		if i == n {
			return prefix, of, open
		}
		prefix = append(prefix, of)
	}
	return prefix, nil, open
}

// A lister generates lists with contains or uniqueItems. Each state of a list becomes a rule.
type lister struct {
	*schemaCompiler
	f      *facts
	of     []schemas
	rest   schemas
	open   bool
	values []*value // allowed values of elements, for uniqueItems
	may    [][]bool // of each place and value: whether the value is allowed there
	sorted bool     // elements are in the order of values
	counts *contained
	not    schemaAt // the negation of counts.of, if there is a maximum
	known  map[string]*expr
}

// Limits of lists.
const (
	maxDiffering = 9    // values that may be in any order
	maxSorted    = 512  // values in the order of their schemas
	maxListings  = 4096 // states
)

// counting returns the expression of lists with contains or uniqueItems; nil if these keywords are
// not enforced.
func (c *schemaCompiler) counting(f *facts, of []schemas, rest schemas, open bool) (*expr, error) {
	n := lister{schemaCompiler: c, f: f, of: of, rest: rest, open: open, known: map[string]*expr{}}
	err := n.prepare()
	var e *expr
	if err == nil {
		e, err = n.from(0, 0, make([]byte, len(n.values)))
	}
	if err != nil {
		if !isRefusal(err) {
			return nil, err
		}
		path := f.unique
		if path == nil {
			path = f.contains[0].path
		}
		return nil, c.leave(unheldAt(err, path, "%s", reasonOf(err)))
	}
	return concat(literal("["), c.part(space), e, literal("]")), nil
}

// prepare collects the values for uniqueItems, or reads contains.
func (n *lister) prepare() (err error) {
	if len(n.f.contains) > 1 || len(n.f.contains) == 1 && n.f.unique != nil {
		return errorf(fault.ErrUnsupported, "more than one of contains and uniqueItems")
	}
	if len(n.f.contains) == 1 {
		n.counts = &n.f.contains[0]
		if n.counts.most >= 0 {
			n.not, err = n.negation(n.counts.of)
		}
		return err
	}
	places := append(slices.Clip(n.of), n.rest)
	if !n.open {
		places = n.of
	}
	for i, of := range places {
		list, err := n.finite(of)
		if err != nil {
			return err
		}
		may := make([]bool, len(n.values))
		for _, v := range list {
			j := slices.IndexFunc(n.values, v.equal)
			if j < 0 {
				j, n.values, may = len(n.values), append(n.values, v), append(may, false)
			}
			may[j] = true
		}
		n.may = append(n.may, may)
		if n.sorted = len(n.values) > maxDiffering; n.sorted && (i > 0 || n.Open || len(n.values) > maxSorted) {
			return errorf(fault.ErrTooLarge, "uniqueItems for elements of more than %d values", len(n.values)-1)
		}
	}
	return nil
}

// finite returns the values that schemas allow, if the schemas enumerate them.
func (n *lister) finite(of schemas) ([]*value, error) {
	f, err := n.factsOf(of)
	if err != nil {
		return nil, err
	}
	if f.enum == nil && len(f.choices) == 0 && f.types&^(kindNull|kindBool) == 0 {
		for k, list := range map[kind][]*value{kindNull: {{kind: kindNull}}, kindBool: {{kind: kindBool, yes: true}, {kind: kindBool}}} {
			if f.types&k != 0 {
				f.enum = append(f.enum, list...)
			}
		}
	}
	if len(f.choices) > 0 || f.enum == nil && f.types != 0 {
		return nil, errorf(fault.ErrUnsupported, "uniqueItems for elements without an enum")
	}
	var list []*value
	for _, v := range f.enum {
		ok, err := n.admits(f, v, f.valid())
		if err != nil {
			return nil, err
		}
		if ok && !slices.ContainsFunc(list, v.equal) {
			list = append(list, v)
		}
	}
	return list, nil
}

// from returns the expression of the rest of a list after i elements. counted is the number of
// elements that matched contains, and used marks the values that occurred.
func (n *lister) from(i, counted int, used []byte) (*expr, error) {
	key := fmt.Sprint(i, counted, used)
	if e := n.known[key]; e != nil {
		return e, nil
	}
	rule := n.program.rule(nil, nil)
	e := call(rule)
	if n.known[key] = e; len(n.known) > maxListings {
		return nil, errorf(fault.ErrTooLarge, "more than %d states of the list", maxListings)
	}
	var list []*expr
	if i >= n.f.minItems && (n.counts == nil || counted >= n.counts.least) {
		list = append(list, empty)
		if i > 0 {
			list[0] = n.part(space)
		}
	}
	if n.f.maxItems < 0 || i < n.f.maxItems {
		next, err := n.next(i, counted, used)
		if err != nil {
			return nil, err
		}
		list = append(list, next...)
	}
	n.program.rules[rule] = alt(list...)
	return e, nil
}

// next returns the alternatives for element i, each with the rest of the list.
func (n *lister) next(i, counted int, used []byte) (list []*expr, err error) {
	if i >= len(n.of) && !n.open {
		return nil, nil
	}
	// Places beyond the prefix and the limits are equivalent.
	to := i + 1
	if n.f.maxItems < 0 {
		to = min(to, max(len(n.of), n.f.minItems, 1))
	}
	add := func(element *expr, counted int, used []byte) error {
		rest, err := n.from(to, counted, used)
		if i > 0 {
			element = concat(literal(","), n.part(space), element)
		}
		list = append(list, concat(element, rest))
		return err
	}
	if n.counts == nil {
		may := n.may[min(i, len(n.may)-1)]
		for j, v := range n.values {
			if j < len(may) && may[j] && used[j] == 0 {
				after := slices.Clone(used)
				after[j] = 1
				for k := 0; k < j && n.sorted; k++ {
					after[k] = 1
				}
				if err := add(v.expr(), counted, after); err != nil {
					return nil, err
				}
			}
		}
		return list, nil
	}
	of := n.rest
	if i < len(n.of) {
		of = n.of[i]
	}
	if n.counts.most < 0 || counted < n.counts.most {
		e, err := n.call(append(slices.Clip(of), n.counts.of))
		if err != nil {
			return nil, err
		}
		more := counted + 1
		if n.counts.most < 0 {
			more = min(more, n.counts.least)
		}
		if err := add(e, more, used); err != nil {
			return nil, err
		}
	}
	if n.counts.most >= 0 {
		of = append(slices.Clip(of), n.not)
	}
	e, err := n.call(of)
	if err != nil {
		return nil, err
	}
	return list, add(e, counted, used)
}
