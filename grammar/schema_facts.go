package grammar

import (
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// This file reads the keywords of the schemas that apply to a value.

const allKinds = kindNull | kindBool | kindNumber | kindString | kindArray | kindObject

// annotations are keywords that say nothing about what is valid here.
var annotations = map[string]bool{
	"title": true, "description": true, "default": true, "examples": true, "$schema": true, "$id": true,
	"$comment": true, "deprecated": true, "readOnly": true, "writeOnly": true, "discriminator": true,
	"$defs": true, "definitions": true, "$anchor": true, "$dynamicAnchor": true, "$vocabulary": true, "id": true,
	"contentEncoding": true, "contentMediaType": true, "contentSchema": true, "example": true, "xml": true, "externalDocs": true,
}

// assertions are keywords with a meaning that a mask does not hold.
var assertions = map[string]bool{
	"uniqueItems": true, "contains": true, "minContains": true, "maxContains": true, "multipleOf": true, "patternProperties": true,
	"propertyNames": true, "minProperties": true, "maxProperties": true, "dependentRequired": true, "dependentSchemas": true,
	"dependencies": true, "not": true, "if": true, "then": true, "else": true, "unevaluatedProperties": true, "unevaluatedItems": true,
	"additionalItems": true, "$recursiveRef": true,
}

// Facts is what the schemas that apply to a value say together.
type facts struct {
	path    *location
	chosen  int  // branches of anyOf and oneOf that were absorbed
	plain   bool // false once a schema said anything but anyOf or oneOf
	types   kind // that are allowed
	hints   kind // that keywords are about
	integer bool // numbers have to be integers
	enum    []*value
	choices []choice

	lo, hi               *limit
	minLength, maxLength int // -1 for no limit, as below
	patterns, formats    []schemaAt
	minItems, maxItems   int
	objects              []objectFacts
	arrays               []arrayFacts
}

// A choice is an anyOf or a oneOf.
type choice struct {
	path *location
	one  bool
	of   schemas
}

// The keywords of one schema that depend on each other.
type objectFacts struct {
	properties []property
	required   []string
	additional *schemaAt // nil if it says nothing
}

type property struct {
	name string
	schemaAt
}

type arrayFacts struct {
	prefix schemas
	items  *schemaAt // nil if it says nothing
}

func newFacts() *facts {
	return &facts{plain: true, types: allKinds, maxLength: -1, maxItems: -1}
}

// clone is f to which other schemas can be added.
func (f *facts) clone() *facts {
	g := *f
	g.choices, g.enum = slices.Clip(g.choices), slices.Clip(g.enum)
	g.patterns, g.formats = slices.Clip(g.patterns), slices.Clip(g.formats)
	g.objects, g.arrays = slices.Clip(g.objects), slices.Clip(g.arrays)
	return &g
}

// valid are the types that a value may have, kinds those of them that are generated.
func (f *facts) valid() kind {
	types := f.types
	if f.enum != nil {
		types = 0
		for _, v := range f.enum {
			types |= v.kind & f.types
		}
	}
	return types
}

func (f *facts) kinds() kind {
	if f.types == allKinds && f.enum == nil && f.hints != 0 {
		return f.hints
	}
	return f.valid()
}

// absorb adds what s says, to which depth schemas led by $ref and allOf.
func (c *schemaCompiler) absorb(f *facts, s schemaAt, depth int) error {
	if c.work++; c.work > maxSchemas {
		return errorf(ErrTooLarge, "more than %d schemas, each counted as often as it applies with others", maxSchemas)
	}
	if depth > maxNesting {
		return errorf(ErrUnsupported, "%s: $ref and allOf lead to itself, or over more than %d others", s.path, maxNesting)
	}
	switch s.kind {
	case kindBool:
		f.plain = false
		if !s.yes {
			f.types = 0
		}
		return nil
	case kindObject:
	default:
		return errorf(ErrSyntax, "%s is no schema", s.path)
	}
	r := reader{c, f, s, depth}
	if s.members["$ref"] != nil && c.isOld(s) {
		return r.keyword("$ref", s.child("$ref"))
	}
	if err := r.object(); err != nil {
		return err
	}
	if err := r.array(); err != nil {
		return err
	}
	for _, key := range s.keys {
		if err := r.keyword(key, s.child(key)); err != nil {
			return err
		}
	}
	return nil
}

// A reader adds the keywords of s to f.
type reader struct {
	c     *schemaCompiler
	f     *facts
	s     schemaAt
	depth int
}

// keyword adds one keyword, but for those of objects and arrays that belong together.
func (r reader) keyword(key string, at schemaAt) error {
	f := r.f
	if annotations[key] {
		return nil
	}
	switch key {
	case "$ref", "$dynamicRef":
		to, err := r.c.resolve(r.s, key)
		if err != nil {
			return r.c.leave(err)
		}
		return r.c.absorb(f, to, r.depth+1)
	case "allOf":
		list, err := at.schemas()
		for i := 0; i < len(list) && err == nil; i++ {
			err = r.c.absorb(f, list[i], r.depth+1)
		}
		return err
	case "anyOf", "oneOf":
		list, err := at.schemas()
		f.choices = append(f.choices, choice{at.path, key == "oneOf", list})
		return err
	}
	f.plain = false
	switch key {
	case "type":
		return r.types(at)
	case "enum", "const":
		return r.enum(key, at)
	case "properties", "required", "additionalProperties":
		f.hints |= kindObject
	case "items", "prefixItems":
		f.hints |= kindArray
	case "minItems", "maxItems":
		f.hints |= kindArray
		return count(at, key == "minItems", &f.minItems, &f.maxItems)
	case "minLength", "maxLength":
		f.hints |= kindString
		return count(at, key == "minLength", &f.minLength, &f.maxLength)
	case "pattern", "format":
		f.hints |= kindString
		if at.kind != kindString {
			return errorf(ErrSyntax, "%s is no string", at.path)
		}
		if key == "pattern" {
			f.patterns = append(f.patterns, at)
		} else {
			f.formats = append(f.formats, at)
		}
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		f.hints |= kindNumber
		return r.limit(key, at)
	default:
		if strings.HasPrefix(key, "x-") {
			return nil
		}
		if !assertions[key] {
			return r.c.leave(&notHeld{ErrUnsupported, at.path, "a keyword of no known meaning", true})
		}
		return r.c.leave(unheldAt(ErrUnsupported, at.path, "it cannot be held"))
	}
	return nil
}

// schemas are the elements of anyOf and its kind.
func (s schemaAt) schemas() (schemas, error) {
	if s.kind != kindArray || len(s.list) == 0 {
		return nil, errorf(ErrSyntax, "%s is no list of schemas", s.path)
	}
	list := make(schemas, len(s.list))
	for i := range list {
		list[i] = s.child(strconv.Itoa(i))
	}
	return list, nil
}

func (r reader) types(at schemaAt) error {
	list := []*value{at.value}
	if at.kind == kindArray {
		list = at.list
	}
	known := map[string]kind{"null": kindNull, "boolean": kindBool, "number": kindNumber, "integer": kindNumber,
		"string": kindString, "array": kindArray, "object": kindObject}
	var types kind
	number := false
	for _, v := range list {
		k := known[v.text]
		if v.kind != kindString || k == 0 {
			return errorf(ErrSyntax, "%s: %.60s is no type", at.path, v.write(nil))
		}
		types, number = types|k, number || v.text == "number"
	}
	r.f.types &= types
	r.f.integer = r.f.integer || types&kindNumber != 0 && !number
	return nil
}

func (r reader) enum(key string, at schemaAt) error {
	list := []*value{at.value}
	if key == "enum" {
		if at.kind != kindArray {
			return errorf(ErrSyntax, "%s is no list", at.path)
		}
		list = at.list
	}
	if r.f.enum == nil {
		r.f.enum = append([]*value{}, list...)
		return nil
	}
	both := []*value{}
	for _, v := range r.f.enum {
		if slices.ContainsFunc(list, v.equal) {
			both = append(both, v)
		}
	}
	r.f.enum = both
	return nil
}

// count reads a number of characters or of items.
func count(at schemaAt, isLeast bool, least, most *int) error {
	n := at.rational()
	if at.kind != kindNumber || n == nil || !n.IsInt() || n.Sign() < 0 {
		return errorf(ErrSyntax, "%s is no number of something", at.path)
	}
	if !n.Num().IsInt64() || n.Num().Int64() > maxPositions {
		if !isLeast {
			return nil // as good as none
		}
		return errorf(ErrTooLarge, "%s is over %d", at.path, maxPositions)
	}
	switch i := int(n.Num().Int64()); {
	case isLeast:
		*least = max(*least, i)
	case *most < 0 || i < *most:
		*most = i
	}
	return nil
}

func (r reader) limit(key string, at schemaAt) error {
	if at.kind != kindNumber {
		return errorf(ErrSyntax, "%s is no number", at.path)
	}
	n := at.rational()
	if n == nil {
		return errorf(ErrTooLarge, "%s has too many digits", at.path)
	}
	l := &limit{n, key[0] == 'e'}
	if key == "minimum" || key == "exclusiveMinimum" {
		if r.f.lo == nil || n.Cmp(r.f.lo.at) > 0 || n.Cmp(r.f.lo.at) == 0 && l.open {
			r.f.lo = l
		}
	} else if r.f.hi == nil || n.Cmp(r.f.hi.at) < 0 || n.Cmp(r.f.hi.at) == 0 && l.open {
		r.f.hi = l
	}
	return nil
}

// object adds the keywords of objects that belong together.
func (r reader) object() error {
	var o objectFacts
	if at := r.s.child("properties"); at.value != nil {
		if at.kind != kindObject {
			return errorf(ErrSyntax, "%s is no object", at.path)
		}
		for _, name := range at.keys {
			o.properties = append(o.properties, property{name, at.child(name)})
		}
	}
	if at := r.s.child("required"); at.value != nil {
		if at.kind != kindArray || slices.ContainsFunc(at.list, func(v *value) bool { return v.kind != kindString }) {
			return errorf(ErrSyntax, "%s is no list of names", at.path)
		}
		for _, v := range at.list {
			o.required = append(o.required, v.text)
		}
	}
	if at := r.s.child("additionalProperties"); at.value != nil {
		o.additional = &at
	}
	if o.properties != nil || o.required != nil || o.additional != nil {
		r.f.objects = append(r.f.objects, o)
	}
	return nil
}

// array adds those of arrays.
func (r reader) array() (err error) {
	var a arrayFacts
	if at := r.s.child("prefixItems"); at.value != nil {
		if a.prefix, err = at.schemas(); err != nil {
			return err
		}
	}
	if at := r.s.child("items"); at.value != nil {
		if at.kind == kindArray {
			return errorf(ErrUnsupported, "%s is a list, which is prefixItems today", at.path)
		}
		a.items = &at
	}
	if a.prefix != nil || a.items != nil {
		r.f.arrays = append(r.f.arrays, a)
	}
	return nil
}

// admits reports whether a value of an enumeration is as f says otherwise.
func (f *facts) admits(v *value, types kind) (bool, error) {
	if v.kind&types == 0 {
		return false, nil
	}
	switch v.kind {
	case kindNumber:
		if !f.integer && f.lo == nil && f.hi == nil {
			return true, nil
		}
		n := v.rational()
		if n == nil {
			return false, errorf(ErrTooLarge, "%s: %.60s has too many digits", f.path, v.text)
		}
		return (!f.integer || n.IsInt()) && f.lo.below(n) && f.hi.above(n), nil
	case kindString:
		n := utf8.RuneCountInString(v.text)
		if n < f.minLength || f.maxLength >= 0 && n > f.maxLength {
			return false, nil
		}
		for _, p := range append(slices.Clip(f.patterns), f.formats...) {
			re, err := p.regexp()
			if err != nil || !re.MatchString(v.text) {
				return false, err
			}
		}
	case kindArray:
		if len(v.list) < f.minItems || f.maxItems >= 0 && len(v.list) > f.maxItems {
			return false, nil
		}
		if len(f.arrays) > 0 {
			return false, errorf(ErrUnsupported, "%s: a list in enum or const with keywords of its items", f.path)
		}
	case kindObject:
		if len(f.objects) > 0 {
			return false, errorf(ErrUnsupported, "%s: an object in enum or const with keywords of its members", f.path)
		}
	}
	return true, nil
}

// regexp is what a pattern or format wants to find in a string.
func (s schemaAt) regexp() (*regexp.Regexp, error) {
	pattern := s.text
	if known, ok := formats[s.text]; ok && s.isFormat() {
		pattern = "^(?:" + known + ")$"
	} else if s.isFormat() {
		return nil, errorf(ErrUnsupported, "%s: the format %.60q", s.path, s.text)
	}
	if _, err := parseRegexp(pattern); err != nil {
		return nil, err
	}
	return regexp.Compile(pattern)
}

// below reports whether l is a lower bound of n, above whether it is an upper one.
func (l *limit) below(n *big.Rat) bool {
	return l == nil || l.at.Cmp(n) < 0 || !l.open && l.at.Cmp(n) == 0
}
func (l *limit) above(n *big.Rat) bool {
	return l == nil || l.at.Cmp(n) > 0 || !l.open && l.at.Cmp(n) == 0
}
