package grammar

import (
	"errors"
	"fmt"
	"strings"

	"github.com/avoformer/avoformer/fault"
)

// This file has the options for compiling a JSON schema, and the errors for keywords that a mask
// cannot enforce.

// SchemaOptions are options for compiling a JSON schema. The zero value compiles as [JSONSchema]
// does.
type SchemaOptions struct {
	// Lenient accepts keywords that a mask cannot enforce. Compile ignores and returns them: a
	// generated text may violate them, so the caller must validate it.
	Lenient bool
	// Open allows values of any type for schemas without type, further members after properties,
	// and further elements after prefixItems. It generates every valid value, but numbers of no
	// more digits than [JSONSchema] states. A keyword that a mask cannot enforce completely is an
	// error or, with Lenient, is returned.
	Open bool
	// NoFormats ignores format, as the specification does by default. Without NoFormats, strings
	// have the formats that [JSONSchema] lists.
	NoFormats bool
}

// Unheld is a keyword that a grammar does not enforce.
type Unheld struct {
	Path   string // of the schema or of the keyword, as a JSON pointer from #
	Reason string
	// Unknown means that the keyword is not known, so that validators ignore it.
	Unknown bool
}

func (u Unheld) String() string { return u.Path + ": " + u.Reason }

// maxUnheld is the largest number of keywords that are returned.
const maxUnheld = 32

// A notHeld is the error for a part of a schema that a mask cannot enforce.
type notHeld struct {
	is      error
	path    *location
	reason  string
	unknown bool
}

func (e *notHeld) Error() string { return fmt.Sprintf("%v: %s: %s", e.is, e.path, e.reason) }
func (e *notHeld) Unwrap() error { return e.is }

// unheldAt returns the error for a part of a schema that a mask cannot enforce. Its kind is
// fault.ErrTooLarge if is matches that, and otherwise fault.ErrUnsupported.
func unheldAt(is error, path *location, format string, args ...any) error {
	if errors.Is(is, fault.ErrTooLarge) {
		is = fault.ErrTooLarge
	} else {
		is = fault.ErrUnsupported
	}
	return &notHeld{is: is, path: path, reason: fmt.Sprintf(format, args...)}
}

// reasonOf returns the text of such an error without its kind.
func reasonOf(err error) string {
	for _, is := range []error{fault.ErrUnsupported, fault.ErrTooLarge} {
		if errors.Is(err, is) {
			return strings.TrimPrefix(err.Error(), is.Error()+": ")
		}
	}
	return err.Error()
}

// A location is the place of a member or an element in the value at location in; nil is the whole
// document. Its text is a JSON pointer from #.
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
