// This file gives access to tokenizers and prompts of models.

package engine

import (
	"context"
	"slices"

	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Tokenizer returns the tokenizer of a model; "" is the first model of a kind with tokens. The
// tokenizer can be used after the model is closed.
func (e *Engine) Tokenizer(ctx context.Context, model string) (*tokenizer.Tokenizer, error) {
	if model == "" {
		model, _ = e.Default(slices.DeleteFunc(text.Kinds(), func(k text.Kind) bool {
			return k.Info().Images
		})...)
	}
	m, ok := e.names[model]
	if !ok {
		return nil, Errorf(UnknownModel, "no model %q is served here", model).At("model")
	}
	p, release, err := e.open(ctx, m)
	if err != nil {
		return nil, AsError(err)
	}
	defer release()
	t := p.Tokenizer()
	if t == nil {
		return nil, Errorf(WrongModel, "%q is a %s, which has no tokens", m.Name, m.Kind).At("model")
	}
	r := RecordOf(ctx)
	r.Model, r.Kind = m.Name, m.Kind
	return t, nil
}

// Prompt returns the text of a model's prompt. model is the name of a model; "" is the first
// embedder.
func (e *Engine) Prompt(ctx context.Context, model, name string) (string, error) {
	p, release, err := use[*text.Embedder](ctx, e, model, text.KindEmbedder)
	if err != nil {
		return "", err
	}
	defer release()
	return p.Prompt(name)
}
