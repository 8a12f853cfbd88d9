package transformer

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// AttentionConfig describes a multi-head attention.
type AttentionConfig struct {
	Dim int // width of the queries' rows
	// Widths of the keys' rows, 0: Dim; of the values', 0: KeyWidth; and of the result, 0: Dim. Of
	// this module only models/classic has others than Dim.
	KeyWidth, ValueWidth, OutDim int
	Heads                        int
	KVHeads                      int // number of key and value heads, which divides Heads; 0: Heads
	HeadDim                      int // 0: Dim/Heads
	// Scale multiplies the scores; 0: 1/sqrt(HeadDim).
	Scale float32
	// SoftCap bounds the scaled scores; see [Attention]. 0: no bound.
	SoftCap float32
	Bias    bool // in the projections of queries, keys and values
	OutBias bool // in the output projection
	// CrossOnly is set where keys are never the queries' own rows, so that the
	// three projections are not worth fusing.
	CrossOnly bool

	// QKNorm, unless nil, normalizes the queries and keys of each head, before
	// their positions, in self-attention. Its Shape may be left out: {HeadDim}. Where it is
	// {Heads*HeadDim}, all heads of the queries are normalized together, and all of the keys.
	QKNorm *NormConfig
	// NormLast applies QKNorm after the positions instead.
	NormLast bool
	// Sink is set where every head has a sink: a learned score of an additional key whose value is 0.
	Sink bool
	// NoKeyBias leaves the keys' bias out where Bias is set, as in Whisper.
	NoKeyBias bool

	Rotary   *RotaryConfig // nil: none
	Relative RelativeKind
	// MaxPositions is the reach of the table of relative positions.
	MaxPositions int
}

func (c AttentionConfig) withDefaults() (AttentionConfig, error) {
	if err := check.Positive("attention", check.Size("dim", c.Dim), check.Size("heads", c.Heads)); err != nil {
		return c, err
	}
	if c.HeadDim == 0 {
		if c.Dim%c.Heads != 0 {
			return c, check.Errorf(fault.ErrConfig, "attention: dim %d is not a multiple of %d heads", c.Dim, c.Heads)
		}
		c.HeadDim = c.Dim / c.Heads
	}
	if c.KeyWidth == 0 {
		c.KeyWidth = c.Dim
	}
	if c.ValueWidth == 0 {
		c.ValueWidth = c.KeyWidth
	}
	if c.OutDim == 0 {
		c.OutDim = c.Dim
	}
	a, err := c.core().withDefaults()
	if err != nil {
		return c, err
	}
	c.KVHeads, c.Scale = a.KVHeads, a.Scale
	if c.Rotary != nil {
		if _, err := c.Rotary.withDefaults(c.HeadDim); err != nil {
			return c, err
		}
	}
	if c.QKNorm != nil {
		norm := *c.QKNorm
		if len(norm.Shape) == 0 {
			norm.Shape = []int{c.HeadDim}
		}
		if err := norm.check(); err != nil {
			return c, err
		}
		if n := check.Product(norm.Shape); c.HeadDim%n != 0 && n != c.Heads*c.HeadDim {
			return c, check.Errorf(fault.ErrConfig, "attention: normalization of %d features in heads of %d", n, c.HeadDim)
		}
		c.QKNorm = &norm
	}
	if c.SoftCap > 0 && (c.Relative != NoRelative || c.Sink) {
		return c, check.Errorf(fault.ErrConfig, "attention: soft cap with relative positions or sinks")
	}
	if c.Relative > RelativeKeyQuery || c.Relative != NoRelative && c.MaxPositions < 1 {
		return c, check.Errorf(fault.ErrConfig, "attention: relative positions of kind %d with %d positions", c.Relative, c.MaxPositions)
	}
	return c, check.Positive("attention", check.Size("key dim", c.KeyWidth), check.Size("value dim", c.ValueWidth), check.Size("out dim", c.OutDim))
}

// core is the attention between the projections.
func (c AttentionConfig) core() Attention {
	return Attention{Heads: c.Heads, KVHeads: c.KVHeads, HeadDim: c.HeadDim, ValueDim: c.HeadDim, Scale: c.Scale, SoftCap: c.SoftCap}
}

