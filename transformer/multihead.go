package transformer

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// AttentionConfig describes a multi-head attention.
type AttentionConfig struct {
	Dim int // width of the queries' rows
	// KeyWidth and ValueWidth, the widths of the rows of keys and values, are kdim and vdim of
	// torch.nn.MultiheadAttention; 0: Dim, and KeyWidth. BLIP's text decoder, in models/classic,
	// attends to images of another width.
	KeyWidth, ValueWidth int
	// OutDim is the width of the result, which in d2l's attention differs from that of the queries;
	// 0: Dim.
	OutDim  int
	Heads   int
	KVHeads int // number of key and value heads, which divides Heads; 0: Heads
	HeadDim int // 0: Dim/Heads
	// Scale multiplies the scores; 0: 1/sqrt(HeadDim).
	Scale float32
	// SoftCap bounds the scaled scores; see [Attention]. 0: no bound.
	SoftCap float32
	Bias    bool // in the projections of queries, keys and values
	OutBias bool // in the output projection
	// CrossOnly is set where keys never come from the queries' own rows, as in SigLIP's pooling and
	// in cross-attention of a layer: fusing the three projections would gain nothing.
	CrossOnly bool

	// QKNorm, unless nil, normalizes the queries and keys of each head, before their positions, in
	// self-attention. Its Shape may be left out: {HeadDim}. Where it is {Heads*HeadDim}, all heads
	// of the queries are normalized together, and all of the keys.
	QKNorm *NormConfig
	// NormLast applies QKNorm after the positions instead.
	NormLast bool
	// ValueNorm, unless nil, normalizes the values of each head, in self-attention. Its Shape may
	// be left out: {HeadDim}.
	ValueNorm *NormConfig
	// KeysAsValues is set where values are the output of the keys' projection, before the keys'
	// normalization and positions.
	KeysAsValues bool
	// BorrowsKeys is set where self-attention uses the keys and values of an earlier layer: see
	// [AttentionInput].Kept. Such a layer has no projections for keys and values.
	BorrowsKeys bool
	// Gated is set where the context of each head, before the output projection, is multiplied by
	// the sigmoid of a gate. The rows of a head's gate follow those of its query in the weight of
	// the queries.
	Gated bool
	// Sink is set where every head has a sink: a learned score of an additional key whose value is 0.
	Sink bool
	// NoKeyBias leaves out the keys' bias where Bias is set, as in Whisper.
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
	if c.QKNorm, err = c.headNorm(c.QKNorm, c.Heads*c.HeadDim); err != nil {
		return c, err
	}
	if c.ValueNorm, err = c.headNorm(c.ValueNorm, c.HeadDim); err != nil {
		return c, err
	}
	crosses := c.CrossOnly || c.KeyWidth != c.Dim || c.ValueWidth != c.Dim
	if (c.KeysAsValues || c.BorrowsKeys) && (crosses || c.KeysAsValues && c.BorrowsKeys) {
		return c, check.Errorf(fault.ErrConfig, "attention: keys as values, or borrowed keys, are for self-attention, and do not go together")
	}
	if c.Gated && (crosses || c.KeysAsValues || c.BorrowsKeys || c.Heads > mostHeads) {
		return c, check.Errorf(fault.ErrConfig, "attention: gates of %d heads, want at most %d, and self-attention with keys and values of its own", c.Heads, mostHeads)
	}
	if c.SoftCap > 0 && (c.Relative != NoRelative || c.Sink) {
		return c, check.Errorf(fault.ErrConfig, "attention: soft cap with relative positions or sinks")
	}
	if c.Relative > RelativeKeyQuery || c.Relative != NoRelative && c.MaxPositions < 1 {
		return c, check.Errorf(fault.ErrConfig, "attention: relative positions of kind %d with %d positions", c.Relative, c.MaxPositions)
	}
	return c, check.Positive("attention", check.Size("key dim", c.KeyWidth), check.Size("value dim", c.ValueWidth), check.Size("out dim", c.OutDim))
}

