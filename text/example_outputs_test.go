package text_test

import (
	"fmt"
	"log"

	"github.com/avoformer/avoformer/text"
)

// A sparse vector has a weight for each token of the vocabulary that a text is about.
func ExampleEmbedder_EmbedSparse() {
	e, err := text.OpenEmbedder("testdata/embed-sparse") // SPLADE, or BGE-M3
	if err != nil {
		log.Fatal(err)
	}
	v, _, err := e.EmbedSparse(ctx, text.Texts([]string{"The capital of France.", "Paris is a city.", "the capital"}), "", text.InputOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v[0].Dot(v[2]) > v[1].Dot(v[2]))
	// Output: true
}

// Late interaction compares each token of a query with each of a document.
func ExampleEmbedder_EmbedVectors() {
	e, err := text.OpenEmbedder("testdata/embed-late") // ColBERT, by sentence-transformers or PyLate; or BGE-M3
	if err != nil {
		log.Fatal(err)
	}
	query, _, err := e.EmbedVectors(ctx, text.Texts([]string{"what is the capital?"}), "query", text.InputOptions{})
	if err != nil {
		log.Fatal(err)
	}
	documents, _, err := e.EmbedVectors(ctx, text.Texts([]string{"The capital of France is Paris.", "Yes."}), "document", text.InputOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(query[0]), e.Interact(query[0], documents[0]) > e.Interact(query[0], documents[1]))
	// Output: 24 true
}