// MultiHeadAttention projects rows to queries, keys and values, lets every head
// attend, and projects the heads' results, concatenated, to the output.
type MultiHeadAttention struct {
	AttentionConfig
	// Query, Key and Value project to [rows, Heads*HeadDim] and twice [rows,
	// KVHeads*HeadDim]. For self-attention they are fused in QKV, whose output
	// has the three side by side. Either the three or QKV is nil.
	Query, Key, Value  *Linear
	QKV                *Linear
	Out                *Linear // nil: the result is the heads' concatenation
	QueryNorm, KeyNorm *Norm   // nil: none
	Rotary             *Rotary // nil: none
	Relative           *Relative
	Sinks              []float32 // [Heads]; nil: none
	name               string
}

// NewMultiHeadAttention takes the weights with the given names under prefix, which ends with a dot unless it is empty.
func NewMultiHeadAttention(c AttentionConfig, names AttentionNames, w Weights, prefix string) (*MultiHeadAttention, error) {
	return load(w, prefix, func(l *Loader) *MultiHeadAttention { return l.Attention(c, names) })
}

// Attention is the attention whose weights have the given names.
func (l *Loader) Attention(c AttentionConfig, names AttentionNames) *MultiHeadAttention {
	c, err := c.withDefaults()
	if l.Fail(err) {
		return nil
	}
	a := &MultiHeadAttention{AttentionConfig: c, name: l.Name()}
	dim, kvDim := c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	ins := [3]int{c.Dim, c.KeyWidth, c.ValueWidth}
	sameWidth := c.KeyWidth == c.Dim && c.ValueWidth == c.Dim

	all := dim + 2*kvDim
	parts := [3]Part{{Name: names.Query, Rows: dim}, {Name: names.Key, Rows: kvDim, NoBias: c.NoKeyBias}, {Name: names.Value, Rows: kvDim}}
	if names.Packed != "" && sameWidth {
		for i, from := range []int{0, dim, dim + kvDim} {
			parts[i].Name, parts[i].From, parts[i].Of = names.Packed, from, all
		}
	}
	switch {
	case !sameWidth || c.CrossOnly || !l.at.Alike(parts[0].Name, parts[1].Name, parts[2].Name):
		bias := c.Bias && (sameWidth || names.Packed == "")
		for i, to := range []**Linear{&a.Query, &a.Key, &a.Value} {
			*to = l.Stacked(ins[i], bias, parts[i])
		}
		if b := l.Optional(c.Bias && !bias, names.Packed+"bias", all); b != nil && !l.Failed() {
			a.Query.Bias, a.Key.Bias, a.Value.Bias = b[:dim:dim], b[dim:dim+kvDim:dim+kvDim], b[dim+kvDim:]
		}
	case names.ByHead && c.Heads > mostHeads:
		l.Fail(check.Errorf(fault.ErrConfig, "attention: %d heads side by side, want at most %d", c.Heads, mostHeads))
	case names.ByHead:
		a.QKV = l.Stacked(c.Dim, c.Bias, byHead(names.Packed, c.Heads, c.HeadDim)...)
	case names.Packed != "":
		a.QKV = l.Stacked(c.Dim, c.Bias, Part{Name: names.Packed, Rows: all})
	default:
		a.QKV = l.Stacked(c.Dim, c.Bias, parts[:]...)
	}
	if names.Out != "" {
		a.Out = l.At(names.Out).Linear(dim, c.OutDim, c.OutBias)
	} else {
		a.OutDim = dim
	}
	if c.QKNorm != nil {
		query, key := *c.QKNorm, *c.QKNorm
		if check.Product(query.Shape) == dim { // all heads together
			key.Shape = []int{kvDim}
		}
		a.QueryNorm, a.KeyNorm = l.At(names.QueryNorm).Norm(query), l.At(names.KeyNorm).Norm(key)
	}
	a.Sinks = l.Optional(c.Sink, names.Sinks, c.Heads)
	if c.Rotary != nil && !l.Failed() {
		a.Rotary = must(NewRotary(*c.Rotary, c.HeadDim))
	}
	if c.Relative != NoRelative {
		a.Relative = &Relative{c.Relative, c.MaxPositions, l.At(names.Distance).Tensor("weight", 2*c.MaxPositions-1, c.HeadDim)}
	}
	return a
}

// mostHeads bounds the parts that a configuration can ask for.
const mostHeads = 1 << 12

