package kv

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

func TestMain(m *testing.M) { testenv.Main(m, simd.Supported()) }

func TestForcedTier(t *testing.T) { testenv.CheckForced(t, simd.Active()) }

var formats = []weights.Format{weights.F32, weights.BF16, weights.F16, weights.Int8}

// stored returns a row of a head after its conversion to a format.
func stored(f weights.Format, x []float32) []float32 {
	y := slices.Clone(x)
	scale, inverse := simd.QuantizeBlock(x)
	for i, v := range x {
		switch f {
		case weights.BF16:
			y[i] = half.BFloat16(half.ToBFloat16(v))
		case weights.F16:
			y[i] = half.Float16(half.ToFloat16(v))
		case weights.Int8:
			y[i] = scale * float32(simd.QuantizeOne(v, inverse))
		}
	}
	return y
}

// row returns a row of a head as the kernels read it.
func row(p *Pages, page, head, r int) []float32 {
	dst := make([]float32, p.Dim)
	p.Widen(simd.Active(), dst, page, head, r, 1, 0)
	return dst
}

// TestPages sets rows in pages of several slabs, and reads each together with its neighbours, for
// all formats on all tiers.
func TestPages(t *testing.T) {
	testenv.EachTier(t, simd.Supported(), simd.Active(), simd.Use, func(t *testing.T) {
		const heads, rows, dim = 3, 4, 33
		for i, f := range slices.Concat(formats, formats) {
			p := NewPages(f, heads, rows, dim)
			if i >= len(formats) {
				p.Panel = 2
			}
			if p.Len() != 0 {
				t.Fatalf("%v: %d pages", f, p.Len())
			}
			p.Grow(slabPages + 1)
			if p.Len() != 2*slabPages {
				t.Fatalf("%v: %d pages, want whole slabs", f, p.Len())
			}
			r := rand.New(rand.NewPCG(1, 2))
			pages := []int{0, 1, slabPages - 1, slabPages, 2*slabPages - 1}
			want := map[[3]int][]float32{}
			for _, page := range pages {
				for i := range rows {
					x := make([]float32, heads*dim)
					for j := range x {
						x[j] = float32(r.NormFloat64())
					}
					p.Set(page, i, x)
					for h := range heads {
						want[[3]int{page, h, i}] = stored(f, x[h*dim:][:dim])
					}
				}
			}
			for at, want := range want {
				if got := row(p, at[0], at[1], at[2]); !slices.Equal(got, want) {
					t.Fatalf("%v: row %d of head %d of page %d: %v, want %v", f, at[2], at[1], at[0], got[:3], want[:3])
				}
				wide := p.Wide(at[0], at[1], at[2])
				if (wide != nil) != (f == weights.F32) || wide != nil && (len(wide) != (rows-at[2])*dim || p.InPlace() && !slices.Equal(wide[:dim], want)) {
					t.Fatalf("%v: %d elements in place", f, len(wide))
				}
				if (p.Address(at[0], at[1], at[2]) != 0) != (f != weights.F32) {
					t.Fatalf("%v: address %#x", f, p.Address(at[0], at[1], at[2]))
				}
			}
			if got := row(p, 2, 1, 1); slices.ContainsFunc(got, func(v float32) bool { return v != 0 }) {
				t.Fatalf("%v: a row that was not set is %v", f, got)
			}
			several := make([]float32, 3*dim)
			p.Widen(simd.Active(), several, 1, 2, 1, 3, p.Address(0, 0, 0))
			for i := range 3 {
				if !slices.Equal(several[i*dim:][:dim], want[[3]int{1, 2, 1 + i}]) {
					t.Fatalf("%v: row %d of three", f, i)
				}
			}
			p.Copy(4, 1, 3)
			for h := range heads {
				for i := range rows {
					expected := want[[3]int{1, h, i}]
					if i == 3 {
						expected = make([]float32, dim)
					}
					if !slices.Equal(row(p, 4, h, i), expected) {
						t.Fatalf("%v: row %d of head %d of a copy of three rows", f, i, h)
					}
				}
			}
			p.Grow(3)
			if p.Len() != 2*slabPages {
				t.Fatalf("%v: growing to less leaves %d pages", f, p.Len())
			}
		}
	})
}

