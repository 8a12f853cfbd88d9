package kernels

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/internal/race"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
	"github.com/avoformer/avoformer/kernels/ref"
)

var blockFormats = []Format{FormatQ8_0, FormatQ4_0, FormatQ4_1, FormatQ5_0, FormatQ5_1, FormatQ4_K, FormatQ5_K, FormatQ6_K, FormatMXFP4, FormatIQ4_NL, FormatIQ4_XS, FormatQ3_K}

// fileRows returns n rows of k elements in some blocks of a format, with arbitrary bits for the
// weights, and scales of moderate size.
func fileRows(f Format, n, k int) [][]byte {
	elements, size := f.Block()
	r := rand.New(rand.NewPCG(21, uint64(f)))
	rows := make([][]byte, n)
	for j := range rows {
		for range k / elements {
			b := make([]byte, size)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			for _, at := range map[Format][]int{FormatQ4_K: {0, 2}, FormatQ5_K: {0, 2}, FormatQ4_1: {2}, FormatQ5_1: {2}, FormatQ6_K: {208}, FormatIQ4_XS: {0}, FormatQ3_K: {108}}[f] {
				b[at+1] = b[at+1]&0x83 | 0x28 // an exponent that makes the scale about 2^-5
			}
			if elements == simd.WeightBlock && f != FormatMXFP4 {
				b[1] = b[1]&0x83 | 0x30
			}
			if f == FormatMXFP4 {
				b[0] = 120 + b[0]%12
			}
			rows[j] = append(rows[j], b...)
		}
	}
	return rows
}

func packFile(f Format, k int, rows [][]byte) *PackedB {
	return PackBBlocks(f, len(rows), k, func(j int, dst []byte) {
		if len(dst) != len(rows[j]) {
			panic(fmt.Sprintf("%d bytes for a row of %d", len(dst), len(rows[j])))
		}
		copy(dst, rows[j])
	})
}

