package grammar

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// This file has the objects of JSON schemas.

// A member is a property, with all schemas that apply to it.
type member struct {
	name     string
	of       schemas
	required bool
}

// An objectPlan is what the objects of a value may have.
type objectPlan struct {
	members    []member
	open       bool // others may follow
	additional schemas
}

// plan joins what the schemas say about members: what one has no property for is additional for it.
func (f *facts) plan() objectPlan {
	var p objectPlan
	at := map[string]int{}
	see := func(name string) *member {
		i, ok := at[name]
		if !ok {
			i, at[name] = len(p.members), len(p.members)
			p.members = append(p.members, member{name: name})
		}
		return &p.members[i]
	}
	stated, properties := false, false // additionalProperties
	for _, o := range f.objects {
		for _, m := range o.properties {
			see(m.name)
			properties = true
		}
		if o.additional != nil {
			stated = true
			p.additional = append(p.additional, *o.additional)
		}
	}
	for _, o := range f.objects {
		for _, name := range o.required {
			see(name).required = true
		}
	}
	p.open = (stated || !properties) && !slices.ContainsFunc(p.additional, func(s schemaAt) bool { return s.kind == kindBool && !s.yes })
	for _, o := range f.objects {
		own := map[string]schemaAt{}
		for _, m := range o.properties {
			own[m.name] = m.schemaAt
		}
		for i := range p.members {
			m := &p.members[i]
			if s, ok := own[m.name]; ok {
				m.of = append(m.of, s)
			} else if o.additional != nil {
				m.of = append(m.of, *o.additional)
			}
		}
	}
	return p
}

// object is the objects that f allows.
func (c *schemaCompiler) object(f *facts) (*expr, error) {
	p := f.plan()
	comma := concat(literal(","), c.part(space))
	pairs := make([]*expr, len(p.members))
	names := make([]string, len(p.members))
	firstRequired := len(pairs)
	for i, m := range p.members {
		e, err := c.call(m.of)
		if err != nil {
			return nil, err
		}
		pairs[i] = concat(literal(quote(m.name)+":"), optional(literal(" ")), e)
		names[i] = quote(m.name)
		if m.required && firstRequired == len(pairs) {
			firstRequired = i
		}
	}
	// After the first member: tails[i] is what may follow if those before i have been decided.
	rest, others := empty, none
	if p.open {
		e, err := c.call(p.additional)
		if err != nil {
			return nil, err
		}
		name, err := c.otherName(names)
		if err != nil {
			return nil, err
		}
		pair := call(c.rule(nil, concat(name, literal(":"), optional(literal(" ")), e)))
		rest = star(concat(comma, pair))
		others = concat(pair, rest)
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
	// The first member is one of those up to the first that is required.
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
	return concat(literal("{"), c.part(space), all, literal("}")), nil
}

// maxNames bounds the names that additional ones have to differ from.
const maxNames = 1 << 14

// otherName is any name of a member but for taken ones. If there are such, it has the spelling of quote.
func (c *schemaCompiler) otherName(taken []string) (*expr, error) {
	if len(taken) == 0 {
		return c.part(anyString), nil
	}
	slices.Sort(taken)
	rest, total := make([]string, len(taken)), 0
	for i, name := range taken {
		rest[i] = name[1:]
		if total += len(name); total > maxNames {
			return nil, errorf(ErrTooLarge, "names of properties beside additional ones have more than %d bytes", maxNames)
		}
	}
	return concat(literal(`"`), c.otherThan(rest)), nil
}

// otherThan is the rest of a name up to its closing quote, but for taken ones, which are in order and
// have that quote too.
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

// otherRune is one character in the spelling of quote that is not in set. Most sets have letters
// of ASCII alone, and share what is beyond them.
func (c *schemaCompiler) otherRune(set []runeRange) *expr {
	if slices.ContainsFunc(set, func(r runeRange) bool { return len(spelling(r.lo)) > 1 }) {
		return jsonRunes{}.class(negated(set))
	}
	var plain []runeRange
	for _, r := range negated(append(slices.Clip(set), runeRange{'"', '"'}, runeRange{'\\', '\\'})) {
		plain = append(plain, runeRange{max(r.lo, ' '), min(r.hi, 0x7f)})
	}
	return alt(class(plain), c.part(beyondLetters))
}

// unquoted is the first character of the rest of a string in quotes, and the bytes that it is
// written with; 0 of them at the closing quote.
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
		if spelling(c) == s[:n] {
			r = c
		}
	}
	return r, n
}
