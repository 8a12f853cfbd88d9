package generation

import (
	"cmp"
	"context"
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/transformer"
)

// A Decoder predicts the next token of one or several sequences, given those
// fed so far. Decoding is one.
type Decoder interface {
	// Vocab is the number of tokens.
	Vocab() int
	// Feed appends tokens[i] to sequence i and returns the logits, [sequences,
	// Vocab], of what follows each. For a sequence whose tokens[i] is empty, they
	// are those returned before. The slice is valid until the next call.
	Feed(tokens [][]int) ([]float32, error)
	// Reorder makes sequence i go on from what sequence parents[i] was.
	Reorder(parents []int) error
}

// Sampling says how Generate chooses tokens. The zero value chooses greedily.
type Sampling struct {
	// Temperature divides the logits; 0 takes the most likely token.
	Temperature float64
	// TopK keeps the K most likely tokens; 0 keeps all.
	TopK int
	// TopP keeps the most likely tokens that together have this probability, one
	// at least, after TopK; 0 keeps all.
	TopP float64
	// MinP keeps the tokens that are at least this times as likely as the most likely
	// one, after TopP; 0 keeps all.
	MinP float64
	// TypicalP keeps the tokens whose information is closest to the entropy and that
	// together have this probability, after MinP (Meister et al., "Locally Typical
	// Sampling", 2022); 0 and 1 keep all.
	TypicalP float64
	// Rules change the logits before all that; may be nil.
	Rules *Rules
	// Seed determines the draws: the same seed gives the same tokens.
	Seed uint64
}

// Limits says where generation ends.
type Limits struct {
	MaxTokens int   // the most tokens to generate; 0: no limit
	Stop      []int // tokens that end a sequence, not part of it
	// StopWhen, unless nil, ends a sequence that it reports true for. It gets the
	// tokens generated so far and must not keep them.
	StopWhen func(tokens []int) bool
}

// Generate yields the tokens that follow prompt, one by one, as soon as each is
// known. d must decode a single sequence. It ends after a stop token or where
// the limits say, with an error if d fails, or with that of ctx within one
// token of its cancellation.
func Generate(ctx context.Context, d Decoder, prompt []int, s Sampling, limits Limits) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for next, err := range GenerateBatch(ctx, d, [][]int{prompt}, s, limits) {
			if !yield(next.Token, err) {
				return
			}
		}
	}
}

// A Next is a token that follows in a sequence.
type Next struct{ Sequence, Token int }

// GenerateBatch is Generate for several sequences at a time, whose prompts may be of
// different lengths; d must decode as many. Each sequence gets the tokens that it would
// get alone, and ends on its own. The draws of sequence i depend on the seed and i.
func GenerateBatch(ctx context.Context, d Decoder, prompts [][]int, s Sampling, limits Limits) iter.Seq2[Next, error] {
	return func(yield func(Next, error) bool) {
		if len(prompts) == 0 || slices.ContainsFunc(prompts, func(p []int) bool { return len(p) == 0 }) {
			yield(Next{}, check.Errorf(transformer.ErrShape, "Generate without prompt"))
			return
		}
		if err := cmp.Or(undecodable(d), s.Rules.check(d.Vocab())); err != nil {
			yield(Next{}, err)
			return
		}
		samplers, texts := make([]*sampler, len(prompts)), make([][]int, len(prompts))
		for i := range samplers {
			samplers[i] = s.sampler(i)
		}
		feed, vocab := slices.Clone(prompts), d.Vocab() // nil for a sequence that has ended
		for n, live := 0, len(prompts); live > 0 && (limits.MaxTokens == 0 || n < limits.MaxTokens); n++ {
			if err := ctx.Err(); err != nil {
				yield(Next{}, err)
				return
			}
			logits, err := d.Feed(feed)
			if err == nil && len(logits) != len(prompts)*vocab {
				err = check.Errorf(transformer.ErrShape, "Generate of %d sequences with a decoder of %d", len(prompts), len(logits)/max(vocab, 1))
			}
			if err != nil {
				yield(Next{}, err)
				return
			}
			for i := range feed {
				if feed[i] == nil {
					continue
				}
				row := logits[i*vocab : (i+1)*vocab]
				if s.Rules != nil {
					row = slices.Clone(row)
					s.Rules.apply(row, slices.Concat(prompts[i], texts[i]), len(prompts[i]), limits.MaxTokens)
				}
				t := samplers[i].choose(row)
				stop := slices.Contains(limits.Stop, t)
				if !stop {
					if !yield(Next{i, t}, nil) {
						return
					}
					texts[i] = append(texts[i], t)
					feed[i] = texts[i][len(texts[i])-1:]
					stop = limits.StopWhen != nil && limits.StopWhen(texts[i])
				}
				if stop {
					feed[i] = nil
					live--
				}
			}
		}
	}
}

