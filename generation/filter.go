package generation

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/kernels"
)

// This file chooses among the tokens of a vocabulary, of 150,000 or more: it looks at each token a
// few times, and sorts only those that may be chosen.

// scratch is the memory of one choice. Many samplers share a few of them.
type scratch struct {
	scores []float32
	p      []float32
	values []float32
	kept   []candidate // that may be drawn
	total  float64     // of the probabilities of kept and of less likely tokens that were left out before; 0: the sum of kept
	tokens []int32
	sums   []float64
	mass   [buckets]float64
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func takeScratch() *scratch  { return scratches.Get().(*scratch) }
func (w *scratch) giveBack() { scratches.Put(w) }

// candidate is a token that may be chosen.
type candidate struct {
	token int
	x, p  float64 // its score, 0 being the best one's, and exp(x)
}

// likelier puts the more likely candidate first, and of equals the first token.
func likelier(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.x, a.x), cmp.Compare(a.token, b.token))
}

// likelierLast is likelier with the last of equals first. These are the tokens that remain after
// top-p in transformers, which sorts in ascending order and removes from the start.
func likelierLast(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.x, a.x), cmp.Compare(b.token, a.token))
}

// reaching returns the first candidates that together have probability p, at least one.
func reaching(kept []candidate, p float64) []candidate {
	reached := 0.0
	for i, c := range kept {
		if reached += c.p; reached >= p {
			return kept[:i+1]
		}
	}
	return kept
}

// topP leaves the most likely candidates that together have the given part of the probability, at
// least one.
func (w *scratch) topP(part float64) {
	slices.SortFunc(w.kept, likelierLast)
	if w.total == 0 {
		w.total = sum(w.kept)
	}
	w.kept = reaching(w.kept, part*w.total)
}

// minP leaves the candidates that are at least part times as likely as the most likely one.
func (w *scratch) minP(part float64) {
	least := part * slices.MinFunc(w.kept, likelier).p
	w.kept = slices.DeleteFunc(w.kept, func(c candidate) bool { return c.p < least })
}

// typicalP leaves the candidates whose information is closest to the entropy and that together have
// the given part of the probability, including those as close as the last of them.
func (w *scratch) typicalP(part float64) {
	kept := w.kept
	total, entropy := sum(kept), 0.0
	all := elementary.Log(total)
	for _, c := range kept {
		if c.p > 0 {
			entropy += float64(c.p / total * (all - c.x))
		}
	}
	clear(w.mass[:])
	for i, c := range kept {
		strange := math.Abs(all - c.x - entropy)
		kept[i].x = -strange // from here on, the score says how close
		w.mass[bucket(float32(strange))] += c.p
	}
	reached := 0.0
	for i, p := range w.mass {
		if reached += p; reached >= part*total*(1+slack) { // those farther away need no sorting
			kept = slices.DeleteFunc(kept, func(c candidate) bool { return bucket(float32(-c.x)) > i })
			break
		}
	}
	slices.SortFunc(kept, likelier)
	n := len(reaching(kept, part*total))
	for n > 0 && n < len(kept) && kept[n].x == kept[n-1].x {
		n++
	}
	w.kept = kept[:n]
}

func sum(c []candidate) float64 {
	total := 0.0
	for _, x := range c {
		total += x.p
	}
	return total
}

// softmax returns the probabilities of x, [V], over a temperature; NaN where that overflows, as for
// +Inf and NaN.
func (w *scratch) softmax(x []float32, temperature float64) []float32 {
	w.p = slices.Grow(w.p[:0], len(x))[:len(x)]
	if temperature != 1 {
		kernels.Scale(w.p, x, float32(1/temperature))
		x = w.p
	}
	kernels.Softmax(w.p, x, 1, len(x))
	return w.p
}

// stretch is the probabilities that are summed at a time.
const stretch = 1024

// sum32 returns the sum of p, and sets w.sums to that of each stretch.
func sum32(w *scratch, p []float32) float64 {
	w.sums = w.sums[:0]
	total := 0.0
	for from := 0; from < len(p); from += stretch {
		part := p[from:min(from+stretch, len(p))]
		var a, b, c, d float64 // which do not wait for each other
		for ; len(part) >= 4; part = part[4:] {
			a, b, c, d = a+float64(part[0]), b+float64(part[1]), c+float64(part[2]), d+float64(part[3])
		}
		for _, x := range part {
			a += float64(x)
		}
		a += b + c + d
		w.sums = append(w.sums, a)
		total += a
	}
	return total
}

