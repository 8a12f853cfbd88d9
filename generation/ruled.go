package generation

import (
	"maps"
	"slices"

	"github.com/avoformer/avoformer/internal/elementary"
)

// This file applies rules to one text. It keeps the facts that they need from token to token: the
// cost of a rule depends on what it changes, not on the length of the text.

// ruled is rules with a text.
type ruled struct {
	*Rules
	text *history
	most int // tokens that may follow the prompt; 0: any number

	biased  []biasedToken
	encoder []int   // the distinct tokens of Encoder
	copied  *ngrams // of Encoder; nil: nobody asks
}

// biasedToken is an entry of LogitBias.
type biasedToken struct {
	token int
	bias  float64
}

// on is r for the text after a prompt, of most tokens at most; nil for rules that are nil.
func (r *Rules) on(prompt []int, most int) *ruled {
	if r == nil {
		return nil
	}
	distinct := penalizes(r.RepetitionPenalty) || r.FrequencyPenalty != 0 || r.PresencePenalty != 0 || r.NoRepeatNgram == 1
	u := &ruled{Rules: r, most: most, text: newHistory(prompt, distinct, r.NoRepeatNgram)}
	for _, token := range slices.Sorted(maps.Keys(r.LogitBias)) {
		u.biased = append(u.biased, biasedToken{token, r.LogitBias[token]})
	}
	if penalizes(r.EncoderRepetitionPenalty) || r.EncoderNoRepeatNgram == 1 {
		u.encoder = slices.Compact(slices.Sorted(slices.Values(r.Encoder)))
	}
	if n := r.EncoderNoRepeatNgram; n > 1 {
		u.copied = newNgrams(n)
		for i := range r.Encoder {
			u.copied.push(r.Encoder[:i+1])
		}
	}
	return u
}

func penalizes(p float64) bool { return p != 0 && p != 1 }

// apply changes scores, [V], of what follows the text.
func (u *ruled) apply(scores []float32) {
	s, tokens := scored(scores), u.text.tokens
	for _, b := range u.biased {
		s.add(b.token, b.bias)
	}
	for _, b := range u.SequenceBias {
		s.bias(b.Tokens, tokens, float32(b.Bias))
	}
	u.penalties(s)
	u.bans(s)
	generated := u.text.generated()
	if len(tokens) < u.MinLength || generated < u.MinNewTokens {
		s.set(u.EOS, negInf)
	}
	if len(u.ForcedBOS) > 0 && len(tokens) == 1 {
		s.force(u.ForcedBOS)
	}
	if len(u.ForcedEOS) > 0 && generated == u.most-1 {
		s.force(u.ForcedEOS)
	}
	if u.RemoveInvalid {
		s.removeInvalid()
	}
	if u.ExponentialDecay != 0 && generated > u.DecayStart {
		s.decay(u.EOS, elementary.Pow(u.ExponentialDecay, float64(generated-u.DecayStart))-1)
	}
	s.set(u.SuppressTokens, negInf)
	begin := u.text.prompt
	if begin == 1 {
		begin += len(u.ForcedBOS)
	}
	if len(tokens) == begin {
		s.set(u.BeginSuppressTokens, negInf)
	}
	if u.Renormalize {
		norm := float32(logSumExp(s))
		for i := range s {
			s[i] -= norm
		}
	}
	if u.Then != nil {
		u.Then(s, tokens)
	}
}

// penalties makes tokens that occurred before less likely.
func (u *ruled) penalties(s scored) {
	if p := u.EncoderRepetitionPenalty; penalizes(p) {
		for _, token := range u.encoder {
			s.penalize(token, float32(1/p))
		}
	}
	if p := u.RepetitionPenalty; penalizes(p) {
		for _, t := range u.text.distinct {
			s.penalize(t.token, float32(p))
		}
	}
	if u.FrequencyPenalty != 0 || u.PresencePenalty != 0 {
		for _, t := range u.text.distinct {
			if t.generated > 0 {
				s.add(t.token, -(float64(float64(t.generated)*u.FrequencyPenalty) + u.PresencePenalty))
			}
		}
	}
}

// bans makes tokens impossible that would complete a forbidden sequence.
func (u *ruled) bans(s scored) {
	h := u.text
	if u.NoRepeatNgram == 1 {
		for _, t := range h.distinct {
			s.ban(t.token)
		}
	}
	if g := h.repeats; g != nil {
		for at := g.first(h.tokens, h.tokens); at >= 0; at = g.next(h.tokens, h.tokens, at) {
			s.ban(h.tokens[at])
		}
	}
	if u.EncoderNoRepeatNgram == 1 {
		s.set(u.encoder, negInf)
	}
	if g := u.copied; g != nil {
		for at := g.first(u.Encoder, h.tokens); at >= 0; at = g.next(u.Encoder, h.tokens, at) {
			s.ban(u.Encoder[at])
		}
	}
	for _, word := range u.BadWords {
		if len(word) > 1 || !slices.Contains(u.EOS, word[0]) {
			s.bias(word, h.tokens, negInf)
		}
	}
}
