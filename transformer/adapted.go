package transformer

import "github.com/avoformer/avoformer/kernels"

// Adapters that stay beside the weights: each sequence of a pass has its own, or none (Chen et al. 2023, "Punica: Multi-Tenant
// LoRA Serving").

// multiplyAdapted is multiply where rows have adapters. Rows without one get the bits that they would get without the others.
func (l *Linear) multiplyAdapted(ws *Workspace, rows int, dst []float32, ldDst int, x []float32, ldX int, activation kernels.Activation, residual []float32) {
	defer ws.Release(ws.Mark())
	ep := kernels.Epilogue{Bias: l.Bias, Residual: residual, LdResidual: l.Out}
	if activation == kernels.ActIdentity {
		ws.Threads.GemmPacked(rows, 1, x, ldX, l.weight.For(rows), 0, dst, ldDst, ep)
		l.addAdapters(ws, rows, dst, ldDst, x, ldX)
		return
	}
	sum := ws.Alloc(rows * l.Out) // of the products, before the activation: [rows, Out]
	clear(sum)
	l.addAdapters(ws, rows, sum, l.Out, x, ldX)
	ep.Activation = activation
	ws.Threads.GemmPacked(rows, 1, x, ldX, l.weight.For(rows), 1, sum, l.Out, ep)
	for r := range rows {
		copy(dst[r*ldDst:][:l.Out], sum[r*l.Out:])
	}
}

// addAdapters adds to dst what the rows' adapters do.
func (l *Linear) addAdapters(ws *Workspace, rows int, dst []float32, ldDst int, x []float32, ldX int) {
	for _, run := range ws.adapted {
		from, to := max(run.from-ws.row, 0), min(run.to-ws.row, rows)
		for i := range l.weight.Beside {
			b := &l.weight.Beside[i]
			if b.Adapter != run.adapter || from >= to {
				continue
			}
			mark, n := ws.Mark(), to-from
			low := ws.Alloc(n * b.Rank) // [n, Rank]
			ws.Threads.GemmPacked(n, b.Scale, x[from*ldX:], ldX, b.Right, 0, low, b.Rank, kernels.Epilogue{})
			ws.Threads.GemmPacked(n, 1, low, b.Rank, b.Left, 1, dst[from*ldDst+b.From:], ldDst, kernels.Epilogue{})
			ws.Release(mark)
		}
	}
}
