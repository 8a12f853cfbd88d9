package grammar

import (
	"slices"

	"github.com/avoformer/avoformer/fault"
)

// This file collects the members that objects may have, and generates objects whose members are
// counted.

// A member is a property, with all schemas that apply to it.
type member struct {
	name     string
	of       schemas
	required bool
}

// others are additional members with their schemas. Their names may have rules.
type others struct {
	path  *location
	names *facts // nil: any name that is not a property
	of    schemas
}

// An objectPlan has the members that the objects of a value may have.
type objectPlan struct {
	members []member
	others  []others
	nothing bool // no object is allowed
}

// A planner builds an objectPlan.
type planner struct {
	*schemaCompiler
	f        *facts
	p        *objectPlan
	at       map[string]int
	patterns []string // of all schemas, each once
	names    *facts   // of propertyNames; nil without it
	stated   bool     // a schema has a keyword for additional members
}

// maxPatterns is the largest number of patterns of names. Each subset of the patterns is a case.
const maxPatterns = 6

// plan combines the keywords of all schemas about members. A member without a property in a schema
// is an additional one for that schema.
func (c *schemaCompiler) plan(f *facts) (*objectPlan, error) {
	n := planner{schemaCompiler: c, f: f, p: &objectPlan{}, at: map[string]int{}}
	properties := n.collect()
	if err := n.readNames(); err != nil {
		return nil, err
	}
	for _, o := range f.objects {
		for _, name := range o.required {
			n.see(name).required = true
		}
	}
	n.stated = n.stated || !properties || c.Open
	for before := -1; before < len(n.p.members); { // a required member may require others
		before = len(n.p.members)
		for _, d := range f.dependents {
			if _, known := n.at[d.from]; known || n.stated {
				n.see(d.from)
				for _, name := range d.to {
					n.see(name)
				}
			}
		}
	}
	for i := range n.p.members {
		if err := n.member(&n.p.members[i]); err != nil {
			return nil, err
		}
	}
	c.work += len(n.p.members) / 2 // the expression of each is computed
	return n.p, n.others()
}

func (n *planner) see(name string) *member {
	i, ok := n.at[name]
	if !ok {
		i, n.at[name] = len(n.p.members), len(n.p.members)
		n.p.members = append(n.p.members, member{name: name})
	}
	return &n.p.members[i]
}

// collect collects the members and patterns, and reports whether there are properties.
func (n *planner) collect() (properties bool) {
	for _, o := range n.f.objects {
		for _, m := range o.properties {
			n.see(m.name)
			properties = properties || !o.quiet
		}
		for _, m := range o.patterns {
			if properties = true; !slices.Contains(n.patterns, m.name) {
				n.patterns = append(n.patterns, m.name)
			}
		}
		n.stated = n.stated || o.additional != nil
	}
	n.stated = n.stated || len(n.f.looseMembers) > 0
	return properties
}

// readNames reads propertyNames.
func (n *planner) readNames() error {
	if len(n.f.names) == 0 {
		return nil
	}
	f, err := n.factsOf(n.f.names)
	if err != nil {
		return err
	}
	if len(f.choices) > 0 {
		return n.leave(unheldAt(fault.ErrUnsupported, n.f.names[0].path, "names with anyOf, oneOf or if"))
	}
	if f.enum != nil {
		words := []string{}
		for _, v := range f.enum {
			if v.kind == kindString {
				words = append(words, v.text)
			}
		}
		f.texts = append(f.texts, textRule{path: f.path, words: words})
	}
	n.names = f
	return nil
}

// allows reports whether propertyNames allows a name.
func (n *planner) allows(name string) (bool, error) {
	switch {
	case n.names == nil:
		return true, nil
	case n.names.types&kindString == 0:
		return false, nil
	}
	return n.admitsText(n.names, name)
}

// member sets the schemas of a member.
func (n *planner) member(m *member) error {
	ok, err := n.allows(m.name)
	if err != nil {
		return err
	}
	matched := make([]bool, len(n.patterns))
	for i, p := range n.patterns {
		s, err := n.start(textRule{pattern: p})
		if err == nil {
			matched[i], err = n.automaton().matches(s, m.name)
		}
		if err != nil {
			return err
		}
	}
	m.of = n.schemasOf(m.name, true, matched)
	if !ok {
		m.of = schemas{{n.f.path, &value{kind: kindBool}}}
	}
	return nil
}

// schemasOf returns the schemas of a property or, if named is false, of additional members. matched
// marks the patterns that match the name.
func (n *planner) schemasOf(name string, named bool, matched []bool) (of schemas) {
	loose := make([]bool, len(n.f.looseMembers))
	for i := range loose {
		loose[i] = true
	}
	for _, o := range n.f.objects {
		evaluated := false
		for _, m := range o.properties {
			if named && m.name == name {
				of, evaluated = append(of, m.schemaAt), true
			}
		}
		for _, m := range o.patterns {
			if matched[slices.Index(n.patterns, m.name)] {
				of, evaluated = append(of, m.schemaAt), true
			}
		}
		if !evaluated && o.additional != nil {
			of, evaluated = append(of, *o.additional), true
		}
		for i, u := range n.f.looseMembers {
			loose[i] = loose[i] && !(evaluated && !o.quiet && slices.Contains(o.scopes, u.scope))
		}
	}
	for i, u := range n.f.looseMembers {
		inner := slices.ContainsFunc(n.f.looseMembers, func(v unevaluated) bool { return v.scope != u.scope && slices.Contains(v.scopes, u.scope) })
		if loose[i] && !inner {
			of = append(of, u.of)
		}
	}
	return of
}

