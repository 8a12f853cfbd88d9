// Search finds the three lines of a file that are closest to a question in meaning:
//
//	$ go run ./text/examples/search "I cannot log in, what can I do?"
//	0.931 How do I reset the code for my username?
//	0.900 Our internet is slow in the evening.
//	0.895 The router lost its signal again, so we are offline.
//
// The model is a tiny one that knows some hundred everyday words; any sentence encoder of the hub
// takes its place: -model all-MiniLM-L6-v2, after `avoformer pull
// sentence-transformers/all-MiniLM-L6-v2`.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/avoformer/avoformer/search"
	"github.com/avoformer/avoformer/text"
)

func main() {
	model := flag.String("model", "text/examples/models/embed", "the model's `folder`")
	file := flag.String("file", "text/examples/models/sentences.txt", "the `file` whose lines are searched")
	flag.Parse()
	log.SetFlags(0)

	content, err := os.ReadFile(*file)
	if err != nil {
		log.Fatal(err)
	}
	documents := strings.Split(strings.TrimSpace(string(content)), "\n")
	e, err := text.OpenEmbedder(*model, text.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	index, err := newIndex(ctx, e, documents)
	if err != nil {
		log.Fatal(err)
	}
	hits, err := find(ctx, e, index, strings.Join(flag.Args(), " "), 3)
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range hits {
		fmt.Printf("%.3f %s\n", h.Score, documents[h.ID])
	}
}

// newIndex has the vectors of documents, whose ids are their places.
func newIndex(ctx context.Context, e *text.Embedder, documents []string) (*search.Index, error) {
	vectors, err := e.Embed(ctx, text.Texts(documents...), text.EmbedOptions{Prompt: "document"})
	if err != nil {
		return nil, err
	}
	index, err := search.New(e.Dim(), search.Options{})
	if err != nil {
		return nil, err
	}
	return index, index.Add(nil, vectors.Outputs)
}

// find returns the n documents that are closest to a question, by the cosines of their vectors,
// which have length 1.
func find(ctx context.Context, e *text.Embedder, index *search.Index, question string, n int) ([]search.Hit, error) {
	vectors, err := e.Embed(ctx, text.Texts(question), text.EmbedOptions{Prompt: "query"})
	if err != nil {
		return nil, err
	}
	hits, err := index.Search(ctx, vectors.Outputs, n)
	if err != nil {
		return nil, err
	}
	return hits[0], nil
}
