package transformer

import "github.com/avoformer/avoformer/kernels"

// cacheRows are the rows that a cache holds, of the heads' keys or values: float32, or narrow.
type cacheRows struct {
	wide   []float32
	narrow *kernels.Rows
	dim    int
}

func newCacheRows(f kernels.Format, rows, dim int) cacheRows {
	if f == kernels.FormatF32 {
		return cacheRows{wide: make([]float32, rows*dim), dim: dim}
	}
	return cacheRows{narrow: kernels.NewRows(f, rows, dim), dim: dim}
}

// set sets the row at element i.
func (r cacheRows) set(i int, x []float32) {
	if r.narrow != nil {
		r.narrow.Set(i, x)
		return
	}
	copy(r.wide[i:i+r.dim], x)
}

// read sets dst to the rows from element i on.
func (r cacheRows) read(dst []float32, i int) {
	if r.narrow == nil {
		copy(dst, r.wide[i:])
		return
	}
	for p := 0; p < len(dst); p += r.dim {
		r.narrow.Row(dst[p:p+r.dim], i+p)
	}
}

// copy copies n rows of x from element from on to those from element to on.
func (r cacheRows) copy(to int, x cacheRows, from, n int) {
	if r.narrow != nil {
		r.narrow.Copy(to, x.narrow, from, n)
		return
	}
	copy(r.wide[to:to+n*r.dim], x.wide[from:])
}

// readBy makes a call read the keys and values of its sequences, the first of which is sequence i:
// where they lie, unless they are narrow and the caller needs them wide.
func (l *LayerCache) readBy(ws *Workspace, call *kernels.AttentionParams, i int, wide bool) {
	s := l.strides()
	call.KStrides, call.VStrides = s, s
	switch {
	case l.key.narrow == nil:
		call.K, call.V = l.key.wide[i*s.Batch:], l.value.wide[i*s.Batch:]
	case wide:
		call.K, call.V = l.widened(ws, l.key, i, call.Batch, call.LenK), l.widened(ws, l.value, i, call.Batch, call.LenK)
	default:
		call.KRows, call.VRows = l.key.narrow.From(i*s.Batch), l.value.narrow.From(i*s.Batch)
	}
}

// widened is n sequences of x from sequence i on as float32, where strides says, of as many rows
// as each has.
func (l *LayerCache) widened(ws *Workspace, x cacheRows, i, n, rows int) []float32 {
	s := l.strides()
	wide := ws.Alloc(n * s.Batch)
	for h := range n * l.heads {
		x.read(wide[h*s.Head:][:rows*l.headDim], i*s.Batch+h*s.Head)
	}
	return wide
}
