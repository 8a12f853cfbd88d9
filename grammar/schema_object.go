package grammar

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
)

// This file generates the objects of JSON schemas.

// object returns the objects that f allows.
func (c *schemaCompiler) object(f *facts) (*expr, error) {
	p, err := c.plan(f)
	if err != nil || p.nothing {
		return none, err
	}
	pairs := make([]*expr, len(p.members))
	names := make([]string, len(p.members))
	for i, m := range p.members {
		e, err := c.call(m.of)
		if err != nil {
			return nil, err
		}
		pairs[i] = concat(literal(quote(m.name)+":"), optional(literal(" ")), e)
		names[i] = quote(m.name)
	}
	other, err := c.otherPair(p, names)
	if err != nil {
		return nil, err
	}
	var all *expr
	if f.counted != nil || len(f.dependents) > 0 {
		if all, err = c.counted(f, p, pairs, other); err != nil {
			return nil, err
		}
	} else {
		all = c.inOrder(p, pairs, other)
	}
	return concat(literal("{"), c.part(space), all, literal("}")), nil
}

// inOrder returns the members in their order, and any number of further members after them.
func (c *schemaCompiler) inOrder(p *objectPlan, pairs []*expr, other *expr) *expr {
	comma := concat(literal(","), c.part(space))
	firstRequired := slices.IndexFunc(p.members, func(m member) bool { return m.required })
	if firstRequired < 0 {
		firstRequired = len(pairs)
	}
	// tails[i] is the rest of the object after its first member, if member i is the next to decide.
	rest, others := empty, none
	if other != nil {
		rest = star(concat(comma, other))
		others = concat(other, rest)
	}
	tails := make([]*expr, len(pairs)+1)
	tails[len(pairs)] = rest
	for i := len(pairs) - 1; i >= 0; i-- {
		e := concat(comma, pairs[i])
		if !p.members[i].required {
			e = optional(e)
		}
		tails[i] = call(c.rule(nil, concat(e, tails[i+1])))
	}
	// The first member in the text is a property up to the first required one.
	all := others
	if firstRequired < len(pairs) {
		all = concat(pairs[firstRequired], tails[firstRequired+1])
	}
	for i := firstRequired - 1; i >= 0; i-- {
		all = call(c.rule(nil, alt(concat(pairs[i], tails[i+1]), all)))
	}
	all = concat(all, c.part(space))
	if firstRequired == len(pairs) {
		all = optional(all)
	}
	return all
}

// maxNames limits the bytes of the names that additional names must differ from.
const maxNames = 1 << 14

// otherPair returns the expression of a member whose name is not in names. These have quotes. It
// returns nil if no such member is allowed.
func (c *schemaCompiler) otherPair(p *objectPlan, names []string) (*expr, error) {
	var list []*expr
	for _, o := range p.others {
		e, err := c.call(o.of)
		if err != nil {
			return nil, err
		}
		var name *expr
		if o.names == nil {
			name, err = c.otherName(names)
		} else {
			name, err = c.namesOf(p, o)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, concat(name, literal(":"), optional(literal(" ")), e))
	}
	if list == nil {
		return nil, nil
	}
	return call(c.rule(nil, alt(list...))), nil
}

// namesOf returns the expression of the names of additional members, if names have rules.
func (c *schemaCompiler) namesOf(p *objectPlan, o others) (*expr, error) {
	taken := textRule{words: []string{}, not: true}
	for _, m := range p.members {
		taken.words = append(taken.words, m.name)
	}
	d, err := c.language(o.names, taken)
	if err != nil {
		return nil, unheldAt(err, o.path, "names of additional members: %s", reasonOf(err))
	}
	return concat(literal(`"`), d.expr(&c.program, jsonRunes{}), literal(`"`)), nil
}

