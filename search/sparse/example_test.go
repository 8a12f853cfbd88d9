package sparse_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/avoformer/avoformer/search/sparse"
)

// This example searches sparse vectors, then does the same with an index from a file.
func ExampleNew() {
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	index := sparse.New()
	must(index.Add([]int64{10, 20}, []sparse.Vector{
		{{Index: 2057, Value: 1.5}, {Index: 7852, Value: 2}},
		{{Index: 2057, Value: 0.5}, {Index: 3194, Value: 1}},
	}))
	query := []sparse.Vector{{{Index: 2057, Value: 1}, {Index: 7852, Value: 0.5}}}
	hits, err := index.Search(context.Background(), query, 2)
	must(err)
	fmt.Println(hits[0])

	dir, err := os.MkdirTemp("", "example")
	must(err)
	defer os.RemoveAll(dir)
	must(index.Save(filepath.Join(dir, "vectors.sparse")))
	loaded, err := sparse.Load(filepath.Join(dir, "vectors.sparse"))
	must(err)

	var stream bytes.Buffer // sparse.Read reads what WriteTo writes
	_, err = loaded.WriteTo(&stream)
	must(err)
	read, err := sparse.Read(&stream)
	must(err)
	fmt.Println(read.Len(), "vectors")
	// Output:
	// [{10 2.5} {20 0.5}]
	// 2 vectors
}
