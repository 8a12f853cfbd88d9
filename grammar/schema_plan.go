package grammar

import (
	"slices"

	"github.com/avoformer/avoformer/fault"
)

// This file finds out what the members of objects may be, and counts them where schemas do.

// A member is a property, with all schemas that apply to it.
type member struct {
	name     string
	of       schemas
	required bool
}

// Others are members that are not properties, of names with rules.
type others struct {
	path  *location
	names *facts // nil for any name that no member has
	of    schemas
}

// An objectPlan is what the objects of a value may have.
type objectPlan struct {
	members []member
	others  []others
	nothing bool // no object is allowed
}

// A planner makes a plan.
type planner struct {
	*schemaCompiler
	f        *facts
	p        *objectPlan
	at       map[string]int
	patterns []string // of all schemas, each once
	names    *facts   // what propertyNames says, nil for nothing
	stated   bool     // a schema speaks of additional members
}

// maxPatterns is how many patterns names of members are told apart by.
const maxPatterns = 6

// plan joins what the schemas say about members: what one has no property for is additional for it.
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
	for before := -1; before < len(n.p.members); { // what one wants may want others
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
	c.work += len(n.p.members) / 2 // each of them is written
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

// collect finds the members and patterns, and reports whether there are properties.
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

// readNames finds what propertyNames says.
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

// allows reports whether a name is one that propertyNames allows.
func (n *planner) allows(name string) (bool, error) {
	switch {
	case n.names == nil:
		return true, nil
	case n.names.types&kindString == 0:
		return false, nil
	}
	return n.admitsText(n.names, name)
}

// member finds the schemas of a member.
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

// schemasOf returns the schemas of a name, or of those that are not properties, by the patterns
// that match.
func (n *planner) schemasOf(name string, named bool, matched []bool) (of schemas) {
	loose := make([]bool, len(n.f.looseMembers))
	for i := range loose {
		loose[i] = true
	}
	for _, o := range n.f.objects {
		spoken := false
		for _, m := range o.properties {
			if named && m.name == name {
				of, spoken = append(of, m.schemaAt), true
			}
		}
		for _, m := range o.patterns {
			if matched[slices.Index(n.patterns, m.name)] {
				of, spoken = append(of, m.schemaAt), true
			}
		}
		if !spoken && o.additional != nil {
			of, spoken = append(of, *o.additional), true
		}
		for i, u := range n.f.looseMembers {
			loose[i] = loose[i] && !(spoken && !o.quiet && slices.Contains(o.scopes, u.scope))
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

// others finds which members may follow the properties.
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

// A tally is where an object with counted members is: the member that is decided next, how many
// there are, and what each pair of members that depend on each other waits for.
type tally struct {
	next, some, others int
	pairs              string
}

// What a pair of members waits for.
const (
	undecided = 'u'
	wanted    = 'w' // the first is there, so the second has to be
	barred    = 'b' // the second is not there, so the first must not be
	settled   = 's'
)

// A counter writes the objects whose members are counted or depend on each other.
type counter struct {
	*schemaCompiler
	f      *facts
	p      *objectPlan
	exprs  []*expr
	other  *expr
	pairs  [][2]int // members of which the first wants the second
	known  map[tally]*expr
	atMost int
}

// maxTallies is how many states an object with counted members may have.
const maxTallies = 1 << 13

// from is what may follow from t on.
func (n *counter) from(t tally) (*expr, error) {
	if e := n.known[t]; e != nil {
		return e, nil
	}
	rule := n.rule(nil, nil)
	e := call(rule)
	if n.known[t] = e; len(n.known) > maxTallies {
		return nil, errorf(fault.ErrTooLarge, "more than %d states of its members", maxTallies)
	}
	var list []*expr
	add := func(pair *expr, to tally) error {
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
		rest, err := n.from(tally{t.next + 1, t.some, t.others, pairs})
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
		if err := add(n.exprs[t.next], tally{t.next + 1, some, t.others, pairs}); err != nil {
			return nil, err
		}
	}
	n.program.rules[rule] = alt(list...)
	return e, nil
}

// closing returns the space before the closing brace; there is no space in an object without
// members.
func (n *counter) closing(t tally) *expr {
	if t.some+t.others == 0 {
		return empty
	}
	return n.part(space)
}

// decide is what pairs wait for once the next member is there, or is not; ok is false if it must
// not be so.
func (n *counter) decide(t tally, there bool) (pairs string, ok bool) {
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
