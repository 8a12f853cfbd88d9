package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkStore measures calls on a store of 100,000 records of 384 numbers.
func BenchmarkStore(b *testing.B) {
	const n, dim = 100_000, 384
	r := rand.New(rand.NewPCG(1, 2))
	vector := func() []float32 {
		v := make([]float32, dim)
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		return v
	}
	s := open(b, b.TempDir(), dim, Options{})
	records := make([]Record, 1000)
	for i := 0; i < n; i += len(records) {
		for j := range records {
			records[j] = Record{ID: fmt.Sprint(i + j), Vector: vector(), Payload: make([]byte, 100)}
		}
		if _, err := s.Put(records...); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("Search", func(b *testing.B) {
		query := [][]float32{vector()}
		for b.Loop() {
			if _, err := s.Search(context.Background(), query, 10); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("PutRemove", func(b *testing.B) {
		record := Record{ID: "new", Vector: vector()}
		for b.Loop() {
			if _, err := s.Put(record); err != nil {
				b.Fatal(err)
			}
			if _, err := s.Remove("new"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
