package generation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
)

// Limits decides where generation ends.
type Limits struct {
	MaxTokens int   // the most tokens to generate; 0: no limit
	Stop      []int // tokens that end a text, not part of it
	// StopWhen, unless nil, ends a text that it reports true for. It gets the tokens generated so
	// far and must not keep them.
	StopWhen func(tokens []int) bool
}

// A Request is a text to generate.
type Request struct {
	Prompt  []int    // one token at least
	Sampler *Sampler // of its own; nil chooses greedily
	Limits
	// Cancelled, unless nil, is called before each step. If it returns an error, such as that of a
	// context's Err, only this text ends, with FinishCancelled and the error.
	Cancelled func() error
	// Adapter, unless empty, is the name of an adapter that stays beside the model's weights, see
	// [models.Adapter]: for a Scheduler.
	Adapter string
	// Memory has the rows that a decoder after an encoder attends to, of one sequence and without a
	// mask: for a Scheduler. Other decoders get it when they are started.
	Memory *models.Memory
	// Soft are vectors that replace tokens of the prompt, in the order of their places: for a
	// Scheduler whose model is a [models.SoftReader].
	Soft []models.Soft
}

// settle checks the request for a model with the given vocabulary, and completes it.
func (r *Request) settle(vocab int) error {
	if len(r.Prompt) == 0 {
		return check.Errorf(fault.ErrShape, "Generate without prompt")
	}
	if r.MaxTokens < 0 {
		return check.Errorf(fault.ErrConfig, "MaxTokens = %d, want at least 0", r.MaxTokens)
	}
	if r.Sampler == nil {
		r.Sampler = &Sampler{config: SamplerConfig{Vocab: vocab}}
	} else if has := r.Sampler.config.Vocab; has != vocab {
		return check.Errorf(fault.ErrShape, "a sampler with a vocabulary of %d for a model of %d", has, vocab)
	}
	return nil
}

// Next is the next token of a text, or the end of the text.
type Next struct {
	Sequence int // the request
	Choice       // at the end, the stop token if one came, else Token is -1
	Finish   Finish
	Err      error // why, for FinishCancelled and FinishFailed
	Shared   int   // at the end, of a Scheduler: tokens of the prompt whose history another text had
}

// Finish is the reason why a text ended.
type Finish int

const (
	// FinishNone: it has not ended.
	FinishNone Finish = iota
	// FinishStop: with a stop token, or as StopWhen says.
	FinishStop
	// FinishLength: there are MaxTokens.
	FinishLength
	// FinishCancelled: its context was cancelled.
	FinishCancelled
	// FinishFailed: its sampler has an error, or, of a Scheduler, its hook, constraint or StopWhen
	// panicked.
	FinishFailed
)

func (f Finish) String() string {
	names := [...]string{"none", "stop", "length", "cancelled", "failed"}
	if f < 0 || int(f) >= len(names) {
		return "Finish(" + strconv.Itoa(int(f)) + ")"
	}
	return names[f]
}

// Generate yields the tokens that follow prompt, one by one, as soon as each is
// known. d must decode a single sequence; the vocabulary, the prompt and MaxTokens of c are
// taken from the other arguments. It ends after a stop token or where
// the limits say, with an error if d or the sampler fails, or with that of ctx within one
// token of its cancellation. With log probabilities, reasons and several texts, see GenerateBatch.
func Generate(ctx context.Context, d Decoder, prompt []int, c SamplerConfig, limits Limits) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		if err := undecodable(d); err != nil {
			yield(0, err)
			return
		}
		c.Vocab, c.Prompt, c.MaxTokens = d.Vocab(), prompt, limits.MaxTokens
		s, err := NewSampler(c)
		if err != nil {
			yield(0, err)
			return
		}
		for next, err := range GenerateBatch(ctx, d, []Request{{Prompt: prompt, Sampler: s, Limits: limits}}) {
			switch err = cmp.Or(err, next.Err); {
			case err != nil:
				yield(0, err)
				return
			case next.Finish == FinishNone && !yield(next.Token, nil):
				return
			}
		}
	}
}

