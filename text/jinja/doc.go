// Package jinja renders the chat templates of model folders: the language of Jinja 3.1 as
// transformers sets it up (trim_blocks, lstrip_blocks, a sandbox without side effects, tojson,
// raise_exception, strftime_now, loop controls and generation blocks). The output is that of
// Python, to the byte. Features that the package does not have are errors: inheritance, includes,
// recursive loops, and the filters and methods that no chat template is known to use.
//
//	t, err := jinja.Parse(source)
//	prompt, err := t.Render(map[string]any{"messages": messages, "add_generation_prompt": true})
//
// A template may come from anyone: a rendering ends with an error after a million steps, at 16 MiB
// of text and at a depth of 100.
//
// The files, in the order of the work: lexer.go cuts a template into tokens, parser.go, parse_*.go
// and absent.go make a tree of them, stmt.go, loop.go, expr.go and subscript.go walk it, value.go,
// integers.go and generator.go have Python's values, and operators.go, methods.go, *filters.go and
// tests.go have their operations.
//
// This package is stable: see doc/stability.md.
package jinja

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// Limits of one rendering; templates come with models from anywhere.
const (
	maxDepth  = 100       // of nested expressions, blocks and macro calls
	maxSteps  = 1_000_000 // expressions and statements evaluated
	maxOutput = 16 << 20  // bytes of any string
	maxRange  = 100_000   // elements of range(), as in Jinja's sandbox
)

func failf(format string, args ...any) error {
	return check.Errorf(fault.ErrTemplate, format, args...)
}
