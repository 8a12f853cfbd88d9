// Tokens of texts, texts of tokens, and a first question to a model.

package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Tokenizer is the tokenizer of a model, "" for the first that has one. It needs the model no longer.
func (e *Engine) Tokenizer(ctx context.Context, model string) (*tokenizer.Tokenizer, error) {
	if model == "" {
		model, _ = e.Default(slices.DeleteFunc(text.Kinds(), func(k text.Kind) bool {
			return k == text.KindImageClassifier || k == text.KindImageEmbedder
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
	t, ok := p.(interface{ Tokenizer() *tokenizer.Tokenizer })
	if !ok || t.Tokenizer() == nil {
		return nil, Errorf(WrongModel, "%q is a %s, which has no tokens", m.Name, m.Kind).At("model")
	}
	r := RecordOf(ctx)
	r.Model, r.Kind = m.Name, m.Kind
	return t.Tokenizer(), nil
}

// Prompt is the text of a prompt that a model goes by, "" for the first embedder.
func (e *Engine) Prompt(ctx context.Context, model, name string) (string, error) {
	p, release, err := use[*text.Embedder](ctx, e, model, text.KindEmbedder)
	if err != nil {
		return "", err
	}
	defer release()
	return p.Prompt(name)
}

// exercise asks a pipeline for something small, so that the first request does not wait for what is made once.
func exercise(ctx context.Context, pipeline any) (err error) {
	const hello = "Hello, world."
	switch p := pipeline.(type) {
	case *text.Embedder:
		_, err = p.Embed(ctx, []string{hello})
	case *text.Reranker:
		_, err = p.Score(ctx, hello, []string{hello})
	case *text.Classifier:
		_, err = p.Classify(ctx, []string{hello})
	case *text.TokenClassifier:
		_, err = p.Entities(ctx, []string{hello}, text.AggregateSimple)
	case *text.Generator:
		_, err = text.Collect(p.Generate(ctx, hello, text.GenerateOptions{MaxTokens: 1}))
	}
	if errors.Is(err, text.ErrInput) {
		return nil // the model is there, if that text is none for it
	}
	return err
}
