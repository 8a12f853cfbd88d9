package block

import (
	"math"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// TestDistanceAttention compares with the definition in float64: a sequence whose queries are
// computed in several parts, together with a short one.
func TestDistanceAttention(t *testing.T) {
	t.Parallel()
	const heads, headDim, dim, longest = 8, 4, 32, 300
	linear := func(seed uint64, bias []float32) *transformer.Linear {
		w := tftest.Normal(seed, dim*dim)
		kernels.Scale(w, w, 0.2)
		return tftest.Must(transformer.NewLinear(dim, dim, w, bias))(t)
	}
	a := &DistanceAttention{
		Query: linear(1, nil), Key: linear(2, nil), Value: linear(3, nil), Out: linear(4, nil), Distance: linear(5, nil),
		Content: tftest.Normal(6, dim), Position: tftest.Normal(7, dim), Core: transformer.Attention{Heads: heads, HeadDim: headDim, Scale: 0.5},
	}
	if parts := longest / (scoreElements / (heads * 2 * longest)); parts < 2 {
		t.Fatalf("queries are computed in %d parts", parts)
	}
	batch := transformer.Ragged(longest, 3)
	x, vectors := tftest.Normal(8, batch.Rows()*dim), make([]float32, (2*longest-1)*dim)
	DistanceVectors(vectors, longest, dim)
	got, ws, distances := make([]float32, len(x)), new(transformer.Workspace), make([]float32, len(vectors))
	tftest.NoError(t, a.Distance.Forward(ws, distances, vectors))
	tftest.NoError(t, a.Forward(ws, got, make([]float32, len(x)), x, batch, distances))
	apply := func(l *transformer.Linear, x []float32) []float64 {
		w, y := l.Weight(), make([]float64, dim)
		for o := range y {
			for i, v := range x {
				y[o] += float64(w[o*dim+i]) * float64(v)
			}
		}
		return y
	}
	for s := range batch.Len() {
		rows := x[batch.Start(s)*dim : batch.Start(s+1)*dim]
		length := batch.Length(s)
		var keys, values [][]float64
		for i := range length {
			keys, values = append(keys, apply(a.Key, rows[i*dim:][:dim])), append(values, apply(a.Value, rows[i*dim:][:dim]))
		}
		for _, i := range []int{0, 1, length / 2, length - 1} {
			q, context := apply(a.Query, rows[i*dim:][:dim]), make([]float32, dim)
			scores := make([]float64, heads*length)
			for j := range length {
				near := apply(a.Distance, vectors[(longest-1-i+j)*dim:][:dim])
				for d := range dim {
					scores[d/headDim*length+j] += 0.5 * ((q[d]+float64(a.Content[d]))*keys[j][d] + (q[d]+float64(a.Position[d]))*near[d])
				}
			}
			for d := range dim {
				of, sum, all := scores[d/headDim*length:][:length], 0.0, 0.0
				for j, v := range of {
					all += math.Exp(v)
					sum += math.Exp(v) * values[j][d]
				}
				context[d] = float32(sum / all)
			}
			want := apply(a.Out, context)
			for d, v := range got[(batch.Start(s)+i)*dim:][:dim] {
				if math.Abs(float64(v)-want[d]) > 1e-4 {
					t.Fatalf("sequence %d, row %d: element %d is %g, want %g", s, i, d, v, want[d])
				}
			}
		}
	}
}

// TestTransducerSilence: a blank that is about no hidden state continues with the next one.
func TestTransducerSilence(t *testing.T) {
	t.Parallel()
	const in, dim, vocabulary, rows = 3, 2, 5, 21
	linear := func(in, out int, bias []float32) *transformer.Linear {
		return tftest.Must(transformer.NewLinear(in, out, make([]float32, in*out), bias))(t)
	}
	r := &Transducer{
		TransducerConfig: TransducerConfig{In: in, Dim: dim, Vocab: vocabulary, Blank: 4, Start: 4, Durations: []int{0, 2}, MaxSymbols: 10},
		enter:            linear(in, dim, nil), predict: linear(dim, dim, nil), joint: linear(dim, vocabulary+2, []float32{0, 0, 0, 0, 1, 1, 0}),
		tokens: tftest.Must(transformer.NewEmbedding(vocabulary, dim, make([]float32, vocabulary*dim)))(t), act: Activate(kernels.ActReLU),
	}
	s := r.Begin(rows)
	said, err := r.Hear(new(transformer.Workspace), s, make([]float32, rows*in))
	if err != nil || len(said) > 0 || s.row != rows || s.left != 10*rows-1-rows {
		t.Errorf("%v, %v: %d of %d hidden states are heard, %d tokens are left", said, err, s.row, rows, s.left)
	}
}
