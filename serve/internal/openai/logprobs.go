// Log probabilities of tokens.

package openai

import (
	"math"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// unlikely stands for the logarithm of 0, which JSON cannot express, as in OpenAI's answers.
const unlikely = -9999

func finite(x float32) float64 {
	if f := float64(x); f > unlikely && !math.IsInf(f, 1) {
		return f
	}
	return unlikely
}

// tokenLogProb is a token as chats have it.
type tokenLogProb struct {
	Token   string         `json:"token"`
	LogProb float64        `json:"logprob"`
	Bytes   []int          `json:"bytes"`
	Top     []tokenLogProb `json:"top_logprobs,omitzero"`
}

// chatLogProbs is those of a choice, or of a piece of it.
type chatLogProbs struct {
	Content []tokenLogProb `json:"content"`
	Refusal *string        `json:"refusal"`
}

func (l *chatLogProbs) add(t *tokenizer.Tokenizer, tokens []generation.Choice) {
	for _, c := range tokens {
		one := newTokenLogProb(t, c.Token, c.LogProb)
		one.Top = make([]tokenLogProb, len(c.Top))
		for i, other := range c.Top {
			one.Top[i] = newTokenLogProb(t, other.Token, other.LogProb)
		}
		l.Content = append(l.Content, one)
	}
}

func newTokenLogProb(t *tokenizer.Tokenizer, id int, x float32) tokenLogProb {
	spelled := t.SpellToken(id)
	bytes := make([]int, len(spelled))
	for i, b := range spelled {
		bytes[i] = int(b)
	}
	return tokenLogProb{Token: string(spelled), LogProb: finite(x), Bytes: bytes}
}

// textLogProbs is those of a completion, or of a piece of it.
type textLogProbs struct {
	Tokens   []string             `json:"tokens"`
	LogProbs []float64            `json:"token_logprobs"`
	Top      []map[string]float64 `json:"top_logprobs"`
	Offsets  []int                `json:"text_offset"`
	length   int
}

func (l *textLogProbs) add(t *tokenizer.Tokenizer, tokens []generation.Choice) {
	for _, c := range tokens {
		token := string(t.SpellToken(c.Token))
		l.Tokens, l.LogProbs, l.Offsets = append(l.Tokens, token), append(l.LogProbs, finite(c.LogProb)), append(l.Offsets, l.length)
		l.length += len(token)
		top := map[string]float64{}
		for _, other := range c.Top {
			top[string(t.SpellToken(other.Token))] = finite(other.LogProb)
		}
		l.Top = append(l.Top, top)
	}
}

// take returns the entries that have come since its last call.
func (l *textLogProbs) take() textLogProbs {
	piece := *l
	*l = textLogProbs{length: l.length}
	return piece
}
