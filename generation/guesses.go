package generation

import "github.com/avoformer/avoformer/transformer"

// This file has the state of a draft model for one text.

// guesses is the draft model's state for a text.
type guesses struct {
	trust
	history *transformer.History // of the first tokens; nil: none
	off     bool                 // the draft model reads this text no further
	want    int                  // proposals of the step that is planned
	picked  int                  // tokens that the sampler has to take back
}

// begin sets the state to the first rows of a history, or to all if it has fewer.
func (g *guesses) begin(from *transformer.History, rows int) {
	if from != nil {
		if h, err := from.Fork(min(rows, from.Len())); err == nil {
			g.history = h
		}
	}
}

// truncate forgets the rows after the first.
func (g *guesses) truncate(rows int) {
	if g.history != nil && g.history.Len() > rows {
		if err := g.history.Truncate(rows); err != nil {
			g.release()
		}
	}
}

func (g *guesses) release() {
	if g.history != nil {
		g.history.Release()
		g.history = nil
	}
}
