package generation

import (
	"math"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// Rules change the scores of the tokens that may come next before one is chosen; the zero value
// changes none. Names and effects are those of transformers' GenerationConfig, except where a field
// says otherwise. They apply in the order of the fields, as there.
//
// Generate applies them to logits, Beam to log probabilities, which are then no longer normalized
// unless Renormalize asks for it. Tokens beyond the vocabulary are ignored.
type Rules struct {
	LogitBias                map[int]float64 // added to the scores of tokens; as OpenAI's logit_bias
	SequenceBias             []SequenceBias
	EncoderRepetitionPenalty float64 // above 1 favours Encoder's tokens; 0 and 1: none
	// RepetitionPenalty divides scores of tokens of the prompt and the text so far, or multiplies
	// negative ones (Keskar et al., "CTRL", 2019); 0 and 1: none.
	RepetitionPenalty float64
	// FrequencyPenalty is subtracted from the score of a token for each time that it occurred after
	// the prompt, and PresencePenalty once if it did, as in OpenAI's API. Negative values favour
	// the token.
	FrequencyPenalty     float64
	PresencePenalty      float64
	NoRepeatNgram        int     // no sequence of this many tokens comes twice, prompt included
	EncoderNoRepeatNgram int     // nor comes one of Encoder's
	BadWords             [][]int // sequences of tokens that are not completed
	MinLength            int     // no EOS before there are this many tokens, prompt included
	MinNewTokens         int     // the same, after the prompt
	ForcedBOS            []int   // up to one token, after a prompt of one token
	ForcedEOS            []int   // one of these is the last token where MaxTokens ends
	RemoveInvalid        bool    // NaN becomes 0, and infinities the largest numbers
	// ExponentialDecay makes EOS likelier by this power of the number of new tokens beyond
	// DecayStart; 0: does not.
	ExponentialDecay    float64
	DecayStart          int
	SuppressTokens      []int
	BeginSuppressTokens []int // not the first token after the prompt and ForcedBOS
	Renormalize         bool  // log probabilities at the end

	// Then, unless nil, changes the scores after all other rules. The tokens that it gets begin
	// with those of the prompt.
	Then LogitHook

	EOS     []int // that end a text
	Encoder []int // the tokens that the encoder got
}

// LogitHook changes the logits, [V], of what follows tokens, those of the prompt first. It must not
// keep the slices, nor change tokens.
type LogitHook func(logits []float32, tokens []int)

// SequenceBias adds to the score of the last token of a sequence after the others.
type SequenceBias struct {
	Tokens []int
	Bias   float64
}

// usable returns a fault.ErrNotFinite for logits of a computation that failed, unless the rules
// make numbers of them.
func (r *Rules) usable(logits []float32) error {
	if r != nil && r.RemoveInvalid {
		return nil
	}
	return check.Logits(logits)
}

// check reports rules that have no meaning for a vocabulary.
func (r *Rules) check(vocab int) error {
	if r == nil {
		return nil
	}
	for _, x := range []struct {
		name  string
		value float64
	}{{"RepetitionPenalty", r.RepetitionPenalty}, {"EncoderRepetitionPenalty", r.EncoderRepetitionPenalty}, {"ExponentialDecay", r.ExponentialDecay}} {
		if !(x.value >= 0) || math.IsInf(x.value, 0) {
			return check.Errorf(fault.ErrConfig, "rules: %s = %g, want at least 0", x.name, x.value)
		}
	}
	for _, x := range []float64{r.FrequencyPenalty, r.PresencePenalty} {
		if x != x || math.IsInf(x, 0) {
			return check.Errorf(fault.ErrConfig, "rules: FrequencyPenalty = %g, PresencePenalty = %g, want numbers", r.FrequencyPenalty, r.PresencePenalty)
		}
	}
	for token, x := range r.LogitBias {
		if token < 0 || token >= vocab {
			return check.Errorf(fault.ErrToken, "rules: LogitBias of token %d of a vocabulary of %d", token, vocab)
		}
		if x != x {
			return check.Errorf(fault.ErrConfig, "rules: LogitBias of token %d is not a number", token)
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
			return check.Errorf(fault.ErrConfig, "rules: %s = %d, want at least 0", x.name, x.value)
		}
	}
	if len(r.ForcedBOS) > 1 {
		return check.Errorf(fault.ErrConfig, "rules: ForcedBOS = %v, want one token", r.ForcedBOS)
	}
	words := slices.Clone(r.BadWords)
	for _, b := range r.SequenceBias {
		words = append(words, b.Tokens)
	}
	for _, word := range words {
		if len(word) == 0 {
			return check.Errorf(fault.ErrConfig, "rules: a sequence without tokens")
		}
	}
	for _, token := range slices.Concat(r.ForcedBOS, r.ForcedEOS, slices.Concat(words...)) {
		if token < 0 || token >= vocab {
			return check.Errorf(fault.ErrToken, "rules: token %d of a vocabulary of %d", token, vocab)
		}
	}
	return nil
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

// force leaves only the given tokens possible.
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

// penalize makes a token less likely.
func (s scored) penalize(token int, penalty float32) {
	if token < 0 || token >= len(s) {
		return
	}
	if s[token] < 0 {
		s[token] *= penalty
	} else {
		s[token] /= penalty
	}
}

// add adds to the score of a token.
func (s scored) add(token int, x float64) {
	if token >= 0 && token < len(s) {
		s[token] += float32(x)
	}
}

// ban makes a token impossible.
func (s scored) ban(token int) {
	if token >= 0 && token < len(s) {
		s[token] = negInf
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
	for i, t := range tokens {
		if t >= 0 && t < len(s) && !math.IsInf(float64(s[t]), 0) && !slices.Contains(tokens[:i], t) {
			s[t] += float32(math.Abs(float64(s[t])) * part)
		}
	}
}
