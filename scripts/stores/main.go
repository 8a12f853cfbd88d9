// Command stores prints search results of package search. stores.py compares databases with them:
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"

	"github.com/avoformer/avoformer/search"
)

func main() {
	dim := flag.Int("dim", 0, "numbers of a vector")
	precision := flag.String("precision", "float32", "float32 or binary")
	flag.Parse()
	if err := run(*dim, *precision, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "stores:", err)
		os.Exit(1)
	}
}

func run(dim int, precision string, files []string) error {
	if dim < 1 || len(files) != 2 {
		return fmt.Errorf("-dim %d and %d files, want the length of vectors, and rows and queries", dim, len(files))
	}
	var vectors [2][][]float32
	for i, name := range files {
		var err error
		if vectors[i], err = read(name, dim); err != nil {
			return err
		}
	}
	p, err := search.ParsePrecision(precision)
	if err != nil {
		return err
	}
	index, err := search.New(dim, search.Options{Precision: p})
	if err != nil {
		return err
	}
	if err := index.Add(nil, vectors[0]); err != nil {
		return err
	}
	hits, err := index.Search(context.Background(), vectors[1], len(vectors[0]))
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	for _, of := range hits {
		if err := json.NewEncoder(out).Encode(of); err != nil {
			return err
		}
	}
	return out.Flush()
}

// read reads the vectors of a file.
func read(name string, dim int) ([][]float32, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if len(data)%(4*dim) != 0 {
		return nil, fmt.Errorf("%s: %d bytes, want a multiple of %d", name, len(data), 4*dim)
	}
	vectors := make([][]float32, len(data)/(4*dim))
	for i := range vectors {
		vectors[i] = make([]float32, dim)
		for j := range vectors[i] {
			vectors[i][j] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*(i*dim+j):]))
		}
	}
	return vectors, nil
}
