package kernels

import (
	"sync"

	"github.com/avoformer/avoformer/kernels/internal/par"
)

// The row kernels on several threads. Rows, elements of elementwise functions,
// and blocks of the long rows of a softmax are computed alone, so results do not
// depend on how they are handed out.

// threadElements is how many elements a part of a parallel call has about: some
// microseconds' work, several times what it costs to hand it out. A call with
// fewer than two parts is serial.
const threadElements = 1 << 14

// alone reports whether a call on t threads with so many rows is serial. One with
// wrong sizes is, and the serial function complains.
func (t Threads) alone(rows, cols int) bool {
	return t <= 1 || rows <= 1 || cols <= 0 || float64(rows)*float64(cols) < 2*threadElements
}

// rowCall is a call of a row kernel, or of an elementwise function as rows of
// one element: its arguments, and do for the rows [from, to).
type rowCall struct {
	rows             func(c *rowCall, from, to int)
	dst, sum, x, y   []float32
	weight, bias     []float32
	mask             SoftmaxMask
	eps, alpha       float32
	unary            func(dst, x []float32)
	binary           func(dst, x, y []float32)
	n, cols, perPart int
	stream           bool
}

var rowCalls = sync.Pool{New: func() any { return new(rowCall) }}

// split runs a checked call on t threads.
func (t Threads) split(n, cols int, call rowCall) {
	c := rowCalls.Get().(*rowCall)
	*c = call
	c.n, c.cols = n, cols
	c.perPart = max(1, threadElements/cols)
	par.Run(int(t), (n+c.perPart-1)/c.perPart, c)
	*c = rowCall{}
	rowCalls.Put(c)
}

// Do implements par.Task.
func (c *rowCall) Do(from, to int) { c.rows(c, from*c.perPart, min(to*c.perPart, c.n)) }

// at is the rows [from, to) of a matrix of the call.
func (c *rowCall) at(x []float32, from, to int) []float32 { return x[from*c.cols : to*c.cols] }

// checkRows panics unless dst and x are rows x cols.
func checkRows(fn string, dst, x []float32, rows, cols int) {
	n := mulLen(fn, rows, cols)
	checkLen(fn, "dst", len(dst), n, "rows*cols")
	checkLen(fn, "x", len(x), n, "rows*cols")
}

// Softmax is [Softmax] on t threads.
func (t Threads) Softmax(dst, x []float32, rows, cols int) {
	if t.cuts(rows, cols) {
		checkRows("Softmax", dst, x, rows, cols)
		for r := range rows {
			t.softmaxLongRow(dst[r*cols:][:cols], x[r*cols:][:cols])
		}
		return
	}
	if t.alone(rows, cols) {
		Softmax(dst, x, rows, cols)
		return
	}
	checkRows("Softmax", dst, x, rows, cols)
	t.split(rows, cols, rowCall{dst: dst, x: x, stream: streamed(dst, x), rows: func(c *rowCall, i, j int) {
		softmax(c.at(c.dst, i, j), c.at(c.x, i, j), j-i, c.cols, c.stream)
	}})
}

// LogSoftmax is [LogSoftmax] on t threads.
func (t Threads) LogSoftmax(dst, x []float32, rows, cols int) {
	if t.cuts(rows, cols) {
		checkRows("LogSoftmax", dst, x, rows, cols)
		for r := range rows {
			t.logSoftmaxLongRow(dst[r*cols:][:cols], x[r*cols:][:cols])
		}
		return
	}
	if t.alone(rows, cols) {
		LogSoftmax(dst, x, rows, cols)
		return
	}
	checkRows("LogSoftmax", dst, x, rows, cols)
	t.split(rows, cols, rowCall{dst: dst, x: x, rows: func(c *rowCall, i, j int) {
		LogSoftmax(c.at(c.dst, i, j), c.at(c.x, i, j), j-i, c.cols)
	}})
}

