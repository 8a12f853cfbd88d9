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

// feeder turns the pieces of Feed into a batch, and projects the last row of each to
// logits: those of a prompt's other tokens, of which nobody asks, would be many. Its
// buffers are kept from call to call.
type feeder struct {
	flat, lengths []int
	x, last       []float32
}

// feed runs hidden, which sets x to [rows, D], and then head on the last rows.
func (f *feeder) feed(tokens [][]int, ws *Workspace, head *Linear, hidden func(x []float32, flat []int, batch Batch) error) ([]float32, error) {
	f.flat, f.lengths = f.flat[:0], f.lengths[:0]
	same, fed := true, 0
	for _, t := range tokens {
		f.flat = append(f.flat, t...)
		f.lengths = append(f.lengths, len(t))
		same = same && len(t) == len(tokens[0])
		fed += min(len(t), 1)
	}
	batch := Uniform(len(tokens), 0)
	if same && len(tokens) > 0 {
		batch = Uniform(len(tokens), len(tokens[0]))
	} else if !same {
		batch = Ragged(f.lengths...)
	}
	dim, vocab := head.In, head.Out
	f.x = slices.Grow(f.x[:0], len(f.flat)*dim)[:len(f.flat)*dim] // [rows, D]
	if err := hidden(f.x, f.flat, batch); err != nil {
		return nil, err
	}
	if len(f.last) != len(tokens)*vocab {
		f.last = make([]float32, len(tokens)*vocab) // [sequences, V]
	}
	rows := f.x[:0] // [fed, D]
	for i := range tokens {
		if batch.Length(i) > 0 {
			end := batch.Start(i + 1)
			rows = append(rows, f.x[(end-1)*dim:end*dim]...)
		}
	}
	if fed == len(tokens) {
		if err := head.Forward(ws, f.last, rows); err != nil {
			return nil, err
		}
		return f.last, nil
	}
	defer ws.Release(ws.Mark())
	logits := ws.Alloc(fed * vocab) // [fed, V]
	if err := head.Forward(ws, logits, rows); err != nil {
		return nil, err
	}
	for i := range tokens {
		if batch.Length(i) > 0 {
			logits = logits[copy(f.last[i*vocab:(i+1)*vocab], logits):]
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
	likelier := func(a, b candidate) int { return cmp.Compare(b.p, a.p) }
	if s.TopK > 0 && s.TopK < len(kept) {
		likeliest := best[candidate]{k: s.TopK, order: likelier, kept: kept[:0]}
		for _, c := range kept {
			likeliest.offer(c)
		}
		kept = likeliest.sorted()
	}
	total := sum(kept)
	if s.TopP > 0 && s.TopP < 1 {
		// All that are this unlikely have together less than what is left out. That
		// spares sorting them; the half is for rounding.
		least := (1 - s.TopP) * total / float64(2*len(kept))
		kept = slices.DeleteFunc(kept, func(c candidate) bool { return c.p < least })
		slices.SortStableFunc(kept, likelier)
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
	return first // rounding, NaN, or +Inf
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
