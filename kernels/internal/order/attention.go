package order

import "math"

// Attention of one query. The keys are cut into blocks, and the blocks into stretches, at places that depend only on
// [AttentionSizes]: not on the query, on the keys that it sees, or on the number of other queries. [Attended.Add] computes a
// block, [Attended.Merge] combines stretches, in order, and [Attended.Factor] is applied at the end.

// AttentionSizes are numbers of keys. They are variables only so that tests can have many blocks in short sequences.
type AttentionSizes struct {
	// The keys of a block: of attention, of attention within a window, where blocks may be hidden as a whole, and with relative
	// positions, whose products take room.
	Block, WindowBlock, RelativeBlock int
	// Stretch is the number of keys whose blocks have a running maximum and sum.
	Stretch int
}

// Attention has the sizes of attention. Wide heads have smaller blocks: see [AttentionSizes.Of].
var Attention = AttentionSizes{Block: 256, WindowBlock: 128, RelativeBlock: 64, Stretch: 1024}

// Of returns the number of keys in a block and in a stretch for heads of dim features.
func (s AttentionSizes) Of(dim int, window, relative bool) (block, stretch int) {
	const most = 1 << 18 // elements
	block = s.Block
	switch {
	case relative:
		block = s.RelativeBlock
	case window:
		block = s.WindowBlock
	}
	block = min(block, max(most/max(dim, 1)&^31, 32))
	return block, max(s.Stretch/block, 1) * block
}

// ScoresAreDots reports whether the scores of a sequence are dot products, as [DotOf], and not chains. Heads of more than wideHead features
// have dot products, since a chain cannot be interrupted, and theirs would take long. So do few queries, or few queries and keys, for which
// it does not pay to transpose the keys. Queries that may come in pieces do not: their scores must not depend on the number of queries.
func ScoresAreDots(queries, keys, dim int, pieces bool) bool {
	return WideHead(dim) || !pieces && (queries <= 4 || queries <= FewRows && keys <= 32)
}

// WideHead reports whether scores of heads of dim features are dot products, however many queries and keys there are.
func WideHead(dim int) bool { return dim > wideHead }

const wideHead = 1 << 12

// Score returns the product of a query and a key, times the scale, rounded: one chain in the order of the features, or a dot product.
func Score(query, key []float32, scale float32, dots bool) float32 {
	if dots {
		return float32(scale * DotOf(query, key))
	}
	sum := float32(0)
	key = key[:len(query)]
	for i, q := range query {
		sum = FMA(q, key[i], sum)
	}
	return float32(scale * sum)
}

// ExpSum sets dst to the exponentials of x less max, and returns their sum in the lanes of [DotOf].
func ExpSum(dst, x []float32, max float32) float32 {
	var s [DotLanes]float32
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = ExpDifference(v, max)
		s[i%DotLanes] += dst[i]
	}
	return total(&s)
}

// Attended is a query that attends to a stretch of keys: the greatest score, the sum of the exponentials of the scores less that,
// and the values times these exponentials.
type Attended struct {
	Max, Sum float32
	Out      []float32
}

// NoKeys returns a query that attends to nothing yet, with dim elements of the result.
func NoKeys(dim int) *Attended {
	return &Attended{Max: float32(math.Inf(-1)), Out: make([]float32, dim)}
}

// Add takes the next block: scores has the number of keys in a block, with -Inf where the query does not see one, and value returns
// a key's values where it does.
func (a *Attended) Add(scores []float32, value func(key int) []float32) {
	top := a.Max
	for _, s := range scores {
		top = max(top, s)
	}
	reference := max(top, -math.MaxFloat32)
	factor := ExpDifference(a.Max, reference)
	weights := make([]float32, len(scores))
	a.Sum = float32(a.Sum*factor) + ExpSum(weights, scores, reference)
	a.Max = top
	products := make([]float32, len(a.Out))
	for j, w := range weights {
		if !math.IsInf(float64(scores[j]), -1) {
			AddProducts(products, w, value(j))
		}
	}
	for i, p := range products {
		a.Out[i] = float32(a.Out[i]*factor) + p
	}
}

// Merge takes what attended to the next stretch.
func (a *Attended) Merge(b *Attended) {
	top := MergeFactors(&a.Max, b.Max)
	a.Sum = float32(a.Sum*top.Old) + float32(b.Sum*top.New)
	for i, v := range b.Out {
		a.Out[i] = float32(a.Out[i]*top.Old) + float32(v*top.New)
	}
}

// Merging has the factors of what attended to the stretches so far, and to the next one.
type Merging struct{ Old, New float32 }

// MergeFactors sets max to the greater of it and next, and returns the factors that go with it.
func MergeFactors(max *float32, next float32) Merging {
	old, top := *max, *max
	if next > top {
		top = next
	}
	*max = top
	if top < -math.MaxFloat32 {
		top = -math.MaxFloat32
	}
	return Merging{ExpDifference(old, top), ExpDifference(next, top)}
}

// Factor returns what the result is multiplied by: the head's weight, divided by the sum; 0 if no key was seen.
func (a *Attended) Factor(weight float32) float32 { return AttentionFactor(weight, a.Sum) }

// AttentionFactor returns [Attended.Factor] of a sum.
func AttentionFactor(weight, sum float32) float32 {
	if sum == 0 {
		return 0
	}
	return weight / sum
}

// WithSink returns a sum plus the term of a sink; max is the greatest score.
func WithSink(sum, sink, max float32) float32 { return sum + Exp(sink-max) }
