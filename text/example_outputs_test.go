package text_test

import (
	"fmt"
	"log"

	"github.com/avoformer/avoformer/text"
)

// A sparse vector has a weight for each token of the vocabulary that a text is about.
func ExampleEmbedder_EmbedSparse() {
	e, err := text.OpenEmbedder("testdata/embed-sparse", text.Options{}) // SPLADE, or BGE-M3
	if err != nil {
		log.Fatal(err)
	}
	v, err := e.EmbedSparse(ctx, text.Texts("The capital of France.", "Paris is a city.", "the capital"), text.EmbedOptions{})
	if err != nil {
		log.Fatal(err)
	}
	a, b, query := v.Outputs[0], v.Outputs[1], v.Outputs[2]
	fmt.Println(a.Dot(query) > b.Dot(query))
	// Output: true
}

// Late interaction compares each token of a query with each of a document.
func ExampleEmbedder_EmbedMultiVector() {
	e, err := text.OpenEmbedder("testdata/embed-late", text.Options{}) // ColBERT, by sentence-transformers or PyLate; or BGE-M3
	if err != nil {
		log.Fatal(err)
	}
	queries, err := e.EmbedMultiVector(ctx, text.Texts("what is the capital?"), text.EmbedOptions{Prompt: "query"})
	if err != nil {
		log.Fatal(err)
	}
	documents, err := e.EmbedMultiVector(ctx, text.Texts("The capital of France is Paris.", "Yes."), text.EmbedOptions{Prompt: "document"})
	if err != nil {
		log.Fatal(err)
	}
	query, a, b := queries.Outputs[0], documents.Outputs[0], documents.Outputs[1]
	fmt.Println(len(query), e.Interact(query, a) > e.Interact(query, b))
	// Output: 24 true
}
