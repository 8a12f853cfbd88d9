package transformer

import (
	"math"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// Attention is scaled dot-product attention without projections:
// softmax(q·kᵀ * Scale + mask)·v in every head.
type Attention struct {
	Heads   int
	KVHeads int // number of key and value heads, which divides Heads; 0: Heads
	HeadDim int // of queries and keys
	// ValueDim is the size of a head's values and results; 0: HeadDim.
	ValueDim int
	// Scale multiplies the scores; 0: 1/sqrt(HeadDim).
	Scale float32
	// SoftCap bounds the scaled scores s before the mask: SoftCap*tanh(s/SoftCap). 0: no
	// bound. It does not go with relative positions.
	SoftCap float32
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
		return a, check.Errorf(ErrConfig, "attention: %d heads are no multiple of %d kv heads", a.Heads, a.KVHeads)
	}
	if !(a.SoftCap >= 0) || math.IsInf(float64(a.SoftCap), 1) {
		return a, check.Errorf(ErrConfig, "attention: soft cap %g", a.SoftCap)
	}
	if a.Scale == 0 {
		a.Scale = float32(1 / math.Sqrt(float64(a.HeadDim)))
	}
	return a, nil
}

// AttentionInput is what an attention works on.
type AttentionInput struct {
	Query []float32 // [rows of Batch, width]
	Batch Batch
	// Key and Value belong to KeyBatch, which has as many sequences as Batch, or
	// one that all share. Key nil: self-attention, to Query.
	Key, Value []float32
	KeyBatch   Batch

	Mask     *Mask
	HeadMask []float32 // [heads], multiplies the weights after softmax; nil: 1
	// Residual, [rows, width of the result] or nil, is added to the result. It may
	// be dst. Only MultiHeadAttention has it.
	Residual []float32
	// Weights and Scores, unless nil, receive what softmax gives, and q·kᵀ*Scale
	// without relative positions and mask. Both are [B, heads, L, keys], or for
	// sequences of different lengths [heads, L, keys] of one after the other.
	Weights, Scores []float32
}

// Forward sets dst, [rows, Heads*ValueDim], to the attention of in.Query, [rows,
// Heads*HeadDim], to in.Key, [key rows, KVHeads*HeadDim], and in.Value, [key
// rows, KVHeads*ValueDim].
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
	cache            *LayerCache // whose layout k and v have, unless nil
}

// attend computes the attention: the one place that does. Runs of sequences of
// equal lengths take one call of the kernel.
func (a Attention) attend(ws *Workspace, dst []float32, p projected, in AttentionInput, relative *Relative) error {
	batch := in.Batch
	shared := p.cache == nil && in.KeyBatch.Len() == 1 && batch.Len() != 1
	if p.cache == nil && !shared && in.KeyBatch.Len() != batch.Len() {
		return check.Errorf(ErrShape, "attention: %d sequences of queries, %d of keys", batch.Len(), in.KeyBatch.Len())
	}
	// What sequence i has: keys from row start of k and v, of which past came
	// before. Where
	// the cache has dropped keys, positions count from the first one left: masks
	// and relative positions depend on differences only.
	keysOf := func(i int) (start, lenK, past int) {
		switch {
		case p.cache != nil:
			past := p.cache.held(i)
			return 0, past + batch.Length(i), past
		case shared:
			return 0, in.KeyBatch.Length(0), 0
		}
		return in.KeyBatch.Start(i), in.KeyBatch.Length(i), 0
	}
	maxK, total := 0, 0
	for i := range batch.Len() {
		_, lenK, past := keysOf(i)
		if err := relative.check(past, batch.Length(i), lenK); err != nil {
			return err
		}
		maxK = max(maxK, lenK)
		total += a.Heads * batch.Length(i) * lenK
	}
	if err := in.Mask.check(batch.Len(), a.Heads, batch.MaxLength(), maxK); err != nil {
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

	defer ws.Release(ws.Mark())
	outDim := a.Heads * a.ValueDim
	captured := 0
	for i := 0; i < batch.Len(); {
		start, lenK, past := keysOf(i)
		lenQ := batch.Length(i)
		end := i + 1
		for ; end < batch.Len() && batch.Length(end) == lenQ; end++ {
			if _, l, s := keysOf(end); l != lenK || s != past {
				break
			}
		}
		n, row := end-i, batch.Start(i)
		if lenQ == 0 {
			i = end
			continue
		}
		call := kernels.AttentionParams{
			Batch: n, Heads: a.Heads, KVHeads: a.KVHeads,
			LenQ: lenQ, LenK: lenK, HeadDim: a.HeadDim, ValueDim: a.ValueDim,
			Dst: dst[row*outDim:], DstStrides: kernels.BLHD(lenQ, outDim, a.ValueDim),
			Q: p.q[row*p.qRow:], QStrides: kernels.BLHD(lenQ, p.qRow, a.HeadDim),
			KStrides: kernels.BLHD(lenK, p.kRow, a.HeadDim), VStrides: kernels.BLHD(lenK, p.vRow, a.ValueDim),
			Scale: a.Scale, Past: past, HeadMask: in.HeadMask,
		}
		switch {
		case p.cache != nil:
			p.cache.readBy(ws, &call, i, a.SoftCap > 0 || in.Scores != nil)
		case shared:
			call.KStrides.Batch, call.VStrides.Batch = 0, 0
			fallthrough
		default:
			call.K, call.V = p.k[start*p.kRow:], p.v[start*p.vRow:]
		}
		ws.terms = in.Mask.lower(ws.terms[:0], i, n, lenQ, lenK)
		call.Mask = ws.terms
		if in.Mask != nil {
			call.Empty = in.Mask.empty
		}
		if relative != nil {
			call.Relative, call.RelativeKeys = relative.Weight, relative.Kind == RelativeKeyQuery
		}
		weights := n * a.Heads * lenQ * lenK
		if in.Weights != nil {
			call.Weights = in.Weights[captured : captured+weights]
		}
		if in.Scores != nil && weights > 0 {
			scaledScores(ws.Threads, in.Scores[captured:captured+weights], &call, a.Scale)
		}
		if a.SoftCap > 0 {
			attendCapped(ws, call, a.SoftCap, in.Mask.ofPositions())
		} else {
			ws.Threads.Attention(call)
		}
		captured += weights
		i = end
	}
	return nil
}
