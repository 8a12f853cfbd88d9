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

// This file has the data of compiling a JSON schema: the schemas, and the combined facts of those
// that apply to a value.

// A schemaCompiler makes the rules of a JSON schema.
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

// A schemaAt is a schema and where it is.
type schemaAt struct {
	path *location
	*value
}

// schemas are schemas that all apply to a value. None is any JSON.
type schemas []schemaAt

// facts is what the schemas that apply to a value say together.
type facts struct {
	path     *location
	chosen   int  // branches of anyOf and its kind that were absorbed
	plain    bool // false once a schema said anything but anyOf or oneOf
	types    kind // that are allowed
	hints    kind // that keywords are about
	integer  bool // numbers have to be integers
	fraction bool // they must not be
	enum     []*value
	choices  []choice

	lo, hi                       *limit
	multiples                    []multiple
	minLength, maxLength         int // -1 for no limit, as below
	texts                        []textRule
	minItems, maxItems           int
	minProperties, maxProperties int
	counted                      *location // of the latter, nil for neither
	objects                      []objectFacts
	dependents                   []dependent
	names                        schemas // of members
	arrays                       []arrayFacts
	unique                       *location // of uniqueItems
	contains                     []contained
	looseMembers, looseItems     []unevaluated
}

// objectFacts are the keywords of objects in one schema, which depend on each other.
type objectFacts struct {
	properties []property
	required   []string
	patterns   []property
	additional *schemaAt // nil if it says nothing
	quiet      bool      // made of a negation: what it says of members does not say that there are no others
	scopes     []int
}

// arrayFacts are the keywords of lists in one schema.
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
	dynamic map[string]int      // how many schemas have a $dynamicAnchor of this name
}

// A resource is a schema with an identifier of its own, or the whole document. References in it are
// relative to it.
type resource struct {
	root schemaAt
	base *url.URL
	old  bool // of a draft before 2019-09, in which nothing beside $ref counts
}

// A part is an expression that all schemas share, made a rule when it is first needed.
type part int

// A multiple is what numbers are multiples of, or are not.
type multiple struct {
	path *location
	of   *big.Rat
	not  bool
}

// A textRule is a schema's rule about strings: that they match a pattern or are one of some words,
// or that they are not.
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

// A contained is a schema that at least and at most some number of elements match.
type contained struct {
	path        *location
	of          schemaAt
	least, most int
}

// An unevaluated is the schema of members or elements that no schema in its scope speaks of.
type unevaluated struct {
	of     schemaAt
	scope  int
	scopes []int // with those around it
}

// A choice is an anyOf or its kind.
type choice struct {
	path   *location
	one    bool // only one may hold
	apart  bool // only one can
	of     schemas
	scopes []int
}

// maxSchemas is how many schemas are looked at; those that apply together count each time.
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

// count reads a number of characters, of items or of members.
func count(at schemaAt, isLeast bool, least, most *int) error {
	if at.kind != kindNumber {
		return errorf(fault.ErrSyntax, "%s is not a number of something", at.path)
	}
	n := at.rational()
	if n == nil || !n.IsInt() || n.Sign() < 0 {
		return errorf(fault.ErrSyntax, "%s is not a number of something", at.path)
	}
	if !n.Num().IsInt64() || n.Num().Int64() > maxPositions {
		if !isLeast {
			return nil // as good as none
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

// annotations are keywords that have no effect on which values are valid here.
var annotations = map[string]bool{
	"title": true, "description": true, "default": true, "examples": true, "example": true, "$schema": true, "$id": true, "id": true,
	"$comment": true, "deprecated": true, "readOnly": true, "writeOnly": true, "discriminator": true, "$defs": true, "definitions": true,
	"$anchor": true, "$dynamicAnchor": true, "$recursiveAnchor": true, "$vocabulary": true, "contentEncoding": true,
	"contentMediaType": true, "contentSchema": true, "xml": true, "externalDocs": true,
}

// leave reports what cannot be held instead of failing, if the options want that. Any other error
// stays one.
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
	oneCharacter             // of a string
	anyString
	beyondLetters // a character in the spelling of quote that is not itself there, or not of ASCII
	restOfName    // in that spelling, with the quote that ends it
	parts
)

// schemas returns the elements of anyOf and its kind.
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
