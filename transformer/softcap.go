package transformer

import (
	"slices"

	"github.com/avoformer/avoformer/kernels"
)

// cappedScores is the number of scores that attention with a soft cap holds at a time.
const cappedScores = 1 << 20

// attendCapped is attention whose scaled scores s become cap*tanh(s/cap) before the mask, as in
// Gemma 2. The capped scores enter as a bias to scores that are 0. If the mask depends only on
// positions, it computes the queries piece by piece.
func attendCapped(ws *Workspace, p kernels.AttentionParams, softCap float32, splits bool) {
	defer ws.Release(ws.Mark())
	size := p.LenQ
	if splits && p.Weights == nil {
		size = min(size, max(1, cappedScores/max(p.Batch*p.Heads*p.LenK, 1)))
	}
	scores := ws.Alloc(p.Batch * p.Heads * size * p.LenK) // [batch, heads, size, keys]
	zero := ws.Alloc(size)
	clear(zero)
	for from := 0; from < p.LenQ; from += size {
		piece := p
		piece.LenQ, piece.Past = min(size, p.LenQ-from), p.Past+from
		piece.Dst, piece.Q = p.Dst[from*p.DstStrides.Row:], p.Q[from*p.QStrides.Row:]
		s := scores[:p.Batch*p.Heads*piece.LenQ*p.LenK]
		scaledScores(ws, s, &piece, p.Scale/softCap)
		ws.Threads.Tanh(s, s)
		ws.Threads.Scale(s, s, softCap)
		piece.Mask = append(slices.Clone(p.Mask), kernels.BiasMask(s, p.Batch, p.Heads, piece.LenQ, p.LenK))
		piece.Q, piece.QStrides, piece.HeadDim = zero, kernels.Strides{Row: 1}, 1
		ws.Threads.Attention(piece)
	}
}

// scaledScores sets dst, [batch, heads, queries, keys], to the products of queries and keys times
// scale. The keys are transposed first, because with keys in rows the order of sums would depend on
// the number of queries.
func scaledScores(ws *Workspace, dst []float32, p *kernels.AttentionParams, scale float32) {
	defer ws.Release(ws.Mark())
	group, size, keys := p.Heads/p.KVHeads, p.LenQ*p.LenK, ws.Alloc(p.HeadDim*p.LenK)
	for b := range p.Batch {
		for h := range p.KVHeads { // the heads that share keys
			q := p.Q[b*p.QStrides.Batch+h*group*p.QStrides.Head:]
			transpose(keys, p.K[b*p.KStrides.Batch+h*p.KStrides.Head:], p.LenK, p.HeadDim, p.KStrides.Row)
			ws.Threads.GemmBatched(kernels.GemmBatchedParams{
				Batch: group, M: p.LenQ, N: p.LenK, K: p.HeadDim, Alpha: scale,
				A: q, LdA: p.QStrides.Row, StrideA: p.QStrides.Head, // [group, queries, head dim]
				B: keys, LdB: p.LenK, // [head dim, keys], of all of the group
				C: dst, LdC: p.LenK, StrideC: size, // [group, queries, keys]
			})
			dst = dst[group*size:]
		}
	}
}

// transpose sets dst, [cols, rows], to the transpose of x, [rows, cols], whose rows are ld apart.
func transpose(dst, x []float32, rows, cols, ld int) {
	const block = 16 // rows whose elements share a cache line of dst
	for first := 0; first < rows; first += block {
		last := min(first+block, rows)
		for j := range cols {
			to := dst[j*rows:][:rows]
			for i := first; i < last; i++ {
				to[i] = x[i*ld+j]
			}
		}
	}
}
