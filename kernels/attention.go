package kernels

import (
	"fmt"
	"math"

	"github.com/avoformer/avoformer/kernels/internal/attend"
	"github.com/avoformer/avoformer/kernels/internal/mask"
	"github.com/avoformer/avoformer/kernels/internal/mem"
)

// This file has Attention: its contract, its parameters, and their defaults and checks.

// Strides says where the rows of a tensor of [batch, heads, length, dim] lie: element d of row i of
// head h of sequence b is at b*Batch + h*Head + i*Row + d. The zero value stands for a contiguous
// tensor in that order, and of Sequences for [rows, heads, dim]. See also BLHD.
type Strides struct{ Batch, Head, Row int }

// BLHD returns the strides of a tensor of [batch, length, heads, dim]. row is the distance from a
// position to the next: heads*dim for a contiguous tensor, and 3*heads*dim for queries, keys or
// values in a fused projection of [batch, length, 3*heads*dim].
func BLHD(length, row, dim int) Strides { return Strides{Batch: length * row, Head: dim, Row: row} }

// EmptyRow chooses the output for a query that sees no key.
type EmptyRow uint8

// The choices for a query that sees no key.
const (
	EmptyZero    EmptyRow = iota // weights and output 0
	EmptyNaN                     // weights and output NaN, as a softmax of -Inf only
	EmptyUniform                 // all keys equally, including hidden ones
)

// AttentionParams are the arguments of Attention. Sizes are in elements.
//
// The zero value of KVHeads and of every field after it is a common choice, which the field's
// comment names.
type AttentionParams struct {
	Batch, Heads int
	LenQ, LenK   int // queries and keys of a sequence
	HeadDim      int // of a query and a key

	Dst     []float32 // [Batch, Heads, LenQ, ValueDim] by DstStrides; overlaps nothing else
	Q, K, V []float32 // [Batch, Heads or KVHeads, LenQ or LenK, HeadDim or ValueDim]

	// DstStrides, QStrides, KStrides and VStrides say where the tensors lie. A fused projection of
	// [batch, length, 3*d] is passed three times, as qkv, qkv[d:] and qkv[2*d:], with BLHD(length,
	// 3*d, HeadDim).
	DstStrides, QStrides, KStrides, VStrides Strides

	// Sequences, unless nil, describes each of the Batch sequences; LenQ, LenK and Past are then 0,
	// and Batch strides are not used. Each sequence gets the same bits as in a call of its own. If
	// lengths differ, the mask must not have terms with data for each query or key, and Weights
	// must be nil.
	Sequences []AttentionSequence
	// KPages and VPages, of KVHeads heads, have the keys and values of Sequences, in place of K and
	// V.
	KPages, VPages *Pages
	// KVHeads divides Heads: query head h uses key and value head h/(Heads/KVHeads). 0 means Heads.
	KVHeads int
	// ValueDim is the width of V and Dst. 0 means HeadDim.
	ValueDim int
	// Scale multiplies the scores. 0 means 1/sqrt(HeadDim).
	Scale float32
	// Past is the position of the first query: the number of keys before the queries, as in a
	// cache. Windows, ALiBi and relative terms use it.
	Past int
	// Mask says which keys each query sees, and may add biases.
	Mask []MaskTerm
	// Empty is the result for a query that sees no key.
	Empty EmptyRow
	// HeadMask, [Heads] or nil, multiplies each head's weights after the softmax, and therefore its
	// output, so that one can measure what each head contributes. Weights receives the weights
	// before this product.
	HeadMask []float32
	// Sinks, [Heads] or nil, has for each head the score of an additional key, which every query
	// sees and whose value is 0: the weights of the other keys add up to less than 1. Empty is the
	// result for a query that sees no other key.
	Sinks []float32
	// Relative, unless nil, holds an embedding of HeadDim elements for each distance between
	// positions from -(n-1) to n-1, n = (len/HeadDim + 1)/2. The product of the query with the
	// embedding of its distance to the key is added to the score before the scaling (Shaw et al.
	// 2018; relative_key in Hugging Face's BERT). It must have all distances that occur.
	Relative []float32
	// RelativeKeys also adds the product of the key with the embedding (Huang et al. 2020;
	// relative_key_query).
	RelativeKeys bool
	// Weights, unless nil, receives the attention weights, contiguous [Batch, Heads, LenQ, LenK].
	// Such a call reads and writes all weights, and computes hidden keys too: it skips no tiles.
	Weights []float32
	// Int8 allows products of integers, as for packed matrices of FormatInt8. Scores are products
	// of queries and keys in int8, with a scale for each row of a head. Attention weights become
	// integers of 14 bits and values integers of 10 bits, with a scale for each column of a head
	// and some keys. This applies to calls with heads of 32, 64 or 128 elements, more than 12
	// queries and more than 64 keys, with K and V, and without Relative, Sinks and Weights; other
	// calls ignore Int8. An infinity in a query or key then gives NaN, and one in a value NaN or an
	// infinity. Values of hidden keys should not be far larger than those of visible keys close to
	// them, since they share scales. [AttentionParams.UsesInt8] reports whether a call is such a
	// one.
	Int8 bool
}