// byHead is the parts of a tensor that has a query, a key and a value for each head in turn: all queries, all keys,
// all values.
func byHead(name string, heads, headDim int) []Part {
	var parts []Part
	for kind := range 3 {
		for h := range heads {
			parts = append(parts, Part{Name: name, Rows: headDim, From: (3*h + kind) * headDim, Of: 3 * heads * headDim})
		}
	}
	return parts
}

// Forward sets dst, [rows, OutDim], to the attention of in.Query, [rows, Dim],
// to in.Key, [key rows, KeyWidth], and in.Value, [key rows, ValueWidth], plus
// in.Residual. cache is nil or, for self-attention, the layer's part of a cache that
// holds the keys and values of earlier rows, to which those of the new rows are
// added; for cross-attention, that of the memory, whose keys and values are computed
// in the first pass.
//
// Trace reports "query", "key" and "value" as they enter the scores, "weights",
// and "context", the concatenation of the heads' results.
func (a *MultiHeadAttention) Forward(ws *Workspace, dst []float32, in AttentionInput, cache *LayerCache) error {
	if a == nil || a.Heads == 0 {
		return check.Errorf(fault.ErrConfig, "attention that NewMultiHeadAttention did not make")
	}
	if err := ws.check(); err != nil {
		return err
	}
	if in.Key != nil && cache != nil && !cache.memory {
		return check.Errorf(fault.ErrShape, "attention with a cache of its own rows takes no keys")
	}
	rows := in.Batch.Rows()
	if err := check.Len("attention: query", in.Query, rows*a.Dim, "rows*dim"); err != nil {
		return err
	}
	if err := check.Len("attention: dst", dst, rows*a.OutDim, "rows*out dim"); err != nil {
		return err
	}
	if in.Residual != nil {
		if err := check.Len("attention: residual", in.Residual, rows*a.OutDim, "rows*out dim"); err != nil {
			return err
		}
	}
	defer ws.Release(ws.Mark())
	var p projected
	var err error
	if in.Key == nil && (cache == nil || !cache.memory) {
		p, err = a.projectSelf(ws, &in, cache)
	} else {
		p, err = a.projectCross(ws, &in, cache)
	}
	if err != nil {
		return err
	}
	if ws.Trace != nil && in.Weights == nil {
		in.Weights = ws.Alloc(a.weightsLen(in, p))
	}
	context := dst // [rows, heads*hd]
	if a.Out != nil {
		context = ws.Alloc(rows * a.Heads * a.HeadDim)
	}
	core := a.core()
	core.Sinks, core.Int8 = a.Sinks, a.hasInt8()
	if err := core.attend(ws, context, p, in, a.Relative); err != nil {
		return err
	}
	a.trace(ws, in, p, context)
	if a.Out == nil {
		addTo(dst, in.Residual)
		return nil
	}
	return a.Out.forward(ws, dst, context, 0, in.Residual) // [rows, out]
}

// hasInt8 reports whether the projections are of int8. Then what is between them is too, where it may.
func (a *MultiHeadAttention) hasInt8() bool {
	l := a.QKV
	if l == nil {
		l = a.Query
	}
	return l.weight.Format() == kernels.FormatInt8
}

// projectSelf projects rows that attend to each other and to those in the cache.
func (a *MultiHeadAttention) projectSelf(ws *Workspace, in *AttentionInput, cache *LayerCache) (p projected, err error) {
	rows, dim, kvDim := in.Batch.Rows(), a.Heads*a.HeadDim, a.KVHeads*a.HeadDim
	in.KeyBatch = in.Batch
	var k, v []float32 // the new keys and values
	if a.QKV != nil {
		qkv := ws.Alloc(rows * a.QKV.Out) // [rows, heads*hd + 2*kv heads*hd]
		if err := a.QKV.Forward(ws, qkv, in.Query); err != nil {
			return p, err
		}
		p.q, p.qRow, p.kRow = qkv, a.QKV.Out, a.QKV.Out
		if rows > 0 {
			k, v = qkv[dim:], qkv[dim+kvDim:]
		}
	} else {
		p.q, k, v = ws.Alloc(rows*dim), ws.Alloc(rows*kvDim), ws.Alloc(rows*kvDim)
		p.qRow, p.kRow = dim, kvDim
		for _, l := range []struct {
			*Linear
			dst []float32
		}{{a.Query, p.q}, {a.Key, k}, {a.Value, v}} {
			if err := l.Forward(ws, l.dst, in.Query); err != nil {
				return p, err
			}
		}
	}
	p.k, p.v, p.vRow, p.cache = k, v, p.kRow, cache
	return p, a.place(ws, in.Batch, p, cache)
}

