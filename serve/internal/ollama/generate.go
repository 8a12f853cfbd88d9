// This file has the routes POST /api/chat and /api/generate.

package ollama

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/serve/internal/chat"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/answer"
)

// common has the fields of both kinds of requests.
type common struct {
	Model     string          `json:"model"`
	Stream    *bool           `json:"stream"` // nil: true
	Format    json.RawMessage `json:"format"`
	Options   options         `json:"options"`
	Think     json.RawMessage `json:"think"`
	KeepAlive keepAlive       `json:"keep_alive"`
}

// chatRequest is messages to be answered.
type chatRequest struct {
	common
	Messages []chatMessage `json:"messages"`
	Tools    []chat.Tool   `json:"tools"`
}

// generateRequest is a text to be answered or, if it is raw, to be continued.
type generateRequest struct {
	common
	Prompt string   `json:"prompt"`
	System string   `json:"system"`
	Suffix string   `json:"suffix"`
	Images []string `json:"images"`
	Raw    bool     `json:"raw"`
}

// Neutral returns the fields that have no effect on answers.
func (*common) Neutral() wire.Neutral { return neutral }

// chatMessage is a message in Ollama's form.
type chatMessage struct {
	Role     string     `json:"role"`
	Content  string     `json:"content"`
	Thinking string     `json:"thinking,omitempty"`
	Images   []string   `json:"images,omitempty"`
	Calls    []chatCall `json:"tool_calls,omitempty"`
	ToolName string     `json:"tool_name,omitempty"`
	CallID   string     `json:"tool_call_id,omitempty"`
}