// Attention computes, for every sequence and head,
//
//	Dst = softmax((Q*K' + relative)*Scale + bias, over visible keys) * V
//
// without holding the scores of all keys at once. It computes tiles of them, and keeps a running
// maximum and sum for each query (Milakov and Gimelshein 2018, "Online normalizer calculation for
// softmax"; Dao et al. 2022, "FlashAttention"). The memory that it needs in addition to its
// arguments does not depend on the lengths. It skips tiles that the mask hides completely.
//
// K and V are not copied as a whole. A NaN or an infinity in a query, key or value gives NaN where
// IEEE arithmetic does. Hidden keys may hold anything. Their values must be finite, also in the
// format of their pages, if a nearby query sees keys close to them: such values are multiplied by
// zero. See doc/numerics.md for the error.
//
// For decoding with a cache, keep keys and values in Pages, and pass Sequences. Appending a token
// sets one row. Or keep K and V as [batch, KVHeads, capacity, dim], each head's rows one after the
// other, and pass LenK = the number of rows filled, with Strides{Batch: KVHeads*capacity*dim, Head:
// capacity*dim, Row: dim}.
//
// Attention panics if a size does not fit.
func Attention(p AttentionParams) { Threads(1).Attention(p) }

// Attention is the function Attention on up to t threads.
func (t Threads) Attention(p AttentionParams) {
	if c := p.call(); c != nil {
		c.Run(int(t))
	}
}

// UsesInt8 reports whether [Attention] computes with integers for these arguments, as Int8 allows
// it: for at least one of the Sequences, if there are any. The answer is the same on every tier.
// UsesInt8 computes nothing, and panics where Attention does.
func (p AttentionParams) UsesInt8() bool {
	c := p.call()
	return c != nil && c.UsesInt8()
}

// call returns the call for the drivers, nil if it has nothing to compute.
func (p *AttentionParams) call() *attend.Call {
	p.setDefaults()
	p.check()
	if p.Batch == 0 || p.Heads == 0 || p.LenQ == 0 && p.Sequences == nil || p.ValueDim == 0 {
		return nil
	}
	c := attend.New()
	p.set(&c.P)
	return c
}

// set sets the arguments of the drivers.
func (p *AttentionParams) set(to *attend.Params) {
	var sequences []attend.Sequence
	if p.Sequences != nil {
		sequences = to.Sequences[:0]
		for _, s := range p.Sequences {
			sequences = append(sequences, attend.Sequence(s))
		}
	}
	terms := to.Mask[:0]
	for i := range p.Mask {
		terms = append(terms, p.Mask[i].term)
	}
	*to = attend.Params{
		Batch: p.Batch, Heads: p.Heads, LenQ: p.LenQ, LenK: p.LenK, HeadDim: p.HeadDim,
		Dst: p.Dst, Q: p.Q, K: p.K, V: p.V,
		DstStrides: attend.Strides(p.DstStrides), QStrides: attend.Strides(p.QStrides), KStrides: attend.Strides(p.KStrides), VStrides: attend.Strides(p.VStrides),
		Sequences: sequences, KPages: p.KPages.inPages(), VPages: p.VPages.inPages(),
		KVHeads: p.KVHeads, ValueDim: p.ValueDim, Scale: p.Scale, Past: p.Past, Mask: terms, Empty: attend.EmptyRow(p.Empty),
		HeadMask: p.HeadMask, Sinks: p.Sinks, Relative: p.Relative, RelativeKeys: p.RelativeKeys, Weights: p.Weights, Int8: p.Int8,
	}
}

func (p *AttentionParams) setDefaults() {
	if p.KVHeads == 0 {
		p.KVHeads = p.Heads
	}
	if p.ValueDim == 0 {
		p.ValueDim = p.HeadDim
	}
	if p.Scale == 0 && p.HeadDim > 0 {
		p.Scale = float32(1 / math.Sqrt(float64(p.HeadDim)))
	}
	contiguous := func(s *Strides, heads, length, dim int) {
		switch {
		case *s != (Strides{}) && dim != 0: // rows without elements have no place
		case p.Sequences != nil:
			*s = Strides{Head: dim, Row: heads * dim}
		default:
			*s = Strides{Batch: heads * length * dim, Head: length * dim, Row: dim}
		}
	}
	contiguous(&p.DstStrides, p.Heads, p.LenQ, p.ValueDim)
	contiguous(&p.QStrides, p.Heads, p.LenQ, p.HeadDim)
	contiguous(&p.KStrides, p.KVHeads, p.LenK, p.HeadDim)
	contiguous(&p.VStrides, p.KVHeads, p.LenK, p.ValueDim)
}

