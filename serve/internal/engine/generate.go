// This file generates text, and transcribes and translates.

package engine

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Generator is a model that generates text, held open until Release is called, once.
type Generator struct {
	*text.Generator
	Name    string
	Release func()
	engine  *Engine
	adapter string // of the request
}

// Generator returns a generator that stays open for one request. model is its name; "" is the first
// generator. Build prompts with its Prompt, and generate text with Pieces of this package, which
// counts the text.
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

// MostTokens returns the largest number of tokens to generate for a text; 0: no limit.
func (g *Generator) MostTokens() int { return g.engine.config.NewTokens }

// Literal reports whether control tokens in contents of users and tools are plain text.
func (g *Generator) Literal() bool { return g.engine.config.Literal }

// MostImages returns the largest number of images of a prompt.
func (g *Generator) MostImages() int { return g.engine.config.Batch }

// Prompt is the beginning that a generated text continues.
type Prompt struct {
	Text   string
	Made   bool  // made by the model's template, so that Text already has its special tokens
	Tokens []int // in place of Text; nil: none
}

// String returns the prompt as text. If the prompt is tokens, it omits special tokens.
func (p Prompt) String(t *tokenizer.Tokenizer) string {
	if p.Tokens != nil {
		return t.Decode(p.Tokens, true)
	}
	return p.Text
}

// Pieces generates text after a prompt, and yields its pieces. Errors have a kind.
func (g *Generator) Pieces(ctx context.Context, prompt Prompt, o text.GenerateOptions) iter.Seq2[text.Piece, error] {
	pieces := func(ctx context.Context) iter.Seq2[text.Piece, error] {
		switch {
		case prompt.Tokens != nil:
			return g.ContinueTokens(ctx, prompt.Tokens, o)
		case prompt.Made:
			return g.ContinuePrompt(ctx, prompt.Text, o)
		}
		return g.Generate(ctx, prompt.Text, o)
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
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		gone := false // the caller has stopped
		for piece, err := range pieces(ctx) {
			// The last piece has the counts or, if the text is cancelled, the error's piece.
			r.Tokens, r.Shared, r.Generated = r.Tokens+piece.Usage.Prompt, r.Shared+piece.Usage.Shared, r.Generated+piece.Usage.Tokens
			switch {
			case gone:
				continue
			case errors.Is(err, fault.ErrCut): // protocols state this by the reason of the last piece
				return
			case err != nil:
				yield(piece, AsError(err))
				return
			}
			if r.First == 0 {
				r.First = time.Since(began)
			}
			if gone = !yield(piece, nil); gone {
				cancel()
			}
		}
	}
}

// Transcribe returns the text of mono samples at 16 kHz. model is the name of a model; "" is the
// first transcriber. Unless emit is nil, it is called with each piece of the text.
func (e *Engine) Transcribe(ctx context.Context, model string, samples []float32, o text.TranscribeOptions, emit func(piece string) error) (transcript string, err error) {
	err = listen(ctx, e, model, func(p *text.Transcriber) error {
		var all strings.Builder
		for piece, err := range p.Transcribe(ctx, samples, o) {
			if err == nil && emit != nil && piece.Text != "" {
				err = emit(piece.Text)
			}
			if err != nil {
				return err
			}
			all.WriteString(piece.Text)
		}
		transcript = all.String()
		return nil
	})
	return transcript, err
}

// A Transcription is a text with its times.
type Transcription struct {
	Text     string
	Segments []text.Segment // nil: the model states no times
	Words    []text.Segment // nil: they are not asked for, or the model states no times of words
}

// TranscribeTimed is Transcribe with times, also of words if they are asked for, as far as the
// model tells them.
func (e *Engine) TranscribeTimed(ctx context.Context, model string, samples []float32, o text.TranscribeOptions, words bool) (t Transcription, err error) {
	err = listen(ctx, e, model, func(p *text.Transcriber) (err error) {
		switch {
		case !p.HasTimes():
			all, err := text.Collect(p.Transcribe(ctx, samples, o))
			t.Text = all.Text
			return err
		case words && p.HasWords():
			t.Words, t.Segments, err = p.Words(ctx, samples, o)
		default:
			t.Segments, err = p.Segments(ctx, samples, o)
		}
		t.Text = p.JoinSegments(t.Segments)
		return err
	})
	return t, err
}

// Translate returns the translations of texts. model is the name of a model; "" is the first
// translator. change modifies the options of the model's folder.
func (e *Engine) Translate(ctx context.Context, model string, texts []string, change func(o *text.TranslateOptions) error) ([]string, error) {
	pieces, _, err := run(ctx, e, model, text.KindTranslator, text.Texts(texts...), func(ctx context.Context, p *text.Translator) (r text.Results[text.Piece], err error) {
		o, err := p.Defaults()
		if err != nil {
			return r, err
		}
		if err := change(&o); err != nil {
			return r, err
		}
		return p.Translate(ctx, texts, o)
	})
	out := make([]string, len(pieces))
	for i, p := range pieces {
		out[i] = p.Text
	}
	return out, err
}

// listen calls with with a transcriber, for one sound. Errors have a kind.
func listen(ctx context.Context, e *Engine, model string, with func(p *text.Transcriber) error) error {
	done, err := e.reserve(1)
	if err != nil {
		return err
	}
	defer done()
	p, release, err := use[*text.Transcriber](ctx, e, model, text.KindTranscriber)
	if err != nil {
		return AsError(err)
	}
	defer release()
	r := RecordOf(ctx)
	began := r.start()
	r.Texts++
	defer func() { r.Compute = time.Since(began) }()
	if err := with(p); err != nil {
		return AsError(err)
	}
	return nil
}