// drawAny returns the token at a part of the probability, from 0 to 1, without filters.
func (w *scratch) drawAny(scores []float32, first int, temperature, at float64) int {
	p := w.softmax(scores, temperature)
	at *= sum32(w, p)
	for i, sum := range w.sums {
		if at >= sum {
			at -= sum
			continue
		}
		from := i * stretch
		for j, x := range p[from:min(from+stretch, len(p))] {
			if at -= float64(x); at < 0 {
				return from + j
			}
		}
	}
	return first // rounding, NaN, or +Inf
}

// slack is more than the relative error of softmax's probabilities.
const slack = 1.0 / (1 << 12)

// buckets is the number of values that bucket returns for numbers from 0 to +Inf.
const buckets = 0x7f80_0000>>20 + 1

// bucket returns the number of one for numbers up to an eighth apart, ascending.
func bucket(x float32) int { return int(math.Float32bits(x) >> 20) }

// floor returns a probability that all tokens reach which together have the given part of the
// probability, and few other tokens.
func (w *scratch) floor(p []float32, part, all float64) float32 {
	// Together, all less likely tokens have less than half of the part that is left out.
	least := float32((1 - part) * all / float64(2*len(p)))
	clear(w.mass[:])
	for _, x := range p {
		if x >= least {
			w.mass[bucket(x)] += float64(x)
		}
	}
	reached := 0.0
	for i := buckets - 1; i >= 0; i-- {
		if reached += w.mass[i]; reached >= part*all*(1+slack) {
			return max(least, math.Float32frombits(uint32(i)<<20)*(1-slack))
		}
	}
	return least
}

// above returns the index of the first element of x, from one on, that is more than least; len(x)
// if none is. Most are not, and it looks at several at a time.
func above(x []float32, from int, least float32) int {
	for ; from+8 <= len(x); from += 8 {
		y := (*[8]float32)(x[from:])
		if y[0] > least || y[1] > least || y[2] > least || y[3] > least || y[4] > least || y[5] > least || y[6] > least || y[7] > least {
			break
		}
	}
	for from < len(x) && !(x[from] > least) {
		from++
	}
	return from
}

// argmax returns the index of the first largest value, 0 if all are NaN.
func argmax(x []float32) int {
	best, top := -1, negInf
	for i := above(x, 0, top); i < len(x); i = above(x, i+1, top) {
		best, top = i, x[i]
	}
	if best < 0 { // nothing above -Inf
		best = max(slices.Index(x, negInf), 0)
	}
	return best
}

// largest returns the k-th largest of x except for -Inf; the smallest if there are fewer, +Inf if
// there are none.
func (w *scratch) largest(x []float32, k int) float32 {
	best, least := w.values[:0], negInf
	for i := above(x, 0, least); i < len(x); i = above(x, i+1, least) {
		if best = append(best, x[i]); len(best) == 2*k || least == negInf && len(best) == k {
			best = descending(best)[:k]
			least = best[k-1]
		}
	}
	w.values = best
	if len(best) == 0 {
		return float32(math.Inf(1))
	}
	best = descending(best)
	return best[min(k, len(best))-1]
}

// atLeast returns the tokens whose x is at least least and greater than -Inf.
func (w *scratch) atLeast(x []float32, least float32) []int32 {
	kept := w.tokens[:0]
	least = math.Nextafter32(least, negInf)
	for i := above(x, 0, least); i < len(x); i = above(x, i+1, least) {
		kept = append(kept, int32(i))
	}
	w.tokens = kept
	return kept
}

func descending(x []float32) []float32 {
	slices.SortFunc(x, func(a, b float32) int { return cmp.Compare(b, a) })
	return x
}

// TokenLogProb is a token with the logarithm of its probability.
type TokenLogProb struct {
	Token   int
	LogProb float32
}

// logProbs returns the logarithms of the probabilities of a token, and of the n most likely.
func (w *scratch) logProbs(logits []float32, token, n int) (float32, []TokenLogProb) {
	first := argmax(logits)
	all := float64(logits[first]) - elementary.Log(float64(w.softmax(logits, 1)[first]))
	logProb := func(token int) float32 { return float32(float64(logits[token]) - all) }
	if n == 0 {
		return logProb(token), nil
	}
	n = min(n, len(logits))
	least := w.largest(logits, n)
	kept := w.kept[:0]
	for _, token := range w.atLeast(logits, least) {
		kept = append(kept, candidate{token: int(token), x: float64(logits[token])})
	}
	w.kept = kept[:0]
	slices.SortFunc(kept, likelier)
	top := make([]TokenLogProb, min(n, len(kept)))
	for i := range top {
		top[i] = TokenLogProb{kept[i].token, logProb(kept[i].token)}
	}
	return logProb(token), top
}
