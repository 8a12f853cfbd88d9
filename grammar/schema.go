package grammar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// This file compiles JSON schemas: which schemas apply to a value, and what follows from them for
// each type. schema_facts.go reads their keywords, and the files schema_object.go,
// schema_array.go, schema_string.go and schema_number.go write values.

// JSONSchema compiles a JSON schema (draft 2020-12). What is generated is valid, but not all that is
// valid is generated:
//
//   - White space: none, one space, or one end of line with up to 20 spaces, after { [ and , and before } and ];
//     none or one space after a colon; none elsewhere.
//   - Members of an object are in the order of properties, and additional ones after them.
//     Without additionalProperties there are additional ones only if there are no properties. Names
//     of members, and strings of enum, const and pattern, have one spelling: each character
//     as it is, unless JSON wants it escaped.
//   - Without bounds integers have up to 16 digits, numbers as many before and after the point, and
//     an exponent of up to two. Numbers with bounds have no exponent.
//   - A schema without type that has keywords of some types is of these types.
//   - maxLength and maxItems over 131,072 say nothing.
//   - A list with prefixItems and without items has others after these only if minItems wants them.
//
// Keywords: type, enum, const; properties, required, additionalProperties; prefixItems, items,
// minItems, maxItems; minLength, maxLength or pattern (as [Regexp], for a part of the string, with ^ and $
// also in each alternative) or format (date, time, date-time, uuid, email, ipv4); minimum, maximum,
// exclusiveMinimum, exclusiveMaximum; anyOf, allOf, oneOf if no two of its schemas can hold at once for what is
// generated; $ref to the same document, $defs, definitions; true and false as schemas. title, description,
// default, examples, $schema, $id, $comment, deprecated, readOnly, writeOnly and discriminator say nothing
// about what is valid. Any other keyword that applies to a value is ErrUnsupported, with its path.
func JSONSchema(schema []byte) (*Grammar, error) {
	g, _, err := SchemaOptions{}.Compile(schema)
	return g, err
}

// JSONObject is the grammar of any JSON object, with the white space of JSONSchema.
func JSONObject() *Grammar { return jsonObject() }

var jsonObject = sync.OnceValue(func() *Grammar {
	g, err := JSONSchema([]byte(`{"type": "object"}`))
	if err != nil {
		panic(err) // not for this schema
	}
	return g
})

// A schemaAt is a schema and where it is.
type schemaAt struct {
	path *location
	*value
}

// A location is a member or an element of what is at another one; nil is the whole document. It
// is written as a JSON pointer from #.
type location struct {
	in  *location
	key string
}

func (l *location) String() string {
	if l == nil {
		return "#"
	}
	s := l.in.String() + "/" + escape.Replace(l.key)
	if len(s) > 300 {
		s = s[:150] + "..." + s[len(s)-100:]
	}
	return s
}

// schemas are schemas that all apply to a value. None is any JSON.
type schemas []schemaAt

type schemaCompiler struct {
	SchemaOptions
	program
	root   *value
	index  *index
	rules  map[string]int // of the addresses of schemas
	todo   []pending
	work   int // schemas looked at
	parts  [parts]*expr
	unheld []Unheld
}

// A pending rule is one whose expression is yet to be written.
type pending struct {
	rule int
	of   schemas
}

// maxSchemas is how many schemas are looked at; those that apply together count each time.
const maxSchemas = 1 << 16

// call is a call of the rule for schemas, of which there is one however often they apply.
func (c *schemaCompiler) call(of schemas) (*expr, error) {
	var key strings.Builder
	kept := make(schemas, 0, len(of))
	for _, s := range of {
		s, err := c.target(s)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(kept, func(o schemaAt) bool { return o.value == s.value }) {
			kept = append(kept, s)
			fmt.Fprintf(&key, "%p ", s.value)
		}
	}
	rule, ok := c.rules[key.String()]
	if !ok {
		var name fmt.Stringer = ruleName("any JSON")
		if len(kept) > 0 {
			name = kept[0].path
		}
		rule = c.rule(name, nil)
		c.rules[key.String()] = rule
		c.todo = append(c.todo, pending{rule, kept})
	}
	return call(rule), nil
}

var escape, unescape = strings.NewReplacer("~", "~0", "/", "~1"), strings.NewReplacer("~1", "/", "~0", "~")

// child is the member or element of s that key names; without value if there is none.
func (s schemaAt) child(key string) schemaAt {
	v := s.members[key]
	if s.kind == kindArray {
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(s.list) {
			v = s.list[i]
		}
	}
	if v == nil {
		return schemaAt{}
	}
	return schemaAt{&location{s.path, key}, v}
}

// value is the expression of the values that schemas allow.
func (c *schemaCompiler) value(of schemas) (*expr, error) {
	f, err := c.factsOf(of)
	if err != nil {
		return nil, err
	}
	return c.write(f)
}

// factsOf is what schemas say together.
func (c *schemaCompiler) factsOf(of schemas) (*facts, error) {
	f := newFacts()
	for _, s := range of {
		f.path = s.path
		if err := c.absorb(f, s, 0); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// write is the expression of the values that are as f says.
func (c *schemaCompiler) write(f *facts) (*expr, error) {
	if len(f.choices) > 0 {
		return c.choose(f)
	}
	types := f.kinds()
	if f.enum != nil {
		return c.enumerated(f, types)
	}
	var list []*expr
	if types&kindObject != 0 {
		e, err := c.object(f)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	if types&kindArray != 0 {
		e, err := c.array(f)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	if types&kindString != 0 {
		e, err := c.string(f)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	if types&kindNumber != 0 {
		list = append(list, c.number(f))
	}
	if types&kindBool != 0 {
		list = append(list, literal("true"), literal("false"))
	}
	if types&kindNull != 0 {
		list = append(list, literal("null"))
	}
	return alt(list...), nil
}

// choose is the alternatives of the first anyOf or oneOf of f, each with all else that f says.
func (c *schemaCompiler) choose(f *facts) (*expr, error) {
	first := f.choices[0]
	var list []*expr
	var branches []*facts
	for _, s := range first.of {
		if f.plain && len(f.choices) == 1 {
			e, err := c.call(schemas{s})
			if err != nil {
				return nil, err
			}
			list = append(list, e)
		}
		branch := f.clone()
		branch.choices = branch.choices[1:]
		if branch.chosen++; branch.chosen > maxNesting {
			return nil, errorf(ErrTooLarge, "%s: more than %d of anyOf and oneOf apply together", first.path, maxNesting)
		}
		if err := c.absorb(branch, s, 0); err != nil {
			return nil, err
		}
		branches = append(branches, branch)
	}
	if first.one {
		if err := c.exclusive(first, branches); err != nil {
			return nil, err
		}
	}
	if list != nil {
		return alt(list...), nil
	}
	for _, branch := range branches {
		e, err := c.write(branch)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return alt(list...), nil
}

// enumerated is the values of f.enum that are as f says.
func (c *schemaCompiler) enumerated(f *facts, types kind) (*expr, error) {
	var texts []string
	for _, v := range f.enum {
		ok, err := f.admits(v, types)
		if err != nil {
			return nil, err
		}
		if ok {
			texts = append(texts, string(v.write(nil)))
		}
	}
	slices.Sort(texts)
	return words(slices.Compact(texts)), nil
}

func itoa(i int) string { return strconv.Itoa(i) }
