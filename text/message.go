// Messages of chats, as templates see them.

package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/avoformer/avoformer/internal/pyjson"
)

// Message is one of a chat's. Its JSON is an object, as OpenAI's API has messages.
type Message struct {
	Role    string // "system", "user", "assistant" or "tool", or what else the model's template knows
	Content string
	// Reasoning is what an assistant thought before its answer, "reasoning_content".
	Reasoning string
	// ToolCalls are the calls of an assistant, "tool_calls". Without content beside
	// them, content is null.
	ToolCalls []ToolCall
	// ToolCallID is the ID of the call that a tool's message answers, "tool_call_id".
	ToolCallID string
	// Fields are further ones, by their JSON names, such as "name". One with the name of
	// another field takes its place: a "content" that is a list of parts, or nil.
	Fields map[string]any
}

// MarshalJSON writes role, content, and the other fields sorted by name.
func (m Message) MarshalJSON() ([]byte, error) {
	return m.encode(func(c ToolCall) any { return c })
}

// encode writes a message with each call as it is given.
func (m Message) encode(call func(ToolCall) any) ([]byte, error) {
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

// UnmarshalJSON keeps in Fields what the other fields cannot hold: calls among it that say
// more than ID, name and arguments.
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

// object is a JSON object whose fields keep their order.
type object struct {
	names  []string
	fields map[string]json.RawMessage
}

func newObject() *object { return &object{fields: map[string]json.RawMessage{}} }

func (o *object) set(name string, v json.RawMessage) {
	if _, ok := o.fields[name]; !ok {
		o.names = append(o.names, name)
	}
	o.fields[name] = v
}

func (o *object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range o.names {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := encode(name)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(o.fields[name])
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

var errNoObject = errors.New("want an object")

func decodeObject(data []byte) (*object, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil {
		return nil, err
	} else if t != json.Delim('{') {
		return nil, errNoObject
	}
	o := newObject()
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		o.set(name.(string), v)
	}
	return o, nil
}

// encode is v's JSON without escapes for HTML.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// objects is the array of objects that v's JSON is; nil if it is null.
func objects(v any) ([]*object, error) {
	raw, err := encode(v)
	if err != nil {
		return nil, err
	}
	if isNull(raw) {
		return nil, nil
	}
	var items []json.RawMessage
	if err := pyjson.Unmarshal(raw, &items); err != nil {
		return nil, errors.New("want an array of objects")
	}
	list := make([]*object, len(items))
	for i, item := range items {
		if list[i], err = decodeObject(item); err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return list, nil
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// text is the string that raw is, if it is one.
func text(raw json.RawMessage) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return s, pyjson.Unmarshal(raw, &s) == nil
}

// sameText reports whether a and b mean the same: to the byte, or as strings.
func sameText(a, b json.RawMessage) bool {
	s, isText := text(a)
	t, alsoText := text(b)
	return isText && alsoText && s == t || bytes.Equal(a, b)
}

// conversation is the messages as templates get them.
type conversation []*object

// readMessages reads messages and makes them what transformers makes of them.
func readMessages(messages any) (conversation, error) {
	list, err := objects(messages)
	if err != nil {
		return nil, fmt.Errorf("%w: messages: %w", ErrInput, err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: no messages", ErrInput)
	}
	for i, m := range list {
		list[i] = m.normal()
	}
	return list, nil
}

// reasoningFields are the names of what a model thought before it answered, the first one
// that templates are made for.
var reasoningFields = []string{"reasoning_content", "thinking", "reasoning"}

// normal is m without fields that are null, and with its reasoning under the names by
// which templates ask for it.
func (m *object) normal() *object {
	out := newObject()
	var reasoning json.RawMessage
	for _, name := range reasoningFields {
		if v, ok := m.fields[name]; ok && !isNull(v) {
			reasoning = v
			out.set("thinking", v)
			break
		}
	}
	for _, name := range m.names {
		if v := m.fields[name]; !isNull(v) {
			out.set(name, v)
		}
	}
	if reasoning != nil {
		out.set("reasoning_content", reasoning)
	}
	return out
}

// openEnd marks where a message is to be continued. It ends with a space to tell whether
// the template takes white space away there.
const openEnd = "CONTINUE_FINAL_MESSAGE_TAG "

// continued is the text of a last message that is left open.
type continued struct{ text string }

// leaveOpen marks the end of a field of the last message.
func (c conversation) leaveOpen(field, source string) (*continued, error) {
	last := c[len(c)-1]
	raw, ok := last.fields[field]
	if !ok {
		return nil, fmt.Errorf("%w: Continue: the last message has no %q", ErrInput, field)
	}
	// The copies of a reasoning are all marked: the template reads one of them.
	names := []string{field}
	if slices.Contains(reasoningFields, field) {
		names = slices.DeleteFunc(slices.Clone(reasoningFields), func(n string) bool { return !sameText(last.fields[n], raw) })
	}
	if !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(source, n) }) {
		return nil, fmt.Errorf("%w: Continue: the template does not read %q", ErrTemplate, field)
	}
	whole, marked, err := markEnd(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: Continue: %q of the last message: %w", ErrInput, field, err)
	}
	for _, name := range names {
		last.set(name, marked)
	}
	return &continued{whole}, nil
}

// markEnd marks the end of a string, or of the last text in a list of parts.
func markEnd(raw json.RawMessage) (whole string, marked json.RawMessage, err error) {
	if s, ok := text(raw); ok {
		marked, err = encode(s + openEnd)
		return s, marked, err
	}
	parts, err := objects(raw)
	if err != nil {
		return "", nil, errors.New("want a string, or an array of objects")
	}
	for _, part := range slices.Backward(parts) {
		raw, ok := part.fields["text"]
		if !ok {
			continue
		}
		s, ok := text(raw)
		if !ok {
			return "", nil, errors.New("text: want a string")
		}
		end, err := encode(s + openEnd)
		if err != nil {
			return "", nil, err
		}
		part.set("text", end)
		marked, err = encode(parts)
		return s, marked, err
	}
	return "", nil, errors.New("no part of it has a text")
}

// cut is the prompt up to the mark.
func (c *continued) cut(prompt string) (string, error) {
	mark := strings.TrimSpace(openEnd)
	at := strings.LastIndex(prompt, mark)
	if at < 0 || !strings.Contains(prompt, strings.TrimFunc(c.text, isSpace)) {
		return "", fmt.Errorf("%w: Continue: the last message is not in the prompt", ErrTemplate)
	}
	if strings.HasPrefix(prompt[at:], openEnd) {
		return prompt[:at], nil
	}
	return strings.TrimRightFunc(prompt[:at], isSpace), nil
}

// isSpace is Python's str.isspace for one character.
func isSpace(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
}
