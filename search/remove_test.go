package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// held has the vectors that an index should have, by id.
type held map[int64][]float32

// index returns a new index of these vectors.
func (h held) index(t *testing.T, dim int, o Options) *Index {
	t.Helper()
	ids, vectors := []int64{}, [][]float32{}
	for id, v := range h {
		ids, vectors = append(ids, id), append(vectors, v)
	}
	return fill(t, dim, o, ids, vectors)
}

// TestRemove removes, replaces and adds vectors at random. It compares the hits of the index, and
// of one read from its file, with those of a new index of the same vectors, among all ids and among
// some. Vectors of integers have exact scores in every precision.
func TestRemove(t *testing.T) {
	const dim = 33
	for _, o := range kinds {
		t.Run(fmt.Sprintf("%v again %v", o.Precision, o.Rescore), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(7, 7))
			x, want := fill(t, dim, o, nil, nil), held{}
			queries := random(3, 3, dim)
			next := int64(100)
			for step := range 24 {
				n := r.IntN(400)
				vectors := random(uint64(step), n, dim)
				ids := make([]int64, n)
				switch action := r.IntN(3); {
				case action == 0 || len(want) < 300: // add
					for i := range ids {
						next++
						ids[i], want[next] = next, vectors[i]
					}
					if err := x.Add(ids, vectors); err != nil {
						t.Fatal(err)
					}
				case action == 1: // replace some, and add some
					for i := range ids {
						ids[i] = next - int64(i)*3 + 20
						want[ids[i]] = vectors[i]
					}
					next += 20
					if err := x.Replace(ids, vectors); err != nil {
						t.Fatal(err)
					}
				default:
					there := 0
					for i := range ids {
						ids[i] = 100 + r.Int64N(next-90)
						if _, ok := want[ids[i]]; ok {
							there++
						}
						delete(want, ids[i])
					}
					if got := x.Remove(ids...); got != there {
						t.Fatalf("step %d: %d removed, want %d", step, got, there)
					}
				}
				if x.Len() != len(want) {
					t.Fatalf("step %d: %d vectors, want %d", step, x.Len(), len(want))
				}
				compare(t, step, x, want, queries, next)
			}
		})
	}
}

// compare compares an index, and one read from its file, with a new index of the same vectors.
func compare(t *testing.T, step int, x *Index, want held, queries [][]float32, most int64) {
	t.Helper()
	fresh := want.index(t, x.Dim(), x.Options())
	file := written(t, x)
	again, err := Read(bytes.NewReader(file), 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.CheckFingerprint(AnyFingerprint); err != nil {
		t.Fatal(err)
	}
	odd := func(id int64) bool { return id%2 == 1 }
	few := WithID(most, most-1, most-50, 101, -4)
	for _, where := range []func(int64) bool{nil, odd, few} {
		oracle, err := fresh.SearchWhere(context.Background(), queries, 9, where)
		if err != nil {
			t.Fatal(err)
		}
		for name, y := range map[string]*Index{"itself": x, "its file": again} {
			hits, err := y.SearchWhere(context.Background(), queries, 9, where)
			if err != nil {
				t.Fatal(err)
			}
			for i := range hits {
				if !slices.Equal(hits[i], oracle[i]) {
					t.Fatalf("step %d, %s, query %d: %v, want %v", step, name, i, hits[i], oracle[i])
				}
				for _, h := range hits[i] {
					if where != nil && !where(h.ID) {
						t.Fatalf("step %d: %d is not among the requested ids", step, h.ID)
					}
				}
			}
		}
	}
}

// TestRemovePositions verifies that ids that were positions do not change, and that added vectors
// need ids until the index is empty.
func TestRemovePositions(t *testing.T) {
	x := fill(t, 1, Options{}, nil, [][]float32{{0}, {1}, {2}, {3}, {4}})
	if n := x.Remove(1, 3, 3, 9); n != 2 {
		t.Errorf("%d removed, want 2", n)
	}
	if got := fmt.Sprint(find(t, x, [][]float32{{1}}, 9)[0]); got != "[{4 4} {2 2} {0 0}]" {
		t.Error(got)
	}
	if err := x.Add(nil, [][]float32{{5}}); !errors.Is(err, fault.ErrInput) {
		t.Errorf("positions after a removal: %v", err)
	}
	if err := x.Add([]int64{1}, [][]float32{{5}}); err != nil {
		t.Error(err)
	}
	if n := x.Remove(0, 1, 2, 4); n != 4 || x.Len() != 0 {
		t.Errorf("%d removed, %d left", n, x.Len())
	}
	if n := x.Remove(0); n != 0 {
		t.Errorf("%d removed from an empty index", n)
	}
	if err := x.Add(nil, [][]float32{{5}, {6}}); err != nil {
		t.Error(err)
	}
	if err := x.Replace([]int64{1}, [][]float32{{7}}); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(find(t, x, [][]float32{{1}}, 9)[0]); got != "[{1 7} {0 5}]" {
		t.Error(got)
	}
	same := fill(t, 1, Options{}, []int64{4, 4, 5}, [][]float32{{1}, {2}, {3}})
	if n := same.Remove(4); n != 2 || same.Len() != 1 {
		t.Errorf("%d of an id that two vectors have, %d left", n, same.Len())
	}
}

// TestReplaceErrors verifies that Replace changes nothing if it returns an error.
func TestReplaceErrors(t *testing.T) {
	x := small(t, Options{})
	before := written(t, x)
	for _, vectors := range [][][]float32{nil, {{1, 2}}, {{1, 2, float32(math.NaN())}}} {
		if err := x.Replace([]int64{5}, vectors); !errors.Is(err, fault.ErrInput) {
			t.Errorf("%v: %v", vectors, err)
		}
	}
	if err := x.Replace(nil, nil); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(written(t, x), before) {
		t.Error("the index has changed")
	}
}

// TestRemoveConcurrent searches while all vectors are replaced repeatedly. A search sees each id
// once, and all vectors of a call or none.
func TestRemoveConcurrent(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {Precision: Int8}, {Precision: Binary, Rescore: Float32, Oversample: 100}} {
		const n = 300
		ids, vectors := make([]int64, n), make([][]float32, n)
		for i := range ids {
			ids[i] = int64(i)
		}
		round := func(value float32) [][]float32 {
			for i := range vectors {
				vectors[i] = []float32{value, 1}
			}
			return vectors
		}
		x := fill(t, 2, o, ids, round(1))
		done := make(chan error)
		go func() {
			var err error
			for i := 2; i < 60 && err == nil; i++ {
				err = x.Replace(ids, round(float32(i)))
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
			hits := find(t, x, [][]float32{{1, 0}}, 2*n)[0]
			if len(hits) != n || hits[0].Score != hits[n-1].Score {
				t.Fatalf("%d hits, scores from %g to %g", len(hits), hits[0].Score, hits[len(hits)-1].Score)
			}
		}
	}
}
