package transformer

import (
	"math"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// Attention is scaled dot-product attention without projections: softmax(q·kᵀ * Scale + mask)·v in
// every head.
type Attention struct {
	Heads   int
	KVHeads int // number of key and value heads, which divides Heads; 0: Heads
	HeadDim int // of queries and keys
	// ValueDim is the size of a head's values and results; 0: HeadDim.
	ValueDim int
	// Scale multiplies the scores; 0: 1/sqrt(HeadDim).
	Scale float32
	// SoftCap bounds the scaled scores s before the mask: SoftCap*tanh(s/SoftCap). 0: no bound. It
	// cannot be combined with relative positions or sinks.
	SoftCap float32
	// Sinks, [Heads] or nil, are the scores of an additional key whose value is 0.
	Sinks []float32
	// Int8 allows products of integers: see kernels.AttentionParams.
	Int8 bool
}

func (a Attention) withDefaults() (Attention, error) {
	if a.KVHeads == 0 {
		a.KVHeads = a.Heads
	}
	if a.ValueDim == 0 {
		a.ValueDim = a.HeadDim
	}
	if err := check.Positive("attention", check.Size("heads", a.Heads), check.Size("kv heads", a.KVHeads), check.Size("head dim", a.HeadDim), check.Size("value dim", a.ValueDim)); err != nil {
		return a, err
	}
	if a.Heads%a.KVHeads != 0 {
		return a, check.Errorf(fault.ErrConfig, "attention: %d heads are not a multiple of %d kv heads", a.Heads, a.KVHeads)
	}
	if !(a.SoftCap >= 0) || math.IsInf(float64(a.SoftCap), 1) {
		return a, check.Errorf(fault.ErrConfig, "attention: soft cap %g", a.SoftCap)
	}
	if a.Sinks != nil && (len(a.Sinks) != a.Heads || a.SoftCap > 0) {
		return a, check.Errorf(fault.ErrConfig, "attention: %d sinks of %d heads, soft cap %g", len(a.Sinks), a.Heads, a.SoftCap)
	}
	if a.Scale == 0 {
		a.Scale = float32(1 / math.Sqrt(float64(a.HeadDim)))
	}
	return a, nil
}

// AttentionInput has the operands of an attention.
type AttentionInput struct {
	Query []float32 // [rows of Batch, width]
	Batch Batch
	// Key and Value belong to KeyBatch, which has as many sequences as Batch, or one that all
	// share. Key nil: self-attention, to Query.
	Key, Value []float32
	KeyBatch   Batch

	// Positions, [rows of Batch], are those of rotary positions with axes; nil: the rows follow
	// each other on all axes. Only MultiHeadAttention has them, for self-attention.
	Positions []Position
	Mask      *Mask
	// HeadMask, [heads] or nil, multiplies the result of each head: see kernels.AttentionParams. It
	// is BERT's head_mask, which models/classic has.
	HeadMask []float32
	// Residual, [rows, width of the result] or nil, is added to the result. It may be dst. Only
	// MultiHeadAttention has it.
	Residual []float32
	// Kept, unless nil, receives the keys and values of a self-attention, or provides them to one
	// with BorrowsKeys. Only MultiHeadAttention has it.
	Kept *Kept
	// Weights, unless nil, receives the result of the softmax, and Scores q·kᵀ*Scale without
	// relative positions and mask. Both are [B, heads, L, keys], or, for sequences of different
	// lengths, [heads, L, keys] of each sequence in turn.
	Weights, Scores []float32
}

// Forward sets dst, [rows, Heads*ValueDim], to the attention of in.Query, [rows, Heads*HeadDim], to
// in.Key, [key rows, KVHeads*HeadDim], and in.Value, [key rows, KVHeads*ValueDim].
func (a Attention) Forward(ws *Workspace, dst []float32, in AttentionInput) error {
	if err := ws.check(); err != nil {
		return err
	}
	a, err := a.withDefaults()
	if err != nil {
		return err
	}
	if in.Key == nil {
		in.Key, in.KeyBatch = in.Query, in.Batch
	}
	if in.Value == nil {
		in.Value = in.Key
	}
	dim, keyDim, valueDim := a.Heads*a.HeadDim, a.KVHeads*a.HeadDim, a.KVHeads*a.ValueDim
	rows, keys := in.Batch.Rows(), in.KeyBatch.Rows()
	if err := check.Len("attention: query", in.Query, rows*dim, "rows*heads*head dim"); err != nil {
		return err
	}
	if err := check.Len("attention: key", in.Key, keys*keyDim, "rows*kv heads*head dim"); err != nil {
		return err
	}
	if err := check.Len("attention: value", in.Value, keys*valueDim, "rows*kv heads*value dim"); err != nil {
		return err
	}
	if err := check.Len("attention: dst", dst, rows*a.Heads*a.ValueDim, "rows*heads*value dim"); err != nil {
		return err
	}
	return a.attend(ws, dst, projected{
		q: in.Query, qRow: dim,
		k: in.Key, kRow: keyDim,
		v: in.Value, vRow: valueDim,
	}, in, nil)
}

// projected are queries, keys and values as rows of heads, at given distances.
type projected struct {
	q, k, v          []float32
	qRow, kRow, vRow int
	cache            *LayerCache // which holds the keys and values instead of k and v, unless nil
	gate             []float32   // rows of heads, gateRow apart; nil: none
	gateRow          int
}

// shared reports whether all sequences attend to the same keys.
func (p *projected) shared(in *AttentionInput) bool {
	return p.cache == nil && in.KeyBatch.Len() == 1 && in.Batch.Len() != 1
}

// keysOf returns the keys that sequence i attends to: those from row start of k and v on, of which
// past come before the queries.
func (p *projected) keysOf(in *AttentionInput, i int) (start, lenK, past int) {
	switch {
	case p.cache != nil && p.cache.memory:
		_, lenK = p.cache.table(i)
		return 0, lenK, 0
	case p.cache != nil:
		_, past = p.cache.table(i)
		return 0, past + in.Batch.Length(i), past
	case p.shared(in):
		return 0, in.KeyBatch.Length(0), 0
	}
	return in.KeyBatch.Start(i), in.KeyBatch.Length(i), 0
}

// attend computes every attention. All sequences are one call of the kernel, unless some have data
// of their own size: then each run of sequences of equal lengths is one call.
func (a Attention) attend(ws *Workspace, dst []float32, p projected, in AttentionInput, relative *Relative) error {
	if err := a.check(&p, &in, relative); err != nil {
		return err
	}
	batch := in.Batch
	if batch.Rows() == 0 {
		return nil
	}
	together := in.Mask.ofPositions() && in.Weights == nil && in.Scores == nil && a.SoftCap == 0
	switch {
	case together && in.Mask.joins():
		for _, joined := range []bool{false, true} {
			if all := p.parts(ws, &in, joined); len(all) > 0 {
				a.attendTogether(ws, dst, &p, &in, relative, all, joined)
			}
		}
		return nil
	case together && (p.cache != nil || batch.uniformLength() == 0):
		a.attendTogether(ws, dst, &p, &in, relative, p.sequences(ws, &in, 0, batch.Len(), in.Mask.causal() && !p.cache.remembered()), false)
		return nil
	case in.Mask.joins():
		maxK := 0
		pastOf := func(i int) int {
			_, lenK, past := p.keysOf(&in, i)
			maxK = max(maxK, lenK)
			return past
		}
		for i := range batch.Len() {
			pastOf(i)
		}
		in.Mask = in.Mask.spelled(batch, maxK, pastOf)
	}
	captured := 0
	for i := 0; i < batch.Len(); {
		_, lenK, past := p.keysOf(&in, i)
		end := i + 1
		for ; end < batch.Len() && batch.Length(end) == batch.Length(i); end++ {
			if _, l, s := p.keysOf(&in, end); l != lenK || s != past {
				break
			}
		}
		if batch.Length(i) > 0 {
			captured += a.attendRun(ws, dst, &p, &in, relative, i, end, captured)
		}
		i = end
	}
	return nil
}

// attendTogether computes sequences as one call of the kernel. joined is that of [Mask.lower].
func (a Attention) attendTogether(ws *Workspace, dst []float32, p *projected, in *AttentionInput, relative *Relative, all []kernels.AttentionSequence, joined bool) {
	call := a.call(p, in, relative, dst)
	call.Sequences, call.Batch = all, len(all)
	ws.terms = in.Mask.lower(ws.terms[:0], 0, in.Batch.Len(), in.Batch.MaxLength(), 0, joined)
	call.Mask = ws.terms
	ws.Threads.Attention(call)
}

// check returns an error unless the arguments fit.
func (a Attention) check(p *projected, in *AttentionInput, relative *Relative) error {
	batch := in.Batch
	if p.cache == nil && !p.shared(in) && in.KeyBatch.Len() != batch.Len() {
		return check.Errorf(fault.ErrShape, "attention: %d sequences of queries, %d of keys", batch.Len(), in.KeyBatch.Len())
	}
	maxK, total := 0, 0
	for i := range batch.Len() {
		_, lenK, past := p.keysOf(in, i)
		if err := relative.check(past, batch.Length(i), lenK); err != nil {
			return err
		}
		maxK = max(maxK, lenK)
		total += a.Heads * batch.Length(i) * lenK
	}
	if err := in.Mask.check(batch, a.Heads, maxK); err != nil {
		return err
	}
	if in.HeadMask != nil {
		if err := check.Len("attention: head mask", in.HeadMask, a.Heads, "heads"); err != nil {
			return err
		}
	}
	if in.Weights != nil {
		if err := check.Len("attention: weights", in.Weights, total, "heads*queries*keys of all sequences"); err != nil {
			return err
		}
	}
	if in.Scores != nil {
		if err := check.Len("attention: scores", in.Scores, total, "heads*queries*keys of all sequences"); err != nil {
			return err
		}
	}
	return nil
}

// call returns the arguments that all calls of the kernel share.
func (a Attention) call(p *projected, in *AttentionInput, relative *Relative, dst []float32) kernels.AttentionParams {
	call := kernels.AttentionParams{
		Heads: a.Heads, KVHeads: a.KVHeads, HeadDim: a.HeadDim, ValueDim: a.ValueDim, Scale: a.Scale, HeadMask: in.HeadMask, Sinks: a.Sinks, Int8: a.Int8,
		Dst: dst, DstStrides: kernels.BLHD(0, a.Heads*a.ValueDim, a.ValueDim),
		Q: p.q, QStrides: kernels.BLHD(0, p.qRow, a.HeadDim),
		K: p.k, KStrides: kernels.BLHD(0, p.kRow, a.HeadDim),
		V: p.v, VStrides: kernels.BLHD(0, p.vRow, a.ValueDim),
	}
	if p.cache != nil {
		call.K, call.V, call.KPages, call.VPages = nil, nil, p.cache.store.keys, p.cache.store.values
	}
	if in.Mask != nil {
		call.Empty = in.Mask.empty
	}
	if relative != nil {
		call.Relative, call.RelativeKeys = relative.Weight, relative.Kind == RelativeKeyQuery
	}
	return call
}

// sequences returns the places of the sequences [from, to). Where the mask is causal, each row of a
// sequence that [Cache.Apart] names is a sequence of its own.
func (p *projected) sequences(ws *Workspace, in *AttentionInput, from, to int, causal bool) []kernels.AttentionSequence {
	ws.sequences = ws.sequences[:0]
	for i := from; i < to; i++ {
		start, lenK, past := p.keysOf(in, i)
		s := kernels.AttentionSequence{LenQ: in.Batch.Length(i), LenK: lenK, Past: past, Query: in.Batch.Start(i), Key: start}
		if p.cache == nil {
			ws.sequences = append(ws.sequences, s)
			continue
		}
		s.Pages, _ = p.cache.table(i)
		if rows := s.LenQ; causal && rows > 1 && p.cache.apart(i) {
			for j := range rows {
				s.LenQ, s.LenK, s.Past, s.Query = 1, past+j+1, past+j, in.Batch.Start(i)+j
				ws.sequences = append(ws.sequences, s)
			}
			continue
		}
		ws.sequences = append(ws.sequences, s)
	}
	return ws.sequences
}

// parts returns the spans of the mask as sequences, whose keys end where the span ends, if joined
// is true; else what is between the spans.
func (p *projected) parts(ws *Workspace, in *AttentionInput, joined bool) []kernels.AttentionSequence {
	ws.sequences = ws.sequences[:0]
	spans := in.Mask.spans
	for i := range in.Batch.Len() {
		start, _, past := p.keysOf(in, i)
		var pages []int32
		if p.cache != nil {
			pages, _ = p.cache.table(i)
		}
		first := in.Batch.Start(i)
		add := func(from, to int) {
			if from < to {
				ws.sequences = append(ws.sequences, kernels.AttentionSequence{LenQ: to - from, LenK: past + to - first, Past: past + from - first, Query: from, Key: start, Pages: pages})
			}
		}
		at, end := first, in.Batch.Start(i+1)
		for ; len(spans) > 0 && spans[0].To <= end; spans = spans[1:] {
			if joined {
				add(spans[0].From, spans[0].To)
			} else {
				add(at, spans[0].From)
			}
			at = spans[0].To
		}
		if !joined {
			add(at, end)
		}
	}
	return ws.sequences
}

// attendRun computes the sequences [i, end), which have the same lengths. Their weights and scores
// begin at captured; it returns the number of these.
func (a Attention) attendRun(ws *Workspace, dst []float32, p *projected, in *AttentionInput, relative *Relative, i, end, captured int) int {
	defer ws.Release(ws.Mark())
	start, lenK, past := p.keysOf(in, i)
	n, lenQ, row := end-i, in.Batch.Length(i), in.Batch.Start(i)
	call := a.call(p, in, relative, dst)
	call.Batch = n
	ws.terms = in.Mask.lower(ws.terms[:0], i, n, lenQ, lenK, false)
	call.Mask = ws.terms
	weights := n * a.Heads * lenQ * lenK
	if in.Weights != nil {
		call.Weights = in.Weights[captured : captured+weights]
	}
	wide := a.SoftCap > 0 || in.Scores != nil
	if p.cache != nil && !wide {
		call.Sequences = p.sequences(ws, in, i, end, false)
		ws.Threads.Attention(call)
		return weights
	}
	call.LenQ, call.LenK, call.Past = lenQ, lenK, past
	call.Dst, call.Q = dst[row*a.Heads*a.ValueDim:], p.q[row*p.qRow:]
	call.DstStrides.Batch, call.QStrides.Batch = lenQ*call.DstStrides.Row, lenQ*p.qRow
	switch {
	case p.cache != nil:
		sequences := p.sequences(ws, in, i, end, false)
		call.K, call.V = p.cache.widened(ws, call.KPages, sequences, lenK), p.cache.widened(ws, call.VPages, sequences, lenK)
		call.KPages, call.VPages = nil, nil
		call.KStrides = kernels.Strides{Batch: a.KVHeads * lenK * a.HeadDim, Head: lenK * a.HeadDim, Row: a.HeadDim}
		call.VStrides = kernels.Strides{Batch: a.KVHeads * lenK * a.ValueDim, Head: lenK * a.ValueDim, Row: a.ValueDim}
	default:
		call.K, call.V = p.k[start*p.kRow:], p.v[start*p.vRow:]
		if !p.shared(in) {
			call.KStrides.Batch, call.VStrides.Batch = lenK*p.kRow, lenK*p.vRow
		}
	}
	if in.Scores != nil && weights > 0 {
		scaledScores(ws, in.Scores[captured:captured+weights], &call, a.Scale)
	}
	if a.SoftCap > 0 {
		attendCapped(ws, call, a.SoftCap, in.Mask.ofPositions())
	} else {
		ws.Threads.Attention(call)
	}
	return weights
}

// Kept has the keys and values that a self-attention computed in a pass, for later layers with
// AttentionConfig.BorrowsKeys. The zero Kept has none.
type Kept struct {
	k, v           []float32 // [rows, heads*head dim], unless the pages of cache hold them
	cache          *LayerCache
	heads, headDim int
	rows           int
}
