package grammar

// This file has the lists of JSON schemas.

// array is the lists that f allows.
func (c *schemaCompiler) array(f *facts) (*expr, error) {
	if f.maxItems >= 0 && f.maxItems < f.minItems {
		return none, nil
	}
	prefix, item, err := c.elements(f)
	if err != nil {
		return nil, err
	}
	if f.maxItems >= 0 && f.maxItems < len(prefix) {
		prefix, item = prefix[:f.maxItems], none
	}
	if f.maxItems == 0 {
		return concat(literal("["), c.part(space), literal("]")), nil
	}
	comma := concat(literal(","), c.part(space))
	// What follows after the prefix, then before each of its elements.
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
	return concat(literal("["), c.part(space), all, literal("]")), nil
}

// elements are the expressions of the first elements, and of those after them.
func (c *schemaCompiler) elements(f *facts) (prefix []*expr, item *expr, err error) {
	n := 0
	open := true // others may follow that no schema speaks of
	for _, a := range f.arrays {
		n = max(n, len(a.prefix))
		open = open && (a.items != nil || a.prefix == nil)
	}
	for i := range n + 1 {
		var of schemas
		for _, a := range f.arrays {
			if i < len(a.prefix) {
				of = append(of, a.prefix[i])
			} else if a.items != nil {
				of = append(of, *a.items)
			}
		}
		if i == n && !open && f.minItems <= n {
			return prefix, none, nil
		}
		e, err := c.call(of)
		if err != nil {
			return nil, nil, err
		}
		if i == n {
			return prefix, e, nil
		}
		prefix = append(prefix, e)
	}
	return prefix, none, nil
}