// projectCross projects rows that attend to others: to in.Key and in.Value, or
// to the memory whose keys and values the cache holds from the first call on.
func (a *MultiHeadAttention) projectCross(ws *Workspace, in *AttentionInput, cache *LayerCache) (p projected, err error) {
	rows, dim, kvDim := in.Batch.Rows(), a.Heads*a.HeadDim, a.KVHeads*a.HeadDim
	if a.Query == nil {
		return p, check.Errorf(fault.ErrConfig, "attention: made for self-attention; set CrossOnly")
	}
	p.q, p.qRow, p.kRow, p.vRow = ws.Alloc(rows*dim), dim, kvDim, kvDim
	if err := a.Query.Forward(ws, p.q, in.Query); err != nil {
		return p, err
	}
	if cache != nil {
		if err := cache.open(a.KVHeads, a.HeadDim); err != nil {
			return p, err
		}
		p.cache = cache
		if in.Key == nil && cache.remembers() {
			return p, nil
		}
	}
	if in.Value == nil {
		in.Value = in.Key
	}
	keys := in.KeyBatch.Rows()
	if err := check.Len("attention: key", in.Key, keys*a.KeyWidth, "rows*key dim"); err != nil {
		return p, err
	}
	if err := check.Len("attention: value", in.Value, keys*a.ValueWidth, "rows*value dim"); err != nil {
		return p, err
	}
	p.k, p.v = ws.Alloc(keys*kvDim), ws.Alloc(keys*kvDim)
	if err := a.Key.Forward(ws, p.k, in.Key); err != nil {
		return p, err
	}
	if err := a.Value.Forward(ws, p.v, in.Value); err != nil {
		return p, err
	}
	if cache != nil {
		return p, cache.remember(in.KeyBatch, p.k, p.v)
	}
	return p, nil
}

// weightsLen is the number of attention weights of all heads and sequences.
func (a *MultiHeadAttention) weightsLen(in AttentionInput, p projected) int {
	n := 0
	for i := range in.Batch.Len() {
		lenK := 0
		if p.cache != nil || in.KeyBatch.Len() == 1 || i < in.KeyBatch.Len() {
			_, lenK, _ = p.keysOf(&in, i)
		}
		n += a.Heads * in.Batch.Length(i) * lenK
	}
	return n
}

// trace reports what a pass computed.
func (a *MultiHeadAttention) trace(ws *Workspace, in AttentionInput, p projected, context []float32) {
	if ws.Trace == nil {
		return
	}
	defer ws.Release(ws.Mark())
	dim, kvDim := a.Heads*a.HeadDim, a.KVHeads*a.HeadDim
	dense := func(x []float32, rows, row, width int) []float32 {
		d := ws.Alloc(rows * width)
		for r := range rows {
			copy(d[r*width:(r+1)*width], x[r*row:])
		}
		return d
	}
	ws.ReportRows(a.name, "query", dense(p.q, in.Batch.Rows(), p.qRow, dim), in.Batch, dim)
	if p.cache == nil {
		keys := in.KeyBatch.Rows()
		ws.ReportRows(a.name, "key", dense(p.k, keys, p.kRow, kvDim), in.KeyBatch, kvDim)
		ws.ReportRows(a.name, "value", dense(p.v, keys, p.vRow, kvDim), in.KeyBatch, kvDim)
	}
	shape := []int{len(in.Weights)}
	if n, l := in.Batch.Len(), in.Batch.uniformLength(); l > 0 && len(in.Weights)%(n*a.Heads*l) == 0 {
		shape = []int{n, a.Heads, l, len(in.Weights) / (n * a.Heads * l)}
	}
	ws.Report(a.name, "weights", in.Weights, shape...)
	ws.ReportRows(a.name, "context", context, in.Batch, dim)
}

// addTo adds y to x.
func addTo(x, y []float32) {
	for i, v := range y {
		x[i] += v
	}
}

// CacheBytes is the memory of the keys and values of a row in pages of a format.
func (a *MultiHeadAttention) CacheBytes(f kernels.Format) int64 {
	return 2 * int64(kernels.NewPages(f, a.KVHeads, 1, a.HeadDim).Bytes())
}
