package grammar

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/avoformer/avoformer/fault"
)

// This file reads and checks the schemas of a Validator. valid_value.go validates values.

// A Validator checks whether JSON texts are valid for a JSON schema. It is safe for concurrent use.
type Validator struct {
	lock     sync.Mutex
	c        *schemaCompiler
	patterns map[string]func(text string) (bool, error)
	scoped   bool // some schema has unevaluatedProperties or unevaluatedItems
}

// NewValidator reads a JSON schema: the keywords of drafts 4 to 2020-12 that [JSONSchema] lists,
// and $recursiveRef. Formats are ignored, as the specification does by default, and so are unknown
// keywords. References must lead to places in the schema. A keyword that is malformed is
// fault.ErrSyntax; a pattern with look-behind or a back-reference, a reference to another document,
// or one by draft 4's id is fault.ErrUnsupported.
func NewValidator(schema []byte) (*Validator, error) {
	root, err := parseJSON(schema)
	if err != nil {
		return nil, err
	}
	v := &Validator{c: &schemaCompiler{root: root, index: newIndex(root)}, patterns: map[string]func(string) (bool, error){}}
	seen := map[*value]bool{}
	if err := v.read(schemaAt{nil, root}, seen); err != nil {
		return nil, err
	}
	if err := v.readDynamic(seen); err != nil {
		return nil, err
	}
	return v, nil
}

