package bm25_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/avoformer/avoformer/search"
	"github.com/avoformer/avoformer/search/bm25"
)

// This example searches texts by the words of a query, then does the same with an index from a
// file.
func ExampleNew() {
	texts := []string{"The dough rests in a warm place.", "The engine needs new oil.", "Bake the bread until its crust is dark."}
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	index, err := bm25.New(bm25.Options{})
	must(err)
	must(index.Add(nil, texts))
	hits, err := index.Search(context.Background(), []string{"a warm engine"}, 2)
	must(err)
	for _, h := range hits[0] {
		fmt.Printf("%.3f %s\n", h.Score, texts[h.ID])
	}

	dir, err := os.MkdirTemp("", "example")
	must(err)
	defer os.RemoveAll(dir)
	must(index.Save(filepath.Join(dir, "texts.bm25")))
	loaded, err := bm25.Load(filepath.Join(dir, "texts.bm25"), nil)
	must(err)

	var stream bytes.Buffer // bm25.Read reads what WriteTo writes
	_, err = loaded.WriteTo(&stream)
	must(err)
	read, err := bm25.Read(&stream, nil)
	must(err)
	fmt.Println(read.Len(), "texts")
	// Output:
	// 0.874 The dough rests in a warm place.
	// 0.497 The engine needs new oil.
	// 3 texts
}

// This example divides texts into words in another way: a plural counts as the singular.
func ExampleWords() {
	words := func(text string) []string {
		words := bm25.Words(text)
		for i, w := range words {
			words[i] = strings.TrimSuffix(w, "s")
		}
		return words
	}
	index, err := bm25.New(bm25.Options{Words: words})
	if err != nil {
		log.Fatal(err)
	}
	if err := index.Add([]int64{10, 20}, []string{"Engines need oil.", "Loaves of bread"}); err != nil {
		log.Fatal(err)
	}
	hits, err := index.Search(context.Background(), []string{"engine"}, 5)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(hits[0]), hits[0][0].ID)
	// Output: 1 10
}

// This example is a hybrid search: it merges the hits of vectors and of words by their ranks.
func ExampleIndex_Search_hybrid() {
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	texts := []string{"My bread did not rise.", "Error E1047 of the oven", "The oven is hot.", "Dough needs warmth."}
	vectors := [][]float32{{0.9, 0.4}, {0.3, 0.9}, {0.5, 0.8}, {0.8, 0.5}} // as an embedder returns them, with the vector of the query last
	query, vector := "E1047", []float32{0.5, 0.85}

	ctx := context.Background()
	dense, err := search.New(2, search.Options{})
	must(err)
	must(dense.Add(nil, vectors))
	words, err := bm25.New(bm25.Options{})
	must(err)
	must(words.Add(nil, texts))

	near, err := dense.Search(ctx, [][]float32{vector}, 20)
	must(err)
	same, err := words.Search(ctx, []string{query}, 20)
	must(err)
	fmt.Println("vectors:", texts[near[0][0].ID])
	fmt.Println("words:  ", texts[same[0][0].ID])
	for _, h := range search.FuseRanks(search.RankConstant, near[0], same[0])[:2] {
		fmt.Printf("%.4f %s\n", h.Score, texts[h.ID])
	}
	// Output:
	// vectors: The oven is hot.
	// words:   Error E1047 of the oven
	// 0.0325 Error E1047 of the oven
	// 0.0164 The oven is hot.
}
