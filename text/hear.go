// Speech heard in windows by models of CTC.

package text

import (
	"context"
	"strings"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/tokenizer"
	"github.com/avoformer/avoformer/transformer"
)

// A model of CTC attends from each hidden state to all of them, so that time grows with the square of what it hears at
// once. Windows have the length of Whisper's, and the strides that transformers' pipeline has without stride_length_s: a
// sixth of a window.
const (
	windowSeconds = 30
	strideSeconds = 5
)

// ctcWindows says how long sound is divided. All are whole numbers of the samples from one hidden state to the next.
type ctcWindows struct {
	step   int // samples from one hidden state to the next
	length int // samples of a window
	stride int // samples at each end of a window whose hidden states are dropped
}

// windowsOf is the windows of a model with a hidden state every step samples.
func windowsOf(step int) ctcWindows {
	w := ctcWindows{step: step}
	if step > 0 {
		w.length, w.stride = whole(windowSeconds, step), whole(strideSeconds, step)
	}
	return w
}

// whole is the multiple of step that is next to a number of seconds, in samples.
func whole(seconds, step int) int {
	return (seconds*models.SampleRate + step/2) / step * step
}

// fit reports whether windows leave hidden states, and miss none: the last ones of a window hear beyond its end, which must be no
// more than the stride.
func (w ctcWindows) fit(rows func(samples int) int) bool {
	return w.stride > 0 && 2*w.stride < w.length && rows(w.length) >= (w.length-w.stride)/w.step
}

// spell yields the text of samples: after each window the words that are complete.
func (t *Transcriber) spell(ctx context.Context, samples []float32, opts TranscribeOptions, yield func(Piece, error) bool) {
	said, more := "", true
	heard, err := t.hear(ctx, samples, opts, func(so []Segment) bool {
		written := t.characters.write(t.characters.complete(so))
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
		yield(Piece{Text: t.characters.write(heard)[len(said):], Finish: generation.FinishStop}, nil)
	}
}

// complete is the characters of words that end before the last space, whose text is the same whatever comes next. With cleanUp
// there are none, since write then changes words by what follows them.
func (c *characters) complete(all []Segment) []Segment {
	for i := len(all) - 1; i > 0 && !c.cleanUp; i-- {
		if all[i].Text == c.space {
			return all[:i]
		}
	}
	return nil
}

// hear is the characters of samples: those that are most likely, of which equal ones in a row are one, without blanks. It
// hands those so far to each after each window but the last, unless that is nil, and ends when each returns false.
func (t *Transcriber) hear(ctx context.Context, samples []float32, opts TranscribeOptions, each func(so []Segment) bool) ([]Segment, error) {
	for name, given := range map[string]bool{"Language": opts.Language != "", "Translate": opts.Translate, "Beams": opts.Beams > 1, "MaxTokens": opts.MaxTokens > 0} {
		if given {
			return nil, check.Option(name, "", "the model writes down characters as it hears them")
		}
	}
	h := hearing{characters: t.characters}
	windows := t.characters.windows.of(samples, t.model.Audio.Rows)
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
				h.add(name)
			}
			if last := len(windows) == 0 && i == len(names)-1; !last && each != nil && !each(h.all) {
				return h.all, nil
			}
		}
	}
	return h.all, nil
}

// window is samples that are heard at once, and which of their hidden states count.
type window struct {
	samples  []float32
	from, to int
}

// of cuts samples into windows, of whose samples there are so many hidden states as rows says.
func (w ctcWindows) of(samples []float32, rows func(samples int) int) (all []window) {
	for at := 0; ; at += w.length - 2*w.stride {
		x := window{samples: samples[at:]}
		last := len(x.samples) <= w.length
		if !last {
			x.samples = x.samples[:w.length]
		}
		if at > 0 {
			x.from = w.stride / w.step
		}
		if x.to = (w.length - w.stride) / w.step; last {
			x.to = rows(len(x.samples))
		}
		if all = append(all, x); last {
			return all
		}
	}
}

// listen is what each hidden state that counts in a window says.
func (t *Transcriber) listen(ws *models.Workspace, w window) (names []string, err error) {
	m, samples := t.model, w.samples
	if t.characters.normalize {
		samples = standardized(samples)
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
	for r := w.from; r < w.to; r++ {
		names = append(names, t.characters.names[argmax(logits[r*vocabulary:(r+1)*vocabulary])])
	}
	return names, nil
}

// hearing is characters that are heard one hidden state after the other.
type hearing struct {
	*characters
	all  []Segment
	rows int    // hidden states that were heard
	last string // what the last one says
}

// add adds what the next hidden state says.
func (h *hearing) add(name string) {
	begin, end := float64(h.rows)*h.step, float64(h.rows+1)*h.step
	switch {
	case name == h.blank:
	case h.rows > 0 && name == h.last:
		h.all[len(h.all)-1].End = end
	case name == h.delimiter:
		h.all = append(h.all, Segment{begin, end, h.space})
	default:
		h.all = append(h.all, Segment{begin, end, name})
	}
	h.rows, h.last = h.rows+1, name
}

// write is the text of characters.
func (c *characters) write(all []Segment) string {
	text := joined(all)
	if c.lower {
		text = strings.ToLower(text)
	}
	if c.cleanUp {
		text = tokenizer.CleanUp(text)
	}
	return text
}
