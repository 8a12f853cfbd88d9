// This file has the answers of POST /v1/messages.

package anthropic

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/serve/internal/chat"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text/answer"
)

// reply is a message of the assistant.
type reply struct {
	ID           string  `json:"id"`
	Type         string  `json:"type"`
	Role         string  `json:"role"`
	Model        string  `json:"model"`
	Content      []piece `json:"content"`
	StopReason   *string `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
	Usage        usage   `json:"usage"`
}

// piece is a block of an answer.
type piece struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature *string         `json:"signature,omitempty"` // thoughts are not signed
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
}

// usage has numbers of tokens. The input counts computed tokens; tokens that were reused from an
// earlier text have a field of their own.
type usage struct {
	Input      int `json:"input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	Output     int `json:"output_tokens"`
}

func usageOf(u answer.Usage) usage {
	return usage{Input: u.Prompt - u.Shared, CacheRead: u.Shared, Output: u.Tokens}
}

func newReply(model string) reply {
	return reply{ID: "msg_" + strings.ToLower(rand.Text()), Type: "message", Role: "assistant", Model: model, Content: []piece{}}
}

// newPiece returns a content block of an answer. A block that has just begun has neither text nor
// arguments.
func newPiece(b *chat.Block) piece {
	s := b.Text()
	switch b.Kind {
	case answer.Reasoning:
		return piece{Type: "thinking", Thinking: &s, Signature: new(string)}
	case answer.CallBegin:
		return piece{Type: "tool_use", ID: b.Call.ID, Name: b.Call.Name, Input: json.RawMessage(cmp.Or(s, "{}"))}
	default:
		return piece{Type: "text", Text: &s}
	}
}

// stopped returns the reason for the end of a text, and the stop string that ended it.
func stopped(e chat.Event, called bool) (reason, sequence *string) {
	s := "end_turn"
	switch {
	case e.Finish == generation.FinishLength:
		s = "max_tokens"
	case called:
		s = "tool_use"
	case e.Stop != "":
		s, sequence = "stop_sequence", &e.Stop
	}
	return &s, sequence
}

// messages answers POST /v1/messages.
func (p protocol) messages(c *wire.Call) error {
	var in request
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
	g, err := chat.Generator(c.Context(), p.engine, in.Model)
	if err != nil {
		return err
	}
	defer g.Release()
	j, err := q.Job(g, &s)
	if err != nil {
		return err
	}
	c.Header().Set("Request-Id", c.Record.ID)
	events := chat.Run(c.Context(), g, []chat.Job{*j})
	if in.Stream {
		w := writer{reply: newReply(g.Name), prompt: func() (int, error) { return j.PromptTokens(g) }}
		return chat.Stream(c, events, chat.Sender{Open: c.Events, Begin: w.begin, Next: w.next, End: w.end, Fail: w.fail})
	}
	out, made := newReply(g.Name), chat.Blocks{}
	for e, err := range events {
		if err == nil {
			err = made.Add(e, nil)
		}
		if err != nil {
			return err
		}
		if e.Finish != generation.FinishNone {
			out.StopReason, out.StopSequence = stopped(e, made.EndsWithCall())
			out.Usage = usageOf(e.Usage)
		}
	}
	for i := range made.List {
		out.Content = append(out.Content, newPiece(&made.List[i]))
	}
	return c.WriteJSON(http.StatusOK, out)
}

// count answers POST /v1/messages/count_tokens.
func (p protocol) count(c *wire.Call) error {
	var in prompt
	if err := c.ReadJSON(&in); err != nil {
		return err
	}
	q, err := in.conversation()
	if err != nil {
		return err
	}
	g, err := chat.Generator(c.Context(), p.engine, in.Model)
	if err != nil {
		return err
	}
	defer g.Release()
	j, err := q.Job(g, new(chat.Sampling))
	if err != nil {
		return err
	}
	n, err := j.PromptTokens(g)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, map[string]int{"input_tokens": n})
}
