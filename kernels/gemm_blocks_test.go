package kernels

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// packAs is the matrix of a case in some format.
func (x *int8Data) packAs(f Format) *PackedB {
	return PackBRows(f, x.n, x.k, func(j int, dst []float32) {
		for p := range dst {
			dst[p] = x.b[p*x.n+j]
		}
	})
}

// TestBlocksColumn wants columns back as the format rounds them, from the definition.
func TestBlocksColumn(t *testing.T) {
	eachConfiguration(t, func(t *testing.T) {
		for _, f := range []Format{FormatQ8_0, FormatQ4_0} {
			x := int8Case{m: 1, n: 37, k: 101}.data()
			b := x.packAs(f)
			got := make([]float32, x.k)
			for j := range x.n {
				b.Column(got, j)
				for from := 0; from < x.k; from += 32 {
					to := min(from+32, x.k)
					var extreme float32
					for p := from; p < to; p++ {
						if v := x.b[p*x.n+j]; math.Abs(float64(v)) > math.Abs(float64(extreme)) {
							extreme = v
						}
					}
					scale := half.Float16(half.ToFloat16(float32(math.Abs(float64(extreme))) / 127))
					if f == FormatQ4_0 {
						scale = half.Float16(half.ToFloat16(extreme / -8))
					}
					for p := from; p < to; p++ {
						q := float64(got[p]) / float64(scale)
						want := float64(x.b[p*x.n+j]) / float64(scale)
						limit := 0.51 + math.Abs(want)/1024 // the scale was rounded
						if f == FormatQ4_0 && want > 7 {
							limit = 1.01 // there is no 8
						}
						if q != math.Round(q) || math.Abs(q-want) > limit {
							t.Fatalf("%v: element %d of column %d is %v scales, want %v", f, p, j, q, want)
						}
					}
				}
			}
		}
	})
}

// TestBlocksAgain wants what is packed once to stay as it is when it is packed again: files
// have weights that were rounded so.
func TestBlocksAgain(t *testing.T) {
	for _, f := range []Format{FormatQ8_0, FormatQ4_0} {
		x := int8Case{m: 1, n: 50, k: 320}.data()
		first := x.packAs(f)
		second := PackBRows(f, x.n, x.k, func(j int, dst []float32) { first.Column(dst, j) })
		if !slices.Equal(first.data, second.data) {
			t.Errorf("%v: packed again, it has changed", f)
		}
	}
}

// TestBlocks holds products with weights in blocks to those of the same weights as float32,
// but for the roundings of A to integers, and wants the same bits for any number of threads
// and sizes of blocks.
func TestBlocks(t *testing.T) {
	eachConfiguration(t, func(t *testing.T) {
		for _, f := range []Format{FormatQ8_0, FormatQ4_0} {
			for _, c := range int8Cases {
				if c.input != "" && c.input != "outliers" && c.input != "zero rows" && c.input != "zeros" {
					continue
				}
				x := c.data()
				b := x.packAs(f)
				got := x.compute(1, b)
				for _, threads := range []Threads{2, 7} {
					if other := x.compute(threads, b); checksum(other) != checksum(got) {
						t.Errorf("%v %v: other bits on %d threads", f, c, threads)
					}
				}
				if b.format.int8 != noInt8 {
					size := tuned.gemm
					tuned.gemm.int8Rows, tuned.gemm.int8Panel = 7, simd.WeightBlock
					if other := x.compute(1, b); checksum(other) != checksum(got) {
						t.Errorf("%v %v: other bits in small blocks", f, c)
					}
					tuned.gemm = size
				}
				x.checkBlocks(t, fmt.Sprint(f, " ", c), b, got)
			}
		}
	})
}

// checkBlocks compares a result with a product in float64.
func (x *int8Data) checkBlocks(t *testing.T, what string, b *PackedB, got []float32) {
	t.Helper()
	column := make([]float32, x.k)
	for j := range x.n {
		b.Column(column, j)
		for i := range x.m {
			var want, bound, size float64
			for from := 0; from < x.k; from += simd.WeightBlock {
				row := x.a[i*x.lda+from : i*x.lda+min(from+simd.WeightBlock, x.k)]
				var unit float64
				for _, v := range row {
					unit = max(unit, math.Abs(float64(v))/127)
				}
				for p, v := range row {
					w := float64(column[from+p])
					want += float64(v) * w
					size += math.Abs(float64(v) * w)
					bound += unit / 2 * math.Abs(w)
				}
			}
			want = float64(x.alpha)*want + float64(x.beta)*float64(x.c[i*x.ldc+j])
			bound = math.Abs(float64(x.alpha)) * (bound + size*0x1p-16)
			if x.bias != nil {
				want += float64(x.bias[j])
			}
			if x.relu() {
				want = max(want, 0)
			}
			if x.residual != nil {
				want += float64(x.residual[i*(x.n+1)+j])
			}
			bound += 0x1p-20 * (1 + math.Abs(want))
			if y := float64(got[i*x.ldc+j]); !(math.Abs(y-want) <= bound) {
				t.Fatalf("%s: element %d,%d is %v, want %v within %v", what, i, j, y, want, bound)
			}
		}
	}
}

// TestBlocksSpecial wants NaN where a row of A, or a column of B, has a NaN or an infinity.
func TestBlocksSpecial(t *testing.T) {
	eachConfiguration(t, func(t *testing.T) {
		for _, f := range []Format{FormatQ8_0, FormatQ4_0} {
			for _, input := range []string{"NaN", "NaN in B", "Inf in B"} {
				x := int8Case{m: 9, n: 34, k: 200, alpha: 1, input: input}.data()
				got := x.compute(1, x.packAs(f))
				for i := range x.m {
					for j := range x.n {
						want := j == 5
						if input == "NaN" {
							want = i == 2 || i == 4
						}
						if y := got[i*x.ldc+j]; (y != y) != want {
							t.Errorf("%v, %s: element %d,%d is %v, want NaN: %v", f, input, i, j, y, want)
						}
					}
				}
			}
		}
	})
}

// BenchmarkGemmRowFormats multiplies one row with matrices that come from memory: enough of
// them in turn that no cache holds them.
func BenchmarkGemmRowFormats(b *testing.B) {
	const n, k, memory = 4096, 4096, 256 << 20
	x, c := make([]float32, k), make([]float32, n)
	for i := range x {
		x[i] = float32(i%255) - 127
	}
	for f := range Format(len(formatNames)) {
		var all []*PackedB
		for size := 0; size < memory; size += all[0].Bytes() {
			if len(all) == 0 {
				all = append(all, PackBRows(f, n, k, func(j int, dst []float32) { copy(dst, x[j%100:]) }))
				continue
			}
			again := *all[0]
			again.data = slices.Clone(again.data)
			all = append(all, &again)
		}
		for _, t := range []Threads{1, 2} {
			b.Run(fmt.Sprintf("format=%v/threads=%d", f, t), func(b *testing.B) {
				turn := 0
				for b.Loop() {
					t.GemmPacked(1, 1, x, k, all[turn%len(all)], 0, c, n, Epilogue{})
					turn++
				}
				b.ReportMetric(float64(all[0].Bytes())*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
			})
		}
	}
}
