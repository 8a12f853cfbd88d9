package simd

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// quantized is the result of a quantizing kernel for rows of x.
type quantized[T int8 | int16] struct {
	q     []T
	scale []float32
	start []int32
}

// TestQuantize expects the bits of the pure-Go path from every tier, including forms that the
// drivers use only on some CPUs of the tier.
func TestQuantize(t *testing.T) {
	const cols, filled = 139, 160 // the last block is partial
	const wholeCols, wholeFilled = 160, 192
	blocksOf, rowsOf := quantizeInputs(cols), quantizeInputs(wholeCols)
	type toInt8 func(isa ISA, dst []int8, x []float32, rows, cols, filled, lddst, ldx int, scale []float32, start []int32, ldscale int)
	inBlocks := func(block int, run toInt8) func(isa ISA) quantized[int8] {
		rows, blocks := len(blocksOf)/cols, (cols+block-1)/block
		return func(isa ISA) quantized[int8] {
			r := quantized[int8]{make([]int8, rows*filled), make([]float32, rows*blocks), make([]int32, rows*blocks)}
			run(isa, r.q, blocksOf, rows, cols, filled, filled, cols, r.scale, r.start, rows)
			return r
		}
	}
	const rows = len(quantizeSpecials) + quantizeDenormals + wholeCols
	bytes := func(isa ISA) quantized[int8] {
		r := quantized[int8]{make([]int8, rows*wholeFilled), make([]float32, rows), make([]int32, rows)}
		QuantizeInt8(isa, r.q, rowsOf, rows, wholeCols, wholeFilled, wholeFilled, wholeCols, r.scale, r.start)
		return r
	}
	words := func(isa ISA) quantized[int16] {
		r := quantized[int16]{q: make([]int16, rows*wholeFilled), scale: make([]float32, rows)}
		QuantizeInt16(isa, r.q, rowsOf, rows, wholeCols, wholeFilled, wholeFilled, wholeCols, r.scale)
		return r
	}
	for _, isa := range Supported() {
		t.Run("rows/"+isa.String(), func(t *testing.T) { sameQuantized(t, isa, bytes, rows, wholeFilled, wholeCols) })
		t.Run("32/"+isa.String(), func(t *testing.T) {
			sameQuantized(t, isa, inBlocks(WeightBlock, QuantizeInt8By32), len(blocksOf)/cols, filled, WeightBlock)
		})
		t.Run("16/"+isa.String(), func(t *testing.T) {
			sameQuantized(t, isa, inBlocks(16, QuantizeInt8By16), len(blocksOf)/cols, filled, 16)
		})
		t.Run("int16/"+isa.String(), func(t *testing.T) { sameQuantized(t, isa, words, rows, wholeFilled, wholeCols) })
	}
}

// quantizeSpecials has the values that make a scale NaN, and quantizeDenormals is the number of
// small rows of quantizeInputs.
var quantizeSpecials = [...]float64{math.NaN(), math.Inf(1), math.Inf(-1)}

const quantizeDenormals = 60

// quantizeInputs returns rows of every kind: with the largest element of a block at each place in
// turn, so small that all elements become 0, and with a NaN or an infinity in the first block.
func quantizeInputs(cols int) (x []float32) {
	for p := range cols {
		for j := range cols {
			x = append(x, float32((p+j*j)%257-128)/3)
		}
		x[p*cols+p] = float32(1-p%2*2) * 50
	}
	for exponent := -149; exponent < quantizeDenormals-149; exponent++ {
		for j := range cols {
			x = append(x, float32(math.Ldexp(float64(j%19-9), exponent)))
		}
	}
	for _, special := range quantizeSpecials {
		for j := range cols {
			x = append(x, float32(j))
		}
		x[len(x)-cols+11] = float32(special)
	}
	return x
}

// sameQuantized compares a tier with the pure-Go path. If the scale of a block is NaN, its integers
// may have any value.
func sameQuantized[T int8 | int16](t *testing.T, isa ISA, run func(isa ISA) quantized[T], rows, filled, block int) {
	got, want := run(isa), run(Generic)
	nans := 0
	for i, scale := range want.scale {
		if scale != scale {
			nans++
			if got.scale[i] == got.scale[i] {
				t.Errorf("scale %d is %v, want NaN", i, got.scale[i])
			}
			got.scale[i], want.scale[i] = 0, 0
			if want.start != nil {
				got.start[i], want.start[i] = 0, 0
			}
			from := i%rows*filled + i/rows*block
			clear(got.q[from : from+block])
			clear(want.q[from : from+block])
		}
	}
	if nans != 3 {
		t.Errorf("%d scales are NaN, want 3", nans)
	}
	for i := range rows {
		from, to := i*filled, (i+1)*filled
		if !slices.Equal(got.q[from:to], want.q[from:to]) {
			t.Errorf("row %d: %v, want %v", i, got.q[from:to], want.q[from:to])
		}
	}
	if !slices.Equal(got.scale, want.scale) {
		t.Errorf("scales %v, want %v", got.scale, want.scale)
	}
	if !slices.Equal(got.start, want.start) {
		t.Errorf("starts %v, want %v", got.start, want.start)
	}
	if top := slices.Max(want.q); top != 127 {
		t.Errorf("largest integer %d, want 127", top)
	}
}

// TestBFloat16Rows: every tier rounds rows as the plain loop does, and clears the padding. Products
// call it only if the machine has tiles.
func TestBFloat16Rows(t *testing.T) {
	const rows, cols, filled, lddst, ldx = 3, 43, 64, 70, 45
	r := rand.New(rand.NewPCG(7, 8))
	x := make([]float32, rows*ldx)
	for i := range x {
		x[i] = math.Float32frombits(r.Uint32()&^0x7f800000 | uint32(1+r.IntN(253))<<23)
		if i%3 == 0 { // halfway between two numbers
			x[i] = math.Float32frombits(math.Float32bits(x[i])&^0xffff | 0x8000)
		}
	}
	want := slices.Repeat([]uint16{1}, rows*lddst)
	bfloat16RowsGeneric(want, x, rows, cols, filled, lddst, ldx)
	for _, isa := range Supported() {
		got := slices.Repeat([]uint16{1}, rows*lddst)
		BFloat16Rows(isa, got, x, rows, cols, filled, lddst, ldx)
		if !slices.Equal(got, want) {
			t.Errorf("%v: other numbers than a plain loop's", isa)
		}
	}
}
