// Items of inputs as messages.

package responses

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/avoformer/avoformer/serve/internal/chat"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/answer"
)

// input is a list of items, or a string, which is a message of the user.
type input []item

// item is a message, a call or its result, or what the model thought.
type item struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"` // a string, or parts
	Name      string          `json:"name"`
	CallID    string          `json:"call_id"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"` // a string, or parts
}

// UnmarshalJSON reads both ways.
func (in *input) UnmarshalJSON(data []byte) error {
	*in = nil
	if data = bytes.TrimSpace(data); len(data) > 0 && data[0] == '"' {
		*in = input{{Role: "user", Content: append(json.RawMessage(nil), data...)}}
		return nil
	}
	if err := json.Unmarshal(data, (*[]item)(in)); err != nil {
		return engine.Errorf(engine.Invalid, "input is neither a string nor a list of items").At("input")
	}
	return nil
}

// messages returns the messages of the items, after earlier messages. The reasoning and the calls
// of the model become parts of the message next to them.
func (in input) messages(messages []text.Message) ([]text.Message, error) {
	names := map[string]string{} // of tools, by the ids of their calls
	for _, m := range messages {
		for _, call := range m.ToolCalls {
			names[call.ID] = call.Name
		}
	}
	fresh := len(messages) // from here on are messages of this input, which may grow
	// assistant is the last message if it is the assistant's and has not ended.
	assistant := func() *text.Message {
		if n := len(messages); n == fresh || messages[n-1].Role != "assistant" {
			messages = append(messages, text.Message{Role: "assistant"})
		}
		return &messages[len(messages)-1]
	}
	for i, one := range in {
		switch one.Type {
		case "", "message":
			m, err := one.message()
			if err != nil {
				return nil, engine.Errorf(engine.Invalid, "item %d: %v", i, err)
			}
			if m.Role == "assistant" {
				if last := assistant(); last.Content == "" && last.ToolCalls == nil {
					last.Content = m.Content
					continue
				}
			}
			messages = append(messages, m)
		case "reasoning":
			thought, err := plain(one.Content)
			if err != nil {
				return nil, engine.Errorf(engine.Invalid, "item %d: %v", i, err)
			}
			if thought != "" {
				assistant().Reasoning += thought
			}
		case "function_call":
			if one.Name == "" || one.Arguments != "" && !json.Valid([]byte(one.Arguments)) {
				return nil, engine.Errorf(engine.Invalid, "item %d is a call, want a name and arguments that are JSON", i)
			}
			m := assistant()
			m.ToolCalls = append(m.ToolCalls, answer.Call{ID: one.CallID, Name: one.Name, Arguments: one.Arguments})
			names[one.CallID] = one.Name
		case "function_call_output":
			result, err := plain(one.Output)
			if err != nil {
				return nil, engine.Errorf(engine.Invalid, "item %d: %v", i, err)
			}
			m := text.Message{Role: "tool", Content: result, ToolCallID: one.CallID}
			if name, ok := names[one.CallID]; ok {
				m.Fields = map[string]any{"name": name}
			}
			messages = append(messages, m)
		default:
			return nil, engine.Errorf(engine.Invalid, "item %d is of type %.50q, want message, reasoning, function_call or function_call_output", i, one.Type)
		}
	}
	return messages, nil
}

// message returns an item that is a message.
func (one *item) message() (m text.Message, err error) {
	m.Role = one.Role
	switch m.Role {
	case "assistant", "system", "developer":
		m.Content, err = plain(one.Content)
		return m, err
	case "user":
	default:
		return m, engine.Errorf(engine.Invalid, "the role %.50q, want user, assistant, system or developer", m.Role)
	}
	parts, err := readParts(one.Content)
	for _, p := range parts {
		if p.Type != "input_image" {
			said, err := p.said()
			if err != nil {
				return m, err
			}
			chat.AddText(&m, said)
			continue
		}
		if p.Image == nil {
			return m, engine.Errorf(engine.Invalid, "a part of type input_image without image_url")
		}
		file, err := wire.ImageFile(*p.Image)
		if err != nil {
			return m, engine.Errorf(engine.Invalid, "a part of type input_image: image_url: %v", err)
		}
		chat.AddImage(&m, file)
	}
	return m, err
}

// content is a part of a message or of a result.
type content struct {
	Type    string  `json:"type"`
	Text    string  `json:"text"`
	Refusal string  `json:"refusal"`
	Image   *string `json:"image_url"`
}

// readParts reads a content: a string, which is a part, or parts.
func readParts(raw json.RawMessage) (parts []content, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return []content{{Type: "text", Text: s}}, nil
	}
	if json.Unmarshal(raw, &parts) != nil {
		return nil, engine.Errorf(engine.Invalid, "a content is neither a string nor a list of parts")
	}
	return parts, nil
}

// said returns the text of a part.
func (p *content) said() (string, error) {
	switch p.Type {
	case "input_text", "output_text", "reasoning_text", "text":
		return p.Text, nil
	case "refusal":
		return p.Refusal, nil
	}
	return "", engine.Errorf(engine.Invalid, "a part of type %.50q, want text, or input_image in a message of the user", p.Type)
}

// plain returns the text of a content: the texts of its parts, one below the other.
func plain(raw json.RawMessage) (string, error) {
	parts, err := readParts(raw)
	if err != nil {
		return "", err
	}
	texts := make([]string, len(parts))
	for i := range parts {
		if texts[i], err = parts[i].said(); err != nil {
			return "", err
		}
	}
	return strings.Join(texts, "\n"), nil
}