// headNorm returns a normalization of heads, nil for none, with its shape. It normalizes the
// features of one head, or of all heads, which are most features.
func (c AttentionConfig) headNorm(norm *NormConfig, most int) (*NormConfig, error) {
	if norm == nil {
		return nil, nil
	}
	own := *norm
	if len(own.Shape) == 0 {
		own.Shape = []int{c.HeadDim}
	}
	if err := own.check(); err != nil {
		return nil, err
	}
	if n := check.Product(own.Shape); c.HeadDim%n != 0 && n != most {
		return nil, check.Errorf(fault.ErrConfig, "attention: normalization of %d features in heads of %d", n, c.HeadDim)
	}
	return &own, nil
}

// core returns the attention between the projections.
func (c AttentionConfig) core() Attention {
	return Attention{Heads: c.Heads, KVHeads: c.KVHeads, HeadDim: c.HeadDim, ValueDim: c.HeadDim, Scale: c.Scale, SoftCap: c.SoftCap}
}

// MultiHeadAttention projects rows to queries, keys and values, lets every head attend, and
// projects the heads' results, concatenated, to the output.
type MultiHeadAttention struct {
	AttentionConfig
	// Query, Key and Value project to [rows, Heads*HeadDim] and twice [rows, KVHeads*HeadDim]. For
	// self-attention they are fused in QKV, whose output has the three side by side. Either the
	// three or QKV is nil. With KeysAsValues, Value is nil and QKV has two parts; with BorrowsKeys
	// there is only Query.
	Query, Key, Value  *Linear
	QKV                *Linear
	Gate               *Linear // where Gated is set and QKV, which has it behind the values, is nil
	Out                *Linear // nil: the result is the heads' concatenation
	QueryNorm, KeyNorm *Norm   // nil: none
	ValueNorm          *Norm   // nil: none
	Rotary             *Rotary // nil: none
	Relative           *Relative
	Sinks              []float32 // [Heads]; nil: none
	name               string
}

// Forward sets dst, [rows, OutDim], to the attention of in.Query, [rows, Dim], to in.Key, [key
// rows, KeyWidth], and in.Value, [key rows, ValueWidth], plus in.Residual. cache may be nil. For
// self-attention it is the layer's part of a cache with the keys and values of earlier rows, and
// the pass adds those of the new rows. For cross-attention it is the part of the memory, whose keys
// and values the first pass computes.
//
// Trace reports "query", "key" and "value" as they enter the scores, "weights", and "context", the
// concatenation of the heads' results.
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
	p.applyGate(context, a.Heads*a.HeadDim)
	a.trace(ws, in, p, context)
	if a.Out == nil {
		addTo(dst, in.Residual)
		return nil
	}
	return a.Out.forward(ws, dst, context, 0, in.Residual) // [rows, out]
}

// hasInt8 reports whether the projections are int8. The attention between them then uses int8 too,
// where it can.
func (a *MultiHeadAttention) hasInt8() bool {
	l := a.QKV
	if l == nil {
		l = a.Query
	}
	return l.weight.Format() == kernels.FormatInt8
}

// projectCross projects rows that attend to other rows: to in.Key and in.Value, or to the memory,
// whose keys and values the cache holds from the first call on.
func (a *MultiHeadAttention) projectCross(ws *Workspace, in *AttentionInput, cache *LayerCache) (p projected, err error) {
	rows, dim, kvDim := in.Batch.Rows(), a.Heads*a.HeadDim, a.KVHeads*a.HeadDim
	if a.Query == nil {
		return p, check.Errorf(fault.ErrConfig, "attention: made for self-attention; set CrossOnly")
	}
	if a.Gated || a.KeysAsValues || a.BorrowsKeys {
		return p, check.Errorf(fault.ErrConfig, "attention: gates, keys as values and borrowed keys are for self-attention")
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

// weightsLen returns the number of attention weights of all heads and sequences.
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

// trace reports the results of a pass.
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

// CacheBytes returns the memory of the keys and values of a row in pages of a format: 0 with
// BorrowsKeys.
func (a *MultiHeadAttention) CacheBytes(f kernels.Format) int64 {
	if a.BorrowsKeys {
		return 0
	}
	return 2 * int64(kernels.NewPages(f, a.KVHeads, 1, a.HeadDim).Bytes())
}

// mostHeads bounds the parts that a configuration can ask for.
const mostHeads = 1 << 12
