// This file computes scores, labels and entities of texts.

package engine

import (
	"context"

	"github.com/avoformer/avoformer/text"
)

// Rank returns the indices and scores of texts for a query, the best first. model is the name of a
// model; "" is the first reranker.
func (e *Engine) Rank(ctx context.Context, model, query string, texts []string, o text.RerankOptions) ([]text.Ranked, Usage, error) {
	if query == "" {
		return nil, Usage{}, Errorf(Empty, "the query is empty").At("query")
	}
	pairs := make([]text.Input, len(texts))
	for i, t := range texts {
		pairs[i] = text.Input{Text: query, Second: t, Pair: true}
	}
	return run(ctx, e, model, text.KindReranker, pairs, func(ctx context.Context, p *text.Reranker) (text.Results[text.Ranked], error) {
		return p.Rank(ctx, query, texts, o)
	})
}

// Classify returns the labels of texts or pairs with their scores, the best first. model is the
// name of a model; "" is the first classifier.
func (e *Engine) Classify(ctx context.Context, model string, inputs []text.Input, o text.ClassifyOptions) ([][]text.Label, Usage, error) {
	return run(ctx, e, model, text.KindClassifier, inputs, func(ctx context.Context, p *text.Classifier) (text.Results[[]text.Label], error) {
		return p.Classify(ctx, inputs, o)
	})
}

// Entities returns the entities of texts. model is the name of a model; "" is the first classifier
// of tokens.
func (e *Engine) Entities(ctx context.Context, model string, texts []string, o text.EntityOptions) ([][]text.Entity, Usage, error) {
	return run(ctx, e, model, text.KindTokenClassifier, text.Texts(texts...), func(ctx context.Context, p *text.TokenClassifier) (text.Results[[]text.Entity], error) {
		return p.Entities(ctx, texts, o)
	})
}
