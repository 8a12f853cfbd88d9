package classic

import (
	"math"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// This file has the gradients of attention that interpretability asks for.

// AttentionGradients receives the gradients of a loss: how it changes with each attention weight,
// and with what led to it. Slices that are nil are not computed.
type AttentionGradients struct {
	// Weights and Scores are the gradients with respect to the attention weights, before a head
	// mask, and to the scaled and masked scores before softmax. Both are [B, heads, L, keys] as
	// AttentionInput has them.
	Weights, Scores []float32
	// Query, Key and Value are the gradients with respect to the fields of AttentionInput of these
	// names. For self-attention, Query is that of all three together, and the others must be nil.
	Query, Key, Value []float32
}

// AttentionBackward computes the gradients of a loss whose gradient with respect to the result of
// a.Forward(ws, dst, in, nil) is out, [rows, OutDim].
func AttentionBackward(ws *transformer.Workspace, a *transformer.MultiHeadAttention, g AttentionGradients, in transformer.AttentionInput, out []float32) error {
	inputs := g.Query != nil || g.Key != nil || g.Value != nil
	switch {
	case inputs && (a.Rotary != nil || a.Relative != nil || a.QueryNorm != nil):
		return check.Errorf(fault.ErrConfig, "gradients of inputs through normalized heads, rotary or relative positions")
	case a.SoftCap > 0:
		return check.Errorf(fault.ErrConfig, "gradients of capped scores")
	}
	self := in.Key == nil
	if self {
		in.KeyBatch = in.Batch
		if g.Key != nil || g.Value != nil {
			return check.Errorf(fault.ErrShape, "gradients of keys and values of self-attention are part of the query's")
		}
	}
	if in.KeyBatch.Len() != in.Batch.Len() {
		return check.Errorf(fault.ErrShape, "gradients with %d sequences of queries, %d of keys", in.Batch.Len(), in.KeyBatch.Len())
	}
	rows, keys := in.Batch.Rows(), in.KeyBatch.Rows()
	if err := check.Len("attention: gradient", out, rows*a.OutDim, "rows*out dim"); err != nil {
		return err
	}
	defer ws.Release(ws.Mark())
	p, err := forward(ws, a, in)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		x    []float32
		want int
	}{
		{"weights", g.Weights, len(p.weights)}, {"scores", g.Scores, len(p.weights)},
		{"query", g.Query, rows * a.Dim}, {"key", g.Key, keys * a.KeyWidth}, {"value", g.Value, keys * a.ValueWidth},
	} {
		if c.x != nil {
			if err := check.Len("gradient of "+c.name, c.x, c.want, "as in the input"); err != nil {
				return err
			}
		}
	}
	context := out // gradient of the heads' concatenation, [rows, heads*hd]
	if a.Out != nil {
		context = ws.Alloc(rows * a.Heads * a.HeadDim) // [rows, heads*hd]
		if err := linearBackward(a.Out, context, out); err != nil {
			return err
		}
	}
	d := p.backward(ws, a, g, in, context)
	if !inputs {
		return nil
	}
	return d.inputs(ws, a, g, self)
}

// projections are queries, [rows, heads*hd], keys and values, [key rows, kv heads*hd], or their
// gradients, and the attention weights.
type projections struct{ q, k, v, weights []float32 }

// forward computes the forward pass, and returns the values that it traced.
func forward(ws *transformer.Workspace, a *transformer.MultiHeadAttention, in transformer.AttentionInput) (p projections, err error) {
	traced := transformer.Workspace{Threads: ws.Threads, Trace: func(name string, values []float32, _ ...int) {
		to := map[string]*[]float32{"query": &p.q, "key": &p.k, "value": &p.v, "weights": &p.weights}[name[strings.LastIndexByte(name, '.')+1:]]
		if to != nil {
			*to = slices.Clone(values)
		}
	}}
	in.Weights, in.Scores, in.Residual = nil, nil, nil
	return p, a.Forward(&traced, ws.Alloc(in.Batch.Rows()*a.OutDim), in, nil) // [rows, out]
}

// backward returns the gradients of the projections, given that of the heads' concatenation.
func (p projections) backward(ws *transformer.Workspace, a *transformer.MultiHeadAttention, g AttentionGradients, in transformer.AttentionInput, context []float32) projections {
	dim, kvDim, hd := a.Heads*a.HeadDim, a.KVHeads*a.HeadDim, a.HeadDim
	d := projections{q: ws.Alloc(len(p.q)), k: ws.Alloc(len(p.k)), v: ws.Alloc(len(p.v))}
	clear(d.q)
	clear(d.k)
	clear(d.v)
	end := 0 // of the weights of a head
	for b := range in.Batch.Len() {
		q0, k0 := in.Batch.Start(b), in.KeyBatch.Start(b)
		lenQ, lenK := in.Batch.Length(b), in.KeyBatch.Length(b)
		if lenQ == 0 || lenK == 0 {
			continue
		}
		for h := range a.Heads {
			at := end
			end += lenQ * lenK
			w := p.weights[at:end] // [lenQ, lenK]
			q, kv := q0*dim+h*hd, k0*kvDim+h/(a.Heads/a.KVHeads)*hd
			mask := float32(1)
			if in.HeadMask != nil {
				mask = in.HeadMask[h]
			}
			// dW = headMask * dC·Vᵀ,  dV += headMask * Wᵀ·dC
			dw := ws.Alloc(len(w)) // [lenQ, lenK]
			kernels.Gemm(kernels.NoTrans, kernels.Trans, lenQ, lenK, hd, mask, context[q:], dim, p.v[kv:], kvDim, 0, dw, lenK)
			kernels.Gemm(kernels.Trans, kernels.NoTrans, lenK, hd, lenQ, mask, w, lenK, context[q:], dim, 1, d.v[kv:], kvDim)
			if g.Weights != nil {
				copy(g.Weights[at:], dw)
			}
			softmaxBackward(dw, w, lenK)
			if g.Scores != nil {
				copy(g.Scores[at:], dw)
			}
			// dQ = scale * dS·K,  dK += scale * dSᵀ·Q
			kernels.Gemm(kernels.NoTrans, kernels.NoTrans, lenQ, hd, lenK, a.Scale, dw, lenK, p.k[kv:], kvDim, 0, d.q[q:], dim)
			kernels.Gemm(kernels.Trans, kernels.NoTrans, lenK, hd, lenQ, a.Scale, dw, lenK, p.q[q:], dim, 1, d.k[kv:], kvDim)
		}
	}
	return d
}

