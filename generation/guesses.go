package generation

import (
	"errors"
	"slices"

	"github.com/avoformer/avoformer/transformer"
)

// This file has the state of what proposes tokens of one text: of a draft model, and of what it has
// in common with a model's own layer.

// proposals are those of a text that its own sampler chooses from logits which are not the model's.
type proposals struct {
	trust
	off    bool // there are no more
	want   int  // of the step that is planned
	picked int  // tokens that the sampler has to take back
}

// plan sets how many proposals a text gets in a step, at most most, and reports whether it gets
// any.
func (p *proposals) plan(j *job, most int) bool {
	if j.MaxTokens > 0 {
		most = min(most, j.MaxTokens-j.n-1)
	}
	if j.by != nil || p.off || most < 1 || !j.Sampler.undoable() {
		return false
	}
	p.want = p.room(most)
	return p.want > 0
}

// choose has the text's sampler choose from logits, adds the token to the text's piece, and reports
// whether the text gets another one.
func (p *proposals) choose(j *job, w *scratch, logits []float32) (more bool) {
	token := 0
	err := guarded(func() (err error) {
		token, err = j.Sampler.pick(w, logits)
		return err
	})
	if panicked := (*PanicError)(nil); errors.As(err, &panicked) {
		j.failed = err
	}
	if err != nil {
		return false
	}
	p.picked++
	if slices.Contains(j.Stop, token) {
		return false
	}
	j.piece, j.by = append(j.piece, token), &p.trust
	p.want--
	return p.want > 0
}

// takeBack has the text's sampler take back what it chose.
func (p *proposals) takeBack(j *job) {
	if j.failed == nil {
		j.failed = guarded(func() error { return j.Sampler.Undo(p.picked) })
	}
	p.picked = 0
}

// guesses is the draft model's state for a text.
type guesses struct {
	proposals
	history *transformer.History // of the first tokens; nil: none
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