func (p *AttentionParams) check() {
	const fn = "Attention"
	for _, s := range [...]struct {
		name string
		n    int
	}{{"Batch", p.Batch}, {"Heads", p.Heads}, {"KVHeads", p.KVHeads}, {"LenQ", p.LenQ}, {"LenK", p.LenK},
		{"HeadDim", p.HeadDim}, {"ValueDim", p.ValueDim}, {"Past", p.Past}} {
		mem.CheckSize(fn, s.name, s.n)
		if s.n > mask.Unlimited {
			mem.PanicSize(fn, s.name, s.n, fmt.Sprintf("want at most %d", mask.Unlimited))
		}
	}
	if p.Heads > 0 && (p.KVHeads == 0 || p.Heads%p.KVHeads != 0) {
		mem.PanicSize(fn, "KVHeads", p.KVHeads, fmt.Sprintf("want a divisor of Heads = %d", p.Heads))
	}
	if p.Sequences != nil {
		p.checkSequences()
	} else {
		if p.KPages != nil || p.VPages != nil {
			panic("kernels.Attention: KPages and VPages without Sequences")
		}
		checkStrides(fn, "Dst", len(p.Dst), p.Batch, p.Heads, p.LenQ, p.ValueDim, p.DstStrides)
		checkStrides(fn, "Q", len(p.Q), p.Batch, p.Heads, p.LenQ, p.HeadDim, p.QStrides)
		checkStrides(fn, "K", len(p.K), p.Batch, p.KVHeads, p.LenK, p.HeadDim, p.KStrides)
		checkStrides(fn, "V", len(p.V), p.Batch, p.KVHeads, p.LenK, p.ValueDim, p.VStrides)
	}
	if p.Empty > EmptyUniform {
		mem.PanicSize(fn, "Empty", int(p.Empty), "want EmptyZero, EmptyNaN or EmptyUniform")
	}
	lenQ, lenK, same := p.sameLengths()
	if !same && p.Weights != nil {
		panic("kernels.Attention: Weights of sequences of different lengths, want nil")
	}
	for i := range p.Mask {
		if !same && p.Mask[i].byElement() {
			panic(fmt.Sprintf("kernels.Attention: Mask[%d] with data for each query or key of sequences of different lengths", i))
		}
		p.Mask[i].check(fn, [4]int{p.Batch, p.Heads, lenQ, lenK})
	}
	if p.HeadMask != nil {
		mem.CheckLen(fn, "HeadMask", len(p.HeadMask), p.Heads, "Heads")
	}
	if p.Sinks != nil {
		mem.CheckLen(fn, "Sinks", len(p.Sinks), p.Heads, "Heads")
	}
	if p.Weights != nil {
		rows := mem.MulLen(fn, mem.MulLen(fn, p.Batch, p.Heads), lenQ)
		mem.CheckLen(fn, "Weights", len(p.Weights), mem.MulLen(fn, rows, lenK), "Batch*Heads*LenQ*LenK")
	}
	if p.Relative != nil && p.HeadDim > 0 {
		p.checkRelative(p.LenQ, p.LenK, p.Past)
		for _, s := range p.Sequences {
			p.checkRelative(s.LenQ, s.LenK, s.Past)
		}
	}
}

// checkRelative checks that Relative reaches as far as a sequence needs.
func (p *AttentionParams) checkRelative(lenQ, lenK, past int) {
	n := (len(p.Relative)/p.HeadDim + 1) / 2
	far := max(past+lenQ-1, lenK-1-past)
	if lenQ > 0 && lenK > 0 && (len(p.Relative) != max(2*n-1, 0)*p.HeadDim || far >= n) {
		panic(fmt.Sprintf("kernels.Attention: len(Relative) = %d, want (2*n-1)*HeadDim with n > %d", len(p.Relative), far))
	}
}

// checkStrides panics unless a slice of the given length holds the tensor.
func checkStrides(fn, arg string, length, batch, heads, rows, dim int, s Strides) {
	if batch == 0 || heads == 0 || rows == 0 || dim == 0 {
		return
	}
	left := length - dim
	for _, d := range [...]struct{ n, stride int }{{batch, s.Batch}, {heads, s.Head}, {rows, s.Row}} {
		if d.stride < 0 || left < 0 || d.n > 1 && d.stride > left/(d.n-1) {
			panic(fmt.Sprintf("kernels.%s: len(%s) = %d, too short for [%d %d %d %d] by strides %v (batch, heads, length, dim)",
				fn, arg, length, batch, heads, rows, dim, s))
		}
		left -= (d.n - 1) * d.stride
	}
}
