package order

import "math"

// This file defines attention of one query. The keys are cut into blocks, and the blocks into
// stretches, at places that depend only on [AttentionSizes]: not on the query, on the keys that it
// sees, or on the number of other queries. [Attended.Add] computes a block, [Attended.Merge]
// combines stretches, in order, and [Attended.Factor] is applied at the end.

// AttentionSizes are numbers of keys. They are variables only so that tests can have many blocks in
// short sequences.
type AttentionSizes struct {
	// The number of keys in a block: of attention; of attention within a window, where whole blocks
	// may be hidden; and of attention with relative positions, whose products take memory.
	Block, WindowBlock, RelativeBlock int
	// Stretch is the number of keys whose blocks have a running maximum and sum.
	Stretch int
}

// Attention holds the sizes of attention. Wide heads have smaller blocks: see [AttentionSizes.Of].
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

// ScoresAreDots reports whether the scores of a sequence are dot products, as [DotOf], rather than
// chains. Heads of more than wideHead features have dot products: a chain cannot be interrupted,
// and theirs would take long. Few queries, or few queries and keys, also have dot products, because
// transposing the keys would not pay. Queries that may come in pieces have chains: their scores
// must not depend on the number of queries.
func ScoresAreDots(queries, keys, dim int, pieces bool) bool {
	return WideHead(dim) || !pieces && (queries <= 4 || queries <= FewRows && keys <= 32)
}

// WideHead reports whether scores of heads of dim features are dot products for any number of
// queries and keys.
func WideHead(dim int) bool { return dim > wideHead }

const wideHead = 1 << 12

// Score returns the product of a query and a key, times the scale, rounded. The product is one
// chain in the order of the features, or a dot product.
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

// ExpSum sets dst to the exponentials of x minus max, and returns their sum in the lanes of
// [DotOf].
func ExpSum(dst, x []float32, max float32) float32 {
	var s [DotLanes]float32
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = ExpDifference(v, max)
		s[i%DotLanes] += dst[i]
	}
	return total(&s)
}

// Attended is a query that attends to a stretch of keys. It holds the greatest score, the sum of
// the exponentials of the scores minus the greatest, and the sum of the values times these
// exponentials.
type Attended struct {
	Max, Sum float32
	Out      []float32
}

// NoKeys returns a query that has not attended to any key. Its result has dim elements.
func NoKeys(dim int) *Attended {
	return &Attended{Max: float32(math.Inf(-1)), Out: make([]float32, dim)}
}

// Add adds the next block: scores has one score per key of a block, -Inf if the query does not see
// the key; value returns the values of a key that it sees.
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

// Merge adds the result of the next stretch.
func (a *Attended) Merge(b *Attended) {
	top := MergeFactors(&a.Max, b.Max)
	a.Sum = float32(a.Sum*top.Old) + float32(b.Sum*top.New)
	for i, v := range b.Out {
		a.Out[i] = float32(a.Out[i]*top.Old) + float32(v*top.New)
	}
}

// Merging holds the factors for the result of the stretches so far, and for that of the next one.
type Merging struct{ Old, New float32 }

// MergeFactors sets max to the greater of max and next, and returns the factors that belong to it.
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

// Factor returns the factor for the result: the head's weight divided by the sum, or 0 if the query
// saw no key.
func (a *Attended) Factor(weight float32) float32 { return AttentionFactor(weight, a.Sum) }

// AttentionFactor returns [Attended.Factor] for a sum.
func AttentionFactor(weight, sum float32) float32 {
	if sum == 0 {
		return 0
	}
	return weight / sum
}

// ScaleOutput multiplies the sums of values by a factor and adds 0, rounded once. Keys that a query
// does not see may add zeros of either sign to the sums, and their number depends on the machine.
// The result of a sum that is zero therefore has no sign.
func ScaleOutput(out []float32, factor float32) {
	for i, x := range out {
		if out[i] = float32(x * factor); out[i] == 0 && (x == 0 || factor == 0) { // not a product that is too small
			out[i] = 0
		}
	}
}

// WithSink returns a sum plus the term of a sink; max is the greatest score.
func WithSink(sum, sink, max float32) float32 { return sum + Exp(sink-max) }
