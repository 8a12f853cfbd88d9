package sparse

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/search"
	"github.com/avoformer/avoformer/search/internal/sums"
)

// random returns a vector of about n elements of a small dimension. Some values are 0 or negative.
func random(r *rand.Rand, n int) Vector {
	v := Vector{}
	for i := 0; len(v) < n; i += 1 + r.IntN(9) {
		v = append(v, Weight{i, float32(r.IntN(9)-3) / 3 * r.Float32()})
	}
	return v
}

// best returns the hits that a search should find: vectors that share an element with the query,
// with their scores.
func best(held map[int64]Vector, query Vector, k int, where func(int64) bool) []search.Hit {
	hits := []search.Hit{}
	for id, v := range held {
		shared := slices.ContainsFunc(v, func(a Weight) bool {
			return a.Value != 0 && slices.ContainsFunc(query, func(b Weight) bool { return a.Index == b.Index && b.Value != 0 })
		})
		if shared && (where == nil || where(id)) {
			hits = append(hits, search.Hit{ID: id, Score: v.Dot(query)})
		}
	}
	slices.SortFunc(hits, func(a, b search.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return hits[:min(k, len(hits))]
}

// TestSearch changes an index at random. The scores of the index, and of one read from its file,
// must have the bits of Dot.
func TestSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x, held := New(), map[int64]Vector{}
	for step := range 60 {
		var ids []int64
		var vectors []Vector
		for range 1 + r.IntN(15) {
			if id := r.Int64N(120) - 30; !slices.Contains(ids, id) {
				ids, vectors = append(ids, id), append(vectors, random(r, r.IntN(12)))
			}
		}
		if r.IntN(3) == 0 {
			before := len(held)
			for _, id := range ids {
				delete(held, id)
			}
			if got := x.Remove(ids...); got != before-len(held) {
				t.Fatalf("step %d: %d removed, want %d", step, got, before-len(held))
			}
		} else {
			if err := x.Replace(ids, vectors); err != nil {
				t.Fatal(err)
			}
			for i, id := range ids {
				held[id] = vectors[i]
			}
		}
		again, err := Read(bytes.NewReader(written(t, x)))
		if err != nil {
			t.Fatal(err)
		}
		queries := []Vector{random(r, 5), random(r, 1), {}}
		for _, where := range []func(int64) bool{nil, func(id int64) bool { return id%2 == 0 }} {
			for name, y := range map[string]*Index{"itself": x, "its file": again} {
				hits, err := y.SearchWhere(context.Background(), queries, 5, where)
				if err != nil || y.Len() != len(held) {
					t.Fatal(err, y.Len())
				}
				for i := range hits {
					if want := best(held, queries[i], 5, where); !slices.Equal(hits[i], want) {
						t.Fatalf("step %d, %s, query %d: %v, want %v", step, name, i, hits[i], want)
					}
				}
			}
		}
	}
}

func TestErrors(t *testing.T) {
	x := New()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, v := range []Vector{{{-1, 1}}, {{2, 1}, {2, 1}}, {{3, 1}, {2, 1}}, {{0, nan}}, {{0, inf}}, {{0, -inf}}} {
		if err := x.Add(nil, []Vector{{{1, 1}}, v}); !errors.Is(err, fault.ErrInput) || x.Len() != 0 {
			t.Errorf("%v: %v", v, err)
		}
		if err := x.Replace([]int64{1}, []Vector{v}); !errors.Is(err, fault.ErrInput) {
			t.Errorf("%v: %v", v, err)
		}
		if _, err := x.Search(context.Background(), []Vector{v}, 1); !errors.Is(err, fault.ErrInput) {
			t.Errorf("%v: %v", v, err)
		}
	}
	if _, err := x.Search(context.Background(), nil, 0); !errors.Is(err, fault.ErrInput) {
		t.Error(err)
	}
	late := errors.New("late")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(late)
	if _, err := x.Search(ctx, []Vector{{}}, 1); err != late {
		t.Error(err)
	}
}

// TestConcurrent searches while vectors are added. Scores must include all elements of a vector.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	x := New()
	done := make(chan error)
	go func() {
		var err error
		for i := range 3000 {
			if err == nil {
				err = x.Add([]int64{int64(i)}, []Vector{{{1, 1}, {2, 2}}})
			}
			if i%3 == 0 {
				x.Remove(int64(i / 2))
			}
		}
		done <- err
	}()
	for running := true; running; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			running = false
		default:
		}
		hits, err := x.Search(context.Background(), []Vector{{{1, 1}, {2, 1}}}, 4)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hits[0] {
			if h.Score != 3 {
				t.Fatal(hits)
			}
		}
	}
}

func written(t testing.TB, x *Index) []byte {
	var b bytes.Buffer
	if n, err := x.WriteTo(&b); err != nil || n != int64(b.Len()) {
		t.Fatal(n, b.Len(), err)
	}
	return b.Bytes()
}

var few = []Vector{{{0, 1}, {7, -2.5}}, {}, {{7, 0.5}, {30521, 1}}, {{300, 1}}}

// TestSaveLoad verifies that a file that is cut or has a changed byte is an error.
func TestSaveLoad(t *testing.T) {
	x := New()
	if err := x.Add([]int64{3, 2, 1, 1}, few); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "x")
	if err := x.Save(name); err != nil {
		t.Fatal(err)
	}
	y, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	file := written(t, y)
	if !bytes.Equal(file, written(t, x)) {
		t.Error("saved again, the file differs")
	}
	for i := range file {
		changed := bytes.Clone(file)
		changed[i] ^= 1 << (i % 8)
		for _, damaged := range [][]byte{file[:i], changed} {
			if _, err := Read(bytes.NewReader(damaged)); !errors.Is(err, fault.ErrFormat) {
				t.Fatalf("byte %d: %v", i, err)
			}
		}
	}
}

// summed returns a file with a valid checksum.
func summed(file []byte) []byte {
	body := file[:len(file)-4]
	return binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, sums.Castagnoli))
}

// TestDamaged reads files with weights that no index has.
func TestDamaged(t *testing.T) {
	x := New()
	if err := x.Add(nil, few); err != nil {
		t.Fatal(err)
	}
	file := written(t, x)
	for _, w := range []float32{0, float32(math.NaN()), float32(math.Inf(-1))} {
		changed := bytes.Clone(file)
		binary.LittleEndian.PutUint32(changed[len(file)-8:], math.Float32bits(w))
		if _, err := Read(bytes.NewReader(summed(changed))); !errors.Is(err, fault.ErrFormat) {
			t.Errorf("%g: %v", w, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, ids := range [][]int64{nil, {3, 2, 1, 1}} {
		x := New()
		if err := x.Add(ids, few); err != nil {
			f.Fatal(err)
		}
		f.Add(written(f, x))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > 4 {
			file = summed(bytes.Clone(file))
		}
		x, err := Read(bytes.NewReader(file))
		if err != nil {
			if !errors.Is(err, fault.ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		if hits, err := x.Search(context.Background(), few, 3); err != nil || len(hits[0]) > 3 {
			t.Fatal(hits, err)
		}
		y, err := Read(bytes.NewReader(written(t, x)))
		if err != nil || !bytes.Equal(written(t, y), written(t, x)) {
			t.Fatal("written again:", err)
		}
	})
}
