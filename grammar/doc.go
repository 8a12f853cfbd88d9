// Package grammar constrains the text that a language model generates to a regular expression, a
// GBNF grammar as in llama.cpp, or a JSON schema.
//
// A [Grammar] is compiled once from its source, by [Regexp], [GBNF] or [JSONSchema]. A [Vocabulary]
// is built once for a tokenizer. A [Matcher] follows one sequence of tokens: before each token it
// returns the tokens that may follow, and it accepts the token that was chosen.
//
//	v, err := grammar.NewVocabulary(tokens, []int{eos})
//	g, err := grammar.JSONSchema(schema)
//	m := g.Matcher(v)
//	for !m.Done() {
//		err := m.Apply(logits) // -Inf for the tokens that may not follow
//		err = m.Accept(choose(logits))
//	}
//
// A [Validator] checks whole texts of any origin against a JSON schema.
//
// Any program that has logits can use this package, also with its own sampler: the package handles
// bytes, tokens and logits, and does not depend on models or tokenizers.
//
// # How it works
//
// All sources are converted to the same kind of expressions (expr.go), and an expression is
// compiled to a pushdown automaton over bytes (build.go, glushkov.go): a finite automaton for each
// rule, whose edges are bytes and calls of rules. The state of a sequence is the set of all stacks
// that the automaton may have (state.go). Equal states are one object, so that the successors and
// the mask of a state are computed once and then found through a pointer. The tokens are in a trie
// (vocabulary.go). When a mask is first needed, the automaton follows the bytes of the trie
// (mask.go): tokens may end anywhere in a rule, in several rules at once, and within a character.
//
// # Cost
//
// With 152,000 tokens and states that were computed before, Mask and Accept take about 50 ns
// together, and Apply takes 40 to 60 µs, nearly all of it to write -Inf. A new state takes up to a
// few milliseconds. All states of a schema of six properties took 55 to 75 ms, those of any JSON
// object 11 to 15 ms (BenchmarkStep, BenchmarkFirstUse; AMD EPYC, Zen 4).
//
// # Limits
//
// Sources may be hostile. The error is [fault.ErrSyntax] for a malformed source,
// [fault.ErrUnsupported] for a well-formed source outside the supported subset, and
// [fault.ErrTooLarge] for a source that would cost too much to compile or to follow. Rules that may
// call themselves before any byte (left recursion) are not supported.
//
// This package is settling: see doc/stability.md.
package grammar

import (
	"fmt"

	"github.com/avoformer/avoformer/fault"
)

// Limits of sources and compiled grammars. They bound the memory of a Grammar to tens of megabytes.
const (
	maxSource    = 1 << 20 // bytes of a source
	maxNesting   = 200     // of parentheses, objects and lists in a source
	maxRules     = 1 << 18
	maxPositions = 1 << 17 // byte ranges and calls in all rules, with repetitions expanded
	maxEdges     = 1 << 21
)

func errorf(kind error, format string, args ...any) error {
	return &fault.Error{Kind: kind, Err: fmt.Errorf(format, args...)}
}
