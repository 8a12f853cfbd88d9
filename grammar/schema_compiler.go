package grammar

import (
	"errors"
	"math/big"
	"net/url"
	"regexp/syntax"
	"slices"
	"strconv"

	"github.com/avoformer/avoformer/fault"
)

// This file has the data structures for compiling a JSON schema: schemas, and the facts that the
// schemas of a value state together.

// A schemaCompiler compiles a JSON schema to rules.
type schemaCompiler struct {
	SchemaOptions
	program
	root   *value
	index  *index
	rules  map[string]int // by the addresses of their schemas
	todo   []pending
	work   int // number of schemas read so far
	parts  [parts]*expr
	unheld []Unheld

	strings *automaton       // has all strings of the schema; nil until needed
	starts  map[string]int32 // first states in strings, by pattern
	trees   map[string]*syntax.Regexp

	negations map[*value]*value // nil while a negation is being computed
	scopes    int               // number of scopes of unevaluatedProperties and unevaluatedItems
}

// A pending is a rule whose expression has not been computed yet.
type pending struct {
	rule int
	of   schemas
}

// A schemaAt is a schema and its place in the document.
type schemaAt struct {
	path *location
	*value
}

// schemas are schemas that all apply to one value. Without any schema, the value may be any JSON.
type schemas []schemaAt

// facts has what the keywords of all schemas that apply to a value require together.
type facts struct {
	path     *location
	chosen   int  // number of branches of anyOf and oneOf that were absorbed
	plain    bool // no schema has a keyword other than anyOf and oneOf
	types    kind // allowed types
	hints    kind // types that have keywords
	integer  bool // numbers must be integers
	fraction bool // numbers must not be integers
	enum     []*value
	choices  []choice

	lo, hi                       *limit
	multiples                    []multiple
	minLength, maxLength         int // -1 for no limit, as below
	texts                        []textRule
	minItems, maxItems           int
	minProperties, maxProperties int
	counted                      *location // path of minProperties or maxProperties, or nil
	objects                      []objectFacts
	dependents                   []dependent
	names                        schemas // schemas of the names of members
	arrays                       []arrayFacts
	unique                       *location // path of uniqueItems, or nil
	contains                     []contained
	looseMembers, looseItems     []unevaluated
}

// objectFacts has the keywords for objects of one schema that depend on each other.
type objectFacts struct {
	properties []property
	required   []string
	patterns   []property
	additional *schemaAt // nil if it says nothing
	quiet      bool      // made by a negation: its properties do not exclude additional members
	scopes     []int
}

// arrayFacts has the keywords for lists of one schema.
type arrayFacts struct {
	prefix schemas
	items  *schemaAt // nil if it says nothing
	quiet  bool
	scopes []int
}

// A reader adds the keywords of s to f.
type reader struct {
	c      *schemaCompiler
	f      *facts
	s      schemaAt
	depth  int
	scopes []int
}

// An index has the resources of a document.
type index struct {
	of      map[*value]*resource // of each object
	byURI   map[string]*resource
	anchors map[string]schemaAt // by URI and anchor
	dynamic map[string]int      // number of schemas with a $dynamicAnchor of this name
}

// A resource is a schema with an identifier of its own, or the whole document. References in it are
// relative to it.
type resource struct {
	root schemaAt
	base *url.URL
	old  bool // of a draft before 2019-09, in which keywords next to $ref have no effect
}

// A part is an expression that all schemas share. It becomes a rule when it is first needed.
type part int

// A multiple requires that numbers are multiples of a number, or that they are not.
type multiple struct {
	path *location
	of   *big.Rat
	not  bool
}

// A textRule requires that strings match a pattern or are one of some words, or that they do not.
type textRule struct {
	path    *location
	pattern string
	words   []string // instead of a pattern, unless nil
	not     bool
}

// A property is the schema of a name, or of the names with a pattern.
type property struct {
	name string
	schemaAt
}

// A dependent is a member that requires other members.
type dependent struct {
	from string
	to   []string
}

// A contained requires that least to most elements match a schema; most -1 means no limit.
type contained struct {
	path        *location
	of          schemaAt
	least, most int
}

// An unevaluated is the schema of members or elements that no other keyword in its scope evaluates.
type unevaluated struct {
	of     schemaAt
	scope  int
	scopes []int // this scope and those around it
}

// A choice is an anyOf, a oneOf, or an if or dependent schema that was converted to alternatives.
type choice struct {
	path   *location
	one    bool // exactly one schema must match
	of     schemas
	scopes []int
}

// maxSchemas is the largest number of schemas to read. A schema counts each time that it is
// combined with another one.
const maxSchemas = 1 << 16

// child returns the member or element of s that key names. It has no value if s has no such child.
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

func itoa(i int) string { return strconv.Itoa(i) }

// count reads a minimum or maximum number of characters, of items or of members.
func count(at schemaAt, isLeast bool, least, most *int) error {
	if at.kind != kindNumber {
		return errorf(fault.ErrSyntax, "%s is not an integer from 0 on", at.path)
	}
	n := at.rational()
	if n == nil || !n.IsInt() || n.Sign() < 0 {
		return errorf(fault.ErrSyntax, "%s is not an integer from 0 on", at.path)
	}
	if !n.Num().IsInt64() || n.Num().Int64() > maxPositions {
		if !isLeast {
			return nil // the limit has no effect
		}
		return errorf(fault.ErrTooLarge, "%s is over %d", at.path, maxPositions)
	}
	switch i := int(n.Num().Int64()); {
	case isLeast:
		*least = max(*least, i)
	case *most < 0 || i < *most:
		*most = i
	}
	return nil
}

// annotations are keywords that do not affect the validity of values here.
var annotations = map[string]bool{
	"title": true, "description": true, "default": true, "examples": true, "example": true, "$schema": true, "$id": true, "id": true,
	"$comment": true, "deprecated": true, "readOnly": true, "writeOnly": true, "discriminator": true, "$defs": true, "definitions": true,
	"$anchor": true, "$dynamicAnchor": true, "$recursiveAnchor": true, "$vocabulary": true, "contentEncoding": true,
	"contentMediaType": true, "contentSchema": true, "xml": true, "externalDocs": true,
}

// leave adds the error of a keyword that cannot be enforced to c.unheld and returns nil, if the
// options are Lenient. It returns any other error.
func (c *schemaCompiler) leave(err error) error {
	var e *notHeld
	if !c.Lenient || !errors.As(err, &e) {
		return err
	}
	u := Unheld{e.path.String(), e.reason, e.unknown}
	if len(c.unheld) < maxUnheld && !slices.Contains(c.unheld, u) {
		c.unheld = append(c.unheld, u)
	}
	return nil
}

const (
	space        part = iota // after { [ , and before } ]
	oneCharacter             // one character of a string
	anyString
	beyondLetters // a character that quote escapes, or that is not ASCII
	restOfName    // any characters as quote writes them, and the closing quote
	parts
)

// schemas returns the elements of a keyword such as anyOf.
func (s schemaAt) schemas() (schemas, error) {
	if s.kind != kindArray || len(s.list) == 0 {
		return nil, errorf(fault.ErrSyntax, "%s is not a list of schemas", s.path)
	}
	list := make(schemas, len(s.list))
	for i := range list {
		list[i] = s.child(itoa(i))
	}
	return list, nil
}
