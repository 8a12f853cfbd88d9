package kernels

import (
	"math"

	"github.com/avoformer/avoformer/kernels/internal/attend"
	"github.com/avoformer/avoformer/kernels/internal/mask"
	"github.com/avoformer/avoformer/kernels/ref"
)

// Attention by its formula in float64, and the required accuracy.

// attentionCase is a call and the data that it was made from.
type attentionCase struct {
	name   string
	p      AttentionParams
	how    operands
	format Format // of pages
}

// operands is the form of a case's queries, keys and values.
type operands int

const (
	asTensors   operands = iota
	asSequences          // tensors, with the data of each sequence
	inPages              // keys and values in pages
)

// closeTo allows for the rounding of scores that a bias makes large: half an ulp of a score changes
// its exponential by that fraction.
func closeTo(got float32, want, bias float64) bool {
	g := float64(got)
	return math.IsNaN(want) && math.IsNaN(g) || math.Abs(g-want) <= 5e-6*(1+math.Abs(want))*max(1, bias/16)
}

// oracle computes the call in float64, from the definitions: [Batch, Heads, LenQ, ValueDim] and
// [Batch, Heads, LenQ, LenK]; and for each query the largest sum of the absolute biases of a key
// that it sees.
func oracle(p *AttentionParams) (out, weights, biases []float64) {
	head := func(x []float32, s Strides, b, h, length, dim int) []float64 {
		var y []float64
		for i := range length {
			y = append(y, ref.Widen(x[attend.Offset(attend.Strides(s), b, h, i):][:dim])...)
		}
		return y
	}
	for b := range p.Batch {
		for h := range p.Heads {
			kv := h / (p.Heads / p.KVHeads)
			q, k := head(p.Q, p.QStrides, b, h, p.LenQ, p.HeadDim), head(p.K, p.KStrides, b, kv, p.LenK, p.HeadDim)
			v := head(p.V, p.VStrides, b, kv, p.LenK, p.ValueDim)
			n := p.LenQ * p.LenK
			bias, relative, headMask := make([]float64, n), make([]float64, n), make([]float64, n)
			visible := make([]bool, n)
			for i := range p.LenQ {
				largest := 0.0
				for j := range p.LenK {
					at := i*p.LenK + j
					sum := 0.0
					visible[at], headMask[at] = true, 1
					for _, t := range p.Mask {
						x, see := maskDefinition(t, b, h, i, j, p.LenQ, p.Past)
						bias[at] += x
						sum += math.Abs(x)
						visible[at] = visible[at] && see
					}
					if visible[at] && !math.IsInf(sum, 0) {
						largest = max(largest, sum)
					}
					if p.Relative != nil {
						zero := len(p.Relative) / p.HeadDim / 2
						e := p.Relative[(i+p.Past-j+zero)*p.HeadDim:]
						for d := range p.HeadDim {
							relative[at] += q[i*p.HeadDim+d] * float64(e[d])
							if p.RelativeKeys {
								relative[at] += k[j*p.HeadDim+d] * float64(e[d])
							}
						}
					}
					if p.HeadMask != nil {
						headMask[at] = float64(p.HeadMask[h])
					}
				}
				biases = append(biases, largest)
			}
			a := ref.AttentionParams{LenQ: p.LenQ, LenK: p.LenK, Dim: p.HeadDim, Q: q, K: k,
				Scale: float64(p.Scale), Relative: relative, Bias: bias, Visible: func(q, k int) bool { return visible[q*p.LenK+k] }}
			_, w := ref.Attention(a)
			for i := range p.LenQ {
				sum := 0.0
				for j := range p.LenK {
					sum += w[i*p.LenK+j]
				}
				if p.Sinks != nil && sum != 0 {
					withSink(w[i*p.LenK:][:p.LenK], float64(p.Sinks[h]), func(j int) float64 {
						at := i*p.LenK + j
						score := relative[at]
						for d := range p.HeadDim {
							score += q[i*p.HeadDim+d] * k[j*p.HeadDim+d]
						}
						return score*float64(p.Scale) + bias[at]
					})
				}
				if sum != 0 {
					continue
				}
				for j := range p.LenK {
					switch p.Empty {
					case EmptyNaN:
						w[i*p.LenK+j] = math.NaN()
					case EmptyUniform:
						w[i*p.LenK+j] = 1 / float64(p.LenK)
					}
				}
			}
			weights = append(weights, w...)
			o := make([]float64, p.LenQ*p.ValueDim)
			masked := make([]float64, n)
			for i := range w {
				masked[i] = w[i] * headMask[i]
			}
			ref.Gemm(false, false, p.LenQ, p.ValueDim, p.LenK, 1, masked, max(1, p.LenK), v, max(1, p.ValueDim), 0, o, max(1, p.ValueDim))
			if p.LenK == 0 && p.Empty == EmptyNaN {
				for i := range o {
					o[i] = math.NaN()
				}
			}
			out = append(out, o...)
		}
	}
	return out, weights, biases
}

// withSink changes the weights of a row from a softmax over the scores of the visible keys to one
// that includes a sink.
func withSink(w []float64, sink float64, score func(j int) float64) {
	for j, x := range w {
		if x > 0 { // x = exp(score)/sum
			sum := 1 / x // exp(score - score) + ...
			by := 1 / (1 + math.Exp(sink-score(j))/sum)
			for i := range w {
				w[i] *= by
			}
			return
		}
	}
}

// maskDefinition returns the bias and the visibility of key j for query i under a term.
func maskDefinition(m MaskTerm, b, h, i, j, lenQ, past int) (bias float64, visible bool) {
	t, at := m.term, 0
	for k, x := range [4]int{b, h, i, j} {
		if t.Shape[k] == 1 {
			x = 0
		}
		at = at*t.Shape[k] + x
	}
	distance := i + past - j
	switch t.Kind {
	case mask.Window:
		return 0, distance <= t.Before && -distance <= t.After
	case mask.Lengths:
		return 0, j < t.Lengths[b]
	case mask.QueryLengths:
		return 0, j < t.Lengths[b*lenQ+i]
	case mask.Keep:
		return 0, t.Keep[at]
	case mask.Blocked:
		return 0, !t.Keep[at]
	case mask.Bias:
		return float64(t.Bias[at]), true
	case mask.ALiBi:
		return -float64(t.Bias[h]) * math.Abs(float64(distance)), true
	}
	return 0, true
}
