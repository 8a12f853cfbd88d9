// This file streams answers, and counts tokens of prompts.

package chat

import (
	"context"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Sender has the functions with which a protocol streams the events of Run.
type Sender struct {
	Open  func() *wire.Stream
	Begin func(s *wire.Stream) error // before the first event
	Next  func(s *wire.Stream, e Event) error
	End   func(s *wire.Stream) error                  // after the last event
	Fail  func(s *wire.Stream, e *engine.Error) error // in place of End
}

// Stream sends events until they end. It opens the stream at the first event, so that an earlier
// error has its own status.
func Stream(c *wire.Call, events func(yield func(Event, error) bool), to Sender) error {
	var s *wire.Stream
	for e, err := range events {
		if err != nil && s == nil {
			return err
		}
		if err != nil {
			c.Record.Failure = engine.AsError(err)
			return to.Fail(s, c.Record.Failure)
		}
		if s == nil {
			s = to.Open()
			if err := to.Begin(s); err != nil {
				return err
			}
		}
		if err := to.Next(s, e); err != nil {
			return err
		}
	}
	return to.End(s)
}

// Generator returns the generator that a request names. If there is only one, requests may omit the
// name, or use "dummy", as huggingface_hub does.
func Generator(ctx context.Context, e *engine.Engine, model string) (*engine.Generator, error) {
	if _, known := e.Find(model); !known && model == "dummy" {
		model = ""
	}
	model, err := e.Sole(model, text.KindGenerator)
	if err != nil {
		return nil, err
	}
	return e.Generator(ctx, model)
}

// PromptTokens returns the number of tokens of a job's prompt, including those of images.
func (j *Job) PromptTokens(g *engine.Generator) (int, error) {
	var ids []int
	var err error
	if j.Made {
		ids, err = g.PromptTokens(j.Text, j.Options)
	} else {
		var e *tokenizer.Encoding
		if e, err = g.Tokenizer().Encode(j.Text, tokenizer.Options{}); err == nil {
			ids = e.IDs
		}
	}
	if err != nil {
		return 0, engine.AsError(err)
	}
	n := len(ids)
	for _, file := range j.Options.Images {
		more, err := g.ImageTokens(file)
		if err != nil {
			return 0, engine.AsError(err).At("messages")
		}
		n += more
	}
	return n, nil
}
