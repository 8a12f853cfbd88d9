package grammar

import (
	"errors"
	"fmt"
	"strings"

	"github.com/avoformer/avoformer/fault"
)

// This file has how a JSON schema is compiled, and what becomes of keywords that a mask cannot
// hold.

// SchemaOptions say how a JSON schema is compiled. The zero value compiles as [JSONSchema] does.
type SchemaOptions struct {
	// Lenient compiles schemas with keywords that a mask cannot hold. These are left out and
	// reported, so that a text may break them; the caller validates it afterwards.
	Lenient bool
	// Open generates values of any type for schemas without type, further members after properties,
	// and further elements after prefixItems: every valid value, but numbers of no more digits than
	// [JSONSchema] says. What a mask cannot hold as a whole is an error, or is reported.
	Open bool
	// NoFormats takes format for a remark, which is the default of the specification. Without it,
	// texts have the formats that [JSONSchema] lists.
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

// A notHeld is what a mask cannot hold of a schema, at a place.
type notHeld struct {
	is      error
	path    *location
	reason  string
	unknown bool
}

func (e *notHeld) Error() string { return fmt.Sprintf("%v: %s: %s", e.is, e.path, e.reason) }
func (e *notHeld) Unwrap() error { return e.is }

// unheldAt returns the error for what a mask cannot hold at a place; is reports whether it never
// can, or not of this size.
func unheldAt(is error, path *location, format string, args ...any) error {
	if errors.Is(is, fault.ErrTooLarge) {
		is = fault.ErrTooLarge
	} else {
		is = fault.ErrUnsupported
	}
	return &notHeld{is: is, path: path, reason: fmt.Sprintf(format, args...)}
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

// A location is a member or an element of what is at another one; nil is the whole document. It is
// written as a JSON pointer from #.
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

var escape, unescape = strings.NewReplacer("~", "~0", "/", "~1"), strings.NewReplacer("~1", "/", "~0", "~")
