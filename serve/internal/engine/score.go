// Scores, labels and entities of texts.

package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/avoformer/avoformer/text"
)

// Rank is the texts' numbers and scores for a query, the best first, with a model, "" for the first reranker.
func (e *Engine) Rank(ctx context.Context, model, query string, texts []string, o text.ClassifyOptions) ([]text.Ranked, Usage, error) {
	var scores []float32
	inputs := make([]text.Input, len(texts))
	for i, t := range texts {
		inputs[i] = text.Input{Text: query, Second: t, Pair: true}
	}
	usage, err := run(ctx, e, model, text.KindReranker, inputs, func(ctx context.Context, p *text.Reranker) (n text.Counts, err error) {
		scores, n, err = p.ScoreTexts(ctx, query, texts, o)
		return n, err
	})
	ranked := make([]text.Ranked, len(scores))
	for i, s := range scores {
		ranked[i] = text.Ranked{Index: i, Score: s}
	}
	slices.SortStableFunc(ranked, func(a, b text.Ranked) int { return cmp.Compare(b.Score, a.Score) })
	return ranked, usage, err
}

// Classify is the labels of texts or pairs with their scores, the best first, with a model, "" for the first
// classifier.
func (e *Engine) Classify(ctx context.Context, model string, inputs []text.Input, o text.ClassifyOptions) ([][]text.Label, Usage, error) {
	var labels [][]text.Label
	usage, err := run(ctx, e, model, text.KindClassifier, inputs, func(ctx context.Context, p *text.Classifier) (n text.Counts, err error) {
		labels, n, err = p.ClassifyInputs(ctx, inputs, o)
		return n, err
	})
	return labels, usage, err
}

// Entities is the entities of texts, with a model, "" for the first classifier of tokens.
func (e *Engine) Entities(ctx context.Context, model string, texts []string, how text.Aggregation, o text.InputOptions) ([][]text.Entity, Usage, error) {
	var entities [][]text.Entity
	usage, err := run(ctx, e, model, text.KindTokenClassifier, text.Texts(texts), func(ctx context.Context, p *text.TokenClassifier) (n text.Counts, err error) {
		entities, n, err = p.EntitiesOf(ctx, texts, how, o)
		return n, err
	})
	return entities, usage, err
}