// GenerateBatch generates several texts at a time, whose prompts may be of different lengths; d
// must decode as many sequences. It yields each token, and once for each text its end. Each text
// gets the tokens that it would get without the others, and ends independently. An error of d, of
// ctx, or of an invalid request ends all texts.
func GenerateBatch(ctx context.Context, d Decoder, requests []Request) iter.Seq2[Next, error] {
	return func(yield func(Next, error) bool) {
		b := &batch{d: d, texts: make([]text, len(requests)), feed: make([][]int, len(requests)), live: len(requests)}
		err := b.start(requests)
		for err == nil && b.live > 0 {
			if err = context.Cause(ctx); err == nil {
				err = b.step(yield)
			}
		}
		if err != nil && err != errEnough {
			yield(Next{Choice: Choice{Token: -1}}, err)
		}
	}
}

// errEnough ends a batch whose caller wants no more tokens.
var errEnough = errors.New("enough")

// batch has texts that are generated together.
type batch struct {
	d     Decoder
	texts []text
	feed  [][]int // what d gets of each text; nil for one that has ended
	live  int     // texts that have not
}

// text is a request at work.
type text struct {
	Request
	tokens []int // the last alone, unless StopWhen wants all
	n      int
}

// start checks requests and puts them into the batch.
func (b *batch) start(requests []Request) error {
	if len(requests) == 0 {
		return check.Errorf(fault.ErrShape, "Generate without requests")
	}
	if err := undecodable(b.d); err != nil {
		return err
	}
	vocab := b.d.Vocab()
	for i, r := range requests {
		err := r.settle(vocab)
		if err == nil && r.Memory != nil {
			err = check.Errorf(fault.ErrConfig, "a Memory, which the decoder is started with")
		}
		if err == nil && r.Soft != nil {
			err = check.Errorf(fault.ErrConfig, "soft tokens, which only a Scheduler takes")
		}
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		b.texts[i], b.feed[i] = text{Request: r}, r.Prompt
	}
	return nil
}

// step computes what comes next in each text, and yields it.
func (b *batch) step(yield func(Next, error) bool) error {
	for i := range b.texts {
		cancelled := b.texts[i].Cancelled
		if b.feed[i] == nil || cancelled == nil {
			continue
		}
		if why := cancelled(); why != nil && !b.end(i, FinishCancelled, Choice{Token: -1}, why, yield) {
			return errEnough
		}
	}
	if b.live == 0 {
		return nil
	}
	logits, err := b.d.Feed(b.feed)
	if err != nil {
		return err
	}
	vocab := b.d.Vocab()
	if len(logits) != len(b.texts)*vocab {
		return check.Errorf(fault.ErrShape, "Generate of %d sequences with a decoder of %d", len(b.texts), len(logits)/max(vocab, 1))
	}
	for i := range b.texts {
		if b.feed[i] != nil && !b.advance(i, logits[i*vocab:(i+1)*vocab], yield) {
			return errEnough
		}
	}
	return nil
}

// advance yields the next token of a text, or its end. It returns false if the caller wants no
// more.
func (b *batch) advance(i int, logits []float32, yield func(Next, error) bool) bool {
	t := &b.texts[i]
	c, err := t.Sampler.Choose(logits)
	switch {
	case err != nil:
		return b.end(i, FinishFailed, c, err, yield)
	case slices.Contains(t.Stop, c.Token):
		return b.end(i, FinishStop, c, nil, yield)
	case !yield(Next{Sequence: i, Choice: c}, nil):
		return false
	}
	if t.StopWhen == nil {
		t.tokens = t.tokens[:0]
	}
	t.tokens = append(t.tokens, c.Token)
	b.feed[i] = t.tokens[len(t.tokens)-1:]
	t.n++
	switch none := (Choice{Token: -1}); {
	case t.StopWhen != nil && t.StopWhen(t.tokens):
		return b.end(i, FinishStop, none, nil, yield)
	case t.n == t.MaxTokens:
		return b.end(i, FinishLength, none, nil, yield)
	}
	return true
}

// end ends a text.
func (b *batch) end(i int, why Finish, c Choice, err error, yield func(Next, error) bool) bool {
	b.feed[i] = nil
	b.live--
	return yield(Next{Sequence: i, Choice: c, Finish: why, Err: err}, nil)
}

// CollectBatch gathers the tokens that GenerateBatch yields for a number of sequences, up to the
// first error, of one of them too.
func CollectBatch(sequences int, tokens iter.Seq2[Next, error]) ([][]int, error) {
	all := make([][]int, sequences)
	for next, err := range tokens {
		if err != nil {
			return all, err
		}
		if next.Err != nil {
			return all, next.Err
		}
		if next.Finish == FinishNone {
			all[next.Sequence] = append(all[next.Sequence], next.Token)
		}
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
