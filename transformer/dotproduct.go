package transformer

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/avoformer/avoformer/kernels"
)

// heads is a strided view of queries, keys, values or outputs, [batch, heads,
// length, dim], in which only the last axis is contiguous.
type heads struct {
	data             []float32
	batch, head, row int // strides
}

// at is the part of the view that starts at row r of head h of sequence b.
func (v heads) at(b, h, r int) []float32 { return v.data[b*v.batch+h*v.head+r*v.row:] }

// dotProduct is scaled dot-product attention over sequences of equal lengths:
// what every attention in this package comes down to.
//
//	scores  = (q·kᵀ + relative) * scale, masked       [batch, heads, lenQ, lenK]
//	weights = softmax(scores)
//	out     = (weights * headMask) · v                [batch, heads, lenQ, dim]
type dotProduct struct {
	batch, heads, kvHeads int // query head h uses key and value head h/(heads/kvHeads)
	lenQ, lenK, dim, dimV int
	scale                 float32
	q, k, v, out          heads
	mask                  *Mask
	first                 int // index of the first sequence in the mask's batch
	past                  int // position of the first query; key j has position j
	headMask              []float32
	relative              *Relative
	scores, weights       []float32 // receive [batch, heads, lenQ, lenK], unless nil
}

// queryBlock is the number of queries whose scores are computed at a time. So
// the scores take queryBlock*lenK numbers a thread, or queryBlock plus the
// window where a mask limits how far queries see.
const queryBlock = 64

// run computes the attention. This is the one place that does.
func (p *dotProduct) run(ws *Workspace) {
	if p.batch == 0 || p.lenQ == 0 {
		return
	}
	defer ws.release(ws.mark())
	// The unit of work: the query heads of one sequence that share a key head,
	// together if there is one query, else one by one.
	group := p.heads / p.kvHeads
	unitsPerSequence := p.heads
	if p.lenQ == 1 {
		unitsPerSequence = p.kvHeads
	} else {
		group = 1
	}
	units := p.batch * unitsPerSequence
	unit := func(ws *Workspace, i int) {
		p.unit(ws, i/unitsPerSequence, i%unitsPerSequence*group, group)
	}
	threads := min(max(int(ws.Threads), 1), units)
	if threads == 1 {
		for i := range units {
			unit(ws, i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	worker := func(own *Workspace) {
		for i := int(next.Add(1)) - 1; i < units; i = int(next.Add(1)) - 1 {
			unit(own, i)
		}
	}
	for len(ws.workers) < threads-1 {
		ws.workers = append(ws.workers, new(Workspace))
	}
	for _, own := range ws.workers[:threads-1] {
		wg.Go(func() { worker(own) })
	}
	worker(ws)
	wg.Wait()
}

// unit computes heads [h, h+group) of sequence b. group is 1 unless lenQ is.
func (p *dotProduct) unit(ws *Workspace, b, h, group int) {
	for q := 0; q < p.lenQ; q += queryBlock {
		p.block(ws, b, h, group, q, min(queryBlock, p.lenQ-q))
	}
}

// block computes queries [q, q+n) of the unit. The rows below are those
// queries, or with lenQ = 1 the group's heads.
func (p *dotProduct) block(ws *Workspace, b, h, group, q, n int) {
	defer ws.release(ws.mark())
	rows, qRow, outRow := n, p.q.row, p.out.row
	if group > 1 {
		rows, qRow, outRow = group, p.q.head, p.out.head
	}
	kv := h / (p.heads / p.kvHeads)
	seq, pos := p.first+b, p.past+q
	lo, hi := p.mask.keys(seq, q, n, pos, p.lenK)
	if p.scores != nil {
		lo, hi = 0, p.lenK
	}
	cols := hi - lo
	query, out := p.q.at(b, h, q), p.out.at(b, h, q)
	if cols == 0 { // nothing to see
		p.blockEmpty(b, h, q, rows, out, outRow)
		return
	}
	key, value := p.k.at(b, kv, lo), p.v.at(b, kv, lo)

	s := ws.alloc(rows * cols) // [rows, cols]
	alpha := p.scale
	if p.relative != nil { // whose terms come before the scale
		alpha = 1
	}
	kernels.Gemm(kernels.NoTrans, kernels.Trans, rows, cols, p.dim, alpha, query, qRow, key, p.k.row, 0, s, cols)
	if p.relative != nil {
		p.relative.add(ws, s, rows, cols, pos-lo, p.dim, query, qRow, key, p.k.row, group > 1)
		for i := range s {
			s[i] *= p.scale
		}
	}
	if p.mask != nil {
		for r := range rows {
			hr, qr := p.rowOf(h, q, group, r)
			p.mask.apply(s[r*cols:(r+1)*cols], seq, hr, qr, p.past+qr, lo)
		}
	}
	if p.scores != nil {
		copy(p.capture(p.scores, b, h, q, rows), s)
	}

	// A row that sees nothing is taken out of the softmax, which would give NaN.
	empty := ws.alloc(rows)
	for r := range rows {
		row := s[r*cols : (r+1)*cols]
		empty[r] = 0
		if p.mask != nil && allHidden(row) {
			empty[r] = 1
			clear(row)
		}
	}
	kernels.Softmax(s, s, rows, cols)
	for r := range rows {
		if empty[r] != 0 {
			p.mask.empty.fill(s[r*cols : (r+1)*cols])
		}
	}

	if p.weights != nil {
		to := p.capture(p.weights, b, h, q, rows)
		for r := range rows {
			d := to[r*p.lenK : (r+1)*p.lenK]
			clear(d)
			copy(d[lo:hi], s[r*cols:(r+1)*cols])
			if empty[r] != 0 && p.mask.empty == EmptyNaN {
				p.mask.empty.fill(d)
			}
		}
	}
	if p.headMask != nil {
		for r := range rows {
			hr, _ := p.rowOf(h, q, group, r)
			for j := range s[r*cols : (r+1)*cols] {
				s[r*cols+j] *= p.headMask[hr]
			}
		}
	}
	kernels.Gemm(kernels.NoTrans, kernels.NoTrans, rows, p.dimV, cols, 1, s, cols, value, p.v.row, 0, out, outRow)
}

// rowOf is the head and the query that row r of a block stands for.
func (p *dotProduct) rowOf(h, q, group, r int) (head, query int) {
	if group > 1 {
		return h + r, q
	}
	return h, q + r
}

// capture is where the rows of a block go in a [batch, heads, lenQ, lenK] slice.
func (p *dotProduct) capture(to []float32, b, h, q, rows int) []float32 {
	start := ((b*p.heads+h)*p.lenQ + q) * p.lenK
	return to[start : start+rows*p.lenK]
}

// blockEmpty is block where no query sees any key.
func (p *dotProduct) blockEmpty(b, h, q, rows int, out []float32, outRow int) {
	v := float32(0)
	if p.mask != nil && p.mask.empty == EmptyNaN {
		v = float32(math.NaN())
	}
	if p.weights != nil {
		to := p.capture(p.weights, b, h, q, rows)
		for i := range to {
			to[i] = v
		}
	}
	for r := range rows {
		for i := range p.dimV {
			out[r*outRow+i] = v
		}
	}
}
