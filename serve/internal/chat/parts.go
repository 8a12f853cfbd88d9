// This file reads contents that are lists of parts.

package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
)

// Part is a part of a content in the form that templates accept: a text, or the place of an image.
// The JSON omits the image's file.
type Part struct {
	Type string  `json:"type"`
	Text *string `json:"text,omitempty"`
	file []byte
}

var errContent = errors.New("content is neither a string nor a list of parts of type text and image_url")

// readParts reads a content's parts.
func readParts(raw json.RawMessage) (parts []Part, err error) {
	var list []struct {
		Type  string          `json:"type"`
		Text  *string         `json:"text"`
		Image json.RawMessage `json:"image_url"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, errContent
	}
	for _, p := range list {
		switch p.Type {
		case "text", "":
			if p.Text == nil {
				return nil, errContent
			}
			parts = append(parts, Part{Type: "text", Text: p.Text})
		case "image_url":
			file, err := readImage(p.Image)
			if err != nil {
				return nil, fmt.Errorf("image_url: %w", err)
			}
			parts = append(parts, Part{Type: "image", file: file})
		default:
			return nil, fmt.Errorf("a part of type %.50q, want text or image_url", p.Type)
		}
	}
	return parts, nil
}

// files returns the files of the images among parts.
func files(parts []Part) (list [][]byte) {
	for _, p := range parts {
		if p.Type == "image" {
			list = append(list, p.file)
		}
	}
	return list
}

// AddText adds a text below the content of a message.
func AddText(m *text.Message, said string) {
	if parts, ok := m.Fields["content"].([]Part); ok {
		m.Fields["content"] = append(parts, Part{Type: "text", Text: &said})
		return
	}
	if m.Content != "" {
		m.Content += "\n"
	}
	m.Content += said
}

// AddImage adds an image below the content of a message.
func AddImage(m *text.Message, file []byte) {
	parts, _ := m.Fields["content"].([]Part)
	if before := m.Content; before != "" {
		parts, m.Content = append(parts, Part{Type: "text", Text: &before}), ""
	}
	if m.Fields == nil {
		m.Fields = map[string]any{}
	}
	m.Fields["content"] = append(parts, Part{Type: "image", file: file})
}

// ContentBytes returns the number of bytes of a message's content, including its images.
func ContentBytes(m *text.Message) int {
	n := len(m.Content)
	parts, _ := m.Fields["content"].([]Part)
	for _, p := range parts {
		if n += len(p.file); p.Text != nil {
			n += len(*p.Text)
		}
	}
	return n
}

// readImage returns the file in an image_url: {"url": "data:image/png;base64,..."} with a detail
// that has no effect, or the URL itself.
func readImage(raw json.RawMessage) ([]byte, error) {
	var url string
	if json.Unmarshal(raw, &url) != nil {
		var object struct {
			URL *string `json:"url"`
		}
		if err := json.Unmarshal(raw, &object); err != nil || object.URL == nil {
			return nil, errors.New(`want {"url": "data:image/png;base64,..."}`)
		}
		url = *object.URL
	}
	return wire.ImageFile(url)
}

// joined returns the texts of parts, separated by line breaks.
func joined(parts []Part) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = *p.Text
	}
	return strings.Join(texts, "\n")
}
