// Contents that are lists of parts.

package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
)

// part is a part of a content as templates take it: a text, or the place of an image.
type part struct {
	Type string  `json:"type"`
	Text *string `json:"text,omitempty"`
}

var errContent = errors.New("content is neither a string nor a list of parts of type text and image_url")

// readParts reads a content's parts, and the files of its images.
func readParts(raw json.RawMessage) (parts []part, images [][]byte, err error) {
	var list []struct {
		Type  string          `json:"type"`
		Text  *string         `json:"text"`
		Image json.RawMessage `json:"image_url"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, nil, errContent
	}
	for _, p := range list {
		switch p.Type {
		case "text", "":
			if p.Text == nil {
				return nil, nil, errContent
			}
			parts = append(parts, part{"text", p.Text})
		case "image_url":
			file, err := readImage(p.Image)
			if err != nil {
				return nil, nil, fmt.Errorf("image_url: %w", err)
			}
			parts, images = append(parts, part{Type: "image"}), append(images, file)
		default:
			return nil, nil, fmt.Errorf("a part of type %.50q, want text or image_url", p.Type)
		}
	}
	return parts, images, nil
}

// WithImages returns a message with a text as content that has images in front of it, in the base64 of their files.
func WithImages(m text.Message, images []string) text.Message {
	var parts []map[string]string
	for _, data := range images {
		parts = append(parts, map[string]string{"type": "image_url", "image_url": data})
	}
	raw, err := json.Marshal(append(parts, map[string]string{"type": "text", "text": m.Content}))
	if err != nil {
		panic(err) // these are strings
	}
	fields := map[string]any{"content": json.RawMessage(raw)}
	maps.Copy(fields, m.Fields)
	m.Content, m.Fields = "", fields
	return m
}

// readImage returns the file in an image_url: {"url": "data:image/png;base64,..."} with a detail that changes nothing, or the URL itself.
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

// joined returns the texts of parts, one below the other.
func joined(parts []part) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = *p.Text
	}
	return strings.Join(texts, "\n")
}
