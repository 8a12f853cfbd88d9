// Messages as templates get them.

package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/avoformer/avoformer/fault"
)

// conversation is the messages as templates get them.
type conversation []*object

// readMessages reads messages and makes them what transformers makes of them, with marks.
func readMessages(messages any, l *Literal) (conversation, error) {
	list, err := objects(messages)
	if err != nil {
		return nil, fmt.Errorf("%w: messages: %w", fault.ErrInput, err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: no messages", fault.ErrInput)
	}
	for i, m := range list {
		list[i] = m.normal()
	}
	if err := l.messages(list); err != nil {
		return nil, fmt.Errorf("%w: messages: %w", fault.ErrInput, err)
	}
	return list, nil
}

// reasoningFields are the names of what a model thought before it answered, the first one that
// templates are made for.
var reasoningFields = []string{"reasoning_content", "thinking", "reasoning"}

// normal is m without fields that are null, and with its reasoning under the names by which
// templates ask for it.
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

// openEnd marks where the model continues a message. It ends with a space, which shows whether the
// template removes white space there.
const openEnd = "CONTINUE_FINAL_MESSAGE_TAG "

// continued is the text of a last message that is left open.
type continued struct{ text string }

// leaveOpen marks the end of a field of the last message.
func (c conversation) leaveOpen(field, source string) (*continued, error) {
	last := c[len(c)-1]
	raw, ok := last.fields[field]
	if !ok {
		return nil, fmt.Errorf("%w: Continue: the last message has no %q", fault.ErrInput, field)
	}
	// The copies of a reasoning are all marked: the template reads one of them.
	names := []string{field}
	if slices.Contains(reasoningFields, field) {
		names = slices.DeleteFunc(slices.Clone(reasoningFields), func(n string) bool { return !sameText(last.fields[n], raw) })
	}
	if !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(source, n) }) {
		return nil, fmt.Errorf("%w: Continue: the template does not read %q", fault.ErrTemplate, field)
	}
	whole, marked, err := markEnd(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: Continue: %q of the last message: %w", fault.ErrInput, field, err)
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

// cut returns the prompt up to the mark.
func (c *continued) cut(prompt string) (string, error) {
	mark := strings.TrimSpace(openEnd)
	at := strings.LastIndex(prompt, mark)
	if at < 0 || !strings.Contains(prompt, strings.TrimFunc(c.text, isSpace)) {
		return "", fmt.Errorf("%w: Continue: the last message is not in the prompt", fault.ErrTemplate)
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
