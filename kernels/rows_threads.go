package kernels

// The row kernels on several threads. Rows, and elements of elementwise
// functions, are computed alone, so results do not depend on how they are
// handed out.

// threadElements is how many elements a part of a parallel call has at least:
// some microseconds' work, several times what it costs to hand it out.
const threadElements = 1 << 14

// split calls f for runs of units that together cover [0, n), each of about
// threadElements elements; small calls are serial.
func (t Threads) split(n, unitElements int, f func(from, to int)) {
	step := max(1, threadElements/max(unitElements, 1))
	parts := (n + step - 1) / step
	if t <= 1 || parts <= 1 {
		f(0, n)
		return
	}
	parallel(t, parts, taskFunc(func(i, j int) { f(i*step, min(j*step, n)) }))
}

// Softmax is [Softmax] on t threads.
func (t Threads) Softmax(dst, x []float32, rows, cols int) {
	const fn = "Softmax"
	n := mulLen(fn, rows, cols)
	checkLen(fn, "dst", len(dst), n, "rows*cols")
	checkLen(fn, "x", len(x), n, "rows*cols")
	t.split(rows, cols, func(from, to int) {
		Softmax(dst[from*cols:to*cols], x[from*cols:to*cols], to-from, cols)
	})
}

// LogSoftmax is [LogSoftmax] on t threads.
func (t Threads) LogSoftmax(dst, x []float32, rows, cols int) {
	const fn = "LogSoftmax"
	n := mulLen(fn, rows, cols)
	checkLen(fn, "dst", len(dst), n, "rows*cols")
	checkLen(fn, "x", len(x), n, "rows*cols")
	t.split(rows, cols, func(from, to int) {
		LogSoftmax(dst[from*cols:to*cols], x[from*cols:to*cols], to-from, cols)
	})
}

// LayerNorm is [LayerNorm] on t threads.
func (t Threads) LayerNorm(dst, x []float32, rows, cols int, weight, bias []float32, eps float32) {
	const fn = "LayerNorm"
	n := mulLen(fn, rows, cols)
	checkLen(fn, "dst", len(dst), n, "rows*cols")
	checkLen(fn, "x", len(x), n, "rows*cols")
	weight = affineVec(fn, "weight", weight, cols, &sharedOnes, 1)
	bias = affineVec(fn, "bias", bias, cols, &sharedZeros, 0)
	t.split(rows, cols, func(from, to int) {
		LayerNorm(dst[from*cols:to*cols], x[from*cols:to*cols], to-from, cols, weight, bias, eps)
	})
}

// AddLayerNorm is [AddLayerNorm] on t threads.
func (t Threads) AddLayerNorm(dst, sum, x, residual []float32, rows, cols int, weight, bias []float32, eps float32) {
	const fn = "AddLayerNorm"
	n := mulLen(fn, rows, cols)
	checkLen(fn, "dst", len(dst), n, "rows*cols")
	if sum == nil {
		sum = dst
	}
	checkLen(fn, "sum", len(sum), n, "rows*cols")
	checkLen(fn, "x", len(x), n, "rows*cols")
	checkLen(fn, "residual", len(residual), n, "rows*cols")
	weight = affineVec(fn, "weight", weight, cols, &sharedOnes, 1)
	bias = affineVec(fn, "bias", bias, cols, &sharedZeros, 0)
	t.split(rows, cols, func(from, to int) {
		i, j := from*cols, to*cols
		AddLayerNorm(dst[i:j], sum[i:j], x[i:j], residual[i:j], to-from, cols, weight, bias, eps)
	})
}

// RMSNorm is [RMSNorm] on t threads.
func (t Threads) RMSNorm(dst, x []float32, rows, cols int, weight []float32, eps float32) {
	const fn = "RMSNorm"
	n := mulLen(fn, rows, cols)
	checkLen(fn, "dst", len(dst), n, "rows*cols")
	checkLen(fn, "x", len(x), n, "rows*cols")
	weight = affineVec(fn, "weight", weight, cols, &sharedOnes, 1)
	t.split(rows, cols, func(from, to int) {
		RMSNorm(dst[from*cols:to*cols], x[from*cols:to*cols], to-from, cols, weight, eps)
	})
}

// GELU is [GELU] on t threads.
func (t Threads) GELU(dst, x []float32) {
	checkLen("GELU", "dst", len(dst), len(x), "len(x)")
	t.split(len(x), 1, func(from, to int) { GELU(dst[from:to], x[from:to]) })
}

// GELUTanh is [GELUTanh] on t threads.
func (t Threads) GELUTanh(dst, x []float32) {
	checkLen("GELUTanh", "dst", len(dst), len(x), "len(x)")
	t.split(len(x), 1, func(from, to int) { GELUTanh(dst[from:to], x[from:to]) })
}

// SiLU is [SiLU] on t threads.
func (t Threads) SiLU(dst, x []float32) {
	checkLen("SiLU", "dst", len(dst), len(x), "len(x)")
	t.split(len(x), 1, func(from, to int) { SiLU(dst[from:to], x[from:to]) })
}

// Exp is [Exp] on t threads.
func (t Threads) Exp(dst, x []float32) {
	checkLen("Exp", "dst", len(dst), len(x), "len(x)")
	t.split(len(x), 1, func(from, to int) { Exp(dst[from:to], x[from:to]) })
}
