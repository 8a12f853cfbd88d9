package generation

import (
	"math"
	"math/rand/v2"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// This file has the sampler of a text, which chooses a token from logits, and remembers what its
// rules, its constraint and its draws need about the tokens so far.

// SamplerConfig describes how tokens are chosen. The zero value chooses greedily.
//
// A choice applies, in this order: Hook, to the logits of the model; Rules, to the logits after the
// hook; Constraint, whose forbidden tokens no later part can allow again; then Sampling, among the
// allowed tokens.
type SamplerConfig struct {
	Vocab int // the number of tokens

	// Sampling describes how a token is drawn; Sampler.Seed returns a seed that was drawn at
	// random.
	Sampling

	Hook       LogitHook  // may be nil
	Rules      *Rules     // may be nil
	Constraint Constraint // may be nil

	// LogProbs asks for the log probability of each choice, and for those of the TopLogProbs most
	// likely tokens.
	LogProbs    bool
	TopLogProbs int

	// Prompt has the tokens before the text, and MaxTokens the number of tokens after which it ends
	// (0: no limit), for Rules and Hook.
	Prompt    []int
	MaxTokens int
}

// A Constraint decides which tokens may follow, for example by a grammar. A Constraint that is an
// [Undoer] can be undone with its sampler.
type Constraint interface {
	// Apply sets the logits, [V], of tokens that may not follow to -Inf. It returns an error if no
	// token may.
	Apply(logits []float32) error
	// Accept continues with a token that was chosen.
	Accept(token int) error
}

// An Undoer is a Constraint that can take back tokens, for [Sampler.Undo].
type Undoer interface {
	Constraint
	// Undo takes back the last n tokens that were accepted: the constraint is then as before them.
	Undo(n int) error
}

// A Choice is a token that was chosen.
type Choice struct {
	Token int
	// LogProb is the natural logarithm of the token's probability as the model has it, at a
	// temperature of 1, before hook, rules, constraint and filters, as OpenAI's logprobs are; 0
	// unless asked for.
	LogProb float32
	// Top is the most likely tokens by the same measure, the best first; nil unless asked for.
	Top []TokenLogProb
}

// Probability is a token with its probability.
type Probability struct {
	Token int
	P     float64
}

// A Sampler chooses the tokens of one text. It is for one goroutine at a time.
type Sampler struct {
	config SamplerConfig
	rules  *ruled   // nil: none
	text   *history // the rules' or the hook's; nil: nobody asks
	length int      // tokens so far

	// The draw at a place of the text depends only on the seed and the place: tokens that are taken
	// back leave no trace.
	draws rand.PCG
	past  []rand.PCG // at the places before; none where nothing is drawn
}

// NewSampler returns a sampler for a text. Errors match fault.ErrOption for an option,
// fault.ErrConfig for Vocab and Rules, fault.ErrToken for tokens.
func NewSampler(c SamplerConfig) (*Sampler, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.TopK >= c.Vocab {
		c.TopK = 0 // which keeps all, too
	}
	for c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	s := &Sampler{config: c, rules: c.Rules.on(c.Prompt, c.MaxTokens), draws: *rand.NewPCG(c.Seed, 0)}
	switch {
	case s.rules != nil:
		s.text = s.rules.text
	case c.Hook != nil:
		s.text = newHistory(c.Prompt, false, 0)
	}
	s.config.Prompt = nil // the history has it
	return s, nil
}

// hooked reports whether a function of the caller changes the logits.
func (c *SamplerConfig) hooked() bool { return c.Hook != nil || c.Rules != nil && c.Rules.Then != nil }

func (c *SamplerConfig) check() error {
	if err := c.Sampling.check(); err != nil {
		return err
	}
	for _, x := range []struct {
		name string
		has  int
	}{{"TopLogProbs", c.TopLogProbs}, {"MaxTokens", c.MaxTokens}} {
		if err := check.Between(x.name, float64(x.has), 0, math.MaxInt); err != nil {
			return err
		}
	}
	if c.Vocab < 1 {
		return check.Errorf(fault.ErrConfig, "sampler: Vocab = %d, want at least 1", c.Vocab)
	}
	return c.Rules.check(c.Vocab)
}

// Seed returns the seed of the draws.
func (s *Sampler) Seed() uint64 { return s.config.Seed }

// Choose chooses the token after logits, [V], and continues with it. It does not change logits. The
// error matches fault.ErrShape for logits of another length and fault.ErrNotFinite for those of a
// failed computation (unless Rules.RemoveInvalid makes numbers of them), or comes from the
// constraint. After an error no token is chosen.
func (s *Sampler) Choose(logits []float32) (Choice, error) {
	w := takeScratch()
	defer w.giveBack()
	token, err := s.pick(w, logits)
	if err != nil {
		return Choice{Token: -1}, err
	}
	c := Choice{Token: token}
	if s.config.LogProbs {
		c.LogProb, c.Top = w.logProbs(logits, c.Token, s.config.TopLogProbs)
	}
	return c, nil
}

// pick is Choose without log probabilities.
func (s *Sampler) pick(w *scratch, logits []float32) (token int, err error) {
	scores, token, err := s.score(w, logits)
	if err != nil {
		return -1, err
	}
	if s.config.Temperature > 0 {
		token = s.draw(w, scores, token)
	}
	return token, s.Accept(token)
}

// score returns the logits after hook, rules and constraint, and the best of them.
func (s *Sampler) score(w *scratch, logits []float32) (scores []float32, first int, err error) {
	c := &s.config
	if len(logits) != c.Vocab {
		return nil, 0, check.Errorf(fault.ErrShape, "%d logits for a sampler with a vocabulary of %d", len(logits), c.Vocab)
	}
	if err := c.Rules.usable(logits); err != nil {
		return nil, 0, err
	}
	if c.Hook == nil && s.rules == nil && c.Constraint == nil {
		return logits, argmax(logits), nil
	}
	w.scores = append(w.scores[:0], logits...)
	if c.Hook != nil {
		c.Hook(w.scores, s.text.tokens)
	}
	if s.rules != nil {
		s.rules.apply(w.scores)
	}
	if c.Constraint != nil {
		if err := c.Constraint.Apply(w.scores); err != nil {
			return nil, 0, err
		}
	}
	first = argmax(w.scores)
	if c.Constraint != nil && w.scores[first] == negInf {
		return nil, 0, check.Errorf(fault.ErrNoToken, "of those that the constraint allows, rules leave none")
	}
	return w.scores, first, nil
}

// draw returns a token of scores, drawn at random; first is the best one.
func (s *Sampler) draw(w *scratch, scores []float32, first int) int {
	draws := s.draws // which Accept continues with
	at := float64(draws.Uint64()<<11>>11) / (1 << 53)
	if !s.config.Filtered() {
		return w.drawAny(scores, first, s.config.Temperature, at)
	}
	kept := s.config.filter(w, scores, first)
	at *= sum(kept)
	for _, c := range kept {
		if at -= c.p; at < 0 {
			return c.token
		}
	}
	return first // rounding, NaN, or +Inf
}

// Distribution appends to dst the tokens that Choose would draw from, with their probabilities,
// whose sum is 1. With a temperature of 0 there is one token. It chooses none. Errors are those of
// Choose.
func (s *Sampler) Distribution(dst []Probability, logits []float32) ([]Probability, error) {
	w := takeScratch()
	defer w.giveBack()
	scores, first, err := s.score(w, logits)
	if err != nil {
		return dst, err
	}
	if s.config.Temperature > 0 {
		kept := s.config.filter(w, scores, first)
		if total := sum(kept); total > 0 && !math.IsInf(total, 0) {
			for _, c := range kept {
				dst = append(dst, Probability{c.token, c.p / total})
			}
			return dst, nil
		}
	}
	return append(dst, Probability{first, 1}), nil
}

// Accept continues with a token that the sampler did not choose. The error is that of the
// constraint, and leaves the sampler as it was.
//
// It is for speculation, of which there are two kinds. The first is for tokens that a draft
// proposes, whose logits arrive together: pass the logits of one place after the other to Choose,
// as long as it chooses the proposed tokens. Because the draw at a place depends only on the seed
// and the place, the text is the same as without a draft, and nothing is taken back. The second
// uses Distribution, which allows a proposal to be accepted with its probability, and then Accept.
// A sampler that makes proposals itself takes back with Undo the proposals that were not accepted.
func (s *Sampler) Accept(token int) error {
	if token < 0 || token >= s.config.Vocab {
		return check.Errorf(fault.ErrToken, "sampler: token %d of a vocabulary of %d", token, s.config.Vocab)
	}
	if s.config.Constraint != nil {
		if err := s.config.Constraint.Accept(token); err != nil {
			return err
		}
	}
	s.length++
	if s.text != nil {
		s.text.push(token)
	}
	if s.config.Temperature > 0 {
		s.past = append(s.past, s.draws)
		s.draws.Uint64()
	}
	return nil
}

// Undo takes back the last n tokens: the sampler is then as before them. The error matches
// fault.ErrConfig if there are fewer tokens or the constraint cannot be undone; otherwise it is
// that of the constraint's Undo.
func (s *Sampler) Undo(n int) error {
	if n < 0 || n > s.length {
		return check.Errorf(fault.ErrConfig, "sampler: %d of %d tokens cannot be undone", n, s.length)
	}
	if s.config.Constraint != nil && n > 0 {
		c, ok := s.config.Constraint.(Undoer)
		if !ok {
			return check.Errorf(fault.ErrConfig, "sampler: a %T cannot be undone", s.config.Constraint)
		}
		if err := c.Undo(n); err != nil {
			return err
		}
	}
	s.length -= n
	for range n {
		if s.text != nil {
			s.text.pop()
		}
	}
	if s.config.Temperature > 0 && n > 0 {
		s.draws = s.past[s.length]
		s.past = s.past[:s.length]
	}
	return nil
}

// undoable reports whether tokens that the sampler chooses can be taken back without a trace.
func (s *Sampler) undoable() bool {
	_, ok := s.config.Constraint.(Undoer)
	return !s.config.hooked() && (ok || s.config.Constraint == nil)
}

// Len returns the number of tokens that were chosen or accepted.
func (s *Sampler) Len() int { return s.length }
