package grammar

import (
	"math/big"
	"slices"

	"github.com/avoformer/avoformer/fault"
)

// This file negates schemas, keyword by keyword.

// negation returns a schema of the values that s does not allow. The error states what cannot be
// negated.
func (c *schemaCompiler) negation(s schemaAt) (schemaAt, error) {
	if n, ok := c.negations[s.value]; ok {
		if n == nil {
			return s, unheldAt(fault.ErrUnsupported, s.path, "a schema that refers to itself")
		}
		return schemaAt{s.path, n}, nil
	}
	if err := c.count(); err != nil {
		return s, err
	}
	if c.negations == nil {
		c.negations = map[*value]*value{}
	}
	c.negations[s.value] = nil
	n, err := c.negate(s)
	if err != nil {
		delete(c.negations, s.value)
		return s, err
	}
	c.negations[s.value] = n
	return schemaAt{s.path, n}, nil
}

func (c *schemaCompiler) negate(s schemaAt) (*value, error) {
	switch s.kind {
	case kindBool:
		return &value{kind: kindBool, yes: !s.yes}, nil
	case kindObject:
	default:
		return nil, errorf(fault.ErrSyntax, "%s is not a schema", s.path)
	}
	keys := s.keys
	if s.members["$ref"] != nil && c.isOld(s) {
		keys = []string{"$ref"}
	}
	var all []*value
	for _, key := range keys {
		if annotations[key] {
			continue
		}
		list, err := negator{c, s}.keyword(key, s.child(key))
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	if len(all) == 0 {
		return &value{kind: kindBool}, nil
	}
	return anyOf(all), nil
}

func anyOf(list []*value) *value {
	if len(list) == 1 {
		return list[0]
	}
	return makeObject("anyOf", list)
}

// A negator negates keywords of s. The negation of each keyword is a list of schemas, any of which
// may match.
type negator struct {
	*schemaCompiler
	s schemaAt
}

// all returns the negation of each schema.
func (n negator) all(list schemas) (out []*value, err error) {
	for _, s := range list {
		not, err := n.negation(s)
		if err != nil {
			return nil, err
		}
		out = append(out, not.value)
	}
	return out, nil
}

func (n negator) keyword(key string, at schemaAt) ([]*value, error) {
	switch key {
	case "$ref":
		to, err := n.resolve(n.s, key)
		if err != nil {
			return nil, err
		}
		return n.all(schemas{to})
	case "allOf", "anyOf", "oneOf":
		return n.combination(key, at)
	case "not":
		return []*value{at.value}, nil
	case "if":
		return n.condition(at)
	case "then", "else", "nullable":
		return nil, nil
	case "type":
		return n.types(at)
	case "enum":
		return n.values(at, at.list)
	case "const":
		return n.values(at, []*value{at.value})
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return n.bound(key, at)
	case "multipleOf":
		return []*value{makeObject("type", "number", notMultiple, at.value)}, nil
	case "pattern":
		return []*value{makeObject("type", "string", notPattern, at.value)}, nil
	case "format":
		if n.NoFormats || formats()[at.text] == "" {
			return nil, nil
		}
		return []*value{makeObject("type", "string", notFormat, at.value)}, nil
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		return n.counted(key, at)
	case "required", "properties", "dependentRequired":
		return n.members(key, at)
	case "items", "contains":
		return n.elements(key, at)
	}
	return nil, unheldAt(fault.ErrUnsupported, at.path, "not supported in a negation")
}

func (n negator) combination(key string, at schemaAt) ([]*value, error) {
	list, err := at.schemas()
	if err != nil {
		return nil, err
	}
	not, err := n.all(list)
	if err != nil || key == "allOf" {
		return not, err
	}
	out := []*value{makeObject("allOf", not)}
	if key == "oneOf" { // or two of them match
		if len(list) > 8 {
			return nil, unheldAt(fault.ErrTooLarge, at.path, "more than 8 schemas")
		}
		for i := range list {
			for j := range i {
				out = append(out, makeObject("allOf", []*value{list[j].value, list[i].value}))
			}
		}
	}
	return out, nil
}

func (n negator) condition(at schemaAt) (out []*value, err error) {
	for _, key := range []string{"then", "else"} {
		of := n.s.child(key)
		if of.value == nil {
			continue
		}
		when := at
		if key == "else" {
			if when, err = n.negation(at); err != nil {
				return nil, err
			}
		}
		not, err := n.negation(of)
		if err != nil {
			return nil, err
		}
		out = append(out, makeObject("allOf", []*value{when.value, not.value}))
	}
	return out, nil
}

// typesBut returns a schema of all types except those given.
func typesBut(types kind) *value {
	var list []*value
	for _, name := range []string{"object", "array", "string", "number", "boolean", "null"} {
		if typeNames[name]&types == 0 {
			list = append(list, makeString(name))
		}
	}
	if len(list) == 0 {
		return &value{kind: kindBool}
	}
	return makeObject("type", list)
}

func (n negator) types(at schemaAt) ([]*value, error) {
	types, integer, err := typesOf(at)
	if err != nil {
		return nil, err
	}
	if null := n.s.members["nullable"]; null != nil && null.yes {
		types |= kindNull
	}
	out := []*value{typesBut(types)}
	if integer {
		out = append(out, makeObject("type", "number", notInteger, true))
	}
	return out, nil
}

// maxNegated is the largest number of numbers that a negation excludes.
const maxNegated = 64

// values negates an enumeration.
func (n negator) values(at schemaAt, list []*value) ([]*value, error) {
	var types kind
	var words, numbers []*value
	yes, no := false, false
	for _, v := range list {
		types |= v.kind
		switch v.kind {
		case kindString:
			words = append(words, v)
		case kindNumber:
			if v.rational() == nil || len(numbers) == maxNegated {
				return nil, unheldAt(fault.ErrTooLarge, at.path, "numbers of too many digits, or more than %d", maxNegated)
			}
			numbers = append(numbers, v)
		case kindBool:
			yes, no = yes || v.yes, no || !v.yes
		case kindArray, kindObject:
			if len(v.list) > 0 || len(list) > 1 {
				return nil, unheldAt(fault.ErrUnsupported, at.path, "a list or an object in a negation")
			}
		}
	}
	out := []*value{typesBut(types)}
	if words != nil {
		out = append(out, makeObject("type", "string", notWords, words))
	}
	slices.SortFunc(numbers, func(a, b *value) int { return a.rational().Cmp(b.rational()) })
	for i := range numbers {
		below := makeObject("type", "number", "exclusiveMaximum", numbers[i])
		if i > 0 {
			below = makeObject("type", "number", "exclusiveMaximum", numbers[i], "exclusiveMinimum", numbers[i-1])
		}
		out = append(out, below)
	}
	if len(numbers) > 0 {
		out = append(out, makeObject("type", "number", "exclusiveMinimum", numbers[len(numbers)-1]))
	}
	if types&kindBool != 0 && yes != no {
		out = append(out, makeObject("enum", []*value{{kind: kindBool, yes: !yes}}))
	}
	if types&kindArray != 0 {
		out = append(out, makeObject("type", "array", "minItems", 1))
	}
	if types&kindObject != 0 {
		out = append(out, makeObject("type", "object", "minProperties", 1))
	}
	return out, nil
}

func (n negator) bound(key string, at schemaAt) ([]*value, error) {
	if at.kind == kindBool {
		return nil, nil
	}
	f := newFacts()
	if err := (reader{n.schemaCompiler, f, n.s, 0, nil}).limit(key, at); err != nil {
		return nil, err
	}
	l, other := f.lo, "Maximum"
	if l == nil {
		l, other = f.hi, "Minimum"
	}
	if l.open {
		other = map[string]string{"Maximum": "maximum", "Minimum": "minimum"}[other]
	} else {
		other = "exclusive" + other
	}
	return []*value{makeObject("type", "number", other, at.value)}, nil
}

// counted negates a minimum or maximum number of characters, elements or members.
func (n negator) counted(key string, at schemaAt) ([]*value, error) {
	of, kind := key[3:], map[string]string{"Length": "string", "Items": "array", "Properties": "object"}[key[3:]]
	r := at.rational()
	if at.kind != kindNumber || r == nil || !r.IsInt() || !r.Num().IsInt64() || r.Cmp(big.NewRat(maxPositions, 1)) > 0 {
		return nil, unheldAt(fault.ErrTooLarge, at.path, "over %d, in a negation", maxPositions)
	}
	i := int(r.Num().Int64())
	switch {
	case key[:3] == "max":
		return []*value{makeObject("type", kind, "min"+of, i+1)}, nil
	case i == 0:
		return nil, nil
	}
	return []*value{makeObject("type", kind, "max"+of, i-1)}, nil
}

// members negates keywords of objects.
func (n negator) members(key string, at schemaAt) (out []*value, err error) {
	switch key {
	case "required":
		names, err := at.names()
		for _, name := range names {
			out = append(out, makeObject("type", "object", "properties", makeObject(name, false)))
		}
		return out, err
	case "dependentRequired":
		for _, from := range at.keys {
			to, err := at.child(from).names()
			if err != nil {
				return nil, err
			}
			for _, name := range to {
				out = append(out, makeObject("type", "object", "required", []*value{makeString(from)}, "properties", makeObject(name, false)))
			}
		}
		return out, nil
	}
	for _, name := range at.keys {
		not, err := n.negation(at.child(name))
		if err != nil {
			return nil, err
		}
		out = append(out, makeObject("type", "object", "required", []*value{makeString(name)}, "properties", makeObject(name, not.value)))
	}
	return out, nil
}

// elements negates keywords of lists.
func (n negator) elements(key string, at schemaAt) ([]*value, error) {
	if at.kind == kindArray || n.s.members["prefixItems"] != nil || n.s.members["minContains"] != nil || n.s.members["maxContains"] != nil {
		return nil, unheldAt(fault.ErrUnsupported, at.path, "in a negation, with prefixItems, minContains or maxContains")
	}
	not, err := n.negation(at)
	if err != nil {
		return nil, err
	}
	other := map[string]string{"items": "contains", "contains": "items"}[key]
	return []*value{makeObject("type", "array", other, not.value)}, nil
}
