// Tools for models whose templates have no place for them.

package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/text/answer"
)

// The tags around calls and their results, where package chat writes them.
const (
	openCall, closeCall     = "<tool_call>\n", "\n</tool_call>"
	openResult, closeResult = "<tool_response>\n", "\n</tool_response>"
)

// toolText describes the tools to a model, and how to call them.
func toolText(tools []*object) (string, error) {
	var b strings.Builder
	b.WriteString("You can call these tools:\n\n")
	for _, t := range tools {
		if raw, ok := t.fields["function"]; ok {
			function, err := decodeObject(raw)
			if err != nil {
				return "", fmt.Errorf("function: %w", err)
			}
			t = function
		}
		data, err := encode(t)
		if err != nil {
			return "", err
		}
		b.Write(data)
		b.WriteByte('\n')
	}
	b.WriteString("\nTo call a tool, write this and nothing else, once for each call:\n" +
		openCall + `{"name": "the name of the tool", "arguments": {"the name of a parameter": "its value"}}` + closeCall +
		"\n\nEach result comes back between <tool_response> and </tool_response>. Answer in plain text when no tool is needed.")
	return b.String(), nil
}

// renderWritten returns the prompt that a template without tools makes of messages, with the tools
// in the system's message. Templates that have no system's message, or ignore it, get them in the
// first message of the user.
func (t *chatTemplate) renderWritten(messages any, l *Literal, variables map[string]any, open string) (string, error) {
	tools, _ := variables["tools"].([]*object)
	told, err := toolText(tools)
	if err != nil {
		return "", fmt.Errorf("%w: tools: %w", fault.ErrInput, err)
	}
	variables["tools"] = nil
	var failed error
	for _, role := range []string{"system", "user"} {
		list, err := readMessages(messages, l)
		if err == nil {
			list, err = list.written()
		}
		if err == nil {
			list, err = list.tell(told, role)
		}
		if err != nil {
			return "", err
		}
		prompt, err := t.renderList(list, variables, open)
		if err == nil && strings.Contains(prompt, told) {
			return prompt, nil
		}
		if failed == nil {
			failed = err
		}
	}
	if failed == nil {
		failed = fmt.Errorf("%w: it leaves the tools out, which the messages have", fault.ErrTemplate)
	}
	return "", failed
}

// tell adds a text to the message of the system, which may be a new one, or to the first one of the
// user.
func (c conversation) tell(told, role string) (conversation, error) {
	at := 0
	if role == "user" {
		at = slices.IndexFunc(c, func(m *object) bool { return m.role() == "user" })
	} else if first := c[0].role(); first != "system" && first != "developer" {
		m := newObject()
		m.set("role", json.RawMessage(`"system"`))
		c = slices.Insert(c, 0, m)
	}
	if at < 0 {
		return nil, fmt.Errorf("%w: tools without a message of the user", fault.ErrInput)
	}
	m := c[at]
	content, err := withText(m.fields["content"], told, role == "user")
	if err != nil {
		return nil, fmt.Errorf("%w: message %d: %w", fault.ErrInput, at, err)
	}
	m.set("content", content)
	return c, nil
}

// written returns the messages with calls as texts of the assistant, and results as texts of the
// user.
func (c conversation) written() (conversation, error) {
	var out conversation
	result := false // the last message has results
	for i, m := range c {
		var err error
		switch role := m.role(); {
		case role == "tool":
			if m, err = m.writtenResult(); err == nil && result {
				m, err = followedBy(out[len(out)-1], m)
				out = out[:len(out)-1]
			}
			result = true
		case role == "user" && result: // many templates want the roles to take turns
			m, err = followedBy(out[len(out)-1], m)
			out, result = out[:len(out)-1], false
		default:
			m, err = m.writtenCalls()
			result = false
		}
		if err != nil {
			return nil, fmt.Errorf("%w: message %d: %w", fault.ErrInput, i, err)
		}
		out = append(out, m)
	}
	return out, nil
}

// role is that of a message.
func (m *object) role() string {
	role, _ := text(m.fields["role"])
	return role
}

// without is m without fields.
func (m *object) without(names ...string) *object {
	out := newObject()
	for _, name := range m.names {
		if !slices.Contains(names, name) {
			out.set(name, m.fields[name])
		}
	}
	return out
}

// writtenCalls returns a message with its calls as text.
func (m *object) writtenCalls() (*object, error) {
	raw, ok := m.fields["tool_calls"]
	if !ok {
		return m, nil
	}
	var calls []answer.Call
	if err := pyjson.Unmarshal(raw, &calls); err != nil {
		return nil, fmt.Errorf("tool_calls: %w", err)
	}
	m = m.without("tool_calls")
	var b strings.Builder
	for i, c := range calls {
		if i > 0 {
			b.WriteByte('\n')
		}
		name, err := encode(c.Name)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, `%s{"name": %s, "arguments": %s}%s`, openCall, name, c.Arguments, closeCall)
	}
	content := m.fields["content"]
	if s, isText := text(content); isText && s == "" {
		content = nil
	}
	content, err := withText(content, b.String(), false)
	m.set("content", content)
	return m, err
}

// writtenResult returns a tool's message as one of the user.
func (m *object) writtenResult() (*object, error) {
	said, err := plainText(m.fields["content"])
	if err != nil {
		return nil, err
	}
	content, err := encode(openResult + said + closeResult)
	m = m.without("tool_call_id", "name")
	m.set("role", json.RawMessage(`"user"`))
	m.set("content", content)
	return m, err
}

// followedBy returns a message with the content of a second one.
func followedBy(first, second *object) (*object, error) {
	said, err := plainText(second.fields["content"])
	if err != nil {
		return nil, err
	}
	content, err := withText(first.fields["content"], said, false)
	first.set("content", content)
	return first, err
}

var errContent = errors.New("content: want a string, or an array of parts of type text")

// textParts returns the parts of a content that is an array.
func textParts(content json.RawMessage) ([]*object, error) {
	parts, err := objects(content)
	if err != nil {
		return nil, errContent
	}
	return parts, nil
}

// plainText returns the text of a content, of parts one below the other.
func plainText(content json.RawMessage) (string, error) {
	if s, ok := text(content); ok || len(content) == 0 {
		return s, nil
	}
	parts, err := textParts(content)
	if err != nil {
		return "", err
	}
	texts := make([]string, len(parts))
	for i, part := range parts {
		s, ok := text(part.fields["text"])
		if !ok {
			return "", errContent
		}
		texts[i] = s
	}
	return strings.Join(texts, "\n"), nil
}

// withText returns a content with a text after it, or before it, and an empty line in between.
func withText(content json.RawMessage, added string, before bool) (json.RawMessage, error) {
	s, ok := text(content)
	switch {
	case len(content) == 0:
		return encode(added)
	case ok && before:
		return encode(added + "\n\n" + s)
	case ok:
		return encode(s + "\n\n" + added)
	}
	parts, err := textParts(content)
	if err != nil {
		return nil, err
	}
	raw, err := encode(added)
	if err != nil {
		return nil, err
	}
	part := newObject()
	part.set("type", json.RawMessage(`"text"`))
	part.set("text", raw)
	at := len(parts)
	if before {
		at = 0
	}
	return encode(slices.Insert(parts, at, part))
}
