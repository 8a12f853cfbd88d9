// POST /v1/chat/completions: the answers.

package openai

import (
	"net/http"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/serve/internal/chat"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text/answer"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// message is an assistant's.
type message struct {
	Role      string        `json:"role"`
	Content   *string       `json:"content"`
	Refusal   *string       `json:"refusal"`
	Reasoning string        `json:"reasoning_content,omitempty"`
	Calls     []answer.Call `json:"tool_calls,omitempty"`
}

// delta is what a chunk adds to a message.
type delta struct {
	Role      string      `json:"role,omitempty"`
	Content   *string     `json:"content,omitempty"`
	Reasoning string      `json:"reasoning_content,omitempty"`
	Calls     []deltaCall `json:"tool_calls,omitempty"`
}

type deltaCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type chatChoice struct {
	Index    int           `json:"index"`
	Message  *message      `json:"message,omitempty"`
	Delta    *delta        `json:"delta,omitempty"`
	LogProbs *chatLogProbs `json:"logprobs"`
	Finish   *string       `json:"finish_reason"`
}

// chatAnswer is an answer, or a chunk of one.
type chatAnswer struct {
	head
	Choices []chatChoice `json:"choices"`
	Usage   *usage       `json:"usage,omitempty"`
}

// chat answers POST /v1/chat/completions.
func (p protocol) chat(c *wire.Call) error {
	var in chatRequest
	if err := c.ReadJSON(&in); err != nil {
		return err
	}
	s, err := in.sampling()
	if err != nil {
		return err
	}
	q, err := in.conversation()
	if err != nil {
		return err
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
	jobs, err := q.Jobs(g, in.count(), options)
	if err != nil {
		return err
	}
	events := chat.Run(c.Context(), g, jobs)
	if in.Stream {
		w := chatWriter{head: newHead("chatcmpl-", "chat.completion.chunk", g.Name, c.Record.Fingerprint), in: &in, tokenizer: g.Tokenizer(), called: make([]bool, len(jobs))}
		return streamed(c, events, w.begin, w.next, w.end)
	}
	out := chatAnswer{newHead("chatcmpl-", "chat.completion", g.Name, c.Record.Fingerprint), make([]chatChoice, len(jobs)), new(usage)}
	answers := make([]answer.Answer, len(jobs))
	for i := range out.Choices {
		out.Choices[i] = chatChoice{Index: i, Message: &message{Role: "assistant"}}
		if in.LogProbs {
			out.Choices[i].LogProbs = &chatLogProbs{Content: []tokenLogProb{}}
		}
	}
	for e, err := range events {
		if err != nil {
			return err
		}
		choice, a := &out.Choices[e.Job], &answers[e.Job]
		for _, part := range e.Parts {
			a.Add(part)
		}
		if in.LogProbs {
			choice.LogProbs.add(g.Tokenizer(), e.Tokens)
		}
		if e.Finish != generation.FinishNone {
			choice.Finish = finish(e.Finish, len(a.Calls) > 0)
			if choice.Message.Calls = a.Calls; in.told() {
				choice.Message.Reasoning = a.Reasoning
			}
			if a.Content != "" || len(a.Calls) == 0 {
				choice.Message.Content = &a.Content
			}
			out.Usage.add(e.Usage, e.Job == 0)
		}
	}
	return c.WriteJSON(http.StatusOK, out)
}

// chatWriter sends an answer as chunks.
type chatWriter struct {
	head
	in        *chatRequest
	tokenizer *tokenizer.Tokenizer
	called    []bool
	usage     usage
}

func (w *chatWriter) send(s *wire.Stream, choice chatChoice) error {
	return s.Send(chatAnswer{head: w.head, Choices: []chatChoice{choice}})
}

// begin sends a chunk with the role for each text.
func (w *chatWriter) begin(s *wire.Stream) error {
	for i := range w.called {
		if err := w.send(s, chatChoice{Index: i, Delta: &delta{Role: "assistant", Content: new(string)}}); err != nil {
			return err
		}
	}
	return nil
}

// next sends a chunk for each part of an event. The first has the log probabilities of all.
func (w *chatWriter) next(s *wire.Stream, e chat.Event) error {
	var probs *chatLogProbs
	if w.in.LogProbs && len(e.Tokens) > 0 {
		probs = new(chatLogProbs)
		probs.add(w.tokenizer, e.Tokens)
	}
	for _, part := range e.Parts {
		var d delta
		switch part.Kind {
		case answer.Text:
			d.Content = &part.Text
		case answer.Reasoning:
			if !w.in.told() {
				continue
			}
			d.Reasoning = part.Text
		case answer.CallBegin:
			w.called[e.Job] = true
			d.Calls = []deltaCall{{Index: part.Index, ID: part.Call.ID, Type: "function"}}
			d.Calls[0].Function.Name = part.Call.Name
		case answer.CallArguments:
			d.Calls = []deltaCall{{Index: part.Index}}
			d.Calls[0].Function.Arguments = part.Text
		case answer.CallEnd, answer.CallBroken: // calls come whole
			continue
		}
		if err := w.send(s, chatChoice{Index: e.Job, Delta: &d, LogProbs: probs}); err != nil {
			return err
		}
		probs = nil
	}
	if e.Finish == generation.FinishNone && probs == nil {
		return nil
	}
	if e.Finish != generation.FinishNone {
		w.usage.add(e.Usage, e.Job == 0)
	}
	return w.send(s, chatChoice{Index: e.Job, Delta: new(delta), LogProbs: probs, Finish: finish(e.Finish, w.called[e.Job])})
}

// end sends the usage if it was asked for.
func (w *chatWriter) end(s *wire.Stream) error {
	if !w.in.usageAsked() {
		return nil
	}
	return s.Send(chatAnswer{head: w.head, Choices: []chatChoice{}, Usage: &w.usage})
}
