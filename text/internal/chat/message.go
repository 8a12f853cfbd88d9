// Messages and their JSON.

package chat

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/avoformer/avoformer/text/answer"
)

// Message is text.Message, which has the same fields and says what they mean.
type Message struct {
	Role       string
	Content    string
	Reasoning  string
	ToolCalls  []answer.Call
	ToolCallID string
	Fields     map[string]any
}

// MarshalJSON writes role, content, and the other fields sorted by name.
func (m Message) MarshalJSON() ([]byte, error) {
	return m.encode(func(c answer.Call) any { return c })
}

// encode writes a message with each call as it is given.
func (m Message) encode(call func(answer.Call) any) ([]byte, error) {
	fields := map[string]any{"role": m.Role, "content": m.Content}
	if m.Reasoning != "" {
		fields["reasoning_content"] = m.Reasoning
	}
	if m.ToolCallID != "" {
		fields["tool_call_id"] = m.ToolCallID
	}
	if m.ToolCalls != nil {
		calls := make([]any, len(m.ToolCalls))
		for i, c := range m.ToolCalls {
			calls[i] = call(c)
		}
		fields["tool_calls"] = calls
		if m.Content == "" {
			fields["content"] = nil
		}
	}
	maps.Copy(fields, m.Fields)
	o := newObject()
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(fields)), func(n string) bool { return n == "role" || n == "content" })
	for _, name := range append([]string{"role", "content"}, names...) {
		raw, err := encode(fields[name])
		if err != nil {
			return nil, err
		}
		o.set(name, raw)
	}
	return o.MarshalJSON()
}

// UnmarshalJSON keeps in Fields what the other fields cannot hold: calls among it that say more
// than ID, name and arguments.
func (m *Message) UnmarshalJSON(data []byte) error {
	o, err := decodeObject(data)
	if err != nil {
		return err
	}
	*m = Message{Fields: map[string]any{"content": nil}}
	texts := map[string]*string{"role": &m.Role, "content": &m.Content, "reasoning_content": &m.Reasoning, "tool_call_id": &m.ToolCallID}
	for _, name := range o.names {
		raw := o.fields[name]
		s, isText := text(raw)
		switch field := texts[name]; {
		case field != nil && isText && (s != "" || name == "role" || name == "content"):
			*field = s
			delete(m.Fields, name)
		default:
			if name == "tool_calls" {
				m.ToolCalls = readCalls(raw)
			}
			if name != "tool_calls" || m.ToolCalls == nil {
				m.Fields[name] = raw
			}
		}
	}
	if m.ToolCalls == nil || m.Content != "" {
		return nil
	}
	if raw, ok := o.fields["content"]; !ok || isNull(raw) {
		delete(m.Fields, "content")
	} else {
		m.Fields["content"] = raw
	}
	return nil
}

func (m Message) hasCalls() bool { return m.ToolCalls != nil }

// readCalls reads calls, nil if there are none or if they say more than a Call.
func readCalls(raw json.RawMessage) []answer.Call {
	list, err := objects(raw)
	if err != nil || len(list) == 0 {
		return nil
	}
	calls := make([]answer.Call, len(list))
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
