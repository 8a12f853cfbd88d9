package transformer

import "github.com/avoformer/avoformer/kernels"

// loadGated loads the projections of attention with a gate for each feature of a head (Qiu et al.,
// 2025, "Gated Attention for Large Language Models"). In the projection of the queries, the rows of
// each head's gate follow those of its query.
func (a *MultiHeadAttention) loadGated(l *Loader, names AttentionNames) {
	c := a.AttentionConfig
	var queries, gates []Part
	for h := range c.Heads {
		part := Part{Name: names.Query, Rows: c.HeadDim, From: 2 * h * c.HeadDim, Of: 2 * c.Heads * c.HeadDim}
		queries = append(queries, part)
		part.From += c.HeadDim
		gates = append(gates, part)
	}
	key, value := Part{Name: names.Key, Rows: c.KVHeads * c.HeadDim, NoBias: c.NoKeyBias}, Part{Name: names.Value, Rows: c.KVHeads * c.HeadDim}
	if l.alike(names.Query, names.Key, names.Value) {
		all := append(append([]Part(nil), queries...), key, value)
		a.QKV = l.Stacked(c.Dim, c.Bias, append(all, gates...)...)
		return
	}
	a.Query, a.Gate = l.Stacked(c.Dim, c.Bias, queries...), l.Stacked(c.Dim, c.Bias, gates...)
	a.Key, a.Value = l.Stacked(c.Dim, c.Bias, key), l.Stacked(c.Dim, c.Bias, value)
}

// applyGate multiplies the heads' contexts, [rows, dim], by the sigmoid of their gates. It
// overwrites the gates.
func (p *projected) applyGate(context []float32, dim int) {
	if p.gate == nil {
		return
	}
	for r := range len(context) / dim {
		row, gate := context[r*dim:][:dim], p.gate[r*p.gateRow:][:dim]
		kernels.Sigmoid(gate, gate)
		kernels.Mul(row, row, gate)
	}
}
