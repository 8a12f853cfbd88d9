package store_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/avoformer/avoformer/search"
	"github.com/avoformer/avoformer/search/bm25"
	"github.com/avoformer/avoformer/search/store"
)

// This example stores records and opens the folder again. A search returns ids and payloads.
func ExampleOpen() {
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	dir, err := os.MkdirTemp("", "example")
	must(err)
	defer os.RemoveAll(dir)
	dir = filepath.Join(dir, "manual")

	s, err := store.Open(dir, 2, store.Options{Sync: true})
	must(err)
	_, err = s.Put(
		store.Record{ID: "manual#1", Vector: []float32{1, 0}, Payload: []byte("The oven is hot.")},
		store.Record{ID: "manual#2", Vector: []float32{0.6, 0.8}, Payload: []byte("Dough needs warmth.")},
		store.Record{ID: "manual#3", Vector: []float32{0, 1}, Payload: []byte("Bread needs time.")},
	)
	must(err)
	_, err = s.Remove("manual#1")
	must(err)
	must(s.Close())

	s, err = store.Open(dir, 2, store.Options{})
	must(err)
	defer s.Close()
	hits, err := s.SearchWhere(context.Background(), [][]float32{{0.6, 0.8}}, 2, func(id string) bool { return id != "manual#9" })
	must(err)
	for _, h := range hits[0] {
		fmt.Printf("%s %.2f %s\n", h.ID, h.Score, h.Payload)
	}
	// Output:
	// manual#2 1.00 Dough needs warmth.
	// manual#3 0.80 Bread needs time.
}

// This example is a hybrid search, with an index of the words of all payloads. The ids of that
// index are the store's numbers.
func ExampleStore_All() {
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	dir, err := os.MkdirTemp("", "example")
	must(err)
	defer os.RemoveAll(dir)
	s, err := store.Open(dir, 2, store.Options{})
	must(err)
	defer s.Close()
	_, err = s.Put(
		store.Record{ID: "a", Vector: []float32{0.6, 0.8}, Payload: []byte("The oven shows E1047.")},
		store.Record{ID: "b", Vector: []float32{1, 0}, Payload: []byte("The oven is hot.")},
	)
	must(err)

	words, err := bm25.New(bm25.Options{})
	must(err)
	for r, err := range s.All() {
		must(err)
		must(words.Add([]int64{r.Number}, []string{string(r.Payload)}))
	}

	ctx := context.Background()
	byMeaning, err := s.Search(ctx, [][]float32{{1, 0}}, 20)
	must(err)
	near := make([]search.Hit, len(byMeaning[0]))
	for i, h := range byMeaning[0] {
		near[i] = search.Hit{ID: h.Number, Score: h.Score}
	}
	byWords, err := words.Search(ctx, []string{"E1047"}, 20)
	must(err)
	for _, h := range search.FuseRanks(search.RankConstant, near, byWords[0]) {
		r, err := s.GetNumber(h.ID)
		must(err)
		fmt.Printf("%s %.4f %s\n", r.ID, h.Score, r.Payload)
	}
	// Output:
	// a 0.0325 The oven shows E1047.
	// b 0.0164 The oven is hot.
}
