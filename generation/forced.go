package generation

// This file handles tokens that a constraint determines before the model does. If only one token
// may follow, it is taken without logits. If only one text may follow, but several sequences of
// tokens spell it, one of these is proposed, and the model verifies it.

// A Forcer is a Constraint that knows where only one token may follow. A Scheduler takes this token
// without asking the model, unless a hook or log probabilities need the logits, and passes it
// together with the tokens that come after.
type Forcer interface {
	Constraint
	// Forced is the only token that may follow, if there is one.
	Forced() (token int, ok bool)
}

// A Proposer is a Constraint that can propose a continuation of a text. A Scheduler then makes the
// model verify several tokens at a time.
type Proposer interface {
	Constraint
	// Propose appends to dst up to most tokens that may follow, one after the other. It accepts
	// none of them.
	Propose(dst []int, most int) []int
}

// forced returns the token that Choose would choose for any logits that are numbers.
func (s *Sampler) forced() (token int, ok bool) {
	c := &s.config
	f, ok := c.Constraint.(Forcer)
	if !ok || c.hooked() || c.LogProbs {
		return 0, false
	}
	if token, ok = f.Forced(); !ok || token < 0 || token >= c.Vocab {
		return 0, false
	}
	if s.rules != nil { // which may forbid it
		w := takeScratch()
		defer w.giveBack()
		w.scores = append(w.scores[:0], make([]float32, c.Vocab)...)
		if s.rules.apply(w.scores); !(w.scores[token] > negInf) {
			return 0, false
		}
	}
	return token, true
}

// propose appends to piece what the constraint proposes.
func (s *Sampler) propose(piece []int, most int) []int {
	if p, ok := s.config.Constraint.(Proposer); ok && most > 0 {
		return p.Propose(piece, most)
	}
	return piece
}
