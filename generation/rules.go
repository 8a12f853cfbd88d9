package generation

import (
	"math"
	"slices"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/transformer"
)

// Rules change the scores of the tokens that may come next before one is chosen; the
// zero value changes none. Names and effects are those of transformers'
// GenerationConfig, and so is the order in which they apply: that of the fields.
//
// Generate applies them to logits, Beam to log probabilities, which are then no longer
// normalized unless Renormalize asks for it. Tokens beyond the vocabulary count for
// nothing.
type Rules struct {
	SequenceBias             []SequenceBias
	EncoderRepetitionPenalty float64 // above 1 favours Encoder's tokens; 0 and 1: none
	// RepetitionPenalty divides scores of tokens of the prompt and the text so far, or
	// multiplies negative ones (Keskar et al., "CTRL", 2019); 0 and 1: none.
	RepetitionPenalty    float64
	NoRepeatNgram        int     // no sequence of this many tokens comes twice, prompt included
	EncoderNoRepeatNgram int     // nor comes one of Encoder's
	BadWords             [][]int // sequences of tokens that are not completed
	MinLength            int     // no EOS before there are this many tokens, prompt included
	MinNewTokens         int     // the same, behind the prompt
	ForcedBOS            []int   // up to one token, behind a prompt of one token
	ForcedEOS            []int   // one of these is the last token where MaxTokens ends
	RemoveInvalid        bool    // NaN becomes 0, and infinities the largest numbers
	// ExponentialDecay makes EOS likelier by this power of the number of new tokens
	// beyond DecayStart; 0: does not.
	ExponentialDecay    float64
	DecayStart          int
	SuppressTokens      []int
	BeginSuppressTokens []int // not the first token behind the prompt and ForcedBOS
	Renormalize         bool  // log probabilities at the end

	EOS     []int // that end a text
	Encoder []int // the tokens that the encoder got
}

// SequenceBias adds to the score of the last token of a sequence behind the others.
type SequenceBias struct {
	Tokens []int
	Bias   float64
}

// check reports rules that mean nothing for a vocabulary.
func (r *Rules) check(vocab int) error {
	if r == nil {
		return nil
	}
	for _, x := range []struct {
		name  string
		value float64
	}{{"RepetitionPenalty", r.RepetitionPenalty}, {"EncoderRepetitionPenalty", r.EncoderRepetitionPenalty}, {"ExponentialDecay", r.ExponentialDecay}} {
		if !(x.value >= 0) || math.IsInf(x.value, 0) {
			return check.Errorf(transformer.ErrConfig, "rules: %s = %g, want at least 0", x.name, x.value)
		}
	}
	for _, x := range []struct {
		name  string
		value int
	}{
		{"NoRepeatNgram", r.NoRepeatNgram}, {"EncoderNoRepeatNgram", r.EncoderNoRepeatNgram}, {"MinLength", r.MinLength},
		{"MinNewTokens", r.MinNewTokens}, {"DecayStart", r.DecayStart},
	} {
		if x.value < 0 {
			return check.Errorf(transformer.ErrConfig, "rules: %s = %d, want at least 0", x.name, x.value)
		}
	}
	if len(r.ForcedBOS) > 1 {
		return check.Errorf(transformer.ErrConfig, "rules: ForcedBOS = %v, want one token", r.ForcedBOS)
	}
	words := slices.Clone(r.BadWords)
	for _, b := range r.SequenceBias {
		words = append(words, b.Tokens)
	}
	for _, word := range words {
		if len(word) == 0 {
			return check.Errorf(transformer.ErrConfig, "rules: a sequence without tokens")
		}
	}
	for _, token := range slices.Concat(r.ForcedBOS, r.ForcedEOS, slices.Concat(words...)) {
		if token < 0 || token >= vocab {
			return check.Errorf(transformer.ErrToken, "rules: token %d of a vocabulary of %d", token, vocab)
		}
	}
	return nil
}

