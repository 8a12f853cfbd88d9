// POST /v1/completions.

package openai

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

// completionTokens is the most tokens of a completion that says nothing, as OpenAI documents it.
const completionTokens = 16

type completionRequest struct {
	common
	Prompt   wire.Inputs     `json:"prompt"`
	LogProbs *int            `json:"logprobs"`
	BestOf   *int            `json:"best_of"`
	Echo     bool            `json:"echo"`
	Suffix   json.RawMessage `json:"suffix"`
}

type completionChoice struct {
	Index    int           `json:"index"`
	Text     string        `json:"text"`
	LogProbs *textLogProbs `json:"logprobs"`
	Finish   *string       `json:"finish_reason"`
}

// completionAnswer is an answer, or a chunk of one.
type completionAnswer struct {
	head
	Choices []completionChoice `json:"choices"`
	Usage   *usage             `json:"usage,omitempty"`
}

// Neutral returns the fields that change no answer.
func (*completionRequest) Neutral() wire.Neutral {
	return neutral(wire.Neutral{"add_special_tokens": {"true"}})
}

// sampling is how tokens are chosen.
func (p protocol) sampling(in *completionRequest) (s chat.Sampling, err error) {
	if s, err = in.common.sampling(); err != nil {
		return s, err
	}
	switch {
	case in.Prompt.IDs && !p.options.TokenIDs:
		return s, engine.Errorf(engine.Invalid, tokensRefused, "prompt").At("prompt")
	case len(in.Prompt.List) == 0:
		return s, engine.Errorf(engine.Empty, "there is no prompt").At("prompt")
	case in.Echo && in.LogProbs != nil:
		return s, engine.Errorf(engine.Invalid, "echo with logprobs is not supported here: tokens of a prompt have no log probabilities").At("echo")
	case !wire.IsNull(in.Suffix) && string(in.Suffix) != `""`:
		return s, engine.Errorf(engine.Invalid, "suffix is not supported here").At("suffix")
	case in.BestOf != nil && *in.BestOf != in.count():
		return s, engine.Errorf(engine.Invalid, "best_of %d, want n, which is %d", *in.BestOf, in.count()).At("best_of")
	case in.LogProbs != nil && (*in.LogProbs < 0 || *in.LogProbs > 20):
		return s, engine.Errorf(engine.Invalid, "logprobs %d, want 0 to 20", *in.LogProbs).At("logprobs")
	}
	if in.LogProbs != nil {
		s.LogProbs, s.TopLogProbs = true, *in.LogProbs
	}
	if s.MaxTokens == nil && !in.endless() {
		n := completionTokens
		s.MaxTokens = &n
	}
	return s, nil
}

// completions answers POST /v1/completions.
func (p protocol) completions(c *wire.Call) error {
	var in completionRequest
	if err := c.ReadJSON(&in); err != nil {
		return err
	}
	s, err := p.sampling(&in)
	if err != nil {
		return err
	}
	if n, most := len(in.Prompt.List)*in.count(), p.engine.Config().Batch; n > most {
		return engine.Errorf(engine.TooLarge, "%d texts are asked for, at most %d are possible in one request", n, most).At("prompt")
	}
	g, err := p.generator(c.Context(), in.Model)
	if err != nil {
		return err
	}
	defer g.Release()
	options, err := s.Options(g)
	if err != nil {
		return err
	}
	format, _, err := in.following()
	if err != nil {
		return err
	}
	var jobs []chat.Job
	for _, prompt := range in.Prompt.List {
		for i := range in.count() {
			job := chat.Job{Prompt: engine.Prompt{Text: prompt.Text, Tokens: prompt.IDs}, Options: options(i)}
			job.Follow(format)
			jobs = append(jobs, job)
		}
	}
	events := chat.Run(c.Context(), g, jobs)
	w := completionWriter{head: newHead("cmpl-", "text_completion", g.Name, c.Record.Fingerprint), in: &in, tokenizer: g.Tokenizer(), probs: make([]textLogProbs, len(jobs)), echo: make([]string, len(jobs))}
	if in.Echo {
		for i := range jobs {
			w.echo[i] = jobs[i].Prompt.String(w.tokenizer)
		}
	}
	if in.Stream {
		return streamed(c, events, func(*wire.Stream) error { return nil }, w.next, w.end)
	}
	texts := make([]strings.Builder, len(jobs))
	out := completionAnswer{w.head, make([]completionChoice, len(jobs)), &w.usage}
	for e, err := range events {
		if err != nil {
			return err
		}
		choice := w.choice(e)
		texts[e.Job].WriteString(choice.Text)
		if choice.Text = texts[e.Job].String(); choice.Finish != nil && in.LogProbs != nil {
			choice.LogProbs = &w.probs[e.Job]
		}
		out.Choices[e.Job] = choice
	}
	return c.WriteJSON(http.StatusOK, out)
}

// completionWriter makes choices of events, and sends them as chunks.
type completionWriter struct {
	head
	in        *completionRequest
	tokenizer *tokenizer.Tokenizer
	probs     []textLogProbs
	echo      []string // the prompts that texts still have to begin with
	usage     usage
}

// choice is what an event brings, without its log probabilities, which are kept.
func (w *completionWriter) choice(e chat.Event) completionChoice {
	out := completionChoice{Index: e.Job, Text: w.echo[e.Job], Finish: finish(e.Finish, false)}
	w.echo[e.Job] = ""
	for _, part := range e.Parts {
		out.Text += part.Text
	}
	if w.in.LogProbs != nil {
		w.probs[e.Job].add(w.tokenizer, e.Tokens)
	}
	if e.Finish != generation.FinishNone {
		w.usage.add(e.Usage, e.Job%w.in.count() == 0)
	}
	return out
}

func (w *completionWriter) next(s *wire.Stream, e chat.Event) error {
	choice := w.choice(e)
	if w.in.LogProbs != nil {
		piece := w.probs[e.Job].take()
		choice.LogProbs = &piece
	}
	return s.Send(completionAnswer{head: w.head, Choices: []completionChoice{choice}})
}

// end sends the usage if it was asked for.
func (w *completionWriter) end(s *wire.Stream) error {
	if !w.in.usageAsked() {
		return nil
	}
	return s.Send(completionAnswer{head: w.head, Choices: []completionChoice{}, Usage: &w.usage})
}
