package generation

import (
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// This file has what a model's own layer for further tokens keeps of a text. mtp.go has the layer
// at work.

// predicts reports whether a model has a layer that predicts further tokens.
func predicts(m models.LanguageModel) bool {
	p, ok := m.(models.MultiTokenPredictor)
	return ok && p.Predictor() != nil
}

// following is the layer's state for a text.
type following struct {
	proposals
	history *transformer.History // nil: it has read nothing
	rows    int                  // of history, except those of proposals
	hidden  []float32            // rows of the model that the layer has not read, [len(tokens), D]
	tokens  []int                // that follow them
	ahead   []float32            // what the layer made of the last row, [D]
}

// release forgets the text, except for the tokens that the sampler has to take back.
func (f *following) release() {
	if f.history != nil {
		f.history.Release()
	}
	*f = following{proposals: f.proposals}
}

// begin sets the state to the first rows of a history, or to all if it has fewer.
func (f *following) begin(from *transformer.History, rows int) {
	if from == nil {
		return
	}
	if h, err := from.Fork(min(rows, from.Len())); err == nil {
		f.history, f.rows = h, h.Len()
	}
}

// take returns the history without proposals. It then belongs to the caller.
func (f *following) take() *transformer.History {
	h := f.history
	if h != nil && h.Len() > f.rows && h.Truncate(f.rows) != nil {
		h.Release()
		h = nil
	}
	f.history = nil
	return h
}
