package transformer

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// This file has multi-head latent attention (DeepSeek-AI, 2024, "DeepSeek-V2: A Strong, Economical,
// and Efficient Mixture-of-Experts Language Model").

// LatentConfig describes an attention whose keys and values are computed from a latent vector and a
// key with rotary positions. All heads share both, and a cache keeps both for each row.
type LatentConfig struct {
	Dim, Heads int
	QueryRank  int // width that queries pass through, normalized; 0: none
	Rank       int // of the latent vectors
	Plain      int // features of a query and a key without positions
	Turned     int // features of a query and a key with positions
	ValueDim   int // of a head's values
	Scale      float32
	Norm       NormConfig // of latent vectors and narrow queries; its Shape may be left out
	Rotary     *RotaryConfig
	Bias       bool // in the projections from and to the width Dim
}

// LatentNames are the names of the weights, as prefixes that end with a dot.
type LatentNames struct {
	Query                         string // where QueryRank is 0
	QueryDown, QueryNorm, QueryUp string
	Down                          string // to the latent vector and the key with positions
	Norm                          string
	Up                            string // from the latent vector to each head's key without positions and values
	// KeyUp and ValueUp are the two halves of Up for a checkpoint that stores them as two tensors,
	// as llama.cpp's files do: [Heads, Rank, Plain], with the matrix of each head transposed, and
	// [Heads, ValueDim, Rank]. "": the checkpoint has Up.
	KeyUp, ValueUp string
	Out            string
}

// LatentAttention is multi-head latent attention. Scores are computed from the latent vectors
// themselves: each head's projection to keys is applied to its queries instead, and its projection
// to values to the result of attention.
type LatentAttention struct {
	LatentConfig
	Query, QueryDown, QueryUp, Down, Out *Linear
	QueryNorm, LatentNorm                *Norm
	KeyUp, ValueUp                       []*Linear // of each head: from Plain to Rank, and from Rank to ValueDim
	core                                 MultiHeadAttention
}

func (c LatentConfig) check() error {
	if err := check.Positive("latent attention", check.Size("dim", c.Dim), check.Size("heads", c.Heads), check.Size("rank", c.Rank), check.Size("plain", c.Plain), check.Size("turned", c.Turned), check.Size("value dim", c.ValueDim)); err != nil {
		return err
	}
	const most = 1 << 28 // of what a configuration merely claims, so that no width overflows
	if n := max(c.Plain, c.Turned, c.ValueDim); n > most || c.Rank > most || int64(c.Heads)*int64(n) > most {
		return check.Errorf(fault.ErrConfig, "latent attention: %d heads of %d and %d features, with values of %d, and a rank of %d", c.Heads, c.Plain, c.Turned, c.ValueDim, c.Rank)
	}
	if c.Heads > mostHeads || c.QueryRank < 0 || !(c.Scale > 0) || c.Rotary == nil {
		return check.Errorf(fault.ErrConfig, "latent attention: %d heads, query rank %d, scale %g, rotary positions %v", c.Heads, c.QueryRank, c.Scale, c.Rotary != nil)
	}
	return nil
}

// Latent returns the latent attention whose weights have the given names.
func (l *Loader) Latent(c LatentConfig, names LatentNames) *LatentAttention {
	if l.Fail(c.check()) {
		return nil
	}
	width, norm := c.Heads*(c.Plain+c.Turned), c.Norm
	a := &LatentAttention{LatentConfig: c}
	if c.QueryRank > 0 {
		norm.Shape = []int{c.QueryRank}
		a.QueryDown = l.At(names.QueryDown).Linear(c.Dim, c.QueryRank, c.Bias)
		a.QueryNorm = l.At(names.QueryNorm).Norm(norm)
		a.QueryUp = l.At(names.QueryUp).Linear(c.QueryRank, width, false)
	} else {
		a.Query = l.At(names.Query).Linear(c.Dim, width, false)
	}
	a.Down = l.At(names.Down).Linear(c.Dim, c.Rank+c.Turned, c.Bias)
	norm.Shape = []int{c.Rank}
	a.LatentNorm = l.At(names.Norm).Norm(norm)
	a.Out = l.At(names.Out).Linear(c.Heads*c.ValueDim, c.Dim, c.Bias)
	a.up(l, names)
	a.core.AttentionConfig = AttentionConfig{Dim: c.Dim, Heads: c.Heads, KVHeads: 1, HeadDim: c.Turned + c.Rank, Scale: c.Scale}
	if !l.Failed() {
		a.core.Rotary = must(NewRotary(*c.Rotary, a.core.HeadDim))
	}
	return a
}

