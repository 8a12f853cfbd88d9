package grammar

import (
	"slices"
	"sync"

	"github.com/avoformer/avoformer/fault"
)

// This file compiles JSON schemas: it collects the schemas that apply to a value, and returns the
// expression of the values of each type that they allow. schema_facts.go reads their keywords, and
// the files schema_object.go, schema_array.go, schema_string.go and schema_number.go generate
// values.

// JSONSchema compiles a JSON schema (draft 2020-12). All generated values are valid, but some valid
// values are never generated:
//
//   - White space: none, one space, or one end of line with up to 20 spaces, after { [ and , and
//     before } and ]; none or one space after a colon; none elsewhere.
//   - Members of an object are in the order of properties, and additional ones after them.
//     Without additionalProperties there are additional ones only if there are no properties. Names
//     of members, and strings of enum, const, pattern and format, are written in one way: each
//     character as it is, unless JSON requires an escape. An additional member may occur twice.
//   - Without bounds, integers have up to 16 digits; numbers have up to 16 before and 16 after the
//     point, and an exponent of up to two.
//   - A schema without type that has keywords for some types generates only these types.
//   - maxLength and maxItems over 131,072 have no effect.
//   - A list with prefixItems and without items has further elements only if minItems requires
//     them. With uniqueItems, elements are in the order of their enum if that has more than 9
//     values.
//   - Times have no leap seconds, mail addresses no quotes, and labels of host names no two hyphens
//     at their third place.
//   - For unevaluatedProperties only the chosen branch of an anyOf counts.
//
// With [SchemaOptions] more values are generated. The keywords are those of draft 2020-12: type,
// enum, const; allOf, anyOf, not, if, then, else, and oneOf, where branches that may match the same
// value are combined with each other's negations; properties, required, additionalProperties,
// patternProperties, propertyNames, minProperties, maxProperties, dependentRequired,
// dependentSchemas, unevaluatedProperties; prefixItems, items, minItems, maxItems,
// unevaluatedItems, contains with minContains and maxContains, and uniqueItems of elements with an
// enum; minLength, maxLength, pattern, format; minimum, maximum, exclusiveMinimum,
// exclusiveMaximum, multipleOf; $ref, $dynamicRef, $id, $anchor and $defs within the document. From
// older drafts and OpenAPI: definitions, dependencies, items as a list with additionalItems,
// exclusiveMinimum and exclusiveMaximum as true, nullable. Annotations, and keywords that begin
// with x-, have no effect. The error for any other keyword, and for a use of these that a grammar
// cannot enforce, is fault.ErrUnsupported or fault.ErrTooLarge, with the path.
//
// Patterns are those of ECMA-262, with look-ahead outside repetitions, and without look-behind and
// back-references; any other pattern is read as [Regexp] does. Formats are date, time, date-time,
// duration, uuid, email, idn-email, hostname, ipv4, ipv6, uri, uri-reference, iri, iri-reference,
// uri-template, json-pointer, relative-json-pointer, and int8 to uint64 of OpenAPI; regex and
// idn-hostname are fault.ErrUnsupported; any other format is ignored.
func JSONSchema(schema []byte) (*Grammar, error) {
	g, _, err := SchemaOptions{}.Compile(schema)
	return g, err
}

// JSONObject returns the grammar of any JSON object, with the white space of JSONSchema.
func JSONObject() *Grammar { return jsonObject() }

var jsonObject = sync.OnceValue(func() *Grammar {
	g, err := JSONSchema([]byte(`{"type": "object"}`))
	if err != nil {
		panic(err) // impossible: this schema is valid
	}
	return g
})

// value returns the expression of the values that schemas allow.
func (c *schemaCompiler) value(of schemas) (*expr, error) {
	f, err := c.factsOf(of)
	if err != nil {
		return nil, err
	}
	return c.write(f)
}

// write returns the expression of the values that f allows.
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

// enumerated returns the values of f.enum that all other facts of f allow.
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

// Compile compiles a JSON schema. It also returns the keywords that the grammar does not enforce;
// without Lenient there are none. Errors are those of [JSONSchema].
func (o SchemaOptions) Compile(schema []byte) (*Grammar, []Unheld, error) {
	root, err := parseJSON(schema)
	if err != nil {
		return nil, nil, err
	}
	c := &schemaCompiler{SchemaOptions: o, root: root, index: newIndex(root), rules: map[string]int{}}
	start := c.rule(ruleName("the schema"), nil)
	e, err := c.call(schemas{{nil, root}})
	if err != nil {
		return nil, nil, err
	}
	c.program.rules[start] = e
	for len(c.todo) > 0 {
		next := c.todo[len(c.todo)-1]
		c.todo = c.todo[:len(c.todo)-1]
		if c.program.rules[next.rule], err = c.value(next.of); err != nil {
			return nil, nil, err
		}
		if len(c.names) > maxRules {
			return nil, nil, errorf(fault.ErrTooLarge, "a schema with more than %d rules", maxRules)
		}
	}
	g, err := compile(&c.program)
	if err != nil {
		return nil, nil, err
	}
	return g, c.unheld, nil
}
