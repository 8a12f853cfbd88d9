package product

import (
	"sync"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// This file has feed-forward networks of int8: consecutive products whose hidden values never leave
// a core's own caches.

// FeedForward is a call of kernels.FeedForward with checked arguments: no size is 0.
type FeedForward struct {
	Rows           int
	X              []float32
	LdX            int
	Gate, Up, Down *weights.Matrix // Gate may be nil
	GateBias       []float32
	UpBias         []float32
	Activation     Activation // activation of the gate, or of Up without a gate
	DownEnd        Epilogue
	Dst            []float32
	LdDst          int
}

// hidden has the buffers of a running band of rows.
type hidden struct {
	x, down  weights.RowsOfA
	gate, up []float32 // of the current rows
	apart    int       // elements from one of these rows to the next
	call     call
}

var hiddens = sync.Pool{New: func() any { return new(hidden) }}

// bandUnit divides the number of rows of a band, and bandRows is the largest number: the band's
// hidden values, as integers, stay in the second-level cache. Threads compute runs of parts of
// partRows rows, for which reading all matrices is worth it.
const (
	bandUnit = 32
	bandRows = 512
	partRows = 64
)

// Run computes the network on up to t threads, each of which computes bands of rows through all
// products.
func (f *FeedForward) Run(t int) {
	work := f.Up.K * f.Up.N
	if f.Gate != nil {
		work *= 2
	}
	work = (work + f.Down.K*f.Down.N) / 4 * max(f.Rows, 4) // an instruction computes four times the number of multiply-adds
	parts := (f.Rows + partRows - 1) / partRows
	if !worthThreads(t, work) {
		f.Do(0, parts)
		return
	}
	par.Run(par.Most(t, nanoseconds(work)), parts, f)
}

// Do implements par.Task: neighbouring parts are bands of rows.
func (f *FeedForward) Do(from, to int) {
	h := hiddens.Get().(*hidden)
	from, to = from*partRows, min(to*partRows, f.Rows)
	for rows := order.Evenly(to-from, bandRows, bandUnit); from < to; from += rows {
		f.band(h, from, min(from+rows, to))
	}
	h.call = call{}
	hiddens.Put(h)
}

// band computes rows [from, to). A few of the rows at a time have hidden values in float32, which
// are converted to integers immediately. When all are converted, the last product multiplies them:
// each matrix stays in a cache while the band's rows are multiplied by it.
func (f *FeedForward) band(h *hidden, from, to int) {
	rows := order.Evenly(to-from, tune.Used.Gemm.Int8Rows, bandUnit)
	h.apart = f.Up.N + 16 // rows a multiple of 4 KiB apart would evict each other from the first-level cache
	h.up = mem.Grow(h.up, rows*h.apart)
	if f.Gate != nil {
		h.gate = mem.Grow(h.gate, rows*h.apart)
	}
	h.down.Hold(f.Down, to-from)
	for i := from; i < to; i += rows {
		n := min(rows, to-i)
		f.raise(h, i, n)
		h.down.Fill(f.Down, i-from, h.up, h.apart, n)
	}
	h.multiply(f.Down, &h.down, to-from, f.Dst[from*f.LdDst:], f.LdDst, f.DownEnd.from(from, 0))
}

// raise computes the hidden values of n rows, beginning with row i.
func (f *FeedForward) raise(h *hidden, i, n int) {
	x := f.X[i*f.LdX:]
	h.x.Quantize(f.Up, x, f.LdX, n)
	up := Epilogue{Bias: f.UpBias}
	if f.Gate == nil {
		up.Activation = f.Activation
	}
	h.multiply(f.Up, &h.x, n, h.up, h.apart, up)
	if f.Gate == nil {
		return
	}
	if !f.Gate.Balanced(f.Up) {
		h.x.Quantize(f.Gate, x, f.LdX, n)
	}
	h.multiply(f.Gate, &h.x, n, h.gate, h.apart, Epilogue{Bias: f.GateBias, Activation: f.Activation})
	for r := range n {
		up := h.up[r*h.apart:][:f.Up.N]
		simd.MulVec(f.Up.Record.ISA, up, up, h.gate[r*h.apart:][:f.Up.N])
	}
}

// multiply sets m rows of c to the product of a, rows of integers, and b.
func (h *hidden) multiply(b *weights.Matrix, a *weights.RowsOfA, m int, c []float32, ldc int, ep Epilogue) {
	g := &h.call
	*g = call{isa: b.Record.ISA, batch: 1, prepared: a, ep: ep}
	g.set(m, b.N, b.K, 1, nil, 0, 0, c, ldc)
	g.b.packed = b
	g.way = integers
	g.mr, g.nr = b.Record.MR, b.Record.NR
	g.planLoops()
	g.block(0, 0, 0, m, b.N)
}
