// This file has the parts that answers to chats and completions share.

package openai

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/serve/internal/chat"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text/answer"
)

// generator returns the generator that a request names.
func (p protocol) generator(ctx context.Context, model string) (*engine.Generator, error) {
	return chat.Generator(ctx, p.engine, model)
}

// head has the first fields of each answer and each chunk.
type head struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
	// Fingerprint is omitted until it is known.
	Fingerprint string `json:"system_fingerprint,omitempty"`
}

func newHead(prefix, object, model, fingerprint string) head {
	return head{prefix + strings.ToLower(rand.Text()), object, time.Now().Unix(), model, fingerprint}
}

// usage has numbers of tokens, counted as OpenAI does.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// add counts a text, and its prompt if the text is the first one of the prompt.
func (u *usage) add(t answer.Usage, first bool) {
	if first {
		u.Prompt += t.Prompt
		u.Details.Cached += t.Shared
	}
	u.Completion += t.Tokens
	u.Total = u.Prompt + u.Completion
}

// finish returns the reason for the end of a text, nil before the end.
func finish(f generation.Finish, called bool) *string {
	var s string
	switch {
	case f == generation.FinishNone:
		return nil
	case f == generation.FinishLength:
		s = "length"
	case called:
		s = "tool_calls"
	default:
		s = "stop"
	}
	return &s
}

// streamed sends the events of a text until it ends. The stream begins with the first event, so
// that an earlier error has its own status; a later error is sent as an event.
func streamed(c *wire.Call, events func(yield func(chat.Event, error) bool), begin func(s *wire.Stream) error, next func(s *wire.Stream, e chat.Event) error, end func(s *wire.Stream) error) error {
	done := func(s *wire.Stream) error {
		if err := end(s); err != nil {
			return err
		}
		return s.Text("[DONE]")
	}
	fail := func(s *wire.Stream, e *engine.Error) error {
		data, err := ErrorJSON(e)
		if err != nil {
			return err
		}
		return s.Text(string(data))
	}
	return chat.Stream(c, events, chat.Sender{Open: c.Events, Begin: begin, Next: next, End: done, Fail: fail})
}
