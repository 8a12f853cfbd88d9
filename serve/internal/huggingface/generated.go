// Texts as text-generation-inference answers them: whole, with details, or as a stream of tokens.

package huggingface

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/serve/internal/chat"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// generated is a text of a model.
type generated struct {
	Text    string   `json:"generated_text"`
	Details *details `json:"details,omitempty"`
}

// token is a token of a text.
type token struct {
	ID      int     `json:"id"`
	Text    string  `json:"text"`
	LogProb float32 `json:"logprob"`
	Special bool    `json:"special"`
}

// details is why a text ended, and its tokens. In a stream, where each token was sent, it has the
// length of the prompt instead.
type details struct {
	Finish  string   `json:"finish_reason"`
	Tokens  int      `json:"generated_tokens"`
	Seed    *uint64  `json:"seed"`
	Input   *int     `json:"input_length,omitempty"`
	Prefill *[]token `json:"prefill,omitempty"`
	List    *[]token `json:"tokens,omitempty"`
}

// event is what a stream has for each token. The last event has the whole text, too.
type event struct {
	Index   int      `json:"index"`
	Token   token    `json:"token"`
	Text    *string  `json:"generated_text"`
	Details *details `json:"details"`
}

// author makes answers of the events of jobs.
type author struct {
	tokenizer *tokenizer.Tokenizer
	seed      *uint64
	texts     []strings.Builder // that begin with the prompts that answers repeat
	tokens    [][]token         // with details
	ends      []chat.Event
	held      *token // of a stream: the latest token, which the end of the text may complete
	sent      int
}

func (a *author) token(c generation.Choice) token {
	return token{c.Token, string(a.tokenizer.SpellToken(c.Token)), c.LogProb, a.tokenizer.IsSpecial(c.Token)}
}

// add takes what comes next of a text.
func (a *author) add(e chat.Event) {
	for _, part := range e.Parts {
		a.texts[e.Job].WriteString(part.Text)
	}
	for _, c := range e.Tokens {
		a.tokens[e.Job] = append(a.tokens[e.Job], a.token(c))
	}
	if e.Finish != generation.FinishNone {
		a.ends[e.Job] = e
	}
}

// details returns why a text ended.
func (a *author) details(e chat.Event) *details {
	why := "eos_token"
	switch {
	case e.Finish == generation.FinishLength:
		why = "length"
	case e.Stop != "":
		why = "stop_sequence"
	}
	return &details{Finish: why, Tokens: e.Usage.Tokens, Seed: a.seed}
}

// whole answers at once, with a list of texts for each of several prompts.
func (a *author) whole(c *wire.Call, events func(yield func(chat.Event, error) bool), one, detailed bool) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		a.add(e)
	}
	out := make([][]generated, len(a.texts))
	for i := range a.texts {
		g := generated{Text: a.texts[i].String()}
		if detailed {
			g.Details = a.details(a.ends[i])
			g.Details.Prefill, g.Details.List = &[]token{}, &a.tokens[i]
			if a.tokens[i] == nil {
				a.tokens[i] = []token{}
			}
		}
		out[i] = []generated{g}
	}
	if one {
		return c.WriteJSON(http.StatusOK, out[0])
	}
	return c.WriteJSON(http.StatusOK, out)
}

// next sends the tokens that an event brings. The text of several is that of the last. The latest
// token waits for what follows it.
func (a *author) next(s *wire.Stream, e chat.Event) error {
	var said strings.Builder
	for _, part := range e.Parts {
		said.WriteString(part.Text)
	}
	a.texts[0].WriteString(said.String())
	for _, c := range e.Tokens {
		if err := a.release(s, nil, nil); err != nil {
			return err
		}
		t := a.token(c)
		t.Text = ""
		a.held = &t
	}
	if a.held == nil && (said.Len() > 0 || e.Finish != generation.FinishNone) { // the text ended before its first token
		id, _ := a.tokenizer.TokenID(a.tokenizer.Config().Special["eos_token"])
		a.held = &token{ID: id, Special: true}
	}
	if a.held != nil {
		a.held.Text += said.String()
	}
	if e.Finish == generation.FinishNone {
		return nil
	}
	all := a.texts[0].String()
	d := a.details(e)
	d.Input = &e.Usage.Prompt
	return a.release(s, &all, d)
}

// release sends the token that waits.
func (a *author) release(s *wire.Stream, whole *string, d *details) error {
	if a.held == nil {
		return nil
	}
	a.sent++
	out := event{a.sent, *a.held, whole, d}
	a.held = nil
	return s.Send(out)
}

// stream sends each token of one text. An error before the first has its status; one after it is an
// event.
func (a *author) stream(c *wire.Call, events func(yield func(chat.Event, error) bool)) error {
	fail := func(s *wire.Stream, e *engine.Error) error {
		data, err := json.Marshal(map[string]string{"error": e.Message, "error_type": "generation"})
		if err != nil {
			return err
		}
		return s.Text(string(data))
	}
	nothing := func(*wire.Stream) error { return nil }
	return chat.Stream(c, events, chat.Sender{Open: c.Events, Begin: nothing, Next: a.next, End: nothing, Fail: fail})
}
