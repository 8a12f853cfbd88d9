// Package fault declares the error type that all packages of this module return for files,
// configurations, options and inputs. Callers can show its parts separately:
//
//	var e *fault.Error
//	if errors.As(err, &e) {
//		fmt.Println(e.File, e.Field, e.Value)
//	}
//
// This package is settling: see doc/stability.md.
package fault

import "strings"

// Error says what is wrong, and where. errors.Is matches it with its kind, such as fault.ErrConfig;
// errors.As gives access to its file, field and value.
type Error struct {
	// Kind is one of the variables of this package, such as fault.ErrConfig.
	Kind error
	// File is the name of a file. It is relative to the folder if a folder is opened.
	File string
	// Field is a place in the file, such as rope_parameters.factor, or the name of an option.
	Field string
	// Value is the value of the field, shortened, as the file or the caller writes it.
	Value string
	// Err says what is wrong with the value.
	Err error
}

// Error returns the kind, the file, the field with its value, and the problem in one line. It omits
// parts that are empty.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Kind.Error())
	if e.File != "" {
		b.WriteString(": " + e.File)
	}
	if e.Field != "" {
		b.WriteString(": " + e.Field)
		if e.Value != "" {
			b.WriteString(" = " + e.Value)
		}
	}
	if e.Err != nil {
		b.WriteString(": " + strings.TrimPrefix(e.Err.Error(), e.Kind.Error()+": "))
	}
	return b.String()
}

// Unwrap returns Kind, and Err if it is not nil.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}
