package classic_test

import (
	"fmt"

	"github.com/avoformer/avoformer/transformer"
)

// Scaled dot-product attention as a Keras tutorial has it, 64 sequences of 5 rows, on the numbers
// that numpy draws after random.seed(42). The output is that which a reader of the tutorial posted.
func Example_keras() {
	const batch, length, dim = 64, 5, 64
	random := newNumpyRandom(42)
	draw := func() []float32 {
		x := make([]float32, batch*length*dim)
		for i := range x {
			x[i] = float32(random.float64())
		}
		return x
	}
	queries, keys, values := draw(), draw(), draw()
	y := make([]float32, len(values))
	rows := transformer.Uniform(batch, length)
	check(transformer.Attention{Heads: 1, HeadDim: dim}.Forward(new(transformer.Workspace), y, transformer.AttentionInput{
		Query: queries, Batch: rows, Key: keys, Value: values, KeyBatch: rows,
	}))
	for r := range 2 * length {
		row := y[r*dim : (r+1)*dim]
		fmt.Printf("%.4f … %.4f\n", row[:3], row[dim-3:])
	}
	// Output:
	// [0.4283 0.5291 0.4847] … [0.6024 0.6314 0.3680]
	// [0.4206 0.5190 0.4681] … [0.5975 0.6314 0.3960]
	// [0.4529 0.5337 0.4822] … [0.5862 0.6171 0.3561]
	// [0.4354 0.5297 0.4783] … [0.5917 0.6259 0.3667]
	// [0.4300 0.5189 0.4811] … [0.6103 0.6304 0.3919]
	// [0.6105 0.5025 0.4013] … [0.7149 0.3634 0.5512]
	// [0.5842 0.5240 0.4312] … [0.7234 0.3600 0.5698]
	// [0.5645 0.5598 0.4412] … [0.6976 0.3406 0.5715]
	// [0.5878 0.5212 0.4228] … [0.7044 0.3481 0.5561]
	// [0.5880 0.5202 0.4339] … [0.7050 0.3555 0.5617]
}

// numpyRandom is the generator behind numpy.random.seed, MT19937 (Matsumoto and Nishimura, 1998).
type numpyRandom struct {
	state [624]uint32
	next  int
}

func newNumpyRandom(seed uint32) *numpyRandom {
	r := &numpyRandom{next: 624}
	r.state[0] = seed
	for i := 1; i < len(r.state); i++ {
		r.state[i] = 1812433253*(r.state[i-1]^r.state[i-1]>>30) + uint32(i)
	}
	return r
}

func (r *numpyRandom) uint32() uint32 {
	if r.next == 624 {
		for i := range r.state {
			y := r.state[i]&(1<<31) | r.state[(i+1)%624]&(1<<31-1)
			r.state[i] = r.state[(i+397)%624] ^ y>>1 ^ y&1*0x9908b0df
		}
		r.next = 0
	}
	y := r.state[r.next]
	r.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// float64 is uniform in [0, 1), of 53 random bits.
func (r *numpyRandom) float64() float64 {
	a, b := r.uint32()>>5, r.uint32()>>6
	return (float64(a)*(1<<26) + float64(b)) / (1 << 53)
}