// others adds the additional members that may follow the properties.
func (n *planner) others() error {
	if len(n.patterns) > maxPatterns {
		return unheldAt(fault.ErrTooLarge, n.f.path, "more than %d patterns of names", maxPatterns)
	}
	if n.names != nil && n.names.types&kindString == 0 {
		return nil
	}
	for set := range 1 << len(n.patterns) {
		matched := make([]bool, len(n.patterns))
		o := others{path: n.f.path}
		if len(n.patterns) > 0 || n.names != nil {
			if o.names = newFacts(); n.names != nil {
				o.names = n.names.clone()
			}
		}
		for i, p := range n.patterns {
			matched[i] = set>>i&1 == 1
			o.names.texts = append(o.names.texts, textRule{path: n.f.path, pattern: p, not: !matched[i]})
		}
		if set == 0 && !n.stated {
			continue
		}
		o.of = n.schemasOf("", false, matched)
		if !slices.ContainsFunc(o.of, func(s schemaAt) bool { return s.kind == kindBool && !s.yes }) {
			n.p.others = append(n.p.others, o)
		}
	}
	return nil
}

// A progress is a state of an object with counted members: the member to decide next, the numbers
// of properties and of additional members so far, and the states of all pairs of dependent members.
type progress struct {
	next, some, others int
	pairs              string
}

// These are the states of a pair of members of which the first requires the second.
const (
	undecided = 'u'
	wanted    = 'w' // the first is present, so the second must be
	barred    = 'b' // the second is absent, so the first must be
	settled   = 's'
)

// A counter generates the objects whose members are counted or depend on each other.
type counter struct {
	*schemaCompiler
	f      *facts
	p      *objectPlan
	exprs  []*expr
	other  *expr
	pairs  [][2]int // members of which the first requires the second
	known  map[progress]*expr
	atMost int
}

// maxProgress is the largest number of states of an object with counted members.
const maxProgress = 1 << 13

// from returns the expression of the rest of an object in state t.
func (n *counter) from(t progress) (*expr, error) {
	if e := n.known[t]; e != nil {
		return e, nil
	}
	rule := n.rule(nil, nil)
	e := call(rule)
	if n.known[t] = e; len(n.known) > maxProgress {
		return nil, errorf(fault.ErrTooLarge, "more than %d states of the object", maxProgress)
	}
	var list []*expr
	add := func(pair *expr, to progress) error {
		rest, err := n.from(to)
		if t.some+t.others > 0 {
			pair = concat(literal(","), n.part(space), pair)
		}
		list = append(list, concat(pair, rest))
		return err
	}
	if t.next == len(n.p.members) {
		if t.some+min(t.others, 1) >= n.f.minProperties || n.Lenient && t.some+t.others >= n.f.minProperties {
			list = append(list, n.closing(t))
		}
		if n.other != nil && (n.atMost < 0 || t.some+t.others < n.atMost) {
			to := t
			if to.others++; n.atMost < 0 {
				to.others = min(to.others, max(n.f.minProperties, 1))
			}
			if err := add(n.other, to); err != nil {
				return nil, err
			}
		}
		n.program.rules[rule] = alt(list...)
		return e, nil
	}
	m := n.p.members[t.next]
	if pairs, ok := n.decide(t, false); ok && !m.required {
		rest, err := n.from(progress{t.next + 1, t.some, t.others, pairs})
		if err != nil {
			return nil, err
		}
		list = append(list, rest)
	}
	if pairs, ok := n.decide(t, true); ok && (n.atMost < 0 || t.some < n.atMost) {
		some := t.some + 1
		if n.atMost < 0 {
			some = min(some, max(n.f.minProperties, 1))
		}
		if err := add(n.exprs[t.next], progress{t.next + 1, some, t.others, pairs}); err != nil {
			return nil, err
		}
	}
	n.program.rules[rule] = alt(list...)
	return e, nil
}

// closing returns the space before the closing brace. An object without members has none.
func (n *counter) closing(t progress) *expr {
	if t.some+t.others == 0 {
		return empty
	}
	return n.part(space)
}

// decide returns the states of the pairs after the next member is present or absent. ok is false if
// a pair does not allow that.
func (n *counter) decide(t progress, there bool) (pairs string, ok bool) {
	b := []byte(t.pairs)
	for i, pair := range n.pairs {
		first, second := pair[0] == t.next, pair[1] == t.next
		switch {
		case !first && !second:
		case b[i] == wanted && !there, b[i] == barred && there:
			return "", false
		case b[i] != undecided:
			b[i] = settled
		case first && there:
			b[i] = wanted
		case second && !there:
			b[i] = barred
		default:
			b[i] = settled
		}
	}
	return string(b), true
}
