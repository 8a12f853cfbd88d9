package attend

import (
	"testing"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// TestFetchQueue: the pieces of a queue contain every byte of the rows. Outside the memory from the
// first to the last byte of the rows, they contain only the rest of a piece.
func TestFetchQueue(t *testing.T) {
	for _, s := range []struct{ rows, dim, ld, runs int }{{5, 64, 64, 1}, {5, 16, 16, 1}, {3, 100, 100, 1}, {5, 64, 192, 1}, {4, 130, 390, 3}, {7, 8, 24, 1}, {0, 64, 64, 0}, {3, 0, 5, 0}} {
		x := make([]float32, 1<<12)
		var f fetchQueue
		f.rows(x[16:], s.rows, s.dim, s.ld)
		if f.n != s.runs {
			t.Errorf("%+v: %d runs", s, f.n)
		}
		fetched := make([]bool, mem.Element*len(x))
		for f.n > 0 {
			next, pace, count := f.take(x[32:])
			for i := range count {
				at := mem.Element*(32+next) + i*pace
				for b := range simd.FetchedPiece {
					fetched[at+b] = true
				}
			}
		}
		last := mem.Element * (16 + max(0, s.rows-1)*s.ld + s.dim)
		for r := range s.rows {
			for i := range mem.Element * s.dim {
				if !fetched[mem.Element*(16+r*s.ld)+i] {
					t.Fatalf("%+v: byte %d of row %d is not fetched", s, i, r)
				}
			}
		}
		for i, is := range fetched {
			if is && (i < mem.Element*16 || i >= last+simd.FetchedPiece) {
				t.Fatalf("%+v: byte %d is fetched", s, i)
			}
		}
	}
	if next, pace, count := new(fetchQueue).take([]float32{1}); next != 0 || pace != 0 || count != 0 {
		t.Errorf("an empty queue gives %d, %d, %d", next, pace, count)
	}
}
