package tokenizer_test

import (
	"fmt"
	"log"

	"github.com/avoformer/avoformer/text/tokenizer"
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