// softmaxBackward turns dw, [rows, n], the gradient of what softmax gave, w, into that of what it
// was given: dS = W * (dW - sum(W*dW)).
func softmaxBackward(dw, w []float32, n int) {
	for ; len(w) > 0; w, dw = w[n:], dw[n:] {
		dot := 0.0
		for j, x := range w[:n] {
			dot += float64(x) * float64(dw[j])
		}
		for j, x := range w[:n] {
			dw[j] = x * (dw[j] - float32(dot))
		}
	}
}

// inputs sets the gradients of what was projected, given those of the projections.
func (d projections) inputs(ws *transformer.Workspace, a *transformer.MultiHeadAttention, g AttentionGradients, self bool) error {
	if a.QKV != nil { // the three side by side, as the projection made them
		dim, kvDim := a.Heads*a.HeadDim, a.KVHeads*a.HeadDim
		all := ws.Alloc(len(d.q) / dim * a.QKV.Out) // [rows, heads*hd + 2*kv heads*hd]
		for r := range len(d.q) / dim {
			row := all[r*a.QKV.Out:]
			copy(row, d.q[r*dim:(r+1)*dim])
			copy(row[dim:], d.k[r*kvDim:(r+1)*kvDim])
			copy(row[dim+kvDim:], d.v[r*kvDim:(r+1)*kvDim])
		}
		return linearBackward(a.QKV, g.Query, all) // [rows, D]
	}
	for _, c := range []struct {
		layer   *transformer.Linear
		dst, dy []float32
	}{{a.Query, g.Query, d.q}, {a.Key, g.Key, d.k}, {a.Value, g.Value, d.v}} {
		dst := c.dst
		if self {
			dst = ws.Alloc(len(g.Query)) // [rows, D]
		}
		if dst == nil {
			continue
		}
		if err := linearBackward(c.layer, dst, c.dy); err != nil {
			return err
		}
		switch {
		case self && c.layer == a.Query:
			copy(g.Query, dst)
		case self:
			addTo(g.Query, dst)
		}
	}
	return nil
}

// linearBackward sets dx, [rows, In], to the gradient of a loss with respect to a linear layer's
// input; dy, [rows, Out], is that with respect to its output.
func linearBackward(l *transformer.Linear, dx, dy []float32) error {
	rows := len(dy) / l.Out
	if err := check.Len("linear layer: gradient", dx, rows*l.In, "rows*in"); err != nil {
		return err
	}
	kernels.Gemm(kernels.NoTrans, kernels.NoTrans, rows, l.In, l.Out, 1, dy, l.Out, l.Weight(), l.In, 0, dx, l.In)
	return nil
}

// NormBackward sets dx to the gradient of a loss with respect to x, the input of a normalization;
// dy is that with respect to its output. dx may be dy. All three have the same number of elements,
// a multiple of that of n.Shape.
func NormBackward(n *transformer.Norm, dx, x, dy []float32) error {
	size := len(n.Weight)
	rows := len(x) / max(size, 1)
	for _, s := range [][]float32{x, dx, dy} {
		if err := check.Len("normalization: gradient", s, rows*size, "a multiple of the shape"); err != nil {
			return err
		}
	}
	for r := range rows {
		from, to := r*size, (r+1)*size
		normBackward(dx[from:to], x[from:to], dy[from:to], n)
	}
	return nil
}

// normBackward is NormBackward of one row: with z = (x-mean)*rstd and g = dy*weight,
//
//	dx = rstd * (g - mean(g) - z*mean(g*z))
//
// where RMS normalization has neither mean. It is computed in float64, since gradients are asked
// for rarely.
func normBackward(dx, x, dy []float32, n *transformer.Norm) {
	count := float64(len(x))
	mean, variance := 0.0, 0.0
	if !n.RMS {
		for _, v := range x {
			mean += float64(v)
		}
		mean /= count
	}
	for _, v := range x {
		d := float64(v) - mean
		variance += d * d
	}
	rstd := 1 / math.Sqrt(variance/count+float64(n.Eps))
	sum, dot := 0.0, 0.0 // means of g and g*z
	for i, v := range x {
		g := float64(dy[i]) * float64(n.Weight[i])
		sum += g
		dot += g * (float64(v) - mean) * rstd
	}
	sum, dot = sum/count, dot/count
	if n.RMS {
		sum = 0
	}
	for i, v := range x {
		g, z := float64(dy[i])*float64(n.Weight[i]), (float64(v)-mean)*rstd
		dx[i] = float32(rstd * (g - sum - z*dot))
	}
}
