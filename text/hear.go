// Speech heard in windows by models that write down what they hear.

package text

import (
	"context"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/speech"
	"github.com/avoformer/avoformer/transformer"
)

// Characters returns the text that a model hears, with times, in the smallest parts that the model
// writes. Of a model of CTC such as wav2vec 2.0 it is characters, as transformers gives them with
// output_char_offsets: spaces between words are characters too. Of Parakeet it is pieces of words,
// which begin with a space where a word begins. Long sound is heard in the windows that
// [Transcriber.Transcribe] describes. Another model is an error that matches fault.ErrInput.
func (t *Transcriber) Characters(ctx context.Context, samples []float32) ([]Segment, error) {
	if t.script == nil {
		return nil, check.Errorf(fault.ErrInput, "the model writes no characters")
	}
	heard, err := t.hear(ctx, samples, TranscribeOptions{}, nil)
	return segments(heard), err
}

// spell yields the text of samples: after each window the words that are complete.
func (t *Transcriber) spell(ctx context.Context, samples []float32, opts TranscribeOptions, yield func(Piece, error) bool) {
	said, more := "", true
	heard, err := t.hear(ctx, samples, opts, func(so []speech.Segment) bool {
		written := t.script.Write(t.script.Complete(so))
		if len(written) > len(said) {
			more = yield(Piece{Text: written[len(said):]}, nil)
			said = written
		}
		return more
	})
	switch {
	case !more:
	case err != nil:
		yield(Piece{}, err)
	default:
		yield(Piece{Text: t.script.Write(heard)[len(said):], Finish: generation.FinishStop}, nil)
	}
}

// hear returns the speech heard in samples, in the smallest parts. After each window except the
// last, it hands the parts so far to each, unless each is nil, and ends when each returns false.
func (t *Transcriber) hear(ctx context.Context, samples []float32, opts TranscribeOptions, each func(so []speech.Segment) bool) ([]speech.Segment, error) {
	for name, given := range map[string]bool{"Language": opts.Language != "", "Translate": opts.Translate, "Beams": opts.Beams > 1, "MaxTokens": opts.MaxTokens > 0} {
		if given {
			return nil, check.Option(name, "", "the model writes down what it hears, as it hears it")
		}
	}
	heard, windows := t.script.Begin(), t.script.Windows(samples)
	ear := t.newEar(len(samples), heard)
	for len(windows) > 0 {
		now := windows[:min(len(windows), t.options.Threads)] // side by side
		then := make([]func(ws *models.Workspace) error, len(now))
		if _, err := t.queue.Each(ctx, len(now), func(ws *models.Workspace, i int) (err error) {
			then[i], err = ear(ws, now[i])
			return err
		}); err != nil {
			return nil, err
		}
		windows = windows[len(now):]
		for i := range then {
			if _, err := t.queue.Each(ctx, 1, func(ws *models.Workspace, _ int) error { return then[i](ws) }); err != nil {
				return nil, err
			}
			if last := len(windows) == 0 && i == len(then)-1; !last && each != nil && !each(heard.All()) {
				return heard.All(), nil
			}
		}
	}
	heard.End()
	return heard.All(), nil
}

// An ear listens to several windows at the same time and returns, window by window, a function that
// adds to the text heard.
type ear func(ws *models.Workspace, w speech.Window) (then func(ws *models.Workspace) error, err error)

// newEar returns the ear for a number of samples.
func (t *Transcriber) newEar(samples int, heard speech.Heard) ear {
	if t.model.Transducer == nil {
		return func(ws *models.Workspace, w speech.Window) (func(*models.Workspace) error, error) {
			tokens, err := t.listen(ws, w)
			return func(*models.Workspace) error {
				for _, token := range tokens {
					heard.Add(token)
				}
				return nil
			}, err
		}
	}
	frames := samples/models.SpectrogramHop + 1 // transformers' features have a frame of padding
	state := t.model.Transducer.Begin(t.model.Audio.Rows(frames))
	return func(ws *models.Workspace, w speech.Window) (func(*models.Workspace) error, error) {
		hidden, err := t.hidden(ws, w)
		hidden = slices.Clone(hidden) // beyond the workspace
		return func(ws *models.Workspace) error {
			said, err := t.model.Transducer.Hear(ws, state, hidden)
			for _, s := range said {
				heard.(*speech.HeardPieces).Say(s.Token, s.Row, s.Rows)
			}
			return err
		}, err
	}
}

// listen returns the most likely token of each hidden state that counts in a window.
func (t *Transcriber) listen(ws *models.Workspace, w speech.Window) (tokens []int, err error) {
	hidden, err := t.hidden(ws, w)
	if err != nil {
		return nil, err
	}
	head, dim := t.model.Heads[models.HeadCTC], t.model.Audio.Dim()
	vocabulary := head.Out()
	for len(hidden) > 0 {
		rows := min(len(hidden)/dim, listenRows)
		logits := ws.Alloc(rows * vocabulary) // [rows, vocabulary]
		if err := head.Forward(ws, logits, hidden[:rows*dim], models.Tokens{Batch: transformer.Uniform(1, rows)}); err != nil {
			return nil, err
		}
		if err := check.Finite(logits); err != nil {
			return nil, err
		}
		for r := range rows {
			tokens = append(tokens, argmax(logits[r*vocabulary:(r+1)*vocabulary]))
		}
		hidden = hidden[rows*dim:]
	}
	return tokens, nil
}

// listenRows is the number of hidden states whose logits are computed at a time, which bounds their
// memory.
const listenRows = 256

// hidden returns the hidden states that count in a window, [To-From, D], in memory of ws.
func (t *Transcriber) hidden(ws *models.Workspace, w speech.Window) ([]float32, error) {
	features, frames, err := t.script.Features(w.Samples) // [features, frames]
	if err != nil {
		return nil, err
	}
	audio := t.model.Audio
	dim := audio.Dim()
	x := ws.Alloc(audio.Rows(frames) * dim) // [rows, D]
	if err := audio.EncodeAudio(ws, x, features, 1, frames); err != nil {
		return nil, err
	}
	return x[w.From*dim : w.To*dim], nil
}
