// Package grammar constrains what a language model generates to a regular expression, a GBNF
// grammar like those of llama.cpp, or a JSON schema.
//
// A [Grammar] is compiled once from its source, by [Regexp], [GBNF] or [JSONSchema]. A [Vocabulary]
// is made once for a tokenizer. A [Matcher] follows one sequence through both: before each token it
// says which tokens may follow, and it is told which one did.
//
//	v, err := grammar.NewVocabulary(tokens, []int{eos})
//	g, err := grammar.JSONSchema(schema)
//	m := g.Matcher(v)
//	for !m.Done() {
//		err := m.Apply(logits) // -Inf for the tokens that may not follow
//		err = m.Accept(choose(logits))
//	}
//
// A [Validator] holds whole texts against a JSON schema, those of any origin.
//
// The package is public because any program that has logits can use it, also with its own sampler:
// it knows bytes, tokens and logits, and nothing of models or tokenizers.
//
// # How it works
//
// All sources become the same kind of expressions (expr.go), and an expression becomes a pushdown
// automaton over bytes (build.go, glushkov.go): a finite automaton for each rule, whose edges are
// bytes and calls of rules. The state of a sequence is the set of all stacks that the automaton may
// have (state.go). Equal states are one object, so that the successors and the mask of a state are
// computed once and then found through a pointer. The tokens lie in a trie (vocabulary.go), along
// which the automaton is walked when a mask is first needed (mask.go): tokens may end anywhere in a
// rule, in several rules at once, and within a character.
//
// # Cost
//
// For 152,000 tokens and states that have been met before, Mask and Accept take some 50 ns
// together, and Apply 40 to 60 µs, nearly all of it for writing -Inf. A state that is new takes up
// to some milliseconds; a schema of six properties took 55 to 75 ms for all its states, any JSON
// object 11 to 15 ms (BenchmarkStep, BenchmarkFirstUse; AMD EPYC, Zen 4).
//
// # Limits
//
// Sources come from strangers. What is malformed is [fault.ErrSyntax], what is well-formed but
// outside the subset [fault.ErrUnsupported], and what would cost too much to compile or to follow
// [fault.ErrTooLarge]. Rules that may call themselves before any byte (left recursion) are not
// supported.
//
// This package is settling: see doc/stability.md.
package grammar

import (
	"fmt"

	"github.com/avoformer/avoformer/fault"
)

// Limits of what is compiled. They bound the memory of a Grammar to some tens of megabytes.
const (
	maxSource    = 1 << 20 // bytes of a source
	maxNesting   = 200     // of parentheses, objects and lists in a source
	maxRules     = 1 << 18
	maxPositions = 1 << 17 // bytes and calls in all rules, repetitions written out
	maxEdges     = 1 << 21
)

func errorf(kind error, format string, args ...any) error {
	return &fault.Error{Kind: kind, Err: fmt.Errorf(format, args...)}
}
