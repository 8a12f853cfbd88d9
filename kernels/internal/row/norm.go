package row

import (
	"math"
	"sync/atomic"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// LayerNorm and RMSNorm, and both after a residual connection.

// LayerNorm is kernels.LayerNorm, of checked arguments, on up to t threads.
func LayerNorm(t int, dst, x []float32, rows, cols int, weight, bias []float32, eps float32) {
	weight = SharedOnes.orNil(weight, cols)
	bias = SharedZeros.orNil(bias, cols)
	isa, stream := simd.Active(), Streamed(dst, x)
	if alone(t, rows, len(x)) {
		layerNormRows(isa, dst, x, rows, cols, weight, bias, eps, stream)
		return
	}
	split(t, rows, cols, &task{isa: isa, dst: dst, x: x, weight: weight, bias: bias, eps: eps, stream: stream, do: func(c *task, i, j int) {
		layerNormRows(c.isa, c.at(c.dst, i, j), c.at(c.x, i, j), j-i, c.cols, c.weight, c.bias, c.eps, c.stream)
	}})
}

// NormElements is the longest row that one call of the assembly normalises. Longer rows
// are summed in pieces.
const NormElements = 1 << 16

// layerNormRows is LayerNorm of some or all rows of a call, whose results go past the
// caches if stream is set.
func layerNormRows(isa simd.ISA, dst, x []float32, rows, cols int, weight, bias []float32, eps float32, stream bool) {
	switch {
	case len(x) == 0:
	case cols > NormElements:
		for r := range rows {
			layerNormLongRow(isa, dst[r*cols:][:cols], x[r*cols:][:cols], weight, bias, eps)
		}
	case stream:
		for from, to := range BudgetOf(simd.KernelLayerNormRowsStream, isa).Rows(rows, cols) {
			simd.LayerNormRowsStream(isa, dst[from*cols:to*cols], x[from*cols:to*cols], weight, bias, to-from, cols, eps)
		}
	default:
		for from, to := range BudgetOf(simd.KernelLayerNormRows, isa).Rows(rows, cols) {
			simd.LayerNormRows(isa, dst[from*cols:to*cols], x[from*cols:to*cols], weight, bias, to-from, cols, eps)
		}
	}
}

// AddLayerNorm is kernels.AddLayerNorm, of checked arguments, on up to t threads.
func AddLayerNorm(t int, dst, sum, x, residual []float32, rows, cols int, weight, bias []float32, eps float32) {
	weight = SharedOnes.orNil(weight, cols)
	bias = SharedZeros.orNil(bias, cols)
	isa := simd.Active()
	if alone(t, rows, len(x)) {
		addLayerNormRows(isa, dst, sum, x, residual, rows, cols, weight, bias, eps)
		return
	}
	split(t, rows, cols, &task{isa: isa, dst: dst, sum: sum, x: x, y: residual, weight: weight, bias: bias, eps: eps, do: func(c *task, i, j int) {
		addLayerNormRows(c.isa, c.at(c.dst, i, j), c.at(c.sum, i, j), c.at(c.x, i, j), c.at(c.y, i, j), j-i, c.cols, c.weight, c.bias, c.eps)
	}})
}

// addLayerNormRows is AddLayerNorm of some or all rows of a call.
func addLayerNormRows(isa simd.ISA, dst, sum, x, residual []float32, rows, cols int, weight, bias []float32, eps float32) {
	if len(x) == 0 {
		return
	}
	if cols > NormElements {
		addRows(isa, sum, x, residual)
		layerNormRows(isa, dst, sum, rows, cols, weight, bias, eps, false)
		return
	}
	for from, to := range BudgetOf(simd.KernelAddLayerNormRows, isa).Rows(rows, cols) {
		i, j := from*cols, to*cols
		simd.AddLayerNormRows(isa, dst[i:j], sum[i:j], x[i:j], residual[i:j], weight, bias, to-from, cols, eps)
	}
}

// RMSNorm is kernels.RMSNorm, of checked arguments, on up to t threads.
func RMSNorm(t int, dst, x []float32, rows, cols int, weight []float32, eps float32) {
	weight = SharedOnes.orNil(weight, cols)
	isa := simd.Active()
	if alone(t, rows, len(x)) {
		rmsNormRows(isa, dst, x, rows, cols, weight, eps)
		return
	}
	split(t, rows, cols, &task{isa: isa, dst: dst, x: x, weight: weight, eps: eps, do: func(c *task, i, j int) {
		rmsNormRows(c.isa, c.at(c.dst, i, j), c.at(c.x, i, j), j-i, c.cols, c.weight, c.eps)
	}})
}

// rmsNormRows is RMSNorm of some or all rows of a call.
func rmsNormRows(isa simd.ISA, dst, x []float32, rows, cols int, weight []float32, eps float32) {
	if len(x) == 0 {
		return
	}
	if cols > NormElements {
		for r := range rows {
			rmsNormLongRow(isa, dst[r*cols:][:cols], x[r*cols:][:cols], weight, eps)
		}
		return
	}
	for from, to := range BudgetOf(simd.KernelRMSNormRows, isa).Rows(rows, cols) {
		simd.RMSNormRows(isa, dst[from*cols:to*cols], x[from*cols:to*cols], weight, to-from, cols, eps)
	}
}

// AddRMSNorm is kernels.AddRMSNorm, of checked arguments, on up to t threads.
func AddRMSNorm(t int, dst, sum, x, residual []float32, rows, cols int, weight []float32, eps float32) {
	weight = SharedOnes.orNil(weight, cols)
	isa := simd.Active()
	if alone(t, rows, len(x)) {
		addRMSNormRows(isa, dst, sum, x, residual, rows, cols, weight, eps)
		return
	}
	split(t, rows, cols, &task{isa: isa, dst: dst, sum: sum, x: x, y: residual, weight: weight, eps: eps, do: func(c *task, i, j int) {
		addRMSNormRows(c.isa, c.at(c.dst, i, j), c.at(c.sum, i, j), c.at(c.x, i, j), c.at(c.y, i, j), j-i, c.cols, c.weight, c.eps)
	}})
}

// addRMSNormRows is AddRMSNorm of some or all rows of a call.
func addRMSNormRows(isa simd.ISA, dst, sum, x, residual []float32, rows, cols int, weight []float32, eps float32) {
	if len(x) == 0 {
		return
	}
	if cols > NormElements {
		addRows(isa, sum, x, residual)
		rmsNormRows(isa, dst, sum, rows, cols, weight, eps)
		return
	}
	for from, to := range BudgetOf(simd.KernelAddRMSNormRows, isa).Rows(rows, cols) {
		i, j := from*cols, to*cols
		simd.AddRMSNormRows(isa, dst[i:j], sum[i:j], x[i:j], residual[i:j], weight, to-from, cols, eps)
	}
}

// addRows sets sum to x + residual, piece by piece.
func addRows(isa simd.ISA, sum, x, residual []float32) {
	for i, j := range BudgetOf(simd.KernelAddVec, isa).pieces(len(x)) {
		simd.AddVec(isa, sum[i:j], x[i:j], residual[i:j])
	}
}

// layerNormLongRow is LayerNorm of a row that is too long for one call of the
// assembly, piece by piece, with sums of pieces added in float64. The first estimate of
// the mean is the first element; twice, the mean of the differences from the estimate
// improves it. So the mean is exact where all elements are the same, and good wherever
// the first element lies.
func layerNormLongRow(isa simd.ISA, dst, x, weight, bias []float32, eps float32) {
	buffer := rowBuffers.Get().(*rowBuffer)
	ones := SharedOnes.of(SumElements)
	n := float64(len(x))
	mean, rest, square := x[0], 0.0, 0.0 // of the differences from mean, and of their squares
	for range 3 {
		mean += float32(rest / n)
		rest, square = 0, 0
		for i, end := range budget(SumElements).pieces(len(x)) {
			d := buffer[:end-i]
			simd.SubSubVec(isa, d, x[i:end], mean, 0)
			rest += float64(dotVec(isa, d, ones[:end-i]))
			square += float64(dotVec(isa, d, d))
		}
	}
	rest /= n
	scale := float32(1 / math.Sqrt(max(square/n-float64(rest*rest), 0)+float64(eps)))
	for i, end := range budget(SumElements).pieces(len(x)) {
		d := buffer[:end-i]
		simd.SubSubVec(isa, d, x[i:end], mean, float32(rest))
		simd.ScaleVec(isa, d, d, scale)
		simd.MulVec(isa, d, d, SharedOnes.piece(weight, i, end))
		simd.AddVec(isa, dst[i:end], d, SharedZeros.piece(bias, i, end))
	}
	rowBuffers.Put(buffer)
}

// rmsNormLongRow is RMSNorm of a row that is too long for one call of the assembly.
func rmsNormLongRow(isa simd.ISA, dst, x, weight []float32, eps float32) {
	square := 0.0
	for i, end := range budget(SumElements).pieces(len(x)) {
		square += float64(dotVec(isa, x[i:end], x[i:end]))
	}
	scale := float32(1 / math.Sqrt(square/float64(len(x))+float64(eps)))
	for i, end := range budget(SumElements).pieces(len(x)) {
		simd.ScaleVec(isa, dst[i:end], x[i:end], scale)
		simd.MulVec(isa, dst[i:end], dst[i:end], SharedOnes.piece(weight, i, end))
	}
}

// dotVec is the dot product of two vectors.
func dotVec(isa simd.ISA, x, y []float32) float32 {
	var sum [1]float32
	simd.GemmDot(isa, 1, 1, len(x), 1, x, len(x), y, len(x), sum[:], 1)
	return sum[0]
}

// SharedVec is fill again and again, at most NormElements times.
type SharedVec struct {
	fill float32
	Vec  atomic.Pointer[[]float32]
}

var SharedOnes, SharedZeros = SharedVec{fill: 1}, SharedVec{fill: 0}

// of is n elements of it.
func (s *SharedVec) of(n int) []float32 {
	if v := s.Vec.Load(); v != nil && len(*v) >= n {
		return (*v)[:n]
	}
	v := make([]float32, n)
	mem.Fill(v, s.fill)
	s.Vec.Store(&v)
	return v
}

// orNil is v, or where v is nil n elements of it. It stays nil where rows are longer than it: they are
// worked on in pieces.
func (s *SharedVec) orNil(v []float32, n int) []float32 {
	if v != nil || n > NormElements {
		return v
	}
	return s.of(n)
}

// piece is elements [from, to) of a weight or bias, at most SumElements, or of one that is nil.
func (s *SharedVec) piece(v []float32, from, to int) []float32 {
	if v == nil {
		return s.of(SumElements)[:to-from]
	}
	return v[from:to]
}
