package text

import (
	"context"
	"iter"

	"github.com/avoformer/avoformer/text/tokenizer"
)

// textOf joins the text of pieces.
func textOf(pieces iter.Seq2[Piece, error]) (string, error) {
	all, err := Collect(pieces)
	return all.Text, err
}

// tokensOf yields the tokens that a text is made of, before they become pieces.
func tokensOf(ctx context.Context, g *Generator, prompt string, o GenerateOptions) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		ids, err := g.promptTokens(prompt, tokenizer.Options{}, o)
		if err != nil {
			yield(0, err)
			return
		}
		tokensOnly(g.answer(ctx, ids, o))(yield)
	}
}
