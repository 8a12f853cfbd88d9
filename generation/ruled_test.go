package generation

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// straightforward computes the same as ruled.apply, only from the tokens: the first tokens are the
// prompt, and most tokens may follow it.
func straightforward(r *Rules, scores []float32, tokens []int, prompt, most int) {
	s := scored(scores)
	for token, bias := range r.LogitBias {
		s[token] += float32(bias)
	}
	bias := func(word []int, by float32) {
		for i := range word[:len(word)-1] {
			if at := len(tokens) - len(word) + 1 + i; at < 0 || tokens[at] != word[i] {
				return
			}
		}
		s[word[len(word)-1]] += by
	}
	for _, b := range r.SequenceBias {
		bias(b.Tokens, float32(b.Bias))
	}
	penalize := func(tokens []int, penalty float32) {
		seen := map[int]bool{}
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
	if p := r.EncoderRepetitionPenalty; p != 0 {
		penalize(r.Encoder, float32(1/p))
	}
	if p := r.RepetitionPenalty; p != 0 {
		penalize(tokens, float32(p))
	}
	times := map[int]int{}
	for _, t := range tokens[prompt:] {
		times[t]++
	}
	for t, n := range times {
		s[t] += float32(-(float64(n)*r.FrequencyPenalty + r.PresencePenalty))
	}
	ban := func(n int, source []int) {
		if n < 1 || len(tokens) < n-1 {
			return
		}
		for i := 0; i+n <= len(source); i++ {
			if slices.Equal(source[i:i+n-1], tokens[len(tokens)-(n-1):]) {
				s.set(source[i+n-1:i+n], negInf)
			}
		}
	}
	ban(r.NoRepeatNgram, tokens)
	ban(r.EncoderNoRepeatNgram, r.Encoder)
	for _, word := range r.BadWords {
		if len(word) > 1 || !slices.Contains(r.EOS, word[0]) {
			bias(word, negInf)
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
	if generated == 0 && (prompt != 1 || len(r.ForcedBOS) == 0) || generated == 1 && prompt == 1 && len(r.ForcedBOS) == 1 {
		s.set(r.BeginSuppressTokens, negInf)
	}
	if r.Renormalize {
		norm := float32(logSumExp(s))
		for i := range s {
			s[i] -= norm
		}
	}
}

// drawRules is rules for a vocabulary, about half of them at work.
func drawRules(r *rand.Rand, vocab int) *Rules {
	sometimes := func() bool { return r.IntN(2) == 0 }
	tokens := func(least, most int) []int {
		t := make([]int, least+r.IntN(most-least+1))
		for i := range t {
			t[i] = r.IntN(vocab)
		}
		return t
	}
	rules := &Rules{EOS: tokens(0, 2), Encoder: append(tokens(0, 12), -1, vocab)}
	words := func() (all [][]int) {
		for range r.IntN(4) {
			all = append(all, tokens(1, 3))
		}
		return all
	}
	for _, word := range words() {
		rules.SequenceBias = append(rules.SequenceBias, SequenceBias{word, r.NormFloat64()})
	}
	rules.BadWords = words()
	for _, p := range []*float64{&rules.EncoderRepetitionPenalty, &rules.RepetitionPenalty, &rules.FrequencyPenalty, &rules.PresencePenalty, &rules.ExponentialDecay} {
		if sometimes() {
			*p = 2 * r.Float64()
		}
	}
	for _, n := range []*int{&rules.NoRepeatNgram, &rules.EncoderNoRepeatNgram, &rules.MinLength, &rules.MinNewTokens, &rules.DecayStart} {
		if sometimes() {
			*n = r.IntN(5)
		}
	}
	if sometimes() {
		rules.LogitBias = map[int]float64{r.IntN(vocab): 3, r.IntN(vocab): -2.5}
	}
	if sometimes() {
		rules.ForcedBOS, rules.ForcedEOS = tokens(0, 1), tokens(0, 2)
	}
	rules.SuppressTokens, rules.BeginSuppressTokens = tokens(0, 1), tokens(0, 2)
	rules.RemoveInvalid, rules.Renormalize = sometimes(), sometimes()
	return rules
}

// TestRuledText compares rules that go along with a text, forwards and back, with those applied to
// its tokens as a whole, bit by bit.
func TestRuledText(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	for n := range 400 {
		vocab := 2 + r.IntN(9)
		rules := drawRules(r, vocab)
		prompt := make([]int, 1+r.IntN(8))
		for i := range prompt {
			prompt[i] = r.IntN(vocab)
		}
		u := rules.on(prompt, 12)
		texts := [][]int{nil}
		for range 40 {
			text := texts[r.IntN(len(texts))] // which the next may begin with
			text = append(slices.Clone(text[:r.IntN(len(text)+1)]), r.IntN(vocab))
			texts = append(texts, text)
			u.text.become(text)
			scores := make([]float32, vocab)
			for i := range scores {
				scores[i] = float32(r.NormFloat64())
			}
			scores[r.IntN(vocab)] = float32(math.NaN())
			want := slices.Clone(scores)
			u.apply(scores)
			straightforward(rules, want, slices.Concat(prompt, text), len(prompt), 12)
			for i := range want {
				if math.Float32bits(scores[i]) != math.Float32bits(want[i]) && !(scores[i] != scores[i] && want[i] != want[i]) {
					t.Fatalf("rules %d, %+v, prompt %v, text %v: score of %d is %v, want %v", n, *rules, prompt, text, i, scores[i], want[i])
				}
			}
		}
	}
}

// TestNgramHashes has one hash for all tokens: the tokens found still follow exactly those that
// were asked for.
func TestNgramHashes(t *testing.T) {
	g := &ngrams{n: 3, latest: map[uint64]int32{}}
	text := []int{1, 2, 3, 1, 2, 4, 2, 1, 5, 1, 2, 3, 1, 2}
	for i := range text {
		g.push(text[:i+1])
	}
	// Put the chain of every hash onto one.
	var places []int32
	for i, before := range g.before {
		if before != notKept {
			places = append(places, int32(i))
		}
	}
	for i, at := range places {
		g.before[at] = noPlace
		if i > 0 {
			g.before[at] = places[i-1]
		}
	}
	g.latest = map[uint64]int32{g.hash(text[len(text)-2:]): places[len(places)-1]}
	var got []int
	for at := g.first(text, text); at >= 0; at = g.next(text, text, at) {
		got = append(got, text[at])
	}
	if !slices.Equal(got, []int{4, 3}) {
		t.Errorf("after 1, 2 came %v, want 4 and 3", got)
	}
}
