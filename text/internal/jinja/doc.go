// Package jinja renders the chat templates of model folders: the language of
// Jinja 3.1 as transformers sets it up (trim_blocks, lstrip_blocks, a sandbox
// without side effects, tojson, raise_exception, strftime_now, loop controls
// and generation blocks). The output is that of Python, to the byte. Features that
// the package does not have are errors: inheritance, includes, recursive loops,
// and the filters and methods that no chat template is known to use.
//
// The files, in the order of the work: lexer.go cuts a template into tokens,
// parser.go, parse_*.go and absent.go make a tree of them, stmt.go, loop.go, expr.go
// and subscript.go walk it, value.go, integers.go and generator.go have Python's
// values, and operators.go, methods.go, *filters.go and tests.go have their
// operations.
package jinja

import (
	"errors"
	"fmt"
)

var (
	// ErrSyntax is a template that is not Jinja, or beyond the part known here.
	ErrSyntax = errors.New("template syntax")
	// ErrRender is a template that fails on the values it is given.
	ErrRender = errors.New("template rendering")
	// ErrRaised is a template that called raise_exception. It is an ErrRender too.
	ErrRaised = fmt.Errorf("%w: raised by the template", ErrRender)
)

// Limits of one rendering; templates come with models from anywhere.
const (
	maxDepth  = 100       // of nested expressions, blocks and macro calls
	maxSteps  = 1_000_000 // expressions and statements evaluated
	maxOutput = 16 << 20  // bytes of any string
	maxRange  = 100_000   // elements of range(), as in Jinja's sandbox
)

func failf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRender, fmt.Sprintf(format, args...))
}
