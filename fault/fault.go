// Package fault has the error that all packages of this module give about files, configurations,
// options and inputs, so that callers can show its parts separately:
//
//	var e *fault.Error
//	if errors.As(err, &e) {
//		fmt.Println(e.File, e.Field, e.Value)
//	}
//
// This package is settling: see doc/stability.md.
package fault

import "strings"

// Error is what is wrong, and where. errors.Is tells its kind by the variables of the packages,
// such as fault.ErrConfig, and errors.As the file, the field and the value.
type Error struct {
	// Kind is one of the variables of the packages whose names begin with Err, such as
	// fault.ErrConfig.
	Kind error
	// File is the name of a file, within the folder that is opened where there is one.
	File string
	// Field is a place in the file, such as rope_parameters.factor, or the name of an option.
	Field string
	// Value is what is there, shortened, as the file or the caller writes it.
	Value string
	// Err is what is wrong with it.
	Err error
}

// Error has, in a line, the kind, the file, the field with its value, and what is wrong, as far as
// the error has them.
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

// Unwrap is the kind and what is wrong.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}
