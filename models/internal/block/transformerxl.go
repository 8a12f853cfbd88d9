package block

import (
	"math"

	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// Attention by distances, as Transformer-XL has it.

// DistanceAttention is attention whose scores are ((q+content)·k + (q+position)·Distance(r)) *
// scale, r being a fixed vector of the distance from the key to the query (Dai et al., 2019,
// "Transformer-XL: Attentive Language Models Beyond a Fixed-Length Context").
type DistanceAttention struct {
	Query, Key, Value, Out *transformer.Linear
	Distance               *transformer.Linear // without bias
	Content, Position      []float32           // [D] each
	Core                   transformer.Attention
}

// LoadDistanceAttention takes the tensors of transformers' ParakeetEncoderAttention.
func LoadDistanceAttention(l *transformer.Loader, dim, heads int, bias bool) *DistanceAttention {
	linear := func(name string, bias bool) *transformer.Linear { return l.At(name).Linear(dim, dim, bias) }
	headDim := dim / heads
	return &DistanceAttention{
		Query: linear("q_proj.", bias), Key: linear("k_proj.", bias), Value: linear("v_proj.", bias), Out: linear("o_proj.", bias),
		Distance: linear("relative_k_proj.", false), Content: l.Tensor("bias_u", heads, headDim), Position: l.Tensor("bias_v", heads, headDim),
		Core: transformer.Attention{Heads: heads, HeadDim: headDim, Scale: float32(1 / math.Sqrt(float64(headDim)))},
	}
}

// DistanceVectors sets dst, [2*length-1, dim], to the vectors of the distances from length-1 down
// to 1-length: sines and cosines side by side, of angles that grow more slowly from pair to pair.
// dim is even.
func DistanceVectors(dst []float32, length, dim int) {
	frequencies := transformer.Frequencies(10000, dim)
	for i := range 2*length - 1 {
		row, distance := dst[i*dim:(i+1)*dim], float64(length-1-i)
		for f, w := range frequencies {
			sin, cos := elementary.Sincos(float64(distance * w))
			row[2*f], row[2*f+1] = float32(sin), float32(cos)
		}
	}
}

// scoreElements is about how many scores by distance are computed at once.
const scoreElements = 1 << 19

// Forward sets dst, [rows, D], to x plus the attention of normed, [rows, D]. distances is what
// Distance makes of the vectors of the distances of the longest sequence, [2*longest-1, D].
func (a *DistanceAttention) Forward(ws *transformer.Workspace, dst, x, normed []float32, batch transformer.Batch, distances []float32) error {
	defer ws.Release(ws.Mark())
	dim := a.Query.Out
	q, k, v, context := ws.Alloc(len(x)), ws.Alloc(len(x)), ws.Alloc(len(x)), ws.Alloc(len(x)) // [rows, D]
	for _, p := range []struct {
		l  *transformer.Linear
		to []float32
	}{{a.Query, q}, {a.Key, k}, {a.Value, v}} {
		if err := p.l.Forward(ws, p.to, normed); err != nil {
			return err
		}
	}
	byContent, byPosition := ws.Alloc(len(x)), ws.Alloc(len(x)) // [rows, D]
	for at := 0; at < len(q); at += dim {
		kernels.Add(byContent[at:at+dim], q[at:at+dim], a.Content)
		kernels.Add(byPosition[at:at+dim], q[at:at+dim], a.Position)
	}
	longest := (len(distances)/dim + 1) / 2
	for i := range batch.Len() {
		rows := func(x []float32) []float32 { return x[batch.Start(i)*dim : batch.Start(i+1)*dim] }
		length := batch.Length(i)
		near := distances[(longest-length)*dim : (longest+length-1)*dim] // [2*length-1, D]
		if err := a.attend(ws, rows(context), rows(byContent), rows(byPosition), rows(k), rows(v), near); err != nil {
			return err
		}
	}
	return a.Out.ForwardAdd(ws, dst, context, x) // [rows, D]
}

// attend sets dst, [L, D], to the attention of one sequence, some queries at a time. distances are
// of [2*L-1, D].
func (a *DistanceAttention) attend(ws *transformer.Workspace, dst, byContent, byPosition, k, v, distances []float32) error {
	heads, headDim := a.Core.Heads, a.Core.HeadDim
	dim := heads * headDim
	length := len(k) / dim
	most := min(length, max(16, scoreElements/(heads*2*length)))
	for from := 0; from < length; from += most {
		mark := ws.Mark()
		n := min(most, length-from)
		near := length + n - 1
		// Of n queries, the first is length-1-from rows after the vector of distance 0, and each
		// next one a row less.
		first := length - from - n
		products, bias := ws.Alloc(heads*n*near), ws.Alloc(heads*n*length) // [heads, n, near], [heads, n, L]
		ws.Threads.GemmBatched(kernels.GemmBatchedParams{
			TransB: kernels.Trans, Batch: heads, M: n, N: near, K: headDim, Alpha: a.Core.Scale,
			A: byPosition[from*dim:], LdA: dim, StrideA: headDim, // [n, head dim]
			B: distances[first*dim:], LdB: dim, StrideB: headDim, // [near, head dim]
			C: products, LdC: near, StrideC: n * near, // [n, near]
		})
		for h := range heads {
			for i := range n {
				copy(bias[(h*n+i)*length:][:length], products[(h*n+i)*near+n-1-i:])
			}
		}
		err := a.Core.Forward(ws, dst[from*dim:(from+n)*dim], transformer.AttentionInput{
			Query: byContent[from*dim : (from+n)*dim], Batch: transformer.Uniform(1, n),
			Key: k, Value: v, KeyBatch: transformer.Uniform(1, length),
			Mask: transformer.AdditiveMask(bias, 1, heads, n, length),
		}) // [n, D]
		ws.Release(mark)
		if err != nil {
			return err
		}
	}
	return nil
}