// CollectBatch gathers what GenerateBatch yields for a number of sequences.
func CollectBatch(sequences int, tokens iter.Seq2[Next, error]) ([][]int, error) {
	all := make([][]int, sequences)
	for next, err := range tokens {
		if err != nil {
			return all, err
		}
		all[next.Sequence] = append(all[next.Sequence], next.Token)
	}
	return all, nil
}

// Collect gathers what Generate yields.
func Collect(tokens iter.Seq2[int, error]) ([]int, error) {
	var all []int
	for t, err := range tokens {
		if err != nil {
			return all, err
		}
		all = append(all, t)
	}
	return all, nil
}

type sampler struct {
	Sampling
	rand *rand.Rand
	kept []candidate
}

type candidate struct {
	token int
	p     float64
}

func (s Sampling) sampler(sequence int) *sampler {
	return &sampler{Sampling: s, rand: rand.New(rand.NewPCG(s.Seed, uint64(sequence)))}
}

// choose is the next token. Of equal logits it prefers the first.
func (s *sampler) choose(logits []float32) int {
	first := argmax(logits)
	if s.Temperature <= 0 {
		return first
	}
	kept := s.kept[:0]
	top := float64(logits[first])
	for i, l := range logits {
		kept = append(kept, candidate{i, math.Exp((float64(l) - top) / s.Temperature)})
	}
	s.kept = kept
	if s.TopK > 0 && s.TopK < len(kept) {
		likeliest := best[candidate]{k: s.TopK, order: likelier, kept: kept[:0]}
		for _, c := range kept {
			likeliest.offer(c)
		}
		kept = likeliest.sorted()
	}
	if s.TopP > 0 && s.TopP < 1 {
		kept = topP(kept, s.TopP)
	}
	if s.MinP > 0 {
		least := s.MinP * slices.MinFunc(kept, likelier).p
		kept = slices.DeleteFunc(kept, func(c candidate) bool { return c.p < least })
	}
	if s.TypicalP > 0 && s.TypicalP < 1 {
		kept = typical(kept, s.TypicalP)
	}
	at := s.rand.Float64() * sum(kept)
	for _, c := range kept {
		if at -= c.p; at < 0 {
			return c.token
		}
	}
	return first // rounding, NaN, or +Inf
}

func likelier(a, b candidate) int { return cmp.Compare(b.p, a.p) }

// topP is the likeliest candidates that together have a part p of the probability.
func topP(kept []candidate, p float64) []candidate {
	total := sum(kept)
	// All that are this unlikely have together less than what is left out. That
	// spares sorting them; the half is for rounding.
	least := (1 - p) * total / float64(2*len(kept))
	kept = slices.DeleteFunc(kept, func(c candidate) bool { return c.p < least })
	slices.SortStableFunc(kept, likelier)
	reached := 0.0
	for i, c := range kept {
		if reached += c.p; reached >= p*total {
			return kept[:i+1]
		}
	}
	return kept
}

// typical is the candidates whose information is closest to the entropy and that together
// have a part p of the probability.
func typical(kept []candidate, p float64) []candidate {
	total, entropy := sum(kept), 0.0
	for _, c := range kept {
		if c.p > 0 {
			entropy -= c.p / total * math.Log(c.p/total)
		}
	}
	strange := func(c candidate) float64 { return math.Abs(math.Log(c.p/total) + entropy) }
	slices.SortStableFunc(kept, func(a, b candidate) int { return cmp.Compare(strange(a), strange(b)) })
	reached := 0.0
	for i, c := range kept {
		if reached += c.p; reached >= p*total {
			return kept[:i+1]
		}
	}
	return kept
}

func sum(c []candidate) float64 {
	total := 0.0
	for _, x := range c {
		total += x.p
	}
	return total
}

// argmax is the index of the first largest value, 0 if all are NaN.
func argmax(x []float32) int {
	best := 0
	for i, v := range x {
		if v > x[best] || x[best] != x[best] && v == v {
			best = i
		}
	}
	return best
}

// best keeps the k best of what it is offered, those that come first in order, and of
// equals those offered first. Of many most are no better than k that came before, which
// one comparison shows; the others are sorted k at a time.
type best[T any] struct {
	k     int
	order func(a, b T) int
	kept  []T // if full, the k best so far but for those that follow them, in order
	full  bool
}

func (b *best[T]) offer(x T) {
	if b.full && b.order(b.kept[b.k-1], x) <= 0 {
		return
	}
	if b.kept = append(b.kept, x); len(b.kept)-b.k >= b.k {
		b.sorted()
	}
}

// sorted is what is kept, the best first.
func (b *best[T]) sorted() []T {
	slices.SortStableFunc(b.kept, b.order)
	b.kept = b.kept[:min(len(b.kept), b.k)]
	b.full = len(b.kept) == b.k
	return b.kept
}