// readDynamic reads the schemas that a $dynamicRef or $recursiveRef may lead to.
func (v *Validator) readDynamic(seen map[*value]bool) error {
	for n := -1; n < len(seen); {
		n = len(seen)
		anchors, byURI := v.c.index.anchors, v.c.index.byURI
		for _, name := range slices.Sorted(maps.Keys(anchors)) {
			if at := anchors[name]; at.members["$dynamicAnchor"] != nil {
				if err := v.read(at, seen); err != nil {
					return err
				}
			}
		}
		for _, uri := range slices.Sorted(maps.Keys(byURI)) {
			if at := byURI[uri].root; at.members["$recursiveAnchor"] != nil {
				if err := v.read(at, seen); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// A form is the form that a keyword's value must have.
type form int

const (
	ofAnything form = iota
	ofSchema
	ofSchemas
	ofSchemasByName
	ofItems        // a schema, or a list of schemas
	ofDependencies // by name, a schema or a list of names
	ofNames
	ofNamesByName
	ofCount
	ofNumber
	ofLimit // a number, or a boolean of draft 4
	ofBool
	ofPattern
	ofList
	ofTypes
	ofReference
)

func formOf(keyword string) form {
	switch keyword {
	case "not", "if", "then", "else", "additionalProperties", "propertyNames", "unevaluatedProperties", "unevaluatedItems", "contains", "additionalItems":
		return ofSchema
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return ofSchemas
	case "properties", "patternProperties", "dependentSchemas":
		return ofSchemasByName
	case "items":
		return ofItems
	case "dependencies":
		return ofDependencies
	case "required":
		return ofNames
	case "dependentRequired":
		return ofNamesByName
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return ofCount
	case "minimum", "maximum", "multipleOf":
		return ofNumber
	case "exclusiveMinimum", "exclusiveMaximum":
		return ofLimit
	case "uniqueItems":
		return ofBool
	case "pattern":
		return ofPattern
	case "enum":
		return ofList
	case "type":
		return ofTypes
	case "$ref", "$dynamicRef", "$recursiveRef":
		return ofReference
	}
	return ofAnything
}

// read checks a schema, and the schemas that it contains or refers to.
func (v *Validator) read(s schemaAt, seen map[*value]bool) error {
	if s.kind == kindBool || seen[s.value] {
		return nil
	}
	if s.kind != kindObject {
		return errorf(fault.ErrSyntax, "%s is not a schema", s.path)
	}
	seen[s.value] = true
	for _, key := range v.keywords(s) {
		if err := v.readKeyword(s, key, s.child(key), seen); err != nil {
			return err
		}
	}
	return nil
}

// keywords returns the keywords of a schema that have an effect.
func (v *Validator) keywords(s schemaAt) []string {
	if s.members["$ref"] != nil && v.c.isOld(s) {
		return []string{"$ref"}
	}
	return s.keys
}

func (v *Validator) readKeyword(s schemaAt, key string, at schemaAt, seen map[*value]bool) error {
	wrong := func(want string) error { return errorf(fault.ErrSyntax, "%s is not %s", at.path, want) }
	below := func() error {
		for _, to := range at.below() {
			if err := v.read(to, seen); err != nil {
				return err
			}
		}
		return nil
	}
	switch formOf(key) {
	case ofSchema:
		v.scoped = v.scoped || strings.HasPrefix(key, "unevaluated")
		return v.read(at, seen)
	case ofSchemas:
		if _, err := at.schemas(); err != nil {
			return err
		}
		return below()
	case ofItems:
		if at.kind == kindArray {
			return below()
		}
		return v.read(at, seen)
	case ofSchemasByName, ofNamesByName, ofDependencies:
		return v.readByName(key, at, seen)
	case ofNames:
		if at.kind != kindBool { // of draft 3
			_, err := at.names()
			return err
		}
	case ofCount:
		if n := at.rational(); n == nil || !n.IsInt() || n.Sign() < 0 {
			return wrong("an integer from 0 on")
		}
	case ofNumber, ofLimit:
		if at.kind == kindBool && formOf(key) == ofLimit {
			return nil
		}
		if n := at.rational(); n == nil || key == "multipleOf" && n.Sign() <= 0 {
			return wrong("an allowed number")
		}
	case ofBool:
		if at.kind != kindBool {
			return wrong("true or false")
		}
	case ofPattern:
		if at.kind != kindString {
			return wrong("a string")
		}
		return v.pattern(at.text, at.path)
	case ofList:
		if at.kind != kindArray {
			return wrong("a list")
		}
	case ofTypes:
		_, _, err := typesOf(at)
		return err
	case ofReference:
		to, err := v.c.find(s, key)
		if err != nil {
			return err
		}
		return v.read(to, seen)
	}
	return nil
}

// readByName checks a keyword whose value is an object of schemas or lists by name.
func (v *Validator) readByName(key string, at schemaAt, seen map[*value]bool) error {
	if at.kind != kindObject {
		return errorf(fault.ErrSyntax, "%s is not an object", at.path)
	}
	for i, to := range at.below() {
		var err error
		switch {
		case formOf(key) == ofNamesByName, formOf(key) == ofDependencies && to.kind == kindArray:
			_, err = to.names()
		case key == "patternProperties":
			if err = v.pattern(at.keys[i], to.path); err == nil {
				err = v.read(to, seen)
			}
		default:
			err = v.read(to, seen)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// below returns the elements of a list, or the members of an object, with their places.
func (s schemaAt) below() schemas {
	list := make(schemas, len(s.list))
	for i := range list {
		key := itoa(i)
		if s.kind == kindObject {
			key = s.keys[i]
		}
		list[i] = schemaAt{&location{s.path, key}, s.list[i]}
	}
	return list
}

// pattern prepares a pattern: by package regexp, or by an automaton if it has look-ahead.
func (v *Validator) pattern(pattern string, path *location) error {
	if v.patterns[pattern] != nil {
		return nil
	}
	tree, err := v.c.tree(pattern)
	if err != nil {
		return fmt.Errorf("%w, at %s", err, path)
	}
	if !looksAhead(tree) {
		re, err := regexp.Compile(tree.String())
		if err != nil {
			return errorf(fault.ErrTooLarge, "%s: %w", path, err)
		}
		v.patterns[pattern] = func(text string) (bool, error) { return re.MatchString(text), nil }
		return nil
	}
	start, err := v.c.start(textRule{pattern: pattern})
	if err != nil {
		return fmt.Errorf("%w, at %s", err, path)
	}
	v.patterns[pattern] = func(text string) (bool, error) { return v.c.automaton().matches(start, text) }
	return nil
}

func looksAhead(re *syntax.Regexp) bool {
	return re.Op == opAhead || re.Op == opNotAhead || slices.ContainsFunc(re.Sub, looksAhead)
}

// follow returns the schema that a reference leads to. scope has the resources of the schemas that
// led to the reference.
func (v *Validator) follow(s schemaAt, keyword string, scope []*resource) (schemaAt, error) {
	to, err := v.c.find(s, keyword)
	if err != nil {
		return to, err
	}
	switch keyword {
	case "$dynamicRef":
		ref, err := url.Parse(s.members[keyword].text)
		if err != nil || !to.has("$dynamicAnchor", ref.Fragment) {
			return to, nil
		}
		for _, r := range scope {
			if at, ok := v.c.index.anchors[r.base.String()+"#"+ref.Fragment]; ok && at.has("$dynamicAnchor", ref.Fragment) {
				return at, nil
			}
		}
	case "$recursiveRef":
		anchored := func(at schemaAt) bool {
			a := at.members["$recursiveAnchor"]
			return a != nil && a.yes
		}
		if !anchored(to) {
			return to, nil
		}
		for _, r := range scope {
			if anchored(r.root) {
				return r.root, nil
			}
		}
	}
	return to, nil
}

// has reports whether a schema has a keyword with a text.
func (s schemaAt) has(keyword, text string) bool {
	if s.kind != kindObject {
		return false
	}
	m := s.members[keyword]
	return m != nil && m.kind == kindString && m.text == text
}

// maxCompared limits the steps of validating a value. A schema of a few lines can require more than
// could be done in a lifetime.
const maxCompared = 200_000

// Validate returns nil if a text is valid for the schema. Otherwise the error is fault.ErrInvalid,
// with the first violation that it finds. It is fault.ErrTooLarge for a text of more than 16 MiB,
// one that nests deeper than 200, and one that takes too long to validate, and fault.ErrSyntax for
// a text that is not JSON.
func (v *Validator) Validate(text string) error {
	instance, err := parseInstance([]byte(text))
	if err != nil {
		return err
	}
	v.lock.Lock()
	defer v.lock.Unlock()
	w := &comparison{Validator: v}
	err = w.schema(schemaAt{nil, v.c.root}, instance, nil, nil)
	if b, ok := errors.AsType[*broken](err); ok {
		return &fault.Error{Kind: fault.ErrInvalid, Err: b}
	}
	return err
}

// broken is the error for a value that violates a schema.
type broken struct {
	at     *location
	reason string
}

func (b *broken) Error() string {
	if b.at == nil {
		return b.reason
	}
	return fmt.Sprintf("at '%s': %s", b.at.String()[1:], b.reason)
}
