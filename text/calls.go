// Calls of tools in messages.

package text

import (
	"encoding/json"
	"slices"

	"github.com/avoformer/avoformer/text/answer"
)

// ToolCall is a call of a tool that a model made. Its arguments are JSON.
type ToolCall = answer.Call

// Reply is the assistant's message that an answer is.
func Reply(a answer.Answer) Message {
	return Message{Role: "assistant", Content: a.Content, Reasoning: a.Reasoning, ToolCalls: a.Calls}
}

// readCalls reads calls, nil if there are none or if they say more than a ToolCall.
func readCalls(raw json.RawMessage) []ToolCall {
	list, err := objects(raw)
	if err != nil || len(list) == 0 {
		return nil
	}
	calls := make([]ToolCall, len(list))
	for i, o := range list {
		function, err := decodeObject(o.fields["function"])
		if err != nil || !o.only("id", "type", "function") || !function.only("name", "arguments") {
			return nil
		}
		data, err := o.MarshalJSON()
		if err != nil || calls[i].UnmarshalJSON(data) != nil {
			return nil
		}
	}
	return calls
}

// only reports whether o has no other fields.
func (o *object) only(names ...string) bool {
	return !slices.ContainsFunc(o.names, func(n string) bool { return !slices.Contains(names, n) })
}

// callForm is how templates get calls.
type callForm struct {
	asText  bool            // the arguments as text, not as an object
	content json.RawMessage // beside calls without content; nil: none
}

// callForms are the forms that templates know. The first is that of transformers. Some
// templates take arguments for text, or ask whether the content is none, or join it to
// something, and fail with the first.
var callForms = []callForm{
	{},
	{asText: true},
	{content: json.RawMessage("null")},
	{asText: true, content: json.RawMessage("null")},
	{content: json.RawMessage(`""`)},
	{asText: true, content: json.RawMessage(`""`)},
}

func (m Message) hasCalls() bool { return m.ToolCalls != nil }

// write writes messages so, unless they have been written before.
func (f callForm) write(messages any) (any, error) {
	list, ok := messages.([]Message)
	if !ok {
		return messages, nil
	}
	out := make([]json.RawMessage, len(list))
	for i, m := range list {
		var err error
		if out[i], err = m.encode(func(c ToolCall) any { return f.call(c) }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// call is a call as templates get it.
func (f callForm) call(c ToolCall) any {
	type function struct {
		Name      string `json:"name"`
		Arguments any    `json:"arguments"`
	}
	call := struct {
		ID       string   `json:"id,omitempty"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{c.ID, "function", function{c.Name, c.Arguments}}
	if o, err := decodeObject([]byte(c.Arguments)); err == nil && !f.asText && json.Valid([]byte(c.Arguments)) {
		call.Function.Arguments = o
	}
	return call
}

// fill gives the content to calls that have none.
func (f callForm) fill(c conversation) {
	for _, m := range c {
		_, calls := m.fields["tool_calls"]
		if _, ok := m.fields["content"]; calls && !ok && f.content != nil {
			m.set("content", f.content)
		}
	}
}
