// Answers piece by piece, with what is known of them beside their text.

package text

import (
	"cmp"
	"context"
	"iter"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Piece is what comes next in a text that is generated.
type Piece struct {
	Text string // that is certain
	// Tokens are those that came since the last piece, the one that ended the text left out. Where the text
	// may still become another, as within a character, it comes with a later piece.
	Tokens []generation.Choice
	// Finish says why the text ended: it is FinishNone but in the last piece, in which there may be no text.
	Finish generation.Finish
	Stop   string // in the last piece: which of the stop strings ended the text; "": none
	Usage  Usage  // in the last piece
}

// Usage is numbers of tokens.
type Usage struct {
	Prompt int // tokens of the prompt
	Shared int // of them: those that were not computed again, since a text before began with them
	Tokens int // that were generated, the one that ended the text left out
}

// Pieces is Generate with what there is beside the text.
func (g *Generator) Pieces(ctx context.Context, prompt string, opts GenerateOptions) iter.Seq2[Piece, error] {
	return g.pieces(ctx, prompt, tokenizer.Options{}, opts)
}

// ContinuePieces is ContinuePrompt with what there is beside the text.
func (g *Generator) ContinuePieces(ctx context.Context, prompt string, opts GenerateOptions) iter.Seq2[Piece, error] {
	return g.pieces(ctx, prompt, plainTokens, opts)
}

func (g *Generator) pieces(ctx context.Context, prompt string, special tokenizer.Options, opts GenerateOptions) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		ids, err := g.promptTokens(prompt, special, opts)
		if err != nil {
			yield(Piece{}, err)
			return
		}
		p := pieceMaker{stream: newStream(g.tokenizer, opts.Stop, opts.Markers), usage: Usage{Prompt: len(ids)}}
		for next, err := range g.answer(ctx, ids, opts) {
			if err = cmp.Or(err, next.Err); err != nil {
				yield(Piece{}, err)
				return
			}
			if piece, some := p.add(next); some && (!yield(piece, nil) || piece.Finish != generation.FinishNone) {
				return
			}
		}
	}
}

// pieceMaker makes pieces of tokens.
type pieceMaker struct {
	stream *stream
	tokens []generation.Choice // that no piece has had
	usage  Usage
}

// add is the piece that a token completes, or the last one; false if there is none.
func (p *pieceMaker) add(next generation.Next) (piece Piece, some bool) {
	stopped := false
	if next.Finish == generation.FinishNone {
		p.usage.Tokens++
		p.tokens = append(p.tokens, next.Choice)
		if piece.Text, stopped = p.stream.add(next.Token); piece.Text == "" && !stopped {
			return piece, false
		}
	} else {
		piece.Text, piece.Finish = p.stream.rest(), next.Finish
	}
	if stopped {
		piece.Finish = generation.FinishStop
	}
	if piece.Finish != generation.FinishNone {
		p.usage.Shared = next.Shared
		piece.Usage, piece.Stop = p.usage, p.stream.stopped
	}
	piece.Tokens, p.tokens = p.tokens, nil
	return piece, true
}

// answer yields the tokens after a prompt.
func (g *Generator) answer(ctx context.Context, prompt []int, o GenerateOptions) iter.Seq2[generation.Next, error] {
	return g.decode(ctx, nil, prompt, g.settings.rules(&o, g.model.Config.EOSTokens, prompt), o)
}
