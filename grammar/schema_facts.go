package grammar

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
)

// This file reads the keywords of the schemas that apply to a value.

const allKinds = kindNull | kindBool | kindNumber | kindString | kindArray | kindObject

func newFacts() *facts {
	return &facts{plain: true, types: allKinds, maxLength: -1, maxItems: -1, maxProperties: -1}
}

// clone returns a copy of f, to which schemas can be added without changing f.
func (f *facts) clone() *facts {
	g := *f
	g.choices, g.enum, g.texts, g.multiples = slices.Clip(g.choices), slices.Clip(g.enum), slices.Clip(g.texts), slices.Clip(g.multiples)
	g.objects, g.arrays, g.dependents, g.names = slices.Clip(g.objects), slices.Clip(g.arrays), slices.Clip(g.dependents), slices.Clip(g.names)
	g.contains, g.looseMembers, g.looseItems = slices.Clip(g.contains), slices.Clip(g.looseMembers), slices.Clip(g.looseItems)
	return &g
}

// valid returns the types that a value may have. kinds returns those that are generated.
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

func (c *schemaCompiler) kinds(f *facts) kind {
	if f.types == allKinds && f.enum == nil && f.hints != 0 && !c.Open {
		return f.hints
	}
	return f.valid()
}

// absorb adds the keywords of s to f. depth is the number of $ref and allOf that led to s. scopes
// are the surrounding schemas whose unevaluatedProperties or unevaluatedItems depend on what s
// evaluates.
func (c *schemaCompiler) absorb(f *facts, s schemaAt, depth int, scopes []int) error {
	if err := c.count(); err != nil {
		return err
	}
	if depth > maxNesting {
		return errorf(fault.ErrUnsupported, "%s: $ref and allOf lead back to this schema, or through more than %d others", s.path, maxNesting)
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
		return errorf(fault.ErrSyntax, "%s is not a schema", s.path)
	}
	r := reader{c, f, s, depth, scopes}
	if s.members["$ref"] != nil && c.isOld(s) {
		return r.keyword("$ref", s.child("$ref"))
	}
	if s.members["unevaluatedProperties"] != nil || s.members["unevaluatedItems"] != nil {
		c.scopes++
		r.scopes = append(slices.Clip(scopes), c.scopes)
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

// count counts a schema that is read.
func (c *schemaCompiler) count() error {
	if c.work++; c.work > maxSchemas || len(c.names) > maxRules {
		return errorf(fault.ErrTooLarge, "more than %d schemas, each counted every time that it applies", maxSchemas)
	}
	return nil
}

// keyword adds one keyword, except for those of objects and arrays that belong together.
func (r reader) keyword(key string, at schemaAt) error {
	f := r.f
	if annotations[key] || strings.HasPrefix(key, "x-") {
		return nil
	}
	switch key {
	case "$ref", "$dynamicRef":
		to, err := r.c.resolve(r.s, key)
		if err != nil {
			return r.c.leave(err)
		}
		return r.c.absorb(f, to, r.depth+1, r.scopes)
	case "allOf":
		list, err := at.schemas()
		for i := 0; i < len(list) && err == nil; i++ {
			err = r.c.absorb(f, list[i], r.depth+1, r.scopes)
		}
		return err
	case "anyOf", "oneOf":
		list, err := at.schemas()
		if err == nil && r.c.Open && key == "anyOf" && len(r.scopes) > 0 {
			if err := r.c.leave(unheldAt(fault.ErrUnsupported, at.path, "several schemas may match, and each counts for unevaluatedProperties and unevaluatedItems")); err != nil {
				return err
			}
		}
		f.choices = append(f.choices, choice{at.path, key == "oneOf", list, r.scopes})
		return err
	case "not", "if", "then", "else", "dependentSchemas", "dependencies":
		f.plain = false
		return r.conditional(key, at)
	}
	f.plain = false
	switch key {
	case "type":
		return r.types(at)
	case "nullable":
		return nil // part of type
	case "enum", "const":
		return r.enum(key, at)
	case "minLength", "maxLength":
		f.hints |= kindString
		return count(at, key == "minLength", &f.minLength, &f.maxLength)
	case "pattern", "format":
		if at.kind != kindString {
			return errorf(fault.ErrSyntax, "%s is not a string", at.path)
		}
		return r.text(key, at)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		f.hints |= kindNumber
		return r.limit(key, at)
	}
	if known, err := r.objectKeyword(key, at); known || err != nil {
		return err
	}
	if known, err := r.arrayKeyword(key, at); known || err != nil {
		return err
	}
	if r.s.made && r.madeKeyword(key, at) {
		return nil
	}
	if key == "$recursiveRef" {
		return r.c.leave(unheldAt(fault.ErrUnsupported, at.path, "its meaning depends on where it is used"))
	}
	return r.c.leave(&notHeld{fault.ErrUnsupported, at.path, "an unknown keyword", true})
}

// typeNames are the types of JSON schemas.
var typeNames = map[string]kind{"null": kindNull, "boolean": kindBool, "number": kindNumber, "integer": kindNumber,
	"string": kindString, "array": kindArray, "object": kindObject}

// typesOf reads the value of type: the types, and whether numbers must be integers.
func typesOf(at schemaAt) (types kind, integer bool, err error) {
	list := []*value{at.value}
	if at.kind == kindArray {
		list = at.list
	}
	number := false
	for _, v := range list {
		k := typeNames[v.text]
		if v.kind != kindString || k == 0 {
			return 0, false, errorf(fault.ErrSyntax, "%s: %.60s is not a type", at.path, v.write(nil))
		}
		types, number = types|k, number || v.text == "number"
	}
	return types, types&kindNumber != 0 && !number, nil
}

func (r reader) types(at schemaAt) error {
	types, integer, err := typesOf(at)
	if err != nil {
		return err
	}
	if n := r.s.members["nullable"]; n != nil && n.yes { // of OpenAPI 3.0
		types |= kindNull
	}
	r.f.types &= types
	r.f.integer = r.f.integer || integer
	return nil
}

func (r reader) enum(key string, at schemaAt) error {
	list := []*value{at.value}
	if key == "enum" {
		if at.kind != kindArray {
			return errorf(fault.ErrSyntax, "%s is not a list", at.path)
		}
		list = at.list
	}
	if r.f.enum == nil {
		r.f.enum = append([]*value{}, list...)
		return nil
	}
	both := []*value{}
	for _, v := range r.f.enum {
		if r.c.work += len(list) / 8; slices.ContainsFunc(list, v.equal) {
			both = append(both, v)
		}
	}
	r.f.enum = both
	return r.c.count()
}

// text adds a pattern or a format.
func (r reader) text(key string, at schemaAt) error {
	pattern := at.text
	if key == "format" {
		if r.c.NoFormats {
			return nil
		}
		if otherFormats[at.text] {
			return r.c.leave(unheldAt(fault.ErrUnsupported, at.path, "the format %q cannot be expressed as a regular expression", at.text))
		}
		if r.f.numberFormat(at.text) {
			r.f.hints |= kindNumber
			return nil
		}
		if pattern = formats()[at.text]; pattern == "" {
			return nil
		}
	}
	if _, err := r.c.tree(pattern); err != nil && !isRefusal(err) {
		return fmt.Errorf("%w, at %s", err, at.path)
	}
	r.f.hints |= kindString
	r.f.texts = append(r.f.texts, textRule{path: at.path, pattern: pattern})
	return nil
}

// limit adds a bound or a multipleOf.
func (r reader) limit(key string, at schemaAt) error {
	lower := key == "minimum" || key == "exclusiveMinimum"
	if at.kind == kindBool && key[0] == 'e' { // of draft 4, next to the bound itself
		return nil
	}
	if at.kind != kindNumber {
		return errorf(fault.ErrSyntax, "%s is not a number", at.path)
	}
	n := at.rational()
	switch {
	case n == nil:
		return errorf(fault.ErrTooLarge, "%s has too many digits", at.path)
	case key == "multipleOf" && n.Sign() <= 0:
		return errorf(fault.ErrSyntax, "%s is not above 0", at.path)
	case key == "multipleOf":
		r.f.multiples = append(r.f.multiples, multiple{at.path, n, false})
		return nil
	}
	open := key[0] == 'e'
	if x := r.s.members["exclusive"+strings.ToUpper(key[:1])+key[1:]]; x != nil && x.yes {
		open = true
	}
	r.f.bound(&limit{n, open}, lower)
	return nil
}

// bound adds a bound, lower or upper.
func (f *facts) bound(l *limit, lower bool) {
	if lower {
		if f.lo == nil || l.at.Cmp(f.lo.at) > 0 || l.at.Cmp(f.lo.at) == 0 && l.open {
			f.lo = l
		}
	} else if f.hi == nil || l.at.Cmp(f.hi.at) < 0 || l.at.Cmp(f.hi.at) == 0 && l.open {
		f.hi = l
	}
}

// below reports whether l is a lower bound of n. above reports whether it is an upper bound.
func (l *limit) below(n *big.Rat) bool {
	return l == nil || l.at.Cmp(n) < 0 || !l.open && l.at.Cmp(n) == 0
}
func (l *limit) above(n *big.Rat) bool {
	return l == nil || l.at.Cmp(n) > 0 || !l.open && l.at.Cmp(n) == 0
}

// numberFormat adds the bounds of a format of numbers, and returns false if name is not such a
// format.
func (f *facts) numberFormat(name string) bool {
	n, ok := numberFormats[name]
	if !ok {
		return false
	}
	lo, hi := new(big.Int), new(big.Int).Lsh(big.NewInt(1), n.bits)
	if n.signed {
		hi.Rsh(hi, 1)
		lo.Neg(hi)
	}
	f.bound(&limit{new(big.Rat).SetInt(lo), false}, true)
	f.bound(&limit{new(big.Rat).SetInt(hi), true}, false)
	return true
}

// factsOf returns the facts of schemas that apply together.
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
