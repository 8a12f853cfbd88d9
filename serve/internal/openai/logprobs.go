// This file has log probabilities of tokens.

package openai

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// unlikely replaces the logarithm of 0, which JSON cannot express, as in OpenAI's answers.
const unlikely = -9999

func finite(x float32) float64 {
	if f := float64(x); f > unlikely && !math.IsInf(f, 1) {
		return f
	}
	return unlikely
}

// tokenLogProb is a token in the form of chats.
type tokenLogProb struct {
	Token   string         `json:"token"`
	LogProb float64        `json:"logprob"`
	Bytes   []int          `json:"bytes"`
	Top     []tokenLogProb `json:"top_logprobs,omitzero"`
}

// chatLogProbs has the log probabilities of a choice or a piece of it.
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

// textLogProbs has the log probabilities of a completion or a piece of it. The likeliest tokens
// include the chosen one, as OpenAI documents, and each has a unique name.
type textLogProbs struct {
	Tokens   []string             `json:"tokens"`
	LogProbs []float64            `json:"token_logprobs"`
	Top      []map[string]float64 `json:"top_logprobs"`
	Offsets  []int                `json:"text_offset"`
	length   int
}

func (l *textLogProbs) add(t *tokenizer.Tokenizer, tokens []generation.Choice) {
	for _, c := range tokens {
		top := make(map[string]float64, len(c.Top)+1)
		write := func(id int, logProb float32) (name string) {
			spelled := t.SpellToken(id)
			for _, name = range []string{written(spelled), escaped(spelled), fmt.Sprintf("token_id:%d", id)} {
				if _, other := top[name]; !other {
					break
				}
			}
			top[name] = finite(logProb)
			return name
		}
		var drawn string
		in := false
		for _, other := range c.Top {
			if name := write(other.Token, other.LogProb); other.Token == c.Token {
				drawn, in = name, true
			}
		}
		if !in {
			drawn = write(c.Token, c.LogProb)
		}
		l.Tokens, l.LogProbs, l.Offsets = append(l.Tokens, drawn), append(l.LogProbs, finite(c.LogProb)), append(l.Offsets, l.length)
		l.length += len(t.SpellToken(c.Token))
		l.Top = append(l.Top, top)
	}
}

// written returns the text of a token or, if it has incomplete characters, its bytes in OpenAI's
// form.
func written(spelled []byte) string {
	if utf8.Valid(spelled) {
		return string(spelled)
	}
	var name strings.Builder
	for _, b := range spelled {
		if b < ' ' || b > '~' || b == '\\' {
			fmt.Fprintf(&name, `\x%02x`, b)
		} else {
			name.WriteByte(b)
		}
	}
	return "bytes:" + name.String()
}

// escaped returns all bytes of a token in that form. It distinguishes tokens with equal texts.
func escaped(spelled []byte) string {
	name := "bytes:"
	for _, b := range spelled {
		name += fmt.Sprintf(`\x%02x`, b)
	}
	return name
}

// take returns the entries that were added since its last call.
func (l *textLogProbs) take() textLogProbs {
	piece := *l
	*l = textLogProbs{length: l.length}
	return piece
}