// TestQuantize packs numbers directly and through their encoding in a file, and expects the same.
func TestQuantize(t *testing.T) {
	const k = 512
	r := rand.New(rand.NewPCG(5, 5))
	for _, f := range append(slices.Clone(blockFormats), FormatF32, FormatBF16, FormatF16) {
		rows := make([][]float32, 9)
		for j := range rows {
			rows[j] = make([]float32, k)
			for p := range rows[j] {
				if scale := math.Exp2(float64(r.IntN(12) - 6)); j > 0 { // the first is zeros
					rows[j][p] = float32(scale * r.NormFloat64())
				}
			}
		}
		rows[7][300], rows[8][3] = float32(math.Inf(1)), float32(math.NaN())
		elements, bytes := f.Block()
		got := PackBBlocks(f, len(rows), k, func(j int, dst []byte) {
			raw := make([]byte, k/elements*bytes)
			f.Quantize(raw, rows[j])
			copy(dst, raw)
		})
		want := PackBRows(f, len(rows), k, func(j int, dst []float32) { copy(dst, rows[j]) })
		x, y := make([]float32, k), make([]float32, k)
		for j := range rows {
			got.Column(x, j)
			want.Column(y, j)
			for p := range x {
				if x[p] != y[p] && (x[p] == x[p] || y[p] == y[p]) {
					t.Fatalf("%v: element %d of row %d is %v, want %v", f, p, j, x[p], y[p])
				}
			}
		}
	}
	for name, c := range map[string]func(){
		"int8":            func() { FormatInt8.Quantize(make([]byte, 32), make([]float32, 32)) },
		"part of a block": func() { FormatQ4_K.Quantize(make([]byte, 18), make([]float32, 32)) },
		"a short dst":     func() { FormatQ8_0.Quantize(make([]byte, 33), make([]float32, 32)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			c()
		}()
	}
}

// TestQuantizedBits expects the same blocks for the same numbers on every machine: no processor may
// fuse products and sums here.
func TestQuantizedBits(t *testing.T) {
	want := map[Format]uint64{
		FormatQ8_0: 0x5032e2a98d5666a3, FormatQ4_0: 0x7d97fffdbfd54114, FormatQ4_1: 0x8b625e52e1e12f05,
		FormatQ5_0: 0x72a6fec3e2db184e, FormatQ5_1: 0x758998729418657, FormatQ4_K: 0xe52f6bd44d2fadac,
		FormatQ5_K: 0x2e79c626a366de6a, FormatQ6_K: 0x12c5825661e6d35, FormatMXFP4: 0x2eb086f023034f6f,
		FormatIQ4_NL: 0xa59b1c17c422c4db, FormatIQ4_XS: 0xf8afbad44da3896c, FormatQ3_K: 0x39fe119b1201972a,
	}
	r := rand.New(rand.NewPCG(15, 16))
	x := make([]float32, 256*256)
	for i := range x {
		x[i] = float32(r.Float64()*2-1) * float32(r.Float64())
	}
	for _, f := range blockFormats {
		elements, bytes := f.Block()
		blocks := make([]byte, len(x)/elements*bytes)
		f.Quantize(blocks, x)
		h := fnv.New64a()
		h.Write(blocks)
		if got := h.Sum64(); got != want[f] {
			t.Errorf("%v: hash %#x of the blocks, want %#x", f, got, want[f])
		}
	}
}

// TestPackBBlocks compares packed values with the values of the blocks of files, bit by bit.
func TestPackBBlocks(t *testing.T) {
	eachConfiguration(t, func(t *testing.T) {
		for _, f := range blockFormats {
			for _, k := range []int{0, 256, 1024} {
				for _, n := range []int{0, 1, 37} {
					rows := fileRows(f, n, k)
					b := packFile(f, k, rows)
					got := make([]float32, k)
					for j := range n {
						b.Column(got, j)
						for p, want := range ref.Blocks(f.String(), rows[j]).Float32() {
							if math.Float32bits(got[p]) != math.Float32bits(want) {
								t.Fatalf("%v %dx%d: element %d of row %d is %v, want %v", f, n, k, p, j, got[p], want)
							}
						}
					}
				}
			}
		}
	})
}

// TestBlocksBits expects the bits of the reference, from blocks as in files, for any number of
// threads and sizes of blocks.
func TestBlocksBits(t *testing.T) {
	if race.Enabled {
		t.Skip("TestBlocks has the same products on as many threads")
	}
	counts, most := []Threads{1, 2, 7}, math.MaxInt
	switch {
	case testenv.Emulated():
		counts, most = []Threads{2}, 1<<15
	case testenv.Slow():
		counts, most = []Threads{2}, 1<<17
	}
	eachConfiguration(t, func(t *testing.T) {
		for _, f := range blockFormats {
			for i, c := range int8Cases {
				c.k = (c.k + 255) / 256 * 256
				if strings.Contains(c.input, " in B") || c.m*c.n*c.k > most || testenv.Quick() && (int(f)+i)%4 != 0 {
					continue
				}
				x, rows := c.data(), fileRows(f, c.n, c.k)
				b, columns := packFile(f, c.k, rows), make([]ref.BlockWeights, c.n)
				for j := range columns {
					columns[j] = ref.Blocks(f.String(), rows[j])
				}
				want := slices.Clone(x.c)
				ref.GemmBlocks(x.m, x.alpha, x.a, x.lda, columns, x.beta, want, x.ldc, x.bias, x.relu(), x.residual, x.n+1)
				for _, threads := range counts {
					if got := x.compute(threads, b); checksum(got) != checksum(want) {
						t.Errorf("%v %v on %d threads: %v, want %v", f, c, threads, got[:1], want[:1])
					}
				}
				size := tune.Used.Gemm
				tune.Used.Gemm.Int8Rows, tune.Used.Gemm.Int8Panel = 7, simd.WeightBlock
				if got := x.compute(1, b); checksum(got) != checksum(want) {
					t.Errorf("%v %v: other bits in small blocks", f, c)
				}
				tune.Used.Gemm = size
			}
		}
	})
}

// TestPackBBlocksOfNumbers compares packed values with the numbers of a file whose elements are
// single numbers.
func TestPackBBlocksOfNumbers(t *testing.T) {
	x := []float32{0, 1, -2.5, 0x1p-20, 1000, -0x1p-14}
	for f, put := range map[Format]func(b []byte, x float32) []byte{
		FormatF32:  func(b []byte, x float32) []byte { return binary.LittleEndian.AppendUint32(b, math.Float32bits(x)) },
		FormatF16:  func(b []byte, x float32) []byte { return binary.LittleEndian.AppendUint16(b, half.ToFloat16(x)) },
		FormatBF16: func(b []byte, x float32) []byte { return binary.LittleEndian.AppendUint16(b, half.ToBFloat16(x)) },
	} {
		var rows [][]byte
		for _, v := range x {
			rows = append(rows, put(put(nil, v), -v))
		}
		b, got := packFile(f, 2, rows), make([]float32, 2)
		for j, v := range x {
			if b.Column(got, j); got[0] != v || got[1] != -v {
				t.Errorf("%v: row %d is %v, want %v and %v", f, j, got, v, -v)
			}
		}
	}
}

// packAs returns the matrix of a case in some format.
func (x *int8Data) packAs(f Format) *PackedB {
	return PackBRows(f, x.n, x.k, func(j int, dst []float32) {
		for p := range dst {
			dst[p] = x.b[p*x.n+j]
		}
	})
}

// TestBlocksColumn compares columns with the values that the format rounds to, from the definition.
func TestBlocksColumn(t *testing.T) {
	eachConfiguration(t, func(t *testing.T) {
		for _, f := range []Format{FormatQ8_0, FormatQ4_0, FormatQ5_0} {
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
					switch f {
					case FormatQ4_0:
						scale = half.Float16(half.ToFloat16(extreme / -8))
					case FormatQ5_0:
						scale = half.Float16(half.ToFloat16(extreme / -16))
					}
					for p := from; p < to; p++ {
						q := float64(got[p]) / float64(scale)
						want := float64(x.b[p*x.n+j]) / float64(scale)
						limit := 0.51 + math.Abs(want)/1024 // the scale was rounded
						if f == FormatQ4_0 && want > 7 || f == FormatQ5_0 && want > 15 {
							limit = 1.01 // there is no 8, or 16
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

// TestGroupsColumn compares columns with the original values. The bound is half a step of the
// group, plus the errors of its rounded scale and minimum.
func TestGroupsColumn(t *testing.T) {
	x := int8Case{m: 1, n: 37, k: 301}.data()
	for _, f := range []Format{FormatQ4_K, FormatQ5_K, FormatQ6_K} {
		b, got := x.packAs(f), make([]float32, x.k)
		group, levels, scales := 32, 15., 63.
		switch f {
		case FormatQ5_K:
			levels = 31
		case FormatQ6_K:
			group, levels, scales = 16, 32, 127
		}
		for j := range x.n {
			b.Column(got, j)
			for from := 0; from < x.k; from += 256 {
				to := min(from+256, x.k)
				step, depth := make([]float64, 256), 0.
				for p := from; p < to; p++ { // the range of each group
					low, high := 0., 0.
					for q := (p-from)/group*group + from; q < min(p/group*group+group, to); q++ {
						low, high = min(low, float64(x.b[q*x.n+j])), max(high, float64(x.b[q*x.n+j]))
					}
					if f != FormatQ6_K {
						step[p-from], depth = (high-low)/levels, max(depth, -low)
					} else {
						step[p-from] = max(-low, high) / levels
					}
				}
				largest := slices.Max(step)
				for p := from; p < to; p++ {
					limit := 1.01*step[p-from] + levels*largest/scales/2*1.01 + depth/63/2*1.01 // all, not half: there is no 32
					if err := math.Abs(float64(got[p] - x.b[p*x.n+j])); !(err <= limit) {
						t.Fatalf("%v: element %d of column %d is %v, want %v within %v", f, p, j, got[p], x.b[p*x.n+j], limit)
					}
				}
			}
		}
	}
}

// TestBlocksAgain packs packed values again, and expects no change: files have weights that were
// rounded in this way.
func TestBlocksAgain(t *testing.T) {
	for _, f := range []Format{FormatQ8_0, FormatQ4_0, FormatQ5_0, FormatMXFP4} {
		x := int8Case{m: 1, n: 50, k: 320}.data()
		first := x.packAs(f)
		second := PackBRows(f, x.n, x.k, func(j int, dst []float32) { first.Column(dst, j) })
		if !slices.Equal(first.matrix.Data, second.matrix.Data) {
			t.Errorf("%v: packed again, it has changed", f)
		}
	}
}

// TestBlocks compares products with weights in blocks to products with the same weights as float32,
// within the roundings of A to integers, and expects the same bits for any number of threads and
// sizes of blocks.
func TestBlocks(t *testing.T) {
	eachConfiguration(t, func(t *testing.T) {
		for _, f := range blockFormats {
			for _, c := range int8Cases {
				if c.input != "" && c.input != "outliers" && c.input != "zero rows" && c.input != "zeros" || testenv.Slow() && c.m*c.n*c.k > 1<<15 {
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
				size := tune.Used.Gemm
				tune.Used.Gemm.Int8Rows, tune.Used.Gemm.Int8Panel = 7, simd.WeightBlock
				if other := x.compute(1, b); checksum(other) != checksum(got) {
					t.Errorf("%v %v: other bits in small blocks", f, c)
				}
				tune.Used.Gemm = size
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

// TestBlocksBound compares products with blocks of files with the bound of doc/numerics.md. With
// Q4_1, scales and minima of the last column cancel: all its weights are 0, so that the roundings
// of A make no error there, but those of sums do.
func TestBlocksBound(t *testing.T) {
	const m, n, k = 3, 9, 512
	r := rand.New(rand.NewPCG(33, 34))
	eachISA(t, func(t *testing.T) {
		for _, f := range blockFormats {
			rows, columns := fileRows(f, n, k), make([]ref.BlockWeights, n)
			if f == FormatQ4_1 {
				zeros := []byte{0, 0x42, 0x80, 0xcb} // 3 and -15
				rows[n-1] = bytes.Repeat(append(zeros, bytes.Repeat([]byte{0x55}, 16)...), k/32)
			}
			for j := range columns {
				columns[j] = ref.Blocks(f.String(), rows[j])
			}
			a, c := randomSlice(r, m*k), make([]float32, m*n)
			GemmPacked(m, 1, a, k, packFile(f, k, rows), 0, c, n, Epilogue{})
			for i, got := range c {
				w := columns[i%n]
				var want, bound, size float64
				for g, scale := range w.Scale {
					group := a[i/n*k+g*w.Group:][:w.Group]
					for p, v := range group {
						b, least := float64(scale)*float64(w.Q[g*w.Group+p]), 0.0
						if w.Min != nil {
							least = float64(w.Min[g])
						}
						want += float64(v) * (b - least)
						bound += unitOf(group) / 2 * math.Abs(b-least)
						size += math.Abs(float64(v)) * (math.Abs(b) + math.Abs(least))
					}
				}
				bound += (k/8 + 10) * (0x1p-24*size + 0x1p-149)
				if off := math.Abs(float64(got) - want); !(off <= bound) {
					t.Errorf("%v: element %d,%d is %v, want %v within %v", f, i/n, i%n, got, want, bound)
				}
			}
		}
	})
}

// FuzzBlocks compares products with arbitrary blocks of files with the reference.
func FuzzBlocks(f *testing.F) {
	for format := range uint8(len(blockFormats)) {
		f.Add(format, uint8(7), uint8(33), uint8(1), uint64(format))
	}
	f.Fuzz(func(t *testing.T, format, m, n, blocks uint8, seed uint64) {
		f := blockFormats[int(format)%len(blockFormats)]
		c := int8Case{m: 1 + int(m)%20, n: 1 + int(n)%70, k: 256 * (1 + int(blocks)%3), alpha: 1, ep: "b"}
		x, rows := c.data(), fileRows(f, c.n, c.k)
		r := rand.New(rand.NewPCG(seed, 1))
		for range r.IntN(20) { // some numbers and bytes with arbitrary bits
			x.a[r.IntN(len(x.a))] = math.Float32frombits(r.Uint32())
			row := rows[r.IntN(len(rows))]
			row[r.IntN(len(row))] = byte(r.Uint32())
		}
		columns, want := make([]ref.BlockWeights, c.n), slices.Clone(x.c)
		for j := range columns {
			columns[j] = ref.Blocks(f.String(), rows[j])
		}
		ref.GemmBlocks(x.m, x.alpha, x.a, x.lda, columns, x.beta, want, x.ldc, x.bias, false, nil, 0)
		if got := x.compute(Threads(1+m%3), packFile(f, c.k, rows)); checksum(got) != checksum(want) {
			t.Errorf("%v %v: checksum %s, want %s", f, c, checksum(got), checksum(want))
		}
	})
}

// TestBlocksWithoutProduct expects the result of only the epilogue if alpha or K is 0.
func TestBlocksWithoutProduct(t *testing.T) {
	eachConfiguration(t, func(t *testing.T) {
		for _, f := range blockFormats {
			for _, c := range []int8Case{{m: 3, n: 70, k: 300, beta: 0.5, ep: "bx"}, {m: 3, n: 70, k: 0, alpha: 1, beta: 0.5, ep: "bx"}, {m: 3, n: 70, k: 300, beta: 0.5}} {
				x := c.data()
				got := x.compute(1, x.packAs(f))
				for i := range x.m {
					for j := range x.n {
						want := float64(x.c[i*x.ldc+j]) / 2
						if x.bias != nil {
							want += float64(x.bias[j]) + float64(x.residual[i*(x.n+1)+j])
						}
						if y := float64(got[i*x.ldc+j]); !(math.Abs(y-want) <= 1e-5) {
							t.Fatalf("%v %v: element %d,%d is %v, want %v", f, c, i, j, y, want)
						}
					}
				}
			}
		}
	})
}

// TestBlocksSpecial expects NaN if a row of A, or a column of B, has a NaN or an infinity, and an
// infinity or NaN if the format has no NaN.
func TestBlocksSpecial(t *testing.T) {
	eachConfiguration(t, func(t *testing.T) {
		for _, f := range blockFormats {
			for _, input := range []string{"NaN", "NaN in B", "Inf in B"} {
				x := int8Case{m: 9, n: 34, k: 200, alpha: 1, input: input}.data()
				got := x.compute(1, x.packAs(f))
				for i := range x.m {
					for j := range x.n {
						want := j == 5
						if input == "NaN" {
							want = i == 2 || i == 4
						}
						y := got[i*x.ldc+j]
						if f == FormatMXFP4 && math.IsInf(float64(y), 0) {
							y = float32(math.NaN())
						}
						if (y != y) != want {
							t.Errorf("%v, %s: element %d,%d is %v, want NaN: %v", f, input, i, j, y, want)
						}
					}
				}
			}
		}
	})
}
