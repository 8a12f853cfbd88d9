package weights

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/pack"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/ref"
)

func TestMain(m *testing.M) { testenv.Main(m, simd.Supported()) }

func TestForcedTier(t *testing.T) { testenv.CheckForced(t, simd.Active()) }

func eachISA(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	testenv.EachTier(t, simd.Supported(), simd.Active(), simd.Use, f)
}

func normal(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// packed returns a matrix of n columns from the rows of B^T.
func packed(f Format, n, k int, rows []float32) *Matrix {
	p := New("F", Of(f, simd.Active()), k, n)
	p.PackRows(func(j int, dst []float32) { copy(dst, rows[j*k:]) })
	return &p
}

// TestNames expects a unique name for each format.
func TestNames(t *testing.T) {
	for i, name := range Names {
		if f, ok := ByName(name); !ok || f != Format(i) || f.String() != name {
			t.Errorf("%q is format %d, %v, and %v", name, f, ok, Format(i))
		}
	}
	if f, ok := ByName("f64"); ok || f != 0 {
		t.Errorf("f64 is format %d", f)
	}
	if got := Format(len(Names)).String(); got != fmt.Sprintf("Format(%d)", len(Names)) {
		t.Errorf("a format without a name is %q", got)
	}
}

// TestBlock compares the sizes with those of ggml's types.
func TestBlock(t *testing.T) {
	want := map[Format][2]int{F32: {1, 4}, BF16: {1, 2}, F16: {1, 2}, Q8_0: {32, 34}, Q4_0: {32, 18}, Q4_1: {32, 20}, Q5_0: {32, 22}, Q5_1: {32, 24},
		Q4_K: {256, 144}, Q5_K: {256, 176}, Q6_K: {256, 210}, MXFP4: {32, 17}, Int8: {0, 0}, Format(len(Names)): {0, 0}}
	for f, want := range want {
		if elements, bytes := f.Block(); [2]int{elements, bytes} != want {
			t.Errorf("%v: %d elements in %d bytes, want %v", f, elements, bytes, want)
		}
	}
}

// TestEncode expects that the format's reader in package ref reads the same numbers from a file's
// bytes, and that packing these bytes has the same result as packing the numbers.
func TestEncode(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		const n, k = 5, 512
		x := normal(r, n*k)
		for f := range Format(len(Names)) {
			elements, size := f.Block()
			if elements == 0 {
				continue
			}
			rowBytes := k / elements * size
			file := make([]byte, n*rowBytes)
			for i := range file {
				file[i] = 0xa5 // Encode must overwrite this
			}
			f.Encode(file, x, nil)
			own, fromFile := packed(f, n, k, x), New("F", Of(f, simd.Active()), k, n)
			fromFile.PackBlocks(func(j int, dst []byte) { copy(dst, file[j*rowBytes:]) })
			if !slices.Equal(own.Data, fromFile.Data) {
				t.Errorf("%v: packing the bytes of a file differs from packing numbers", f)
			}
			if elements == 1 {
				continue
			}
			column := make([]float32, k)
			for j := range n {
				own.Column(column, j)
				if want := ref.Blocks(f.String(), file[j*rowBytes:][:rowBytes]).Float32(); !slices.Equal(column, want) {
					t.Fatalf("%v: column %d begins %v, want %v", f, j, column[:4], want[:4])
				}
			}
		}
	})
}

// TestColumns packs columns of few numbers that each format represents exactly, in one panel and in
// several, and reads them again.
func TestColumns(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for f := range Format(len(Names)) {
			for _, n := range []int{1, 7, 33, 70} {
				const k = 256
				rows := make([]float32, n*k)
				for i := range rows {
					if i/k%3 > 0 { // zeros, and a column with one sign
						rows[i] = float32(i/k%3*2-3) * float32(1+i%2)
					}
				}
				p := packed(f, n, k, rows)
				column := make([]float32, k)
				for j := range n {
					p.Column(column, j)
					for i, v := range column {
						if want := rows[j*k+i]; !(math.Abs(float64(v-want)) <= 0.15*math.Abs(float64(want))) {
							t.Fatalf("%v, %d columns: element %d of column %d is %v, want %v", f, n, i, j, v, want)
						}
					}
				}
				if bytes := Bytes("F", p.Record, k, n); bytes != len(p.Data) {
					t.Errorf("%v, %d columns: %d bytes, want %d", f, n, len(p.Data), bytes)
				}
				if p.Record.Widen == nil {
					continue
				}
				nr := p.Record.NR
				wide := make([]float32, k*nr)
				p.Widen(wide, 0, 0, k)
				p.Column(column, 0)
				for i, want := range column {
					if wide[i*nr] != want {
						t.Fatalf("%v: step %d of a widened panel is %v, want %v", f, i, wide[i*nr], want)
					}
				}
			}
		}
	})
}

// TestPack packs B itself, and expects the same result as packing its columns one by one.
func TestPack(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(9, 10))
		for _, n := range []int{1, 16, 37} {
			const k = 50
			rows := normal(r, n*k)
			p := New("F", Of(F32, simd.Active()), k, n)
			p.Pack(&pack.B{Data: rows, LD: k, Trans: true})
			if want := packed(F32, n, k, rows); !slices.Equal(p.Data, want.Data) {
				t.Errorf("%d columns", n)
			}
			if p.Scales() != nil || p.By() != nil {
				t.Error("float32 has scales")
			}
			parts := New("F", Of(F32, simd.Active()), k, n)
			for j := 0; j < n; j += parts.Record.NR {
				parts.PackPart(j, rows[j*k:min(n, j+parts.Record.NR)*k])
			}
			if !slices.Equal(parts.Data, p.Data) {
				t.Errorf("%d columns in parts", n)
			}
		}
	})
}