// MaskedSoftmax is [MaskedSoftmax] on t threads.
func (t Threads) MaskedSoftmax(dst, x []float32, rows, cols int, mask SoftmaxMask) {
	if t.alone(rows, cols) {
		MaskedSoftmax(dst, x, rows, cols, mask)
		return
	}
	mask.check("MaskedSoftmax", dst, x, rows, cols)
	t.split(rows, cols, rowCall{dst: dst, x: x, mask: mask, rows: func(c *rowCall, i, j int) {
		MaskedSoftmax(c.at(c.dst, i, j), c.at(c.x, i, j), j-i, c.cols, c.mask.rows(i, j, c.cols))
	}})
}

// LayerNorm is [LayerNorm] on t threads.
func (t Threads) LayerNorm(dst, x []float32, rows, cols int, weight, bias []float32, eps float32) {
	if t.alone(rows, cols) {
		LayerNorm(dst, x, rows, cols, weight, bias, eps)
		return
	}
	checkRows("LayerNorm", dst, x, rows, cols)
	weight = affineVec("LayerNorm", "weight", weight, cols, &sharedOnes, 1)
	bias = affineVec("LayerNorm", "bias", bias, cols, &sharedZeros, 0)
	t.split(rows, cols, rowCall{dst: dst, x: x, weight: weight, bias: bias, eps: eps, stream: streamed(dst, x), rows: func(c *rowCall, i, j int) {
		layerNorm(c.at(c.dst, i, j), c.at(c.x, i, j), j-i, c.cols, c.weight, c.bias, c.eps, c.stream)
	}})
}

// AddLayerNorm is [AddLayerNorm] on t threads.
func (t Threads) AddLayerNorm(dst, sum, x, residual []float32, rows, cols int, weight, bias []float32, eps float32) {
	if t.alone(rows, cols) {
		AddLayerNorm(dst, sum, x, residual, rows, cols, weight, bias, eps)
		return
	}
	const fn = "AddLayerNorm"
	checkRows(fn, dst, x, rows, cols)
	if sum == nil {
		sum = dst
	}
	checkLen(fn, "sum", len(sum), len(dst), "rows*cols")
	checkLen(fn, "residual", len(residual), len(dst), "rows*cols")
	weight = affineVec(fn, "weight", weight, cols, &sharedOnes, 1)
	bias = affineVec(fn, "bias", bias, cols, &sharedZeros, 0)
	t.split(rows, cols, rowCall{dst: dst, sum: sum, x: x, y: residual, weight: weight, bias: bias, eps: eps, rows: func(c *rowCall, i, j int) {
		AddLayerNorm(c.at(c.dst, i, j), c.at(c.sum, i, j), c.at(c.x, i, j), c.at(c.y, i, j), j-i, c.cols, c.weight, c.bias, c.eps)
	}})
}

// RMSNorm is [RMSNorm] on t threads.
func (t Threads) RMSNorm(dst, x []float32, rows, cols int, weight []float32, eps float32) {
	if t.alone(rows, cols) {
		RMSNorm(dst, x, rows, cols, weight, eps)
		return
	}
	checkRows("RMSNorm", dst, x, rows, cols)
	weight = affineVec("RMSNorm", "weight", weight, cols, &sharedOnes, 1)
	t.split(rows, cols, rowCall{dst: dst, x: x, weight: weight, eps: eps, rows: func(c *rowCall, i, j int) {
		RMSNorm(c.at(c.dst, i, j), c.at(c.x, i, j), j-i, c.cols, c.weight, c.eps)
	}})
}

// elements runs an elementwise function of one input on t threads.
func (t Threads) elements(fn string, f func(dst, x []float32), dst, x []float32) {
	checkLen(fn, "dst", len(dst), len(x), "len(x)")
	t.split(len(x), 1, rowCall{dst: dst, x: x, unary: f, rows: func(c *rowCall, i, j int) { c.unary(c.dst[i:j], c.x[i:j]) }})
}