type chatCall struct {
	ID       string `json:"id,omitempty"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// reply is an answer, or a piece of it.
type reply struct {
	Model    string       `json:"model"`
	Created  time.Time    `json:"created_at"`
	Message  *chatMessage `json:"message,omitempty"`
	Response *string      `json:"response,omitempty"`
	Thinking string       `json:"thinking,omitempty"`
	Done     bool         `json:"done"`
	*ended
}

// ended has the fields that only the last piece has. Durations are in nanoseconds.
type ended struct {
	Reason         string `json:"done_reason"`
	Total          int64  `json:"total_duration"`
	Load           int64  `json:"load_duration"`
	PromptCount    int    `json:"prompt_eval_count"`
	PromptDuration int64  `json:"prompt_eval_duration"`
	Count          int    `json:"eval_count"`
	Duration       int64  `json:"eval_duration"`
}

// chat answers POST /api/chat.
func (p protocol) chat(c *wire.Call) error {
	var in chatRequest
	if err := c.ReadJSON(&in); err != nil {
		return err
	}
	if len(in.Messages) == 0 {
		return p.touch(c, &in.common, true)
	}
	q := chat.Conversation{Tools: in.Tools}
	for i, m := range in.Messages {
		to := text.Message{Role: m.Role, Reasoning: m.Thinking, ToolCallID: m.CallID}
		for _, call := range m.Calls {
			to.ToolCalls = append(to.ToolCalls, answer.Call{ID: call.ID, Name: call.Function.Name, Arguments: string(call.Function.Arguments)})
		}
		if m.ToolName != "" {
			to.Fields = map[string]any{"name": m.ToolName}
		}
		if err := addImages(&to, m.Images); err != nil {
			return engine.Errorf(engine.Invalid, "message %d: %v", i, err).At("messages")
		}
		chat.AddText(&to, m.Content)
		q.Messages = append(q.Messages, to)
	}
	return p.answer(c, &in.common, &q, true, nil)
}

// generate answers POST /api/generate.
func (p protocol) generate(c *wire.Call) error {
	var in generateRequest
	if err := c.ReadJSON(&in); err != nil {
		return err
	}
	switch {
	case in.Suffix != "":
		return engine.Errorf(engine.Invalid, "suffix is not supported here").At("suffix")
	case in.Prompt == "":
		return p.touch(c, &in.common, false)
	case in.Raw && (in.System != "" || !wire.IsNull(in.Think)):
		return engine.Errorf(engine.Invalid, "raw with system or think, which a raw prompt has no place for").At("raw")
	case in.Raw && len(in.Images) > 0:
		return engine.Errorf(engine.Invalid, "raw with images, which a raw prompt has no place for").At("images")
	case in.Raw:
		return p.answer(c, &in.common, &chat.Conversation{}, false, &in.Prompt)
	}
	asked := text.Message{Role: "user"}
	if err := addImages(&asked, in.Images); err != nil {
		return engine.Errorf(engine.Invalid, "%v", err).At("images")
	}
	chat.AddText(&asked, in.Prompt)
	q := chat.Conversation{Messages: []text.Message{asked}}
	if in.System != "" {
		q.Messages = append([]text.Message{{Role: "system", Content: in.System}}, q.Messages...)
	}
	return p.answer(c, &in.common, &q, false, nil)
}

// addImages adds images in base64 to a message.
func addImages(m *text.Message, images []string) error {
	for _, data := range images {
		file, err := wire.ImageFile(data)
		if err != nil {
			return fmt.Errorf("images: %w", err)
		}
		chat.AddImage(m, file)
	}
	return nil
}

// answer answers with messages to a conversation, or with texts to it or to a raw prompt.
func (p protocol) answer(c *wire.Call, in *common, q *chat.Conversation, messages bool, raw *string) error {
	model, err := p.named(in.Model)
	if err != nil {
		return err
	}
	s, err := in.Options.sampling()
	if err != nil {
		return err
	}
	if q.Format, err = format(in.Format); err != nil {
		return err
	}
	if q.Format != nil && len(q.Tools) > 0 {
		return engine.Errorf(engine.Invalid, "format and tools together are not supported here").At("format")
	}
	if q.Variables, err = think(in.Think); err != nil {
		return err
	}
	g, err := p.engine.Generator(c.Context(), model)
	if err != nil {
		return err
	}
	defer g.Release()
	if string(in.Think) != "" && string(in.Think) != "null" && string(in.Think) != "false" && g.AnswerFormat(text.PromptOptions{}).Think == "" {
		return engine.Errorf(engine.Invalid, "%q does not think before it answers", g.Name).At("think")
	}
	jobs, err := jobsOf(g, q, &s, raw)
	if err != nil {
		return err
	}
	if err := in.Options.bound(g, &jobs[0]); err != nil {
		return err
	}
	w := replier{model: in.Model, messages: messages, record: c.Record}
	if in.Stream != nil && !*in.Stream {
		return w.whole(c, chat.Run(c.Context(), g, jobs))
	}
	return w.streamed(c, chat.Run(c.Context(), g, jobs))
}

func jobsOf(g *engine.Generator, q *chat.Conversation, s *chat.Sampling, raw *string) ([]chat.Job, error) {
	options, err := s.Options(g)
	if err != nil {
		return nil, err
	}
	if raw == nil {
		return q.Jobs(g, 1, options)
	}
	j := chat.Job{Prompt: engine.Prompt{Text: *raw}, Options: options(0)}
	j.Follow(q.Format)
	return []chat.Job{j}, nil
}

// replier converts events to replies.
type replier struct {
	model    string
	messages bool
	record   *engine.Record
	began    time.Time
}

// reply returns the reply for an event; some is false if the event needs no reply.
func (w *replier) reply(e chat.Event) (r reply, some bool) {
	var a answer.Answer
	for _, part := range e.Parts {
		switch part.Kind {
		case answer.Reasoning:
			a.Reasoning += part.Text
		default:
			a.Add(part)
		}
	}
	some = a.Content != "" || a.Reasoning != "" || len(a.Calls) > 0 || e.Finish != generation.FinishNone
	r = reply{Model: w.model, Created: time.Now().UTC()}
	if w.messages {
		r.Message = &chatMessage{Role: "assistant", Content: a.Content, Thinking: a.Reasoning}
		for _, call := range a.Calls {
			one := chatCall{ID: call.ID}
			one.Function.Name, one.Function.Arguments = call.Name, json.RawMessage(call.Arguments)
			r.Message.Calls = append(r.Message.Calls, one)
		}
	} else {
		r.Response, r.Thinking = &a.Content, a.Reasoning
	}
	if e.Finish != generation.FinishNone {
		reason := "stop"
		if e.Finish == generation.FinishLength {
			reason = "length"
		}
		now := time.Now()
		first := w.record.First
		r.Done = true
		r.ended = &ended{reason, int64(now.Sub(w.record.Began)), int64(w.record.Load), e.Usage.Prompt, int64(first), e.Usage.Tokens, int64(max(now.Sub(w.began)-first, 0))}
	}
	return r, some
}

// whole answers at once.
func (w *replier) whole(c *wire.Call, events func(yield func(chat.Event, error) bool)) error {
	w.began = time.Now()
	var last reply
	var content, thinking strings.Builder
	var calls []chatCall
	for e, err := range events {
		if err != nil {
			return err
		}
		last, _ = w.reply(e)
		if m := last.Message; m != nil {
			content.WriteString(m.Content)
			thinking.WriteString(m.Thinking)
			calls = append(calls, m.Calls...)
		} else {
			content.WriteString(*last.Response)
			thinking.WriteString(last.Thinking)
		}
	}
	if m := last.Message; m != nil {
		m.Content, m.Thinking, m.Calls = content.String(), thinking.String(), calls
	} else {
		all := content.String()
		last.Response, last.Thinking = &all, thinking.String()
	}
	return c.WriteJSON(http.StatusOK, last)
}

// streamed sends the answer in pieces. An error before the first piece has its own status; a later
// error is sent as a line.
func (w *replier) streamed(c *wire.Call, events func(yield func(chat.Event, error) bool)) error {
	w.began = time.Now()
	next := func(s *wire.Stream, e chat.Event) error {
		if r, some := w.reply(e); some {
			return s.Send(r)
		}
		return nil
	}
	fail := func(s *wire.Stream, e *engine.Error) error { return s.Send(failure{e.Message}) }
	nothing := func(*wire.Stream) error { return nil }
	return chat.Stream(c, events, chat.Sender{Open: c.Lines, Begin: nothing, Next: next, End: nothing, Fail: fail})
}
