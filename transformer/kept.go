package transformer

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// share leaves the keys and values of p in in.Kept, or takes them from there.
func (a *MultiHeadAttention) share(in *AttentionInput, p *projected) error {
	kept, rows := in.Kept, in.Batch.Rows()
	switch {
	case !a.BorrowsKeys && kept == nil:
		return nil
	case !a.BorrowsKeys:
		kept.keep(a, p, rows)
		return nil
	case kept == nil || kept.heads != a.KVHeads || kept.headDim != a.HeadDim || kept.rows != rows || (kept.cache == nil) != (p.cache == nil):
		return check.Errorf(fault.ErrShape, "attention to keys of an earlier layer, which left none of %d heads of %d for %d rows", a.KVHeads, a.HeadDim, rows)
	}
	p.k, p.v, p.kRow, p.vRow, p.cache = kept.k, kept.v, a.KVHeads*a.HeadDim, a.KVHeads*a.HeadDim, kept.cache
	return nil
}

// keep copies the keys and values of p, which without a cache are in scratch memory.
func (k *Kept) keep(a *MultiHeadAttention, p *projected, rows int) {
	*k = Kept{k: k.k[:0], v: k.v[:0], cache: p.cache, heads: a.KVHeads, headDim: a.HeadDim, rows: rows}
	if p.cache != nil {
		return
	}
	for r, width := 0, a.KVHeads*a.HeadDim; r < rows; r++ {
		k.k, k.v = append(k.k, p.k[r*p.kRow:][:width]...), append(k.v, p.v[r*p.vRow:][:width]...)
	}
}
