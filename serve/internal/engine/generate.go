// Text that is generated, and speech that is written down.

package engine

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/avoformer/avoformer/text"
)

// Generator is a model that generates text, held open until Release is called, once.
type Generator struct {
	*text.Generator
	Name    string
	Release func()
	engine  *Engine
	adapter string // that the request asked for
}

// Generator holds the generator of a name, "" for the first, for one request: prompts are made with its Prompt, and
// text with Pieces here, which counts it.
func (e *Engine) Generator(ctx context.Context, model string) (*Generator, error) {
	p, release, err := use[*text.Generator](ctx, e, model, text.KindGenerator)
	if err != nil {
		return nil, err
	}
	g := &Generator{Generator: p, Name: RecordOf(ctx).Model, Release: release, engine: e}
	if slices.Contains(p.Adapters(), model) {
		g.Name, g.adapter = model, model
	}
	return g, nil
}

// MostTokens is the most tokens that a request may have generated for a text; 0: no limit.
func (g *Generator) MostTokens() int { return g.engine.config.NewTokens }

// Pieces yields the text after a prompt, which has its special tokens already if it is one that Prompt made. Errors
// have a kind.
func (g *Generator) Pieces(ctx context.Context, prompt string, made bool, o text.GenerateOptions) iter.Seq2[text.Piece, error] {
	pieces := g.Generator.Pieces
	if made {
		pieces = g.ContinuePieces
	}
	return func(yield func(text.Piece, error) bool) {
		done, err := g.engine.reserve(1)
		if err != nil {
			yield(text.Piece{}, err)
			return
		}
		defer done()
		r := RecordOf(ctx)
		began := r.start()
		r.Texts++
		defer func() { r.Compute = time.Since(began) }()
		o.Adapter = g.adapter
		for piece, err := range pieces(ctx, prompt, o) {
			if err != nil {
				yield(piece, AsError(err))
				return
			}
			if r.First == 0 {
				r.First = time.Since(began)
			}
			r.Tokens, r.Shared, r.Generated = r.Tokens+piece.Usage.Prompt, r.Shared+piece.Usage.Shared, r.Generated+piece.Usage.Tokens
			if !yield(piece, nil) {
				return
			}
		}
	}
}

// Transcribe yields the text of mono samples at 16 kHz, with a model, "" for the first transcriber.
func (e *Engine) Transcribe(ctx context.Context, model string, samples []float32, o text.TranscribeOptions) iter.Seq2[string, error] {
	return streamed(ctx, e, model, text.KindTranscriber, func(p *text.Transcriber) iter.Seq2[string, error] { return p.Transcribe(ctx, samples, o) })
}

// Translate is the translations of texts, with a model, "" for the first translator. The options are what change makes
// of those that the folder states.
func (e *Engine) Translate(ctx context.Context, model string, texts []string, change func(o *text.TranslateOptions) error) ([]string, error) {
	var out []string
	_, err := run(ctx, e, model, text.KindTranslator, text.Texts(texts), func(ctx context.Context, p *text.Translator) (n text.Counts, err error) {
		o, err := p.Defaults()
		if err != nil {
			return n, err
		}
		if err := change(&o); err != nil {
			return n, err
		}
		out, err = p.Translate(ctx, texts, o)
		return n, err
	})
	return out, err
}

// streamed yields what a pipeline does for one input, with errors that have a kind.
func streamed[P any](ctx context.Context, e *Engine, model string, kind text.Kind, pieces func(p P) iter.Seq2[string, error]) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		done, err := e.reserve(1)
		if err != nil {
			yield("", err)
			return
		}
		defer done()
		p, release, err := use[P](ctx, e, model, kind)
		if err != nil {
			yield("", AsError(err))
			return
		}
		defer release()
		r := RecordOf(ctx)
		began := r.start()
		r.Texts++
		defer func() { r.Compute = time.Since(began) }()
		for piece, err := range pieces(p) {
			if err != nil {
				yield("", AsError(err))
				return
			}
			if !yield(piece, nil) {
				return
			}
		}
	}
}
