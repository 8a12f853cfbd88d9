// Labels and vectors of images.

package huggingface

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
)

// imageTask is images as JSON: each the base64 of a file, with or without "data:image/png;base64,"
// before it.
type imageTask struct {
	Inputs     encoded         `json:"inputs"`
	Parameters json.RawMessage `json:"parameters"`
	Model      string          `json:"model"`
	Options    json.RawMessage `json:"options"` // whether to wait and to cache, which changes no answer
}

// encoded is a list of files, or a single file.
type encoded struct {
	files [][]byte
	one   bool
}

// UnmarshalJSON reads both.
func (e *encoded) UnmarshalJSON(data []byte) error {
	var one string
	var many []string
	switch {
	case json.Unmarshal(data, &one) == nil:
		e.one, many = true, []string{one}
	case json.Unmarshal(data, &many) != nil:
		return engine.Errorf(engine.Invalid, "inputs: want the base64 of an image, or a list of such").At("inputs")
	}
	for i, s := range many {
		file, err := wire.ImageFile(s)
		if err != nil {
			return engine.Errorf(engine.Invalid, "inputs: image %d: %v", i, err).At("inputs")
		}
		e.files = append(e.files, file)
	}
	return nil
}

// isFile reports whether a body is a file instead of JSON.
func isFile(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n")
	return len(body) > 0 && body[0] != '{'
}

// images answers a request to a model of images. The body is one file, or JSON with several files.
func (p protocol) images(c *wire.Call, m engine.ModelInfo, body []byte) error {
	in := imageTask{Inputs: encoded{[][]byte{body}, true}}
	var how labelParameters
	if !isFile(body) {
		in = imageTask{}
		if err := c.Decode(body, &in); err != nil {
			return err
		}
		if !wire.IsNull(in.Parameters) {
			if m.Kind == text.KindImageEmbedder {
				return engine.Errorf(engine.Invalid, "parameters: an embedder of images takes none").At("parameters")
			}
			if err := c.Decode(in.Parameters, &how); err != nil {
				return err
			}
		}
	}
	if m.Kind == text.KindImageEmbedder {
		vectors, err := p.engine.EmbedImages(c.Context(), m.Name, in.Inputs.files)
		if err != nil {
			return err
		}
		return answerImages(c, vectors, in.Inputs.one)
	}
	if how.Function == "" {
		how.Function = "softmax"
	}
	finish, err := how.finish()
	if err != nil {
		return err
	}
	labels, err := p.engine.ClassifyImages(c.Context(), m.Name, in.Inputs.files)
	if err != nil {
		return err
	}
	for i := range labels {
		labels[i] = finish(labels[i])
	}
	return answerImages(c, labels, in.Inputs.one)
}

// answerImages answers with a list, or with one result for a request with a single image.
func answerImages[T any](c *wire.Call, all []T, one bool) error {
	if one {
		return c.WriteJSON(http.StatusOK, all[0])
	}
	return c.WriteJSON(http.StatusOK, all)
}
