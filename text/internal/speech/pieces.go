// Pieces of words of speech.

package speech

import (
	"strings"

	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Pieces reads the tokens that a model such as Parakeet has heard, as transformers'
// ParakeetProcessor does.
type Pieces struct {
	bins      int // of the spectrograms that the model takes
	tokenizer *tokenizer.Tokenizer
	blank     int     // the token of which nothing is written
	step      float64 // seconds from one hidden state to the next
	windows
}

// mostSeconds is the longest window, which is what published models of 5000 positions have.
const mostSeconds = 400

// Pieces reads how the samples of a folder's model become spectrograms. The token blank is not
// written.
func (f Folder) Pieces(audio models.AudioEncoder, t *tokenizer.Tokenizer, blank int) (*Pieces, error) {
	s := normalized{Rate: models.SampleRate, Bins: audio.Features(), Hop: models.SpectrogramHop, FFT: 512, Window: 400, PreEmphasis: 0.97}
	if err := f.read("ParakeetFeatureExtractor", &s); err != nil {
		return nil, err
	}
	if err := s.check(audio.Features()); err != nil {
		return nil, err
	}
	steps, ok := audio.(models.Strider)
	limit, limited := audio.(models.RowLimiter)
	if !ok || !limited {
		return nil, folder.Errorf("the model does not say when it heard something")
	}
	stride := steps.Stride()
	p := &Pieces{bins: s.Bins, tokenizer: t, blank: blank, step: float64(stride) / models.SampleRate}
	most := mostSeconds * models.SampleRate / stride
	p.windows = windowsOf(stride, min(limit.MaxRows(), most)*stride, func(samples int) int { return audio.Rows(samples / models.SpectrogramHop) })
	if !p.fit() {
		return nil, folder.FileError("config.json", "max_position_embeddings", "", "%d hidden states, one every %d samples, are not supported", limit.MaxRows(), stride)
	}
	return p, nil
}

// Features returns the spectrogram of samples that the model takes, [bins, frames], and the number
// of its frames.
func (p *Pieces) Features(samples []float32) ([]float32, int, error) {
	features, err := models.NormalizedLogMel(samples, p.bins)
	return features, len(features) / p.bins, err
}

// HeardPieces is tokens that are heard one after the other.
type HeardPieces struct {
	*Pieces
	all    []Segment
	stream *tokenizer.Stream
	rows   int  // hidden states that were heard
	last   int  // token of the last one
	wrote  bool // the last token is the end of all
}

// Begin returns the state before the first hidden state.
func (p *Pieces) Begin() Heard {
	return &HeardPieces{Pieces: p, stream: p.tokenizer.Stream(true)}
}

// Add adds the most likely token of the next hidden state. Equal tokens in a row count as one.
func (h *HeardPieces) Add(token int) {
	again := h.rows > 0 && token == h.last
	h.rows, h.last = h.rows+1, token
	if !again {
		h.Say(token, h.rows-1, 1)
	} else if h.wrote {
		h.all[len(h.all)-1].End = float64(h.rows) * h.step
	}
}

// Say adds a token that is said from a hidden state on, for a number of them. A token without text
// of its own, such as the first byte of a character, is part of the one after it.
func (h *HeardPieces) Say(token, row, rows int) {
	h.rows, h.wrote = row+rows, false
	if token == h.blank {
		return
	}
	if text := h.stream.Next(token); text != "" {
		h.all, h.wrote = append(h.all, Segment{float64(row) * h.step, float64(row+rows) * h.step, text}), true
	}
}

// End adds what the stream of text still holds: U+FFFD for the beginning of a character.
func (h *HeardPieces) End() {
	if text := h.stream.Flush(); text != "" {
		end := float64(h.rows) * h.step
		h.all = append(h.all, Segment{end, end, text})
	}
}

func (h *HeardPieces) All() []Segment { return h.all }

// Write returns the text of pieces.
func (p *Pieces) Write(all []Segment) string {
	var b strings.Builder
	for _, s := range all {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Complete returns the pieces of words that end before the last space, whose text is the same
// whatever comes next.
func (p *Pieces) Complete(all []Segment) []Segment {
	for i := len(all) - 1; i > 0; i-- {
		if strings.HasPrefix(all[i].Text, " ") {
			return all[:i]
		}
	}
	return nil
}

// Words joins pieces to words, which begin with a space.
func (p *Pieces) Words(pieces []Segment) []Segment {
	var all []Segment
	for _, next := range pieces {
		last := len(all) - 1
		if last < 0 || strings.HasPrefix(next.Text, " ") {
			all = append(all, Segment{next.Start, next.End, strings.TrimPrefix(next.Text, " ")})
			continue
		}
		all[last].End, all[last].Text = next.End, all[last].Text+next.Text
	}
	return all
}
