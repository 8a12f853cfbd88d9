// This file has the inputs of a call: texts, pairs or tokens, the handling of texts that are too
// long, and the counts.

package text

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/queue"
	"github.com/avoformer/avoformer/text/internal/windows"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Input is a text, a pair of texts, or tokens.
type Input struct {
	Text   string
	Second string // of a pair
	Pair   bool
	// IDs, unless nil, are tokens in place of a text, as the model gets them: special tokens and
	// prompts are not added, nothing is cut off, and more than the model takes are a
	// fault.ErrTooLong.
	IDs []int
}

// InputError is the error of one of a call's inputs, by its number from 0.
type InputError struct {
	Number int
	Err    error
}

func (e *InputError) Error() string { return fmt.Sprintf("input %d: %v", e.Number, e.Err) }

// Unwrap is Err.
func (e *InputError) Unwrap() error { return e.Err }

// Texts returns an input for each text.
func Texts(texts ...string) []Input {
	in := make([]Input, len(texts))
	for i, t := range texts {
		in[i].Text = t
	}
	return in
}

// Pairs returns an input for each pair of texts, such as premise and hypothesis.
func Pairs(pairs ...[2]string) []Input {
	in := make([]Input, len(pairs))
	for i, p := range pairs {
		in[i] = Input{Text: p[0], Second: p[1], Pair: true}
	}
	return in
}

// Results has an output for each input of a call, in the order of the inputs, and the counts. It is
// empty if the call returns an error.
type Results[T any] struct {
	Outputs []T
	Counts
}

// results returns the outputs of a call, or no outputs if there is an error.
func results[T any](outputs []T, counts Counts, err error) (Results[T], error) {
	if err != nil {
		return Results[T]{}, err
	}
	return Results[T]{outputs, counts}, nil
}

// InputOptions says how a call takes its inputs. The zero value is as the pipeline was opened.
type InputOptions struct {
	// Long says how inputs of too many tokens are handled. LongSplit is possible only if the
	// pipeline was opened with it.
	Long Long
	// TruncateLeft cuts off the beginning of texts that are too long, instead of the end.
	TruncateLeft bool
	// Progress, unless nil, is called after each input that is done, with the number of those that
	// are and of all: in order, by one goroutine at a time, which other inputs may wait for, and
	// not after the call has returned.
	Progress func(done, all int) `json:"-"`

	strategy tokenizer.Strategy // which text of a pair is cut
}

// Counts says what a call computed with, for each input.
type Counts struct {
	Tokens  []int  // in all windows of the input
	Windows []int  // more than one if the input was split
	Cut     []bool // whether the input was cut: it has more tokens than MaxTokens, and LongTruncate leaves the rest out

	Wait time.Duration // from the call to the first batch with its inputs
}

func newCounts(inputs int) Counts {
	return Counts{Tokens: make([]int, inputs), Windows: make([]int, inputs), Cut: make([]bool, inputs)}
}

// Sum returns the number of tokens of all inputs.
func (c Counts) Sum() (tokens int) {
	for _, n := range c.Tokens {
		tokens += n
	}
	return tokens
}

// CutInputs returns the number of inputs that were cut.
func (c Counts) CutInputs() (n int) {
	for _, cut := range c.Cut {
		if cut {
			n++
		}
	}
	return n
}

// CutAt returns the number of tokens at which inputs were cut, the largest if there are several,
// and 0 if no input was cut.
func (c Counts) CutAt() (tokens int) {
	for i, cut := range c.Cut {
		if cut {
			tokens = max(tokens, c.Tokens[i])
		}
	}
	return tokens
}

// SplitInputs returns the number of inputs that were computed as several windows.
func (c Counts) SplitInputs() (n int) {
	for _, windows := range c.Windows {
		if windows > 1 {
			n++
		}
	}
	return n
}

// serveInputs does a call for inputs, each with the prompt before its text, and counts them. The
// call's size, texts and splitter are set here; limit is the most tokens of an input, 0 for no
// limit.
func (f *base) serveInputs(ctx context.Context, c *queue.Call, inputs []Input, prompt string, limit int, tokens tokenizer.Options, o InputOptions) (Counts, error) {
	if err := f.checkInputs(inputs, limit); err != nil {
		return Counts{}, err
	}
	n := newCounts(len(inputs))
	c.Size = len(inputs)
	c.Text = func(i int) windows.Text {
		in := inputs[i]
		if in.IDs != nil {
			return windows.Text{IDs: in.IDs}
		}
		return windows.Text{First: prompt + in.Text, Second: in.Second, Pair: in.Pair}
	}
	var err error
	if c.Splitter, err = f.splitterFor(limit, tokens, o); err != nil {
		return Counts{}, err
	}
	told := &progress{all: len(inputs), tell: o.Progress}
	finish := c.Finish
	c.Finish = func(in *queue.Input, results [][]float32) {
		n.Windows[in.Number] = len(in.Windows)
		for _, w := range in.Windows {
			n.Tokens[in.Number] += len(w.IDs)
			n.Cut[in.Number] = n.Cut[in.Number] || w.Cut > 0
		}
		finish(in, results)
		told.add()
	}
	if err := f.do(ctx, c, told, &n); err != nil {
		return Counts{}, err
	}
	return n, nil
}

