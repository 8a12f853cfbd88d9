package maxsim_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/avoformer/avoformer/search/maxsim"
)

// This example searches by late interaction, among all documents and among candidates, then does
// the same with an index from a file.
func ExampleNew() {
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	index, err := maxsim.New(2, maxsim.Options{})
	must(err)
	must(index.Add([]int64{10, 20, 30}, [][][]float32{
		{{1, 0}, {0, 1}},
		{{0.5, 0.75}},
		{{0, 1}, {-1, 0}, {0, -1}},
	}))
	query := [][]float32{{1, 0}, {0, 1}}
	hits, err := index.Search(context.Background(), query, 2)
	must(err)
	fmt.Println(hits)
	hits, err = index.SearchAmong(context.Background(), query, 2, []int64{20, 30})
	must(err)
	fmt.Println(hits)

	dir, err := os.MkdirTemp("", "example")
	must(err)
	defer os.RemoveAll(dir)
	must(index.Save(filepath.Join(dir, "tokens.maxsim")))
	loaded, err := maxsim.Load(filepath.Join(dir, "tokens.maxsim"), maxsim.Options{})
	must(err)

	var stream bytes.Buffer // maxsim.Read reads what WriteTo writes
	_, err = loaded.WriteTo(&stream)
	must(err)
	read, err := maxsim.Read(&stream, maxsim.Options{})
	must(err)
	fmt.Println(read.Len(), "documents")
	// Output:
	// [{10 2} {20 1.25}]
	// [{20 1.25} {30 1}]
	// 3 documents
}
