package transformer

import "github.com/avoformer/avoformer/kernels"

// Reading the rows that a cache holds, the heads' keys or values.

// readBy makes a call read the keys and values of its sequences, the first of which is sequence i:
// where they lie, unless they are narrow and the caller needs them wide.
func (l *LayerCache) readBy(ws *Workspace, call *kernels.AttentionParams, i int, wide bool) {
	s := l.strides()
	call.KStrides, call.VStrides = s, s
	k, v := l.key.Floats(), l.value.Floats()
	switch {
	case k != nil:
		call.K, call.V = k[i*s.Batch:], v[i*s.Batch:]
	case wide:
		call.K, call.V = l.widened(ws, l.key, i, call.Batch, call.LenK), l.widened(ws, l.value, i, call.Batch, call.LenK)
	default:
		call.KRows, call.VRows = l.key.From(i*s.Batch), l.value.From(i*s.Batch)
	}
}

// widened is n sequences of x from sequence i on as float32, where strides says, of as many rows
// as each has.
func (l *LayerCache) widened(ws *Workspace, x *kernels.Rows, i, n, rows int) []float32 {
	s := l.strides()
	wide := ws.Alloc(n * s.Batch)
	for h := range n * l.heads {
		readRows(x, wide[h*s.Head:][:rows*l.headDim], i*s.Batch+h*s.Head)
	}
	return wide
}

// readRows sets dst to the rows of x from element i on.
func readRows(x *kernels.Rows, dst []float32, i int) {
	for p := 0; p < len(dst); p += x.Dim() {
		x.Row(dst[p:p+x.Dim()], i+p)
	}
}
