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
	Usage  Usage // in the last piece
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
		p := pieceMaker{stream: newStream(g.tokenizer, opts.Stop), usage: Usage{Prompt: len(ids)}}
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
		piece.Usage = p.usage
	}
	piece.Tokens, p.tokens = p.tokens, nil
	return piece, true
}

// answer yields the tokens after a prompt: those that are chosen one by one, or at once those of a search.
func (g *Generator) answer(ctx context.Context, prompt []int, o GenerateOptions) iter.Seq2[generation.Next, error] {
	if o.Beams > 1 {
		return func(yield func(generation.Next, error) bool) {
			ws := g.workspace(g.threads)
			defer g.pool.Put(ws)
			for token, err := range g.decode(ctx, ws, nil, prompt, g.settings.rules(&o, g.model.Config.EOSTokens, nil), o) {
				if !yield(generation.Next{Choice: generation.Choice{Token: token}}, err) || err != nil {
					return
				}
			}
			yield(generation.Next{Choice: generation.Choice{Token: -1}, Finish: generation.FinishStop}, nil)
		}
	}
	return func(yield func(generation.Next, error) bool) {
		r, err := g.request(prompt, o)
		if err != nil {
			yield(generation.Next{}, err)
			return
		}
		g.scheduler.Generate(ctx, r)(yield)
	}
}

// request is a prompt with options as the scheduler takes it.
func (g *Generator) request(prompt []int, o GenerateOptions) (r generation.Request, err error) {
	n, err := g.room(len(prompt), o.MaxTokens)
	if err != nil {
		return r, err
	}
	eos := g.model.Config.EOSTokens
	c := o.sampler(g.settings.rules(&o, eos, nil))
	c.Vocab, c.Prompt, c.MaxTokens = g.model.LM.Vocab(), prompt, n
	if c.Constraint, err = g.constraint(&o); err != nil {
		return r, err
	}
	r = generation.Request{Prompt: prompt, Limits: generation.Limits{MaxTokens: n, Stop: eos}}
	r.Sampler, err = generation.NewSampler(c)
	return r, err
}
