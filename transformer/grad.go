package transformer

import "github.com/avoformer/avoformer/kernels"

// AttentionGradients receives the gradients of a loss, for interpretability:
// how the loss changes with each attention weight, and with what led to it.
// Slices that are nil are not computed.
type AttentionGradients struct {
	// Weights and Scores are the gradients with respect to the attention weights,
	// before a head mask, and to the scaled and masked scores before softmax.
	// Both are [B, heads, L, keys] as AttentionInput has them.
	Weights, Scores []float32
	// Query, Key and Value are the gradients with respect to the fields of
	// AttentionInput of these names. For self-attention, Query is that of all
	// three together, and the others must be nil.
	Query, Key, Value []float32
}

// Backward computes the gradients of a loss whose gradient with respect to the
// result of Forward(ws, dst, in) is out, [rows, OutDim].
func (a *MultiHeadAttention) Backward(ws *Workspace, g AttentionGradients, in AttentionInput, out []float32) error {
	rows, dim, kvDim := in.Batch.Rows(), a.Heads*a.HeadDim, a.KVHeads*a.HeadDim
	if err := checkLen("attention: gradient", out, rows*a.OutDim, "rows*out dim"); err != nil {
		return err
	}
	inputs := g.Query != nil || g.Key != nil || g.Value != nil
	if inputs && (a.Rotary != nil || a.Relative != nil) {
		return errorf(ErrConfig, "gradients of inputs through rotary or relative positions")
	}
	if a.SoftCap > 0 {
		return errorf(ErrConfig, "gradients of capped scores")
	}
	defer ws.Release(ws.Mark())

	// The forward pass again, for queries, keys, values and weights.
	quiet := Workspace{Threads: ws.Threads}
	var p projected
	var err error
	self := in.Key == nil
	if self {
		p, err = a.projectSelf(&quiet, &in, nil)
	} else {
		p, err = a.projectCross(&quiet, &in, nil)
	}
	if err != nil {
		return err
	}
	keys := in.KeyBatch.Rows()
	if in.KeyBatch.Len() != in.Batch.Len() {
		return errorf(ErrShape, "gradients with %d sequences of queries, %d of keys", in.Batch.Len(), in.KeyBatch.Len())
	}
	n := a.weightsLen(in, p)
	for _, c := range []struct {
		name string
		x    []float32
		want int
	}{{"weights", g.Weights, n}, {"scores", g.Scores, n}, {"query", g.Query, rows * a.Dim}, {"key", g.Key, keys * a.KeyWidth}, {"value", g.Value, keys * a.ValueWidth}} {
		if c.x != nil {
			if err := checkLen("gradient of "+c.name, c.x, c.want, "as in the input"); err != nil {
				return err
			}
		}
	}
	if self && (g.Key != nil || g.Value != nil) {
		return errorf(ErrShape, "gradients of keys and values of self-attention are part of the query's")
	}
	in.Weights, in.Scores = ws.Alloc(n), nil
	if err := a.core().attend(ws, ws.Alloc(rows*dim), p, in, a.Relative); err != nil {
		return err
	}

	context := out // gradient of the heads' concatenation, [rows, heads*hd]
	if a.Out != nil {
		context = ws.Alloc(rows * dim)
		if err := a.Out.Backward(context, out); err != nil {
			return err
		}
	}
	dq, dk, dv := ws.Alloc(rows*dim), ws.Alloc(keys*kvDim), ws.Alloc(keys*kvDim)
	clear(dk)
	clear(dv)
	captured := 0
	for b := range in.Batch.Len() {
		q0, k0 := in.Batch.Start(b), in.KeyBatch.Start(b)
		lenQ, lenK := in.Batch.Length(b), in.KeyBatch.Length(b)
		if lenQ == 0 || lenK == 0 {
			continue
		}
		for h := range a.Heads {
			at, size := captured, lenQ*lenK
			captured += size
			w := in.Weights[at : at+size] // [lenQ, lenK]
			kv := h / (a.Heads / a.KVHeads) * a.HeadDim
			q, k, v := p.q[q0*p.qRow+h*a.HeadDim:], p.k[k0*p.kRow+kv:], p.v[k0*p.vRow+kv:]
			dc := context[q0*dim+h*a.HeadDim:]
			mask := float32(1)
			if in.HeadMask != nil {
				mask = in.HeadMask[h]
			}
			// dW = headMask * dC·Vᵀ,  dV += headMask * Wᵀ·dC
			dw := ws.Alloc(size)
			kernels.Gemm(kernels.NoTrans, kernels.Trans, lenQ, lenK, a.HeadDim, mask, dc, dim, v, p.vRow, 0, dw, lenK)
			kernels.Gemm(kernels.Trans, kernels.NoTrans, lenK, a.HeadDim, lenQ, mask, w, lenK, dc, dim, 1, dv[k0*kvDim+kv:], kvDim)
			if g.Weights != nil {
				copy(g.Weights[at:], dw)
			}
			// dS = W * (dW - sum(W*dW)), the gradient through softmax
			for i := range lenQ {
				row, dRow := w[i*lenK:(i+1)*lenK], dw[i*lenK:(i+1)*lenK]
				dot := 0.0
				for j, x := range row {
					dot += float64(x) * float64(dRow[j])
				}
				for j, x := range row {
					dRow[j] = x * (dRow[j] - float32(dot))
				}
			}
			if g.Scores != nil {
				copy(g.Scores[at:], dw)
			}
			// dQ = scale * dS·K,  dK += scale * dSᵀ·Q
			kernels.Gemm(kernels.NoTrans, kernels.NoTrans, lenQ, a.HeadDim, lenK, a.Scale, dw, lenK, k, p.kRow, 0, dq[q0*dim+h*a.HeadDim:], dim)
			kernels.Gemm(kernels.Trans, kernels.NoTrans, lenK, a.HeadDim, lenQ, a.Scale, dw, lenK, q, p.qRow, 1, dk[k0*kvDim+kv:], kvDim)
		}
	}
	if !inputs {
		return nil
	}
	if a.QKV != nil { // the three side by side, as the projection made them
		all := ws.Alloc(rows * a.QKV.Out)
		for r := range rows {
			row := all[r*a.QKV.Out:]
			copy(row, dq[r*dim:(r+1)*dim])
			copy(row[dim:], dk[r*kvDim:(r+1)*kvDim])
			copy(row[dim+kvDim:], dv[r*kvDim:(r+1)*kvDim])
		}
		return a.QKV.Backward(g.Query, all)
	}
	for _, c := range []struct {
		dst, dy []float32
		l       *Linear
	}{{g.Query, dq, a.Query}, {g.Key, dk, a.Key}, {g.Value, dv, a.Value}} {
		if c.dst == nil {
			continue
		}
		if err := c.l.Backward(c.dst, c.dy); err != nil {
			return err
		}
	}
	if self {
		for _, c := range []struct {
			dy []float32
			l  *Linear
		}{{dk, a.Key}, {dv, a.Value}} {
			dx := ws.Alloc(len(g.Query))
			if err := c.l.Backward(dx, c.dy); err != nil {
				return err
			}
			addTo(g.Query, dx)
		}
	}
	return nil
}

// Backward sets dx, [rows, In], to the gradient of a loss with respect to the
// layer's input; dy, [rows, Out], is that with respect to its output.
func (l *Linear) Backward(dx, dy []float32) error {
	rows := len(dy) / l.Out
	if err := checkLen("linear layer: gradient", dy, rows*l.Out, "rows*out"); err != nil {
		return err
	}
	if err := checkLen("linear layer: dst", dx, rows*l.In, "rows*in"); err != nil {
		return err
	}
	kernels.Gemm(kernels.NoTrans, kernels.NoTrans, rows, l.In, l.Out, 1, dy, l.Out, l.Weight(), l.In, 0, dx, l.In)
	return nil
}

// Backward sets dx to the gradient of a loss with respect to x, the
// normalization's input; dy is that with respect to its output. dx may be dy.
func (n *Norm) Backward(dx, x, dy []float32) error {
	rows := len(x) / n.size
	for _, s := range [][]float32{x, dx, dy} {
		if err := checkLen("normalization: gradient", s, rows*n.size, "a multiple of the shape"); err != nil {
			return err
		}
	}
	for r := range rows {
		from, to := r*n.size, (r+1)*n.size
		normBackward(dx[from:to], x[from:to], dy[from:to], n)
	}
	return nil
}
