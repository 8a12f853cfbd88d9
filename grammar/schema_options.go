package grammar

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
)

// This file has how a JSON schema is compiled, and what becomes of keywords that a mask cannot hold.

// SchemaOptions say how a JSON schema is compiled. The zero value compiles as [JSONSchema] does.
type SchemaOptions struct {
	// Lenient compiles schemas with keywords that a mask cannot hold. These are left out and reported, so that a
	// text may break them; the caller validates it afterwards.
	Lenient bool
	// Open generates values of any type for schemas without type, further members after properties, and further elements
	// after prefixItems: every valid value, but numbers of no more digits than [JSONSchema] says. What a mask cannot hold
	// as a whole is an error, or is reported.
	Open bool
	// NoFormats takes format for a remark, which is the default of the specification. Without it, texts have the
	// formats that [JSONSchema] lists.
	NoFormats bool
}

// Unheld is a keyword that a grammar does not hold.
type Unheld struct {
	Path   string // of the schema or of the keyword, as a JSON pointer from #
	Reason string
	// Unknown is a keyword of no known meaning, which validators ignore.
	Unknown bool
}

func (u Unheld) String() string { return u.Path + ": " + u.Reason }

// maxUnheld is how many keywords are reported.
const maxUnheld = 32

// Compile compiles a JSON schema. Unheld is what the grammar does not hold: always empty without Lenient.
// Errors are those of [JSONSchema].
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

// A notHeld is what a mask cannot hold of a schema, at a place.
type notHeld struct {
	is      error
	path    *location
	reason  string
	unknown bool
}

func (e *notHeld) Error() string { return fmt.Sprintf("%v: %s: %s", e.is, e.path, e.reason) }
func (e *notHeld) Unwrap() error { return e.is }

// unheldAt is the error for what a mask cannot hold at a place; is reports whether it never can, or not of this size.
func unheldAt(is error, path *location, format string, args ...any) error {
	if errors.Is(is, fault.ErrTooLarge) {
		is = fault.ErrTooLarge
	} else {
		is = fault.ErrUnsupported
	}
	return &notHeld{is: is, path: path, reason: fmt.Sprintf(format, args...)}
}

// leave reports what cannot be held instead of failing, if the options want that. Any other error stays one.
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

// reasonOf is what an error says of what cannot be held, without its kind.
func reasonOf(err error) string {
	for _, is := range []error{fault.ErrUnsupported, fault.ErrTooLarge} {
		if errors.Is(err, is) {
			return strings.TrimPrefix(err.Error(), is.Error()+": ")
		}
	}
	return err.Error()
}
