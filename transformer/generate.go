package transformer

import (
	"cmp"
	"context"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
)

// A Decoder predicts the next token of one or several sequences, given those
// fed so far. Decoding and Conversation are Decoders.
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

// feeder turns the pieces of Feed into a batch, and picks the logits of the
// last row of each. Its buffers are kept from call to call.
type feeder struct {
	flat, lengths []int
	all, last     []float32
}

func (f *feeder) feed(tokens [][]int, vocab int, run func(dst []float32, flat []int, batch Batch) error) ([]float32, error) {
	f.flat, f.lengths = f.flat[:0], f.lengths[:0]
	same := true
	for _, t := range tokens {
		f.flat = append(f.flat, t...)
		f.lengths = append(f.lengths, len(t))
		same = same && len(t) == len(tokens[0])
	}
	batch := Uniform(len(tokens), 0)
	if same && len(tokens) > 0 {
		batch = Uniform(len(tokens), len(tokens[0]))
	} else if !same {
		batch = Ragged(f.lengths...)
	}
	f.all = slices.Grow(f.all[:0], len(f.flat)*vocab)[:len(f.flat)*vocab]
	if err := run(f.all, f.flat, batch); err != nil {
		return nil, err
	}
	if len(f.last) != len(tokens)*vocab {
		f.last = make([]float32, len(tokens)*vocab)
	}
	for i := range tokens {
		if batch.Length(i) > 0 {
			end := batch.Start(i + 1)
			copy(f.last[i*vocab:(i+1)*vocab], f.all[(end-1)*vocab:end*vocab])
		}
	}
	return f.last, nil
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
		if len(prompt) == 0 {
			yield(0, errorf(ErrShape, "Generate without prompt"))
			return
		}
		sampler := s.sampler()
		next := prompt
		var tokens []int
		feed := make([][]int, 1)
		for limits.MaxTokens == 0 || len(tokens) < limits.MaxTokens {
			if err := ctx.Err(); err != nil {
				yield(0, err)
				return
			}
			feed[0] = next
			logits, err := d.Feed(feed)
			if err != nil {
				yield(0, err)
				return
			}
			if len(logits) != d.Vocab() {
				yield(0, errorf(ErrShape, "Generate with a decoder of %d sequences, want 1", len(logits)/max(d.Vocab(), 1)))
				return
			}
			t := sampler.choose(logits)
			if slices.Contains(limits.Stop, t) || !yield(t, nil) {
				return
			}
			tokens = append(tokens, t)
			if limits.StopWhen != nil && limits.StopWhen(tokens) {
				return
			}
			next = tokens[len(tokens)-1:]
		}
	}
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

func (s Sampling) sampler() *sampler {
	return &sampler{Sampling: s, rand: rand.New(rand.NewPCG(s.Seed, 0))}
}

// choose is the next token. Of equal logits it prefers the first.
func (s *sampler) choose(logits []float32) int {
	if s.Temperature <= 0 {
		return argmax(logits)
	}
	s.kept = s.kept[:0]
	top := float64(logits[argmax(logits)])
	for i, l := range logits {
		s.kept = append(s.kept, candidate{i, math.Exp((float64(l) - top) / s.Temperature)})
	}
	slices.SortStableFunc(s.kept, func(a, b candidate) int { return cmp.Compare(b.p, a.p) })
	kept := s.kept
	if s.TopK > 0 && s.TopK < len(kept) {
		kept = kept[:s.TopK]
	}
	total := sum(kept)
	if s.TopP > 0 && s.TopP < 1 {
		reached := 0.0
		for i, c := range kept {
			if reached += c.p; reached >= s.TopP*total {
				kept = kept[:i+1]
				break
			}
		}
		total = sum(kept)
	}
	at := s.rand.Float64() * total
	for _, c := range kept {
		if at -= c.p; at < 0 {
			return c.token
		}
	}
	return kept[0].token // rounding, or NaN
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
