// Items of inputs as messages.

package responses

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/avoformer/avoformer/serve/internal/engine"
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

// messages are those of the items, after messages that came before. What the model thought and called belongs to its
// message beside it.
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
			content, err := plain(one.Content)
			if err != nil {
				return nil, engine.Errorf(engine.Invalid, "item %d: %v", i, err)
			}
			switch one.Role {
			case "user", "system", "developer":
				messages = append(messages, text.Message{Role: one.Role, Content: content})
			case "assistant":
				if m := assistant(); m.Content != "" || m.ToolCalls != nil {
					messages = append(messages, text.Message{Role: "assistant", Content: content})
				} else {
					m.Content = content
				}
			default:
				return nil, engine.Errorf(engine.Invalid, "item %d has the role %.50q, want user, assistant, system or developer", i, one.Role)
			}
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

// plain returns the text of a content: a string, or the texts of parts, one below the other.
func plain(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, nil
	}
	var parts []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", engine.Errorf(engine.Invalid, "a content is neither a string nor a list of parts")
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		switch p.Type {
		case "input_text", "output_text", "reasoning_text", "text":
			texts[i] = p.Text
		case "refusal":
			texts[i] = p.Refusal
		default:
			return "", engine.Errorf(engine.Invalid, "a part of type %.50q, the model takes text", p.Type)
		}
	}
	return strings.Join(texts, "\n"), nil
}