// do does a call, and adds its counts, to which it adds the wait, to the pipeline's totals.
func (f *base) do(ctx context.Context, c *queue.Call, told *progress, n *Counts) error {
	began := time.Now()
	err := f.queue.Do(ctx, c)
	told.stop()
	if failed, ok := err.(*queue.InputError); ok {
		return &InputError{failed.Number, failed.Err}
	}
	if err != nil {
		return err
	}
	if begun := c.Begun(); !begun.IsZero() {
		n.Wait = begun.Sub(began)
	}
	f.count(*n)
	return nil
}

// count adds what a call computed with to the pipeline's totals.
func (f *base) count(n Counts) {
	t := &f.totals
	t.inputs.Add(uint64(len(n.Tokens)))
	t.tokens.Add(uint64(n.Sum()))
	t.cut.Add(uint64(n.CutInputs()))
	t.split.Add(uint64(n.SplitInputs()))
}

// progress counts the inputs of a call that are done.
type progress struct {
	mu        sync.Mutex
	done, all int
	tell      func(done, all int) // nil once the call has returned, and where nobody asks
}

func (p *progress) add() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done++; p.tell != nil {
		p.tell(p.done, p.all)
	}
}

func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell = nil
}

// checkInputs refuses tokens that the model has not, or too many.
func (f *base) checkInputs(inputs []Input, limit int) error {
	for i, in := range inputs {
		if in.IDs == nil {
			continue
		}
		if in.Text != "" || in.Pair {
			return fmt.Errorf("%w: input %d has tokens and a text", fault.ErrInput, i)
		}
		if limit > 0 && len(in.IDs) > limit {
			return fmt.Errorf("%w: input %d has %d, at most %d are possible", fault.ErrTooLong, i, len(in.IDs), limit)
		}
		for _, id := range in.IDs {
			if id < 0 || id >= f.model.Config.Vocab {
				return fmt.Errorf("%w: input %d has the token %d, the vocabulary has %d", fault.ErrInput, i, id, f.model.Config.Vocab)
			}
		}
	}
	return nil
}

// splitterFor is splitter with the settings of a call instead of those that the pipeline was opened
// with.
func (f *base) splitterFor(limit int, tokens tokenizer.Options, o InputOptions) (windows.Splitter, error) {
	how := f.how(limit, tokens)
	how.Strategy, how.Left = o.strategy, o.TruncateLeft
	if o.Long != LongDefault {
		var ok bool
		if how.Long, ok = o.Long.windows(); !ok || o.Long == LongSplit && f.options.Long != LongSplit {
			return windows.Splitter{}, check.Option("Long", int(o.Long), "of a call, want LongDefault, LongTruncate or LongRefuse")
		}
	}
	if o.TruncateLeft && how.Long != windows.Truncate {
		return windows.Splitter{}, fmt.Errorf("%w: TruncateLeft where nothing is cut off", fault.ErrOption)
	}
	return how.Splitter(), nil
}

// fromStates returns a computation from the hidden states of a batch, [rows, D].
func (f *base) fromStates(use func(ws *models.Workspace, x []float32, in models.Tokens, result func(i int, x []float32)) error) queue.Computation {
	return func(ws *models.Workspace, in models.Tokens, result func(i int, x []float32)) error {
		defer ws.Release(ws.Mark())
		x := ws.Alloc(in.Batch.Rows() * f.model.Encoder.Dim()) // [rows, D]
		if err := f.model.Encoder.Encode(ws, x, in); err != nil {
			return err
		}
		return use(ws, x, in, result)
	}
}

// headOf returns a computation of a head's output for each window: one result, or with perToken one
// for each token, [tokens, results].
func (f *base) headOf(head models.Head, perToken bool) queue.Computation {
	return f.fromStates(func(ws *models.Workspace, x []float32, in models.Tokens, result func(i int, x []float32)) error {
		rows := func(window int) int { return window } // of results, before those of a window
		if perToken {
			rows = in.Batch.Start
		}
		n := head.Out()
		y := ws.Alloc(rows(in.Batch.Len()) * n) // [windows or rows, results]
		if err := head.Forward(ws, y, x, in); err != nil {
			return err
		}
		for i := range in.Batch.Len() {
			result(i, y[rows(i)*n:rows(i+1)*n])
		}
		return nil
	})
}