// product multiplies m rows by the first panel of b, after r has quantized them.
func product(r *RowsOfA, b *Matrix, a []float32, m int) []float32 {
	r.Quantize(b, a, b.K, m)
	nr := b.Record.NR
	c := make([]float32, m*nr)
	x := Product{Format: b.Record, Kernel: b.Record.kernel, M: m, K: b.K, B: b.Panel(0, 0), C: c, LDC: nr}
	if scales := b.Scales(); scales != nil {
		x.Scales = scales[:nr]
	}
	r.Multiply(&x)
	return c
}

// TestAfterNaN expects a product of finite numbers to be the same as in fresh memory after rows
// with NaN were quantized in the same memory. Rows end within a block, whose other elements also
// have scales.
func TestAfterNaN(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(11, 12))
		for f := range Format(len(Names)) {
			if Of(f, simd.Active()).Kind == NoInt8 {
				continue
			}
			for _, k := range []int{16, 48, 100, 272} {
				for _, m := range []int{1, 3, 7} {
					long := packed(f, 3, 512, normal(r, 3*512))
					bad := make([]float32, m*512)
					mem.Fill(bad, float32(math.NaN()))
					b, a := packed(f, 3, k, normal(r, 3*k)), normal(r, m*k)
					var used, fresh RowsOfA
					product(&used, long, bad, m)
					got, want := product(&used, b, a, m), product(&fresh, b, a, m)
					if !slices.Equal(got, want) || slices.ContainsFunc(got, func(v float32) bool { return v != v }) {
						t.Fatalf("%v, %d rows of %d: %v, want %v", f, m, k, got[:3], want[:3])
					}
				}
			}
		}
	})
}

// TestKeysAfterNaN expects the same for keys: the columns after the last one, which pad a panel,
// have scores of 0.
func TestKeysAfterNaN(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(13, 14))
		f := OfHeads(simd.Active())
		for _, dim := range []int{32, 64, 128} {
			const m = 5
			n := f.NR + 3
			var rows RowsOfA
			var keys Keys
			bad := make([]float32, 2*f.NR*dim)
			mem.Fill(bad, float32(math.NaN()))
			keys.Pack(&f, bad, dim, 2*f.NR, dim, 1)
			q, k := normal(r, m*dim), normal(r, n*dim)
			keys.Pack(&f, k, dim, n, dim, 0.5)
			rows.QuantizeHead(&f, q, dim, m, dim)
			c := make([]float32, m*2*f.NR)
			keys.Scores(&f, &rows, 0, m, n, dim, c, 2*f.NR)
			for i := range m {
				for j := range 2 * f.NR {
					want := 0.0
					for p := 0; j < n && p < dim; p++ {
						want += 0.5 * float64(q[i*dim+p]) * float64(k[j*dim+p])
					}
					if got := float64(c[i*2*f.NR+j]); !(math.Abs(got-want) <= 0.02*math.Sqrt(float64(dim))) || j >= n && got != 0 {
						t.Fatalf("heads of %d: score of row %d and key %d is %v, want %v", dim, i, j, got, want)
					}
				}
			}
		}
	})
}

// TestIntegerHead checks the sizes for which there are kernels.
func TestIntegerHead(t *testing.T) {
	for dim := range 200 {
		if want := dim == 32 || dim == 64 || dim == 128; IntegerHead(dim) != want {
			t.Errorf("%d: %v", dim, !want)
		}
	}
}

// TestBalanceRatio limits ratios, and returns 1 for ratios that are not numbers.
func TestBalanceRatio(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range [][3]float64{{2, 1, 2}, {1, 2, 0.5}, {1e9, 1, balanceMost}, {1, 1e9, 1.0 / balanceMost}, {0, 1, 1.0 / balanceMost}, {0, 0, 1}, {1, 0, balanceMost}, {inf, inf, 1}, {1, inf, 1}, {math.NaN(), 1, 1}} {
		if got := balanceRatio(c[0], c[1]); got != c[2] {
			t.Errorf("%v of %v: %v, want %v", c[0], c[1], got, c[2])
		}
	}
}

// TestPackHalves packs columns of 16-bit numbers for any alignment and size, including those that
// are packed in words of four.
func TestPackHalves(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	for _, nr := range []int{4, 6, 8, 16} {
		for _, k := range []int{1, 3, 4, 6, 8, 300} {
			for n := 1; n <= nr; n++ {
				for shift := range 4 { // the panel is shifted by a number, the columns by a byte
					panel, columns := make([]uint16, k*nr+1)[shift&1:], make([]byte, 2*n*k+1)[shift>>1:]
					for i := range columns {
						columns[i] = byte(r.Uint32())
					}
					packHalves(panel[:k*nr], columns[:2*n*k], n, k, nr)
					for p := range k {
						for j := range nr {
							want := uint16(0)
							if j < n {
								want = uint16(columns[2*(j*k+p)]) | uint16(columns[2*(j*k+p)+1])<<8
							}
							if got := panel[p*nr+j]; got != want {
								t.Fatalf("%d of %d columns of %d numbers, shifted by %d: element %d of column %d is %#x, want %#x", n, nr, k, shift, p, j, got, want)
							}
						}
					}
				}
			}
		}
	}
}
