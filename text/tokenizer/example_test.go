package tokenizer_test

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/avoformer/avoformer/text/tokenizer"
	"github.com/avoformer/avoformer/transformer/gguf"
)

func Example() {
	t, err := tokenizer.Open("testdata/bert")
	if err != nil {
		log.Fatal(err)
	}
	e, err := t.Encode("Hello, world!", tokenizer.Options{Tokens: true, Offsets: tokenizer.Bytes})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.IDs)
	fmt.Println(e.Tokens)
	fmt.Println(e.Offsets[1:4])
	fmt.Println(t.Decode(e.IDs, true))
	// Output:
	// [2 139 444 28 31 109 154 246 28 21 5 3]
	// [[CLS] h ##el ##l ##o , w ##or ##l ##d ! [SEP]]
	// [{0 1} {1 3} {3 4}]
	// hello, world!
}

func ExampleTokenizer_WithTruncation() {
	t, err := tokenizer.Open("testdata/bert")
	if err != nil {
		log.Fatal(err)
	}
	t = t.WithTruncation(&tokenizer.Truncation{MaxLength: 6, Stride: 1})
	e, err := t.Encode("Hello, world!", tokenizer.Options{Overflow: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.IDs)
	for _, o := range e.Overflowing {
		fmt.Println(o.IDs)
	}
	// Output:
	// [2 139 444 28 31 3]
	// [2 31 109 154 246 3]
	// [2 246 28 21 5 3]
}

func ExampleStream() {
	t, err := tokenizer.Open("testdata/gpt2")
	if err != nil {
		log.Fatal(err)
	}
	e, err := t.Encode("one 東", tokenizer.Options{})
	if err != nil {
		log.Fatal(err)
	}
	s := t.Stream(true)
	for _, id := range e.IDs {
		fmt.Printf("%q ", s.Next(id))
	}
	fmt.Printf("%q\n", s.Flush())
	// Output:
	// "on" "e" " " "" "" "東" ""
}

// A tokenizer comes from a folder, a file system, the text of a tokenizer.json, or a GGUF file,
// here one whose tokenizer is Llama's.
func ExampleFromGGUF() {
	f, err := gguf.Open("../../models/testdata/gguf/llama/f32.gguf")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	t, err := tokenizer.FromGGUF(f)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t.Size(), "tokens")
	// Output: 101 tokens
}

func ExampleParse() {
	data, err := os.ReadFile("testdata/bert/tokenizer.json")
	if err != nil {
		log.Fatal(err)
	}
	t, err := tokenizer.Parse(data)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t.TokenID("hello"))
	fmt.Println(t.TokenID("[SEP]"))
	// Output:
	// 0 false
	// 3 true
}

// A field of tokenizer_config.json is replaced.
func ExampleOpenWith() {
	t, err := tokenizer.OpenWith(os.DirFS("testdata/bert"), map[string]json.RawMessage{"model_max_length": json.RawMessage("12")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t.Config().MaxLength)
	// Output: 12
}

func ExampleCleanUp() {
	fmt.Println(tokenizer.CleanUp("it is n't here , is it ?"))
	// Output: it isn't here, is it?
}
