// This file reads messages and their blocks.

package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/serve/internal/chat"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/answer"
)

type message struct {
	Role    string `json:"role"`
	Content blocks `json:"content"`
}

// blocks is a content: a list of blocks, or a string, which is a block of text.
type blocks []block

type block struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	CallID   string          `json:"tool_use_id"`
	Content  json.RawMessage `json:"content"`
	IsError  bool            `json:"is_error"`
	Source   *source         `json:"source"`
}

// source has the file of an image.
type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
	URL       string `json:"url"`
}

// UnmarshalJSON reads both forms.
func (b *blocks) UnmarshalJSON(data []byte) error {
	*b = nil
	if data = bytes.TrimSpace(data); len(data) > 0 && data[0] == '"' {
		*b = blocks{{Type: "text"}}
		return json.Unmarshal(data, &(*b)[0].Text)
	}
	if err := json.Unmarshal(data, (*[]block)(b)); err != nil {
		return engine.Errorf(engine.Invalid, "a content is neither a string nor a list of blocks").At("messages")
	}
	return nil
}

// plain returns the texts of blocks, separated by line breaks.
func (b blocks) plain() (string, error) {
	texts := make([]string, len(b))
	for i, part := range b {
		if part.Type != "text" {
			return "", fmt.Errorf("a block of type %.50q, want text", part.Type)
		}
		texts[i] = part.Text
	}
	return strings.Join(texts, "\n"), nil
}

// turns collects messages in the form that templates accept.
type turns struct {
	list  []text.Message
	names map[string]string // of tools, by the ids of their calls
}

// messages returns the messages, with the system's message first. Consecutive messages of one role
// are merged, as the protocol defines.
func (in *prompt) messages() ([]text.Message, error) {
	t := turns{names: map[string]string{}}
	if len(in.Messages) == 0 {
		return nil, engine.Errorf(engine.Empty, "there are no messages").At("messages")
	}
	if len(in.System) > 0 {
		system, err := in.System.plain()
		if err != nil {
			return nil, engine.Errorf(engine.Invalid, "%v", err).At("system")
		}
		t.list = append(t.list, text.Message{Role: "system", Content: system})
	}
	for i, m := range in.Messages {
		var err error
		switch m.Role {
		case "user", "system":
			err = t.addUser(m)
		case "assistant":
			err = t.addAssistant(m)
		default:
			err = fmt.Errorf("role %.50q, want user or assistant", m.Role)
		}
		if err != nil {
			return nil, engine.Errorf(engine.Invalid, "message %d: %v", i, err).At("messages")
		}
	}
	return t.list, nil
}

// message returns the last message if it has the role, or else a new message.
func (t *turns) message(role string) *text.Message {
	if n := len(t.list); n == 0 || t.list[n-1].Role != role || role == "system" {
		t.list = append(t.list, text.Message{Role: role})
	}
	return &t.list[len(t.list)-1]
}

// addUser adds a message of the user. Results of tools become messages of their own.
func (t *turns) addUser(m message) error {
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			chat.AddText(t.message(m.Role), b.Text)
		case "image":
			file, err := b.Source.file()
			if err != nil {
				return fmt.Errorf("a block of type image: %w", err)
			}
			chat.AddImage(t.message(m.Role), file)
		case "tool_result":
			result, err := b.result()
			if err != nil {
				return err
			}
			to := text.Message{Role: "tool", Content: result, ToolCallID: b.CallID}
			if name, ok := t.names[b.CallID]; ok {
				to.Fields = map[string]any{"name": name}
			}
			t.list = append(t.list, to)
		default:
			return fmt.Errorf("a block of type %.50q, want text, image or tool_result", b.Type)
		}
	}
	return nil
}

// mediaTypes has the media types of supported images.
var mediaTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp", "image/bmp", "image/tiff"}

// file returns the file of an image.
func (s *source) file() ([]byte, error) {
	switch {
	case s == nil:
		return nil, errors.New("no source")
	case s.Type == "url":
		return wire.ImageFile(s.URL)
	case s.Type != "base64":
		return nil, fmt.Errorf("a source of type %.50q, want base64", s.Type)
	case !slices.Contains(mediaTypes, s.MediaType):
		return nil, fmt.Errorf("media_type %.50q, want one of %s", s.MediaType, strings.Join(mediaTypes, ", "))
	}
	return base64.StdEncoding.DecodeString(s.Data)
}

// result returns the text of a tool's result. If the result is an error, the text says it, since
// templates have no place for that.
func (b *block) result() (string, error) {
	var content blocks
	if len(b.Content) > 0 && string(b.Content) != "null" {
		if err := content.UnmarshalJSON(b.Content); err != nil {
			return "", err
		}
	}
	said, err := content.plain()
	if err != nil {
		return "", fmt.Errorf("a tool's result: %w", err)
	}
	if b.IsError {
		said = "Error: " + said
	}
	return said, nil
}

// addAssistant adds a message of the assistant, without redacted thinking.
func (t *turns) addAssistant(m message) error {
	if n := len(t.list); n == 0 || t.list[n-1].Role != "assistant" {
		t.list = append(t.list, text.Message{Role: "assistant"})
	}
	to := &t.list[len(t.list)-1]
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			to.Content += b.Text
		case "thinking":
			to.Reasoning += b.Thinking
		case "redacted_thinking":
		case "tool_use":
			if b.Name == "" || len(b.Input) == 0 || b.Input[0] != '{' {
				return fmt.Errorf("a block of type tool_use, want a name and an input that is an object")
			}
			to.ToolCalls = append(to.ToolCalls, answer.Call{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
			t.names[b.ID] = b.Name
		default:
			return fmt.Errorf("a block of type %.50q, want text, thinking or tool_use", b.Type)
		}
	}
	return nil
}
