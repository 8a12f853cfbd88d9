// The answers of POST /v1/responses.

package responses

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"strings"
	"time"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/serve/internal/chat"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/answer"
)

// response is an answer, with the fields of its request.
type response struct {
	ID           string            `json:"id"`
	Object       string            `json:"object"`
	Created      int64             `json:"created_at"`
	Completed    *int64            `json:"completed_at"`
	Status       string            `json:"status"`
	Error        *failure          `json:"error"`
	Incomplete   *incomplete       `json:"incomplete_details"`
	Instructions *string           `json:"instructions"`
	MaxTokens    *int              `json:"max_output_tokens"`
	Model        string            `json:"model"`
	Output       []output          `json:"output"`
	Parallel     bool              `json:"parallel_tool_calls"`
	Previous     *string           `json:"previous_response_id"`
	Reasoning    reasoning         `json:"reasoning"`
	Store        bool              `json:"store"`
	Temperature  *float64          `json:"temperature"`
	Text         textConfig        `json:"text"`
	Choice       json.RawMessage   `json:"tool_choice"`
	Tools        []tool            `json:"tools"`
	TopP         *float64          `json:"top_p"`
	Truncation   string            `json:"truncation"`
	Background   bool              `json:"background"`
	Usage        *usage            `json:"usage"`
	Metadata     map[string]string `json:"metadata"`
}

type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

// usage is numbers of tokens.
type usage struct {
	Input        int `json:"input_tokens"`
	InputDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Output        int `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"` // which are not told apart
	} `json:"output_tokens_details"`
	Total int `json:"total_tokens"`
}

// output is an item of an answer: a message, a call, or what the model thought.
type output struct {
	ID        string     `json:"id"`
	Type      string     `json:"type"`
	Status    string     `json:"status"`
	Role      string     `json:"role,omitempty"`
	Content   []part     `json:"content,omitzero"`
	Summary   []struct{} `json:"summary,omitzero"` // of thoughts, which are in Content
	CallID    string     `json:"call_id,omitempty"`
	Name      string     `json:"name,omitempty"`
	Arguments *string    `json:"arguments,omitempty"`
}

// part is a part of a content.
type part struct {
	Type        string     `json:"type"`
	Text        string     `json:"text"`
	Annotations []struct{} `json:"annotations,omitzero"`
	LogProbs    []struct{} `json:"logprobs,omitzero"`
}

// The states of a response and of its items.
const (
	inProgress   = "in_progress"
	completed    = "completed"
	isIncomplete = "incomplete"
	failed       = "failed"
)

func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()) }

// writer makes a response of events.
type writer struct {
	response response
	made     chat.Blocks
	messages []text.Message // that it answers, without instructions
	kept     *store
	sequence int // of the next event
}

func newWriter(in *request, model string, messages []text.Message, kept *store) *writer {
	r := response{
		ID: newID("resp_"), Object: "response", Created: time.Now().Unix(), Status: inProgress, Instructions: in.Instructions, MaxTokens: in.MaxTokens,
		Model: model, Output: []output{}, Parallel: in.Parallel == nil || *in.Parallel, Previous: in.Previous, Store: in.Store == nil || *in.Store,
		Temperature: in.Temperature, Text: in.Text, Choice: in.Choice, Tools: in.Tools, TopP: in.TopP, Truncation: "disabled", Metadata: in.Metadata,
	}
	if in.Reasoning != nil {
		r.Reasoning = *in.Reasoning
	}
	if r.Text.Format == nil {
		r.Text.Format = &format{Type: "text"}
	}
	if len(r.Choice) == 0 {
		r.Choice = json.RawMessage(`"auto"`)
	}
	if r.Tools == nil {
		r.Tools = []tool{}
	}
	if r.Metadata == nil {
		r.Metadata = map[string]string{}
	}
	return &writer{response: r, messages: messages, kept: kept}
}

// newOutput returns an item for a block that has begun.
func newOutput(b *chat.Block) output {
	switch b.Kind {
	case answer.Reasoning:
		return output{ID: newID("rs_"), Type: "reasoning", Status: inProgress, Summary: []struct{}{}, Content: []part{}}
	case answer.CallBegin:
		return output{ID: newID("fc_"), Type: "function_call", Status: inProgress, CallID: b.Call.ID, Name: b.Call.Name, Arguments: new(string)}
	default:
		return output{ID: newID("msg_"), Type: "message", Status: inProgress, Role: "assistant", Content: []part{}}
	}
}

// partOf returns the part of a content that a block is.
func partOf(b *chat.Block, said string) part {
	if b.Kind == answer.Reasoning {
		return part{Type: "reasoning_text", Text: said}
	}
	return part{Type: "output_text", Text: said, Annotations: []struct{}{}, LogProbs: []struct{}{}}
}

// add adds the content of an event, and calls step for each change to the last item; step may be
// nil. After the last event the response is complete, and is kept.
func (w *writer) add(e chat.Event, step func(s chat.BlockStep, added string) error) error {
	length := e.Finish == generation.FinishLength
	err := w.made.Add(e, func(s chat.BlockStep, added string) error {
		last := &w.made.List[len(w.made.List)-1]
		switch s {
		case chat.BlockBegins:
			w.response.Output = append(w.response.Output, newOutput(last))
		case chat.BlockEnds:
			w.endItem(last, length && last.Kind != answer.CallBegin)
		case chat.BlockGrows:
		}
		if step == nil {
			return nil
		}
		return step(s, added)
	})
	if err != nil || e.Finish == generation.FinishNone {
		return err
	}
	now, u := time.Now().Unix(), usage{Input: e.Usage.Prompt, Output: e.Usage.Tokens, Total: e.Usage.Prompt + e.Usage.Tokens}
	u.InputDetails.Cached = e.Usage.Shared
	w.response.Usage, w.response.Status, w.response.Completed = &u, completed, &now
	if length {
		w.response.Status, w.response.Completed, w.response.Incomplete = isIncomplete, nil, &incomplete{"max_output_tokens"}
	}
	return w.keep()
}

// endItem makes the last item whole.
func (w *writer) endItem(b *chat.Block, cut bool) {
	to := &w.response.Output[len(w.response.Output)-1]
	to.Status = completed
	if cut {
		to.Status = isIncomplete
	}
	said := b.Text()
	if b.Kind == answer.CallBegin {
		said = cmp.Or(said, "{}")
		to.Arguments = &said
		return
	}
	to.Content = append(to.Content, partOf(b, said))
}

// keep keeps the response for those that continue from it, unless the request does not want that.
func (w *writer) keep() error {
	if !w.response.Store {
		return nil
	}
	body, err := json.Marshal(w.response)
	if err != nil {
		return err
	}
	m := text.Message{Role: "assistant"}
	for i := range w.made.List {
		switch b := &w.made.List[i]; b.Kind {
		case answer.Reasoning:
			m.Reasoning += b.Text()
		case answer.CallBegin:
			m.ToolCalls = append(m.ToolCalls, answer.Call{ID: b.Call.ID, Name: b.Call.Name, Arguments: cmp.Or(b.Text(), "{}")})
		default:
			m.Content += b.Text()
		}
	}
	w.kept.put(&kept{id: w.response.ID, messages: append(w.messages, m), body: body})
	return nil
}
