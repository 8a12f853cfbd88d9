// Speech heard in windows by models of CTC.

package text

import (
	"context"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/speech"
	"github.com/avoformer/avoformer/transformer"
)

// Characters is the characters of mono samples at 16 kHz with their times, as a model of CTC such as wav2vec 2.0 hears them, and
// transformers gives them with output_char_offsets: spaces between words are characters too. Long sound is heard in the
// windows that [Transcriber.Transcribe] describes. Another model is an error that matches fault.ErrInput.
func (t *Transcriber) Characters(ctx context.Context, samples []float32) ([]Segment, error) {
	if t.characters == nil {
		return nil, check.Errorf(fault.ErrInput, "the model writes no characters")
	}
	heard, err := t.hear(ctx, samples, TranscribeOptions{}, nil)
	return segments(heard), err
}

// spell yields the text of samples: after each window the words that are complete.
func (t *Transcriber) spell(ctx context.Context, samples []float32, opts TranscribeOptions, yield func(Piece, error) bool) {
	said, more := "", true
	heard, err := t.hear(ctx, samples, opts, func(so []speech.Segment) bool {
		written := t.characters.Write(t.characters.Complete(so))
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
		yield(Piece{Text: t.characters.Write(heard)[len(said):], Finish: generation.FinishStop}, nil)
	}
}

// hear is the characters of samples: those that are most likely, of which equal ones in a row are one, without blanks. It
// hands those so far to each after each window but the last, unless that is nil, and ends when each returns false.
func (t *Transcriber) hear(ctx context.Context, samples []float32, opts TranscribeOptions, each func(so []speech.Segment) bool) ([]speech.Segment, error) {
	for name, given := range map[string]bool{"Language": opts.Language != "", "Translate": opts.Translate, "Beams": opts.Beams > 1, "MaxTokens": opts.MaxTokens > 0} {
		if given {
			return nil, check.Option(name, "", "the model writes down characters as it hears them")
		}
	}
	h := speech.Heard{Characters: t.characters}
	windows := t.characters.Windows(samples, t.model.Audio.Rows)
	for len(windows) > 0 {
		now := windows[:min(len(windows), t.options.Threads)] // side by side
		names := make([][]string, len(now))
		if _, err := t.queue.Each(ctx, len(now), func(ws *models.Workspace, i int) (err error) {
			names[i], err = t.listen(ws, now[i])
			return err
		}); err != nil {
			return nil, err
		}
		windows = windows[len(now):]
		for i, said := range names {
			for _, name := range said {
				h.Add(name)
			}
			if last := len(windows) == 0 && i == len(names)-1; !last && each != nil && !each(h.All) {
				return h.All, nil
			}
		}
	}
	return h.All, nil
}

// listen is what each hidden state that counts in a window says.
func (t *Transcriber) listen(ws *models.Workspace, w speech.Window) (names []string, err error) {
	m, samples := t.model, w.Samples
	if t.characters.Normalize {
		samples = speech.Standardized(samples)
	}
	rows, vocabulary := m.Audio.Rows(len(samples)), m.Heads[models.HeadCTC].Out()
	hidden, logits := ws.Alloc(rows*m.Audio.Dim()), ws.Alloc(rows*vocabulary) // [rows, D], [rows, vocabulary]
	if err := m.Audio.EncodeAudio(ws, hidden, samples, 1, len(samples)); err != nil {
		return nil, err
	}
	if err := m.Heads[models.HeadCTC].Forward(ws, logits, hidden, models.Tokens{Batch: transformer.Uniform(1, rows)}); err != nil {
		return nil, err
	}
	if err := check.Finite(logits); err != nil {
		return nil, err
	}
	for r := w.From; r < w.To; r++ {
		names = append(names, t.characters.Name(argmax(logits[r*vocabulary:(r+1)*vocabulary])))
	}
	return names, nil
}
