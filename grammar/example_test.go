package grammar_test

import (
	"fmt"
	"math"

	"github.com/avoformer/avoformer/grammar"
)

// This example is a sampler that follows a schema: it calls Apply before each choice, and Accept
// after it.
func ExampleMatcher() {
	tokens := [][]byte{[]byte(`{"`), []byte("colour"), []byte(`":`), []byte(` "`), []byte("red"), []byte("blue"), []byte(`"}`), []byte("purple"), nil}
	v, err := grammar.NewVocabulary(tokens, []int{8})
	if err != nil {
		panic(err)
	}
	g, err := grammar.JSONSchema([]byte(`{"properties": {"colour": {"enum": ["red", "blue"]}}, "required": ["colour"]}`))
	if err != nil {
		panic(err)
	}
	m := g.Matcher(v)
	for !m.Done() {
		logits := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9} // the model prefers the last tokens
		if err := m.Apply(logits); err != nil {
			panic(err)
		}
		best := 0
		for t, l := range logits {
			if l > logits[best] || math.IsInf(float64(logits[best]), -1) {
				best = t
			}
		}
		if err := m.Accept(best); err != nil {
			panic(err)
		}
		fmt.Printf("%s", tokens[best])
	}
	// Output: {"colour": "blue"}
}

// This example compiles a grammar in llama.cpp's format and prints the tokens that may follow.
func ExampleGBNF() {
	g, err := grammar.GBNF(`
root ::= term ("+" term)*
term ::= [0-9]+ | "(" root ")"`)
	if err != nil {
		panic(err)
	}
	v, err := grammar.NewVocabulary([][]byte{[]byte("1"), []byte("+("), []byte(")"), []byte("))"), nil}, []int{4})
	if err != nil {
		panic(err)
	}
	m := g.Matcher(v)
	for _, token := range []int{0, 1, 0} {
		if err := m.Accept(token); err != nil {
			panic(err)
		}
	}
	mask, err := m.Mask()
	fmt.Printf("%05b %v %v\n", mask[0], m.CanEnd(), err)
	fmt.Println(m.Accept(3))
	// Output:
	// 00111 false <nil>
	// token may not follow: token 3, "))"
}

// This example prints the tokens that may come first, for three kinds of sources.
func ExampleRegexp() {
	tokens := [][]byte{[]byte("a"), []byte("1"), []byte("{"), nil}
	v, err := grammar.NewVocabulary(tokens, []int{3})
	if err != nil {
		panic(err)
	}
	number, err := grammar.Regexp(`-?[0-9]+`)
	if err != nil {
		panic(err)
	}
	word, err := grammar.GBNF(`root ::= [a-z]+`)
	if err != nil {
		panic(err)
	}
	for _, g := range []*grammar.Grammar{number, word, grammar.JSONObject()} {
		mask, err := g.Matcher(v).Mask()
		if err != nil {
			panic(err)
		}
		for t, token := range tokens {
			if mask[0]>>t&1 == 1 {
				fmt.Printf("%s\n", token)
			}
		}
	}
	// Output:
	// 1
	// a
	// {
}

// This example validates texts of a model, and prints how they violate a schema.
func ExampleNewValidator() {
	v, err := grammar.NewValidator([]byte(`{"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}, "required": ["age"]}`))
	if err != nil {
		panic(err)
	}
	for _, text := range []string{`{"age": 41}`, `{"age": -1}`, `{}`} {
		fmt.Println(v.Validate(text))
	}
	// Output:
	// <nil>
	// not valid for the schema: at '/age': -1 is beyond minimum 0
	// not valid for the schema: the member "age" is missing
}