// apply changes scores, [V], of what follows tokens, of which the first are the prompt;
// at most most follow it, 0: any number.
func (r *Rules) apply(scores []float32, tokens []int, prompt, most int) {
	s := scored(scores)
	for _, b := range r.SequenceBias {
		s.bias(b.Tokens, tokens, float32(b.Bias))
	}
	if p := r.EncoderRepetitionPenalty; p != 0 && p != 1 {
		s.penalize(r.Encoder, float32(1/p))
	}
	if p := r.RepetitionPenalty; p != 0 && p != 1 {
		s.penalize(tokens, float32(p))
	}
	s.banNgrams(r.NoRepeatNgram, tokens, tokens)
	s.banNgrams(r.EncoderNoRepeatNgram, r.Encoder, tokens)
	for _, word := range r.BadWords {
		if len(word) > 1 || !slices.Contains(r.EOS, word[0]) {
			s.bias(word, tokens, negInf)
		}
	}
	generated := len(tokens) - prompt
	if len(tokens) < r.MinLength || generated < r.MinNewTokens {
		s.set(r.EOS, negInf)
	}
	if len(r.ForcedBOS) > 0 && len(tokens) == 1 {
		s.force(r.ForcedBOS)
	}
	if len(r.ForcedEOS) > 0 && generated == most-1 {
		s.force(r.ForcedEOS)
	}
	if r.RemoveInvalid {
		s.removeInvalid()
	}
	if r.ExponentialDecay != 0 && generated > r.DecayStart {
		s.decay(r.EOS, math.Pow(r.ExponentialDecay, float64(generated-r.DecayStart))-1)
	}
	s.set(r.SuppressTokens, negInf)
	begin := prompt
	if prompt == 1 {
		begin += len(r.ForcedBOS)
	}
	if len(tokens) == begin {
		s.set(r.BeginSuppressTokens, negInf)
	}
	if r.Renormalize {
		norm := float32(logSumExp(s))
		for i := range s {
			s[i] -= norm
		}
	}
}

var negInf = float32(math.Inf(-1))

// scored is the score of each token.
type scored []float32

func (s scored) set(tokens []int, to float32) {
	for _, t := range tokens {
		if t >= 0 && t < len(s) {
			s[t] = to
		}
	}
}

// force leaves nothing but tokens.
func (s scored) force(tokens []int) {
	for i := range s {
		s[i] = negInf
	}
	s.set(tokens, 0)
}

// bias adds to the score of the last token of word if the others end tokens.
func (s scored) bias(word, tokens []int, bias float32) {
	before, last := word[:len(word)-1], word[len(word)-1]
	if len(before) <= len(tokens) && slices.Equal(before, tokens[len(tokens)-len(before):]) {
		s[last] += bias
	}
}

// penalize makes tokens less likely, each once.
func (s scored) penalize(tokens []int, penalty float32) {
	seen := make(map[int]bool, len(tokens))
	for _, t := range tokens {
		switch {
		case seen[t] || t < 0 || t >= len(s):
		case s[t] < 0:
			s[t] *= penalty
		default:
			s[t] /= penalty
		}
		seen[t] = true
	}
}

// banNgrams bans what would complete a sequence of n tokens that source has.
func (s scored) banNgrams(n int, source, tokens []int) {
	if n < 1 || len(tokens) < n-1 {
		return
	}
	last := tokens[len(tokens)-(n-1):]
	for i := 0; i+n <= len(source); i++ {
		if slices.Equal(source[i:i+n-1], last) {
			s.set(source[i+n-1:i+n], negInf)
		}
	}
}

func (s scored) removeInvalid() {
	for i, x := range s {
		if x != x {
			s[i] = 0
		} else {
			s[i] = min(max(x, -math.MaxFloat32), math.MaxFloat32)
		}
	}
}

// decay adds to scores a part of their magnitude.
func (s scored) decay(tokens []int, part float64) {
	for _, t := range tokens {
		if t >= 0 && t < len(s) && !math.IsInf(float64(s[t]), 0) {
			s[t] += float32(math.Abs(float64(s[t])) * part)
		}
	}
}
