package grammar

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/avoformer/avoformer/fault"
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
//     of members, and strings of enum, const, pattern and format, have one spelling: each character
//     as it is, unless JSON wants it escaped. An additional member may come twice.
//   - Without bounds integers have up to 16 digits, numbers as many before and after the point, and
//     an exponent of up to two. Numbers with bounds, or multiples, have no exponent.
//   - A schema without type that has keywords of some types is of these types.
//   - maxLength and maxItems over 131,072 say nothing.
//   - A list with prefixItems and without items has others after these only if minItems wants them.
//     Elements that differ are in the order of their enum if that has more than 9 values.
//   - Times have no leap seconds, mail addresses no quotes, labels of host names no two hyphens at their third place.
//   - An unevaluatedProperties counts what the branch of anyOf speaks of that was chosen.
//
// [SchemaOptions] generate more. Keywords are those of draft 2020-12: type, enum, const; allOf, anyOf, not, if, then, else, and oneOf, of which
// branches that may hold at once exclude each other by their negations; properties, required, additionalProperties,
// patternProperties, propertyNames, minProperties, maxProperties, dependentRequired, dependentSchemas, unevaluatedProperties; prefixItems,
// items, minItems, maxItems, unevaluatedItems, contains with minContains and maxContains, and uniqueItems of elements with an
// enum; minLength, maxLength, pattern, format; minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf; $ref, $dynamicRef, $id,
// $anchor and $defs within the document. Of older drafts and OpenAPI: definitions, dependencies, items as a list with additionalItems,
// exclusiveMinimum and exclusiveMaximum as true, nullable. Annotations, and keywords that begin with x-, say nothing. Any other
// keyword, and what a grammar cannot hold of these, is fault.ErrUnsupported, or fault.ErrTooLarge, with its path.
//
// Patterns are those of ECMA-262, with look-ahead outside of repetitions, and without look-behind and back-references;
// any other pattern is read as [Regexp] does. Formats are date, time, date-time, duration, uuid, email, idn-email,
// hostname, ipv4, ipv6, uri, uri-reference, iri, iri-reference, uri-template, json-pointer, relative-json-pointer, and
// int8 to uint64 of OpenAPI; regex and idn-hostname are fault.ErrUnsupported; any other is a remark.
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

	strings *automaton       // nil until it is needed
	starts  map[string]int32 // of patterns in it
	trees   map[string]*syntax.Regexp

	negations map[*value]*value // nil for one that is being made
	scopes    int               // of unevaluatedProperties and unevaluatedItems
}

// A pending rule is one whose expression is yet to be written.
type pending struct {
	rule int
	of   schemas
}

// maxSchemas is how many schemas are looked at; those that apply together count each time.
const maxSchemas = 1 << 16

// call returns a call of the rule for schemas. There is one rule however often they
// apply.
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
		if err := c.absorb(f, s, 0, nil); err != nil {
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
	types := c.kinds(f)
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
		e, err := c.number(f)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	if types&kindBool != 0 {
		list = append(list, literal("true"), literal("false"))
	}
	if types&kindNull != 0 {
		list = append(list, literal("null"))
	}
	return alt(list...), nil
}

// enumerated is the values of f.enum that are as f says.
func (c *schemaCompiler) enumerated(f *facts, types kind) (*expr, error) {
	var texts []string
	var composed []*expr
	for _, v := range f.enum {
		ok, err := c.admits(f, v, types)
		if err != nil {
			return nil, err
		}
		switch {
		case !ok:
		case v.kind == kindObject || v.kind == kindArray:
			composed = append(composed, v.expr())
		default:
			texts = append(texts, string(v.write(nil)))
			if n := v.rational(); c.Open && v.kind == kindNumber && n != nil && n.IsInt() {
				texts = append(texts, n.Num().String())
			}
		}
	}
	slices.Sort(texts)
	return alt(append(composed, words(slices.Compact(texts)))...), nil
}

func itoa(i int) string { return strconv.Itoa(i) }

// admits reports whether a value of an enumeration is as f says otherwise.
func (c *schemaCompiler) admits(f *facts, v *value, types kind) (bool, error) {
	if v.kind&types == 0 {
		return false, nil
	}
	switch v.kind {
	case kindNumber:
		return admitsNumber(f, v)
	case kindString:
		return c.admitsText(f, v.text)
	case kindArray:
		if len(v.list) < f.minItems || f.maxItems >= 0 && len(v.list) > f.maxItems {
			return false, nil
		}
		if len(f.arrays)+len(f.contains)+len(f.looseItems) > 0 || f.unique != nil && len(v.list) > 1 {
			return true, c.leave(unheldAt(fault.ErrUnsupported, f.path, "a list in enum or const with keywords of its items"))
		}
	case kindObject:
		if len(v.list) < f.minProperties || f.maxProperties >= 0 && len(v.list) > f.maxProperties {
			return false, nil
		}
		if len(f.objects)+len(f.dependents)+len(f.names)+len(f.looseMembers) > 0 {
			return true, c.leave(unheldAt(fault.ErrUnsupported, f.path, "an object in enum or const with keywords of its members"))
		}
	}
	return true, nil
}
