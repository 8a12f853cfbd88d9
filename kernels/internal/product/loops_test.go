package product

import (
	"testing"
	"unsafe"

	"github.com/avoformer/avoformer/kernels/internal/pack"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// TestNextRows follows the prefetches of the micro-kernel for a transposed B: they are exactly the
// elements that are packed next.
func TestNextRows(t *testing.T) {
	const nr, k, slice = 16, 96, 48
	n, ld := 3*nr, k+5
	var g call
	g.n, g.k, g.mr, g.nr, g.way = n, k, 6, nr, packedHere
	g.b.Trans = true
	g.b.Data = make([]float32, n*ld)
	block := block{g: &g, m: 20, n: n, b: operand{B: pack.B{Data: g.b.Data, LD: ld, Trans: true}}}
	panel := make([]float32, nr*slice)
	l := nest{b: &block, k: slice, n: n}
	if !l.fetchesRows() {
		t.Error("does not fetch")
	}
	for _, c := range []struct{ p, q, wantColumn, wantStep int }{
		{0, nr, nr, 0}, {0, 2 * nr, 2 * nr, 0}, {0, n, 0, slice}, {slice, nr, nr, slice}, {slice, n, -1, 0},
	} {
		l.p = c.p
		f := l.nextRows(panel, c.q, l.b.m)
		if c.wantColumn < 0 {
			if f.next != 0 {
				t.Errorf("%+v: next %d after the last panel", c, f.next)
			}
			continue
		}
		// Bytes from the first element of B: the two slices lie some whole elements apart.
		at := 4*f.next - (int(uintptr(unsafe.Pointer(&g.b.Data[0]))) - int(uintptr(unsafe.Pointer(&panel[0]))))
		seen := make([]int, n*ld)
		for step := range slice {
			for e := range nr {
				if i := at/4 + e; i >= 0 && i < len(seen) {
					seen[i]++
				}
			}
			at += f.pace
			if step%f.steps == f.steps-1 {
				at += f.turn
			}
		}
		for i, times := range seen {
			want := 0
			if j, p := i/ld, i%ld; j >= c.wantColumn && j < c.wantColumn+nr && p >= c.wantStep && p < c.wantStep+slice {
				want = 1
			}
			if times != want {
				t.Fatalf("%+v: row %d, step %d is fetched %d times, want %d", c, i/ld, i%ld, times, want)
			}
		}
	}
}

// TestNextRowsWithoutGaps follows the tiles of all rows, which fetch all of the next panel's rows.
func TestNextRowsWithoutGaps(t *testing.T) {
	const mr, nr, k, n = 6, 16, 48, 3 * 16
	g := call{n: n, k: k, plan: plan{way: packedHere}, mr: mr, nr: nr}
	for _, m := range []int{1, 6, 7, 20, 100} {
		b := operand{B: pack.B{Data: make([]float32, n*k), LD: k, Trans: true}}
		l := nest{b: &block{g: &g, m: m, n: n, b: b}, k: k, n: n, m: m}
		panel := make([]float32, nr*k)
		f := l.nextRows(panel, nr, m)
		at := 4*f.next - (int(uintptr(unsafe.Pointer(&b.Data[nr*k]))) - int(uintptr(unsafe.Pointer(&panel[0]))))
		if end := (m + mr - 1) / mr * k * f.pace; at != 0 || f.turn != 0 || f.rows != 0 || end < 4*nr*k || f.pace > 4*nr {
			t.Errorf("%d rows: from byte %d by %+v to %d, want from 0 to %d, straight on", m, at, f, end, 4*nr*k)
		}
	}
}

// TestNextInPlace: the tiles of a panel of B in place fetch each row of the next panel once.
func TestNextInPlace(t *testing.T) {
	const mr, nr, k, ld = 6, 16, 64, 100
	size := tune.Used.Gemm
	defer func() { tune.Used.Gemm = size }()
	tune.Used.Gemm.Spread = 1
	g := call{k: k, plan: plan{way: inPlace}, mr: mr, nr: nr}
	for _, m := range []int{24, 29, 49, 70, 100} {
		l := nest{b: &block{g: &g, m: m, n: 2 * nr}, k: k, m: m, n: 2 * nr}
		l.source.ofColumn, l.source.ofStep, l.source.ld = 1, ld, ld
		f := l.next(0, 0, nr, k)
		tiles := (m - f.rows + mr - 1) / mr
		if got := tiles * k / f.steps * f.turn; f.next != nr || f.pace != 0 || f.rows%mr != 0 || got != 4*k*ld {
			t.Errorf("%d rows: %+v, %d bytes further in the end, want %d", m, f, got, 4*k*ld)
		}
	}
}

func TestLastTile(t *testing.T) {
	for _, mr := range []int{4, 6, 14} {
		for rows := 1; rows <= 4*mr; rows++ {
			last := 0
			for left := rows; left > 0; left -= last { // as the micro-kernel divides them
				switch {
				case left >= 2*mr:
					last = mr
				case left > mr:
					last = (left + 1) / 2
				default:
					last = left
				}
			}
			if got := lastTile(rows, mr); got != last {
				t.Errorf("%d rows by %d: last tile %d, want %d", rows, mr, got, last)
			}
		}
	}
}