// otherName returns the expression of any name of a member that is not taken. If there are taken
// names, the name is written as quote writes it.
func (c *schemaCompiler) otherName(taken []string) (*expr, error) {
	if len(taken) == 0 {
		return c.part(anyString), nil
	}
	taken = slices.Sorted(slices.Values(taken))
	rest, total := make([]string, len(taken)), 0
	for i, name := range taken {
		rest[i] = name[1:]
		if total += len(name); total > maxNames {
			return nil, errorf(fault.ErrTooLarge, "the names of properties, from which additional names must differ, have more than %d bytes", maxNames)
		}
	}
	return concat(literal(`"`), c.otherThan(rest)), nil
}

// otherThan returns the expression of the rest of a name with its closing quote, except those in
// taken. These are sorted and also have the quote.
func (c *schemaCompiler) otherThan(taken []string) *expr {
	list := []*expr{literal(`"`)}
	var begun []runeRange
	for i := 0; i < len(taken); {
		r, n := unquoted(taken[i])
		if n == 0 {
			list[0] = none
			i++
			continue
		}
		var tails []string
		begin := taken[i][:n]
		for ; i < len(taken) && strings.HasPrefix(taken[i], begin); i++ {
			tails = append(tails, taken[i][n:])
		}
		begun = append(begun, runeRange{r, r})
		list = append(list, concat(literal(begin), c.otherThan(tails)))
	}
	return alt(append(list, concat(c.otherRune(begun), c.part(restOfName)))...)
}

// otherRune returns the expression of one character that is not in set, as quote writes it. Most
// sets have only ASCII characters without escapes; their expressions share the part beyondLetters.
func (c *schemaCompiler) otherRune(set []runeRange) *expr {
	if slices.ContainsFunc(set, func(r runeRange) bool { return len(escapeRune(r.lo)) > 1 }) {
		return jsonRunes{}.class(negated(set))
	}
	var plain []runeRange
	for _, r := range negated(append(slices.Clip(set), runeRange{'"', '"'}, runeRange{'\\', '\\'})) {
		plain = append(plain, runeRange{max(r.lo, ' '), min(r.hi, 0x7f)})
	}
	return alt(class(plain), c.part(beyondLetters))
}

// unquoted returns the first character of the rest of a string in quotes, and the number of its
// bytes there; 0 at the closing quote.
func unquoted(s string) (r rune, n int) {
	r, n = utf8.DecodeRuneInString(s)
	switch {
	case r == '"':
		return 0, 0
	case r != '\\':
		return r, n
	case s[1] == 'u':
		n = 6
	default:
		n = 2
	}
	for c := rune(0); c <= '\\'; c++ {
		if escapeRune(c) == s[:n] {
			r = c
		}
	}
	return r, n
}

// counted returns the expression of the members of objects that f counts, or that depend on each
// other.
func (c *schemaCompiler) counted(f *facts, p *objectPlan, pairs []*expr, other *expr) (*expr, error) {
	n := counter{schemaCompiler: c, f: f, p: p, exprs: pairs, other: other, known: map[progress]*expr{}, atMost: f.maxProperties}
	if other != nil && f.minProperties > 1 {
		err := c.leave(unheldAt(fault.ErrUnsupported, f.counted, "a name that is not a property may occur twice"))
		if err != nil {
			return nil, err
		}
	}
	index := map[string]int{}
	for i, m := range p.members {
		index[m.name] = i
	}
	for _, d := range f.dependents {
		for _, to := range d.to {
			from, ok := index[d.from]
			if second, also := index[to]; ok && also && from != second {
				n.pairs = append(n.pairs, [2]int{from, second})
			}
		}
	}
	begin := progress{}
	for range n.pairs {
		begin.pairs += string(rune(undecided))
	}
	e, err := n.from(begin)
	if err != nil && isRefusal(err) && len(n.known) > maxProgress {
		path := f.counted
		if path == nil {
			path = f.path
		}
		if err := c.leave(unheldAt(fault.ErrTooLarge, path, "%s", reasonOf(err))); err != nil {
			return nil, err
		}
		return c.inOrder(p, pairs, other), nil
	}
	return e, err
}
