package search_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/avoformer/avoformer/search"
)

// This example searches vectors with ids, then does the same with an index from a file.
func ExampleNew() {
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	index, err := search.New(2, search.Options{})
	must(err)
	must(index.Add([]int64{10, 20, 30}, [][]float32{{1, 0}, {0, 1}, {0.6, 0.8}}))
	query := [][]float32{{0, 1}}
	hits, err := index.Search(context.Background(), query, 2)
	must(err)
	fmt.Println(hits[0])

	dir, err := os.MkdirTemp("", "example")
	must(err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "vectors.index")
	must(index.Save(path))
	loaded, err := search.Load(path, 0)
	must(err)
	hits, err = loaded.Search(context.Background(), query, 1)
	must(err)
	fmt.Println(hits[0])

	var stream bytes.Buffer // search.Read reads what WriteTo writes
	_, err = loaded.WriteTo(&stream)
	must(err)
	read, err := search.Read(&stream, 1)
	must(err)
	fmt.Println(read.Len(), "vectors of", read.Dim())
	// Output:
	// [{20 1} {30 0.8}]
	// [{20 1}]
	// 3 vectors of 2
}

// This example searches signs, and scores the best candidates again in float32.
func ExampleParsePrecision() {
	p, err := search.ParsePrecision("binary")
	if err != nil {
		log.Fatal(err)
	}
	index, err := search.New(4, search.Options{Precision: p, Rescore: search.Float32})
	if err != nil {
		log.Fatal(err)
	}
	if err := index.Add(nil, [][]float32{{1, 1, 1, -1}, {9, 1, 1, -1}, {-1, -1, -1, 1}}); err != nil {
		log.Fatal(err)
	}
	hits, err := index.Search(context.Background(), [][]float32{{1, 0, 0, 0}}, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(hits[0])
	// Output: [{1 9}]
}

// This example replaces a vector, removes another one, and restricts a search to some ids.
func ExampleWithID() {
	index, err := search.New(2, search.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := index.Add([]int64{10, 20, 30}, [][]float32{{1, 0}, {0, 1}, {0.6, 0.8}}); err != nil {
		log.Fatal(err)
	}
	if err := index.Replace([]int64{10}, [][]float32{{0.8, 0.6}}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(index.Remove(20, 99), "removed,", index.Len(), "left")
	for _, where := range []func(id int64) bool{nil, search.WithID(10, 20), func(id int64) bool { return id > 10 }} {
		hits, err := index.SearchWhere(context.Background(), [][]float32{{0, 1}}, 2, where)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(hits[0])
	}
	// Output:
	// 1 removed, 2 left
	// [{30 0.8} {10 0.6}]
	// [{10 0.6}]
	// [{30 0.8}]
}

// This example merges hits of vectors and hits of words, whose scores cannot be compared.
func ExampleFuseRanks() {
	byMeaning := []search.Hit{{ID: 3, Score: 0.9}, {ID: 1, Score: 0.8}}
	byWords := []search.Hit{{ID: 1, Score: 11.2}, {ID: 7, Score: 4.5}}
	for _, h := range search.FuseRanks(search.RankConstant, byMeaning, byWords) {
		fmt.Printf("%d %.4f\n", h.ID, h.Score)
	}
	// Output:
	// 1 0.0325
	// 3 0.0164
	// 7 0.0161
}