// up loads the projections from latent vectors to each head's keys and values.
func (a *LatentAttention) up(l *Loader, names LatentNames) {
	if keys, values := l.At(names.KeyUp), l.At(names.ValueUp); names.KeyUp != "" && keys.Has("weight") {
		k, v := keys.Tensor("weight", a.Heads, a.Rank, a.Plain), values.Tensor("weight", a.Heads, a.ValueDim, a.Rank)
		for h := 0; h < a.Heads && !l.Failed(); h++ {
			a.KeyUp = append(a.KeyUp, keys.LinearOf(a.Plain, a.Rank, k[h*a.Rank*a.Plain:(h+1)*a.Rank*a.Plain], nil))
			a.ValueUp = append(a.ValueUp, values.LinearOf(a.Rank, a.ValueDim, v[h*a.ValueDim*a.Rank:(h+1)*a.ValueDim*a.Rank], nil))
		}
		return
	}
	head := a.Plain + a.ValueDim
	both := l.At(names.Up).Tensor("weight", a.Heads*head, a.Rank)
	for h := 0; h < a.Heads && !l.Failed(); h++ {
		rows := both[h*head*a.Rank : (h+1)*head*a.Rank]
		key := make([]float32, a.Rank*a.Plain) // [Rank, Plain]
		transpose(key, rows, a.Plain, a.Rank, a.Rank)
		a.KeyUp = append(a.KeyUp, l.At(names.Up).LinearOf(a.Plain, a.Rank, key, nil))
		a.ValueUp = append(a.ValueUp, l.At(names.Up).LinearOf(a.Rank, a.ValueDim, rows[a.Plain*a.Rank:], nil))
	}
}

// CacheBytes returns the memory of a row in a cache: the shared key with positions and the latent
// vector, as keys and as values.
func (a *LatentAttention) CacheBytes(f kernels.Format) int64 { return a.core.CacheBytes(f) }

// Forward sets dst, [rows, Dim], to the attention of in.Query, [rows, Dim], to itself and to the
// rows in cache, plus in.Residual.
func (a *LatentAttention) Forward(ws *Workspace, dst []float32, in AttentionInput, cache *LayerCache) error {
	if a == nil || len(a.ValueUp) == 0 || len(a.ValueUp) != a.Heads {
		return check.Errorf(fault.ErrConfig, "latent attention that no Loader made")
	}
	if err := ws.check(); err != nil {
		return err
	}
	rows := in.Batch.Rows()
	if err := check.Len("latent attention: query", in.Query, rows*a.Dim, "rows*dim"); err != nil {
		return err
	}
	if err := check.Len("latent attention: dst", dst, rows*a.Dim, "rows*dim"); err != nil {
		return err
	}
	if in.Key != nil || cache != nil && cache.memory {
		return check.Errorf(fault.ErrShape, "latent attention takes no keys")
	}
	defer ws.Release(ws.Mark())
	in.KeyBatch = in.Batch
	width := a.core.HeadDim
	q, err := a.queries(ws, in.Query, rows) // [rows, heads, turned + rank]
	if err != nil {
		return err
	}
	k, err := a.keys(ws, in.Query, rows) // [rows, turned + rank]
	if err != nil {
		return err
	}
	p := projected{q: q, qRow: a.Heads * width, k: k, kRow: width, v: k, vRow: width, cache: cache}
	if err := a.core.place(ws, in.Batch, p, cache, nil); err != nil {
		return err
	}
	context := ws.Alloc(rows * a.Heads * width) // [rows, heads, turned + rank], of which the latent part counts
	if err := a.core.core().attend(ws, context, p, in, nil); err != nil {
		return err
	}
	values := ws.Alloc(rows * a.Heads * a.ValueDim) // [rows, heads, value dim]
	err = a.eachHead(ws, a.ValueUp, values, a.Heads*a.ValueDim, a.ValueDim, 0, context, a.Heads*width, width, a.Turned)
	if err != nil {
		return err
	}
	return a.Out.forward(ws, dst, values, 0, in.Residual) // [rows, dim]
}

