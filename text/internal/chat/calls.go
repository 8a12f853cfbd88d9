// Forms in which templates get calls of tools.

package chat

import (
	"encoding/json"

	"github.com/avoformer/avoformer/text/answer"
)

// callForm is the form in which templates get calls.
type callForm struct {
	asText  bool            // the arguments as text, not as an object
	content json.RawMessage // beside calls without content; nil: none
}

// callForms are the forms that templates know. The first is that of transformers. Some templates
// take arguments for text, or ask whether the content is None, or join it to something, and fail
// with the first.
var callForms = []callForm{
	{},
	{asText: true},
	{content: json.RawMessage("null")},
	{asText: true, content: json.RawMessage("null")},
	{content: json.RawMessage(`""`)},
	{asText: true, content: json.RawMessage(`""`)},
}

// write writes messages in this way, unless they have been written before.
func (f callForm) write(messages any) (any, error) {
	list, ok := messages.([]Message)
	if !ok {
		return messages, nil
	}
	out := make([]json.RawMessage, len(list))
	for i, m := range list {
		var err error
		if out[i], err = m.encode(func(c answer.Call) any { return f.call(c) }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// call returns a call as templates get it.
func (f callForm) call(c answer.Call) any {
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

// fill gives the content to calls that do not have any.
func (f callForm) fill(c conversation) {
	for _, m := range c {
		_, calls := m.fields["tool_calls"]
		if _, ok := m.fields["content"]; calls && !ok && f.content != nil {
			m.set("content", f.content)
		}
	}
}
