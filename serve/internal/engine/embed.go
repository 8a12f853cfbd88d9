// This file computes vectors and similarities of texts.

package engine

import (
	"context"
	"math"
	"time"

	"github.com/avoformer/avoformer/text"
)

// Usage has counts of a request.
type Usage struct {
	Tokens int // tokens that were computed
	Cut    int // texts that were cut
}

// Embed returns the vectors of texts or tokens with the requested prompt. model is the name of a
// model; "" is the first embedder.
func (e *Engine) Embed(ctx context.Context, model string, inputs []text.Input, asked Asked, o text.EmbedOptions) ([][]float32, Usage, error) {
	return run(ctx, e, model, text.KindEmbedder, inputs, func(ctx context.Context, p *text.Embedder) (r text.Results[[]float32], err error) {
		if o.Dim > p.Dim() {
			return r, Errorf(Invalid, "dimensions %d, the vectors of the model have %d elements", o.Dim, p.Dim()).At("dimensions")
		}
		if o.Prompt, err = asked.prompt(p, RecordOf(ctx)); err != nil {
			return r, err
		}
		return p.Embed(ctx, inputs, o)
	})
}

// EmbedTokens returns the vectors of all tokens of texts with the requested prompt. model is the
// name of a model; "" is the first embedder.
func (e *Engine) EmbedTokens(ctx context.Context, model string, inputs []text.Input, asked Asked, o text.InputOptions) ([][][]float32, Usage, error) {
	return run(ctx, e, model, text.KindEmbedder, inputs, func(ctx context.Context, p *text.Embedder) (r text.Results[[][]float32], err error) {
		prompt, err := asked.prompt(p, RecordOf(ctx))
		if err != nil {
			return r, err
		}
		return p.EmbedTokens(ctx, inputs, text.EmbedOptions{InputOptions: o, Prompt: prompt})
	})
}

// EmbedSparse returns a sparse vector of each text with the requested prompt. model is the name of
// a model; "" is the first embedder.
func (e *Engine) EmbedSparse(ctx context.Context, model string, inputs []text.Input, asked Asked, o text.InputOptions) ([]text.SparseVector, Usage, error) {
	return run(ctx, e, model, text.KindEmbedder, inputs, func(ctx context.Context, p *text.Embedder) (r text.Results[text.SparseVector], err error) {
		if !p.HasSparse() {
			return r, Errorf(WrongModel, "the model gives no sparse vectors").At("model")
		}
		prompt, err := asked.prompt(p, RecordOf(ctx))
		if err != nil {
			return r, err
		}
		return p.EmbedSparse(ctx, inputs, text.EmbedOptions{InputOptions: o, Prompt: prompt})
	})
}

// Similarity returns the cosine of a text with each of several texts.
func (e *Engine) Similarity(ctx context.Context, model, source string, others []string, asked Asked, o text.EmbedOptions) ([]float32, Usage, error) {
	o.Scale = text.ScaleUnit
	vectors, usage, err := e.Embed(ctx, model, text.Texts(append([]string{source}, others...)...), asked, o)
	if err != nil {
		return nil, usage, err
	}
	out := make([]float32, len(others))
	for i, v := range vectors[1:] {
		sum := 0.0
		for j, x := range v {
			sum += float64(x) * float64(vectors[0][j])
		}
		out[i] = float32(math.Max(-1, math.Min(1, sum)))
	}
	return out, usage, nil
}

// run calls a pipeline for inputs. It checks and reserves them, opens the model, and fills the
// record.
func run[P text.Pipeline, T any](ctx context.Context, e *Engine, model string, kind text.Kind, inputs []text.Input, compute func(ctx context.Context, p P) (text.Results[T], error)) ([]T, Usage, error) {
	if err := e.check(inputs); err != nil {
		return nil, Usage{}, err
	}
	done, err := e.reserve(len(inputs))
	if err != nil {
		return nil, Usage{}, err
	}
	defer done()
	p, release, err := use[P](ctx, e, model, kind)
	if err != nil {
		return nil, Usage{}, err
	}
	defer release()
	r := RecordOf(ctx)
	began := r.start()
	n, err := compute(ctx, p)
	r.Compute, r.Wait = r.Compute+time.Since(began), r.Wait+n.Wait
	if err != nil {
		return nil, Usage{}, AsError(err)
	}
	u := Usage{n.Sum(), n.CutInputs()}
	if u.Cut > 0 {
		r.Warn("texts were cut at %d tokens", n.CutAt()) // without their number, which is in CutHeader, because the log has each warning once
	}
	r.Texts, r.Tokens, r.Cut, r.Split = r.Texts+len(inputs), r.Tokens+u.Tokens, r.Cut+u.Cut, r.Split+n.SplitInputs()
	return n.Outputs, u, nil
}

// check returns an error for inputs that no pipeline accepts.
func (e *Engine) check(inputs []text.Input) error {
	if len(inputs) == 0 {
		return Errorf(Empty, "no texts are given")
	}
	if len(inputs) > e.config.Batch {
		return Errorf(TooLarge, "%d texts are given, at most %d are possible in one request", len(inputs), e.config.Batch)
	}
	for i, in := range inputs {
		if in.Text == "" && len(in.IDs) == 0 || in.Pair && in.Second == "" {
			return Errorf(Empty, "text %d is empty", i)
		}
	}
	return nil
}
