package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/search"
)

func open(t testing.TB, dir string, dim int, o Options) *Store {
	t.Helper()
	s, err := Open(dir, dim, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// content returns all records as text, by id.
func content(t testing.TB, s *Store) map[string]string {
	t.Helper()
	held := map[string]string{}
	last := int64(-1)
	for r, err := range s.All() {
		if err != nil {
			t.Fatal(err)
		}
		if r.Number <= last {
			t.Fatalf("number %d after %d", r.Number, last)
		}
		last = r.Number
		held[r.ID] = fmt.Sprint(r.Number, r.Vector, string(r.Payload))
	}
	if len(held) != s.Len() {
		t.Fatalf("%d records, Len is %d", len(held), s.Len())
	}
	return held
}

// TestChanges changes a store at random, compacts it and opens it again, and verifies its records
// and hits. Integers with a largest of 127 have exact scores in every precision.
func TestChanges(t *testing.T) {
	t.Parallel()
	const dim = 3
	dir := filepath.Join(t.TempDir(), "a", "[b]*")
	r := rand.New(rand.NewPCG(1, 2))
	precisions := []search.Options{{}, {Precision: search.Int8}, {Precision: search.Binary, Rescore: search.Float32, Oversample: 1000}}
	s := open(t, dir, dim, Options{Sync: true})
	want, numbers := map[string]Record{}, map[int64]bool{}
	for step := range 150 {
		var put []Record
		for range r.IntN(6) {
			id := fmt.Sprint("id", r.IntN(60))
			if !slices.ContainsFunc(put, func(p Record) bool { return p.ID == id }) {
				v := []float32{float32(r.IntN(9) - 4), float32(r.IntN(9) - 4), 127}
				put = append(put, Record{ID: id, Vector: v, Payload: bytes.Repeat([]byte{byte(step)}, r.IntN(4))})
			}
		}
		var remove []string
		for range r.IntN(3) {
			remove = append(remove, fmt.Sprint("id", r.IntN(60)))
		}
		removed, got, err := s.Update(remove, put)
		if err != nil {
			t.Fatal(err)
		}
		there := map[int64]bool{}
		for _, id := range remove {
			if old, ok := want[id]; ok {
				there[old.Number] = true
			}
			delete(want, id)
		}
		if len(removed) != len(there) {
			t.Fatalf("step %d: %d removed, want %d", step, len(removed), len(there))
		}
		for i, p := range put {
			if old, ok := want[p.ID]; ok && old.Number != got[i] || !ok && numbers[got[i]] {
				t.Fatalf("step %d: %q has number %d", step, p.ID, got[i])
			}
			numbers[got[i]] = true
			p.Number = got[i]
			want[p.ID] = p
		}
		switch r.IntN(8) {
		case 0:
			if err := s.Compact(); err != nil {
				t.Fatal(err)
			}
			if log, kept := s.Size(); log < kept || log > kept+frameSize {
				t.Fatalf("step %d: %d bytes after compaction, want %d", step, log, kept)
			}
		case 1:
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir, dim, Options{Index: precisions[step%3]})
			if s.Cut() != 0 {
				t.Fatalf("step %d: %d bytes were cut off", step, s.Cut())
			}
		}
		verify(t, step, s, want)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Error(entries, err)
	}
}

// verify compares a store with the records that it should have, and with an index of them.
func verify(t *testing.T, step int, s *Store, want map[string]Record) {
	t.Helper()
	held := map[string]string{}
	index, err := search.New(s.Dim(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for id, r := range want {
		held[id] = fmt.Sprint(r.Number, r.Vector, string(r.Payload))
		if err := index.Add([]int64{r.Number}, [][]float32{r.Vector}); err != nil {
			t.Fatal(err)
		}
	}
	if got := content(t, s); !maps.Equal(got, held) {
		t.Fatalf("step %d: %v, want %v", step, got, held)
	}
	query := [][]float32{{1, 2, 127}}
	for _, odd := range []bool{false, true} {
		where := func(id string) bool { return !odd || id[len(id)-1]%2 == 1 }
		oracle, err := index.SearchWhere(context.Background(), query, 5, func(n int64) bool {
			r, err := s.GetNumber(n)
			return err == nil && where(r.ID)
		})
		if err != nil {
			t.Fatal(err)
		}
		hits, err := s.SearchWhere(context.Background(), query, 5, where)
		if err != nil || len(hits[0]) != len(oracle[0]) {
			t.Fatal(step, hits, err)
		}
		for i, h := range hits[0] {
			r, err := s.Get(h.ID)
			if err != nil || h.Number != oracle[0][i].ID || h.Score != oracle[0][i].Score || string(h.Payload) != string(want[h.ID].Payload) || r.Number != h.Number {
				t.Fatalf("step %d: %v, want %v", step, h, oracle[0][i])
			}
		}
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 2, Options{})
	good := Record{ID: "a", Vector: []float32{1, 2}}
	if _, err := s.Put(good); err != nil {
		t.Fatal(err)
	}
	before := content(t, s)
	for name, put := range map[string][]Record{
		"a short vector": {{ID: "b", Vector: []float32{1}}},
		"a NaN":          {{ID: "b", Vector: []float32{1, float32(math.NaN())}}},
		"an id twice":    {good, good},
	} {
		if _, _, err := s.Update([]string{"a"}, put); !errors.Is(err, fault.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n, err := s.Remove("z"); len(n) != 0 || err != nil {
		t.Error(n, err)
	}
	if _, err := s.Get("z"); !errors.Is(err, fault.ErrAbsent) {
		t.Error(err)
	}
	if _, err := s.GetNumber(7); !errors.Is(err, fault.ErrAbsent) {
		t.Error(err)
	}
	if _, err := s.Search(context.Background(), [][]float32{{1}}, 1); !errors.Is(err, fault.ErrInput) {
		t.Error(err)
	}
	if !maps.Equal(content(t, s), before) {
		t.Error("a call with an error changed the store")
	}
	if _, err := Open(dir, 2, Options{}); !errors.Is(err, fault.ErrLocked) {
		t.Errorf("opened twice: %v", err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	_, put := s.Put(good)
	_, get := s.Get("a")
	_, absent := s.Get("z")
	_, find := s.Search(context.Background(), [][]float32{{1, 2}}, 1)
	for i, err := range []error{put, get, absent, find, s.Sync(), s.Compact()} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("call %d after Close: %v", i, err)
		}
	}
	for _, err := range s.All() {
		if !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	}
	if _, err := Open(dir, 3, Options{}); !errors.Is(err, fault.ErrOption) {
		t.Errorf("another dim: %v", err)
	}
	if _, err := Open(dir, 0, Options{}); !errors.Is(err, fault.ErrOption) {
		t.Errorf("dim 0: %v", err)
	}
	if !maps.Equal(content(t, open(t, dir, 2, Options{})), before) {
		t.Error("the store has changed")
	}
}

func TestFingerprint(t *testing.T) {
	dir := t.TempDir()
	of := func(s string) Options { return Options{Index: search.Options{Fingerprint: s}} }
	if _, err := Open(dir, 1, of(search.AnyFingerprint)); !errors.Is(err, fault.ErrOption) {
		t.Errorf("any, in a new folder: %v", err)
	}
	if _, err := Open(dir, 1, of("a b")); !errors.Is(err, fault.ErrOption) {
		t.Errorf("a space: %v", err)
	}
	open(t, dir, 1, of("0-f32-1")).Close()
	for _, s := range []string{"0-f32-2", ""} {
		if _, err := Open(dir, 1, of(s)); !errors.Is(err, fault.ErrOtherResults) {
			t.Errorf("%q: %v", s, err)
		}
	}
	s := open(t, dir, 1, of(search.AnyFingerprint))
	if err := s.Compact(); err != nil {
		t.Fatal(err)
	}
	s.Close()
	open(t, dir, 1, of("0-f32-1")).Close()
}

// TestNumbers verifies that no id gets a number that another id had, even after compaction removed
// that from the log.
func TestNumbers(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 1, Options{})
	put := func(id string, want int64) {
		t.Helper()
		if n, err := s.Put(Record{ID: id, Vector: []float32{1}}); err != nil || len(n) != 1 || n[0] != want {
			t.Errorf("%s: %v, %v, want %d", id, n, err, want)
		}
	}
	put("a", 0)
	put("b", 1)
	put("a", 0)
	if n, err := s.Remove("b", "b", "z"); err != nil || !slices.Equal(n, []int64{1}) {
		t.Error(n, err)
	}
	put("b", 2)
	if _, err := s.Remove("b"); err != nil {
		t.Error(err)
	}
	if err := s.Compact(); err != nil {
		t.Error(err)
	}
	s.Close()
	s = open(t, dir, 1, Options{})
	put("b", 3)
}

// TestFailed verifies that a failed write leaves the store unchanged, and that the store accepts no
// more changes if it cannot undo the write.
func TestFailed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 1, Options{})
	if _, err := s.Put(Record{ID: "a", Vector: []float32{1}}); err != nil {
		t.Fatal(err)
	}
	s.log.file.Close()
	for i := range 2 {
		if i == 1 { // the next write would work
			again, err := openLog(filepath.Join(dir, logName))
			if err != nil {
				t.Fatal(err)
			}
			s.log.file = again.file
		}
		if _, err := s.Put(Record{ID: "b", Vector: []float32{1}}); err == nil || s.Len() != 1 {
			t.Error(err, s.Len())
		}
	}
	if err := s.Sync(); err == nil {
		t.Error("Sync succeeded after a failed write")
	}
	s.Close()
	if got := content(t, open(t, dir, 1, Options{})); len(got) != 1 {
		t.Error(got)
	}
}

// TestConcurrent searches while records are put, removed and compacted. A search sees all changes
// of a call or none.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	const n = 20
	s := open(t, t.TempDir(), 2, Options{})
	var group sync.WaitGroup
	done := make(chan struct{})
	group.Go(func() {
		defer close(done)
		for i := range 150 {
			records := make([]Record, n)
			for j := range records {
				records[j] = Record{ID: fmt.Sprint(j), Vector: []float32{float32(i), 1}, Payload: []byte(fmt.Sprint(i))}
			}
			var remove []string
			if i%3 == 0 {
				remove = []string{"0", "1"}
			}
			if _, _, err := s.Update(remove, records); err != nil {
				t.Error(err)
			}
			if i%40 == 0 {
				if err := s.Compact(); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for range 3 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				hits, err := s.SearchWhere(context.Background(), [][]float32{{1, 0}}, 2*n, func(id string) bool { return id != "5" })
				if err != nil {
					t.Error(err)
					return
				}
				if m := len(hits[0]); m != 0 && m != n-1 {
					t.Errorf("%d hits", m)
				}
				for _, h := range hits[0] {
					if fmt.Sprint(h.Score) != string(h.Payload) || h.Score != hits[0][0].Score {
						t.Errorf("score %g, payload %q", h.Score, h.Payload)
					}
				}
				for _, err := range s.All() {
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	group.Wait()
}
