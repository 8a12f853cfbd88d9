package simd

import (
	"slices"
	"testing"
)

// TestQuantize wants the bits of the pure-Go path from every tier, also of forms that the
// drivers take on some CPUs of the tier only.
func TestQuantize(t *testing.T) {
	const rows, cols, filled = 3, 75, 80
	x := make([]float32, rows*cols)
	for i := range x {
		x[i] = float32(i*i%257-128) / 3
	}
	type quantizer func(isa ISA, dst []int8, x []float32, rows, cols, filled, lddst, ldx int, scale []float32, start []int32, ldscale int)
	for name, c := range map[string]struct {
		block int
		run   quantizer
	}{"64": {Int8Block, QuantizeInt8}, "32": {WeightBlock, QuantizeInt8By32}} {
		for _, isa := range Supported() {
			t.Run(name+"/"+isa.String(), func(t *testing.T) {
				blocks := (cols + c.block - 1) / c.block
				run := func(isa ISA) (q []int8, scale []float32, start []int32) {
					q, scale, start = make([]int8, rows*filled), make([]float32, rows*blocks), make([]int32, rows*blocks)
					c.run(isa, q, x, rows, cols, filled, filled, cols, scale, start, blocks)
					return q, scale, start
				}
				q, scale, start := run(isa)
				wantQ, wantScale, wantStart := run(Generic)
				if !slices.Equal(q, wantQ) || !slices.Equal(scale, wantScale) || !slices.Equal(start, wantStart) {
					t.Errorf("%v %v %v, want %v %v %v", q, scale, start, wantQ, wantScale, wantStart)
				}
				if slices.Max(q) != 127 {
					t.Errorf("largest integer %d, want 127", slices.Max(q))
				}
			})
		}
	}
}