// TestKeys sets keys in panels of the tier, and reads panels as they are stored and as float32.
// Pages that are not whole panels, and pages of wide heads, have rows instead.
func TestKeys(t *testing.T) {
	testenv.EachTier(t, simd.Supported(), simd.Active(), simd.Use, func(t *testing.T) {
		const heads, rows, dim = 2, 64, 19
		_, nr := simd.GemmTile(simd.Active())
		for _, f := range formats {
			p, r := NewKeys(f, heads, rows, dim), rand.New(rand.NewPCG(3, 4))
			p.Grow(1)
			var want [heads][rows][]float32
			for i := range rows {
				x := make([]float32, heads*dim)
				for j := range x {
					x[j] = float32(r.NormFloat64())
				}
				p.Set(5, i, x)
				for h := range heads {
					want[h][i] = stored(f, x[h*dim:][:dim])
				}
			}
			if p.Panel != nr {
				t.Fatalf("%v: panels of %d rows, want %d", f, p.Panel, nr)
			}
			wide := make([]float32, 2*nr*dim)
			for h := range heads {
				p.WidenPanels(simd.Active(), wide[:nr*dim], 5, h, rows-nr, nr, 0)
				p.WidenPanels(simd.Active(), wide[nr*dim:], 5, h, 0, nr, p.Address(5, h, nr))
				for i := range 2 * nr {
					from, row := i/nr*nr*dim+i%nr, (rows-nr+i)%rows
					for j := range dim {
						if got := wide[from+j*nr]; got != want[h][row][j] {
							t.Fatalf("%v: element %d of row %d is %v, want %v", f, j, row, got, want[h][row][j])
						}
					}
				}
			}
		}
		for _, s := range [][2]int{{rows + 1, dim}, {rows, 1<<12 + 1}} {
			if p := NewKeys(weights.F16, 1, s[0], s[1]); p.Panel != 1 {
				t.Errorf("panels of %d rows in pages of %d rows of %d", p.Panel, s[0], s[1])
			}
		}
	})
}

// TestPagesAgain sets a row of int8 after a row with NaN, and expects that nothing of the old row
// is left.
func TestPagesAgain(t *testing.T) {
	for _, f := range formats {
		p := NewPages(f, 2, 2, 8)
		p.Grow(1)
		bad := make([]float32, 16)
		for i := range bad {
			bad[i] = float32(math.NaN())
		}
		p.Set(0, 1, bad)
		for _, v := range row(p, 0, 1, 1) {
			if v == v {
				t.Fatalf("%v: NaN became %v", f, v)
			}
		}
		p.Set(0, 1, make([]float32, 16))
		if got := row(p, 0, 1, 1); slices.ContainsFunc(got, func(v float32) bool { return v != 0 }) {
			t.Fatalf("%v: zeros after NaN are %v", f, got)
		}
	}
}

// TestBytes compares Bytes with the memory of a page.
func TestBytes(t *testing.T) {
	for i, want := range []int{4 * 2 * 3 * 5, 2 * 2 * 3 * 5, 2 * 2 * 3 * 5, 2*3*5 + 4*2*3} {
		if got := NewPages(formats[i], 2, 3, 5).Bytes(); got != want {
			t.Errorf("%v: %d bytes, want %d", formats[i], got, want)
		}
	}
}

// TestRowsInCalls widens more elements than one call can, and also rows without elements.
func TestRowsInCalls(t *testing.T) {
	for _, f := range formats {
		for _, s := range [][2]int{{3, 5000}, {200, 64}, {2, 1 << 14}, {3, 0}} {
			rows, dim := s[0], s[1]
			p := NewPages(f, 1, rows, dim)
			p.Grow(1)
			x := make([]float32, dim)
			for i := range rows {
				for j := range x {
					x[j] = float32((i + j) % 128)
				}
				if dim > 0 {
					x[0] = 127 // so that int8 keeps integers
				}
				p.Set(0, i, x)
			}
			memory := slices.Repeat([]float32{-1}, 2*rows*dim+1)
			dst := memory[:rows*dim]
			p.Widen(simd.Active(), dst, 0, 0, 0, rows, 0)
			if slices.ContainsFunc(memory[len(dst):], func(v float32) bool { return v != -1 }) {
				t.Fatalf("%v, %dx%d: written beyond the last row", f, rows, dim)
			}
			for at, v := range dst {
				want := float32((at/dim + at%dim) % 128)
				if at%dim == 0 {
					want = 127
				}
				if v != want {
					t.Fatalf("%v, %dx%d: element %d is %v, want %v", f, rows, dim, at, v, want)
				}
			}
			p.Copy(0, 0, rows)
		}
	}
}

// TestGrow: pages are allocated in whole slabs, as few as needed, and rows of a head are adjacent.
func TestGrow(t *testing.T) {
	for _, f := range formats {
		p := NewPages(f, 2, 4, 16)
		p.Grow(slabPages)
		p.Grow(1)
		if p.Len() != slabPages {
			t.Errorf("%v: %d pages, want %d", f, p.Len(), slabPages)
		}
		size := map[weights.Format]uintptr{weights.BF16: 2, weights.F16: 2, weights.Int8: 1}[f]
		if got := p.Address(3, 1, 2) - p.Address(3, 1, 1); got != 16*size {
			t.Errorf("%v: rows are %d bytes apart, want %d", f, got, 16*size)
		}
	}
}

// TestGrowMeanwhile grows while other goroutines set and read pages.
func TestGrowMeanwhile(t *testing.T) {
	p := NewPages(weights.F32, 1, 2, 4)
	p.Grow(1)
	var wg sync.WaitGroup
	for g := range 2 {
		wg.Go(func() {
			for i := range 200 {
				p.Set(g, 1, []float32{float32(i), 2, 3, 4})
				if got := row(p, g, 0, 1); got[0] != float32(i) {
					t.Errorf("%v after %d", got, i)
				}
			}
		})
	}
	for n := range 100 {
		p.Grow(n)
	}
	wg.Wait()
}