// Exp is [Exp] on t threads.
func (t Threads) Exp(dst, x []float32) {
	if t.alone(len(x), 1) {
		Exp(dst, x)
		return
	}
	t.elements("Exp", Exp, dst, x)
}

// ReLU is [ReLU] on t threads.
func (t Threads) ReLU(dst, x []float32) {
	if t.alone(len(x), 1) {
		ReLU(dst, x)
		return
	}
	t.elements("ReLU", ReLU, dst, x)
}

// GELU is [GELU] on t threads.
func (t Threads) GELU(dst, x []float32) {
	if t.alone(len(x), 1) {
		GELU(dst, x)
		return
	}
	t.elements("GELU", GELU, dst, x)
}

// GELUTanh is [GELUTanh] on t threads.
func (t Threads) GELUTanh(dst, x []float32) {
	if t.alone(len(x), 1) {
		GELUTanh(dst, x)
		return
	}
	t.elements("GELUTanh", GELUTanh, dst, x)
}

// SiLU is [SiLU] on t threads.
func (t Threads) SiLU(dst, x []float32) {
	if t.alone(len(x), 1) {
		SiLU(dst, x)
		return
	}
	t.elements("SiLU", SiLU, dst, x)
}

// Sigmoid is [Sigmoid] on t threads.
func (t Threads) Sigmoid(dst, x []float32) {
	if t.alone(len(x), 1) {
		Sigmoid(dst, x)
		return
	}
	t.elements("Sigmoid", Sigmoid, dst, x)
}

// Tanh is [Tanh] on t threads.
func (t Threads) Tanh(dst, x []float32) {
	if t.alone(len(x), 1) {
		Tanh(dst, x)
		return
	}
	t.elements("Tanh", Tanh, dst, x)
}

// Erf is [Erf] on t threads.
func (t Threads) Erf(dst, x []float32) {
	if t.alone(len(x), 1) {
		Erf(dst, x)
		return
	}
	t.elements("Erf", Erf, dst, x)
}

// pairs runs an elementwise function of two inputs on t threads.
func (t Threads) pairs(fn string, f func(dst, a, b []float32), dst, a, b []float32) {
	checkLen(fn, "b", len(b), len(a), "len(a)")
	checkLen(fn, "dst", len(dst), len(a), "len(a)")
	t.split(len(a), 1, rowCall{dst: dst, x: a, y: b, binary: f, rows: func(c *rowCall, i, j int) { c.binary(c.dst[i:j], c.x[i:j], c.y[i:j]) }})
}

// Add is [Add] on t threads.
func (t Threads) Add(dst, a, b []float32) {
	if t.alone(len(a), 1) {
		Add(dst, a, b)
		return
	}
	t.pairs("Add", Add, dst, a, b)
}

// Mul is [Mul] on t threads.
func (t Threads) Mul(dst, a, b []float32) {
	if t.alone(len(a), 1) {
		Mul(dst, a, b)
		return
	}
	t.pairs("Mul", Mul, dst, a, b)
}

// Scale is [Scale] on t threads.
func (t Threads) Scale(dst, x []float32, alpha float32) {
	if t.alone(len(x), 1) {
		Scale(dst, x, alpha)
		return
	}
	checkLen("Scale", "dst", len(dst), len(x), "len(x)")
	t.split(len(x), 1, rowCall{dst: dst, x: x, alpha: alpha, rows: func(c *rowCall, i, j int) { Scale(c.dst[i:j], c.x[i:j], c.alpha) }})
}

// AXPY is [AXPY] on t threads.
func (t Threads) AXPY(alpha float32, x, y []float32) {
	if t.alone(len(x), 1) {
		AXPY(alpha, x, y)
		return
	}
	checkLen("AXPY", "y", len(y), len(x), "len(x)")
	t.split(len(x), 1, rowCall{dst: y, x: x, alpha: alpha, rows: func(c *rowCall, i, j int) { AXPY(c.alpha, c.x[i:j], c.dst[i:j]) }})
}