// queries projects rows to queries of the latent vectors: each head's features with positions, and
// then those without, projected to the width of the latent vectors.
func (a *LatentAttention) queries(ws *Workspace, x []float32, rows int) ([]float32, error) {
	head, width := a.Plain+a.Turned, a.core.HeadDim
	wide := ws.Alloc(rows * a.Heads * width) // [rows, heads, turned + rank]
	defer ws.Release(ws.Mark())
	q, last := ws.Alloc(rows*a.Heads*head), a.Query // [rows, heads, plain + turned]
	if a.QueryDown != nil {
		narrow := ws.Alloc(rows * a.QueryRank) // [rows, query rank]
		if err := a.QueryDown.Forward(ws, narrow, x); err != nil {
			return nil, err
		}
		if err := a.QueryNorm.Forward(ws, narrow, narrow); err != nil {
			return nil, err
		}
		x, last = narrow, a.QueryUp
	}
	if err := last.Forward(ws, q, x); err != nil {
		return nil, err
	}
	for i := range rows * a.Heads {
		copy(wide[i*width:][:a.Turned], q[i*head+a.Plain:])
	}
	return wide, a.eachHead(ws, a.KeyUp, wide, a.Heads*width, width, a.Turned, q, a.Heads*head, head, 0)
}

// keys projects rows to the shared key with positions and the normalized latent vector.
func (a *LatentAttention) keys(ws *Workspace, x []float32, rows int) ([]float32, error) {
	width := a.core.HeadDim
	k := ws.Alloc(rows * width) // [rows, turned + rank]
	defer ws.Release(ws.Mark())
	both, latent := ws.Alloc(rows*width), ws.Alloc(rows*a.Rank) // [rows, rank + turned], [rows, rank]
	if err := a.Down.Forward(ws, both, x); err != nil {
		return nil, err
	}
	for r := range rows {
		copy(latent[r*a.Rank:(r+1)*a.Rank], both[r*width:])
	}
	if err := a.LatentNorm.Forward(ws, latent, latent); err != nil {
		return nil, err
	}
	for r := range rows {
		copy(k[r*width:], both[r*width+a.Rank:(r+1)*width])
		copy(k[r*width+a.Turned:], latent[r*a.Rank:(r+1)*a.Rank])
	}
	return k, nil
}

// eachHead applies the layer of each head to its features in x, from feature from on, and stores
// the results in dst, from feature to on. Heads follow each other at the given distances.
func (a *LatentAttention) eachHead(ws *Workspace, layers []*Linear, dst []float32, dstRow, dstHead, to int, x []float32, xRow, xHead, from int) error {
	defer ws.Release(ws.Mark())
	in, out, rows := layers[0].In, layers[0].Out, len(x)/xRow
	own, y := ws.Alloc(rows*in), ws.Alloc(rows*out) // [rows, in], [rows, out]
	for h, layer := range layers {
		for r := range rows {
			copy(own[r*in:(r+1)*in], x[r*xRow+h*xHead+from:])
		}
		if err := layer.Forward(ws, y, own); err != nil {
			return err
		}
		for r := range rows {
			copy(dst[r*dstRow+h*dstHead+to:], y[r*out:(r+1)*out])
		}
	}
	return nil
}
