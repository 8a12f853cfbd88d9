package workload

import (
	"math"
	"math/rand/v2"
)

// Random holds cases with random shapes, drawn once and log-uniformly. They show whether kernels
// are fast for other cases than those of [All], on which they are tuned.
var Random = draw(1)

// draw returns 20 products, 4 batched products, 8 row kernels, 4 attentions and 4 encoder layers.
func draw(seed uint64) []Case {
	rng := rand.New(rand.NewPCG(seed, 0))
	// between draws a number from low to high, both included.
	between := func(low, high int) int {
		l, h := math.Log(float64(low)), math.Log(float64(high+1))
		return min(int(math.Exp(l+rng.Float64()*(h-l))), high)
	}
	heads := func() (count, width int) { return between(1, 16), []int{32, 64, 80, 96, 128}[rng.IntN(5)] }
	var list []Case
	add := func(op Op, dims ...int) { list = append(list, Case{Op: op, Dims: dims}) }
	for i := range 20 {
		add([]Op{GemmNN, GemmNT, GemmPacked}[i%3], between(1, 2048), between(16, 4096), between(16, 4096))
	}
	for i := range 4 {
		add([]Op{BatchGemmNN, BatchGemmNT}[i%2], between(2, 64), between(4, 512), between(4, 512), between(16, 128))
	}
	for i := range 8 {
		add([]Op{Softmax, LayerNorm, GELU, Exp}[i%4], between(1, 4096), between(8, 8192))
	}
	for range 4 {
		h, width := heads()
		length := between(16, 1024)
		add(SDPA, between(1, 8), h, length, length, width)
	}
	for range 4 {
		h, width := heads()
		add(EncoderLayer, between(1, 16), between(8, 512), h*width, h, 4*h*width)
	}
	return list
}
