package search

import (
	"context"
	"fmt"
	"testing"
)

// BenchmarkSearch measures searches in 100,000 vectors of 384 numbers.
func BenchmarkSearch(b *testing.B) {
	const n, dim = 100_000, 384
	vectors := normal(1, 1000, dim)
	for _, p := range []Precision{Float32, Int8, Binary} {
		x, err := New(dim, Options{Precision: p, Threads: 1})
		if err != nil {
			b.Fatal(err)
		}
		for range n / len(vectors) {
			if err := x.Add(nil, vectors); err != nil {
				b.Fatal(err)
			}
		}
		for _, queries := range []int{1, 64} {
			b.Run(fmt.Sprintf("%v/%d", p, queries), func(b *testing.B) {
				for b.Loop() {
					if _, err := x.Search(context.Background(), vectors[:queries], 10); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
