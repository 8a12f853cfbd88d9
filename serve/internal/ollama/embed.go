// This file has the routes POST /api/embed and /api/embeddings.

package ollama

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
)

// embedRequest is a request for the vectors of texts.
type embedRequest struct {
	Model      string      `json:"model"`
	Input      wire.Inputs `json:"input"`
	Truncate   *bool       `json:"truncate"`
	Dimensions *int        `json:"dimensions"`
	KeepAlive  keepAlive   `json:"keep_alive"`
	Options    options     `json:"options"` // those of a generator change no vector
	engine.Asked
}

// Neutral returns the fields that change no vector.
func (*embedRequest) Neutral() wire.Neutral { return neutral }

// embed answers POST /api/embed.
func (p protocol) embed(c *wire.Call) error {
	var in embedRequest
	if err := c.ReadJSON(&in); err != nil {
		return err
	}
	model, err := p.named(in.Model)
	if err != nil {
		return err
	}
	o := text.EmbedOptions{Scale: text.ScaleUnit}
	o.Long = text.LongTruncate
	switch {
	case in.Input.IDs:
		return engine.Errorf(engine.Invalid, "input is token ids, want texts").At("input")
	case in.Dimensions != nil && *in.Dimensions < 1:
		return engine.Errorf(engine.Invalid, "dimensions %d, want at least 1", *in.Dimensions).At("dimensions")
	case in.Dimensions != nil:
		o.Dim = *in.Dimensions
	}
	if err := p.context(c, model, &in.Options); err != nil {
		return err
	}
	if in.Truncate != nil && !*in.Truncate {
		o.Long = text.LongRefuse
	}
	vectors, usage, err := p.engine.Embed(c.Context(), model, in.Input.List, in.Asked, o)
	if err != nil {
		return err
	}
	out := append([]byte(nil), `{"model":`...)
	out = append(wire.AppendString(out, in.Model), `,"embeddings":[`...)
	for i, v := range vectors {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = wire.AppendFloats(out, v); err != nil {
			return err
		}
	}
	tail, err := json.Marshal(struct {
		Total int64 `json:"total_duration"`
		Load  int64 `json:"load_duration"`
		Count int   `json:"prompt_eval_count"`
	}{int64(time.Since(c.Record.Began)), int64(c.Record.Load), usage.Tokens})
	if err != nil {
		return err
	}
	out = append(out, "],"...)
	return c.Write(http.StatusOK, "application/json", append(out, tail[1:]...))
}

// embeddingsRequest is a request for the vector of a text.
type embeddingsRequest struct {
	Model     string    `json:"model"`
	Prompt    string    `json:"prompt"`
	KeepAlive keepAlive `json:"keep_alive"`
	Options   options   `json:"options"`
	engine.Asked
}

// Neutral returns the fields that change no vector.
func (*embeddingsRequest) Neutral() wire.Neutral { return neutral }

// context adds a warning about num_ctx, which has no effect: the limit of texts is the model's.
func (p protocol) context(c *wire.Call, model string, o *options) error {
	if _, err := o.sampling(); err != nil {
		return err
	}
	m, ok := p.engine.Find(model)
	if n := o.Context; ok && n != nil && (m.MaxTokens == 0 || *n < m.MaxTokens) {
		c.Record.Warn("num_ctx has no effect on vectors: the limit of a text is the model's")
	}
	return nil
}

// embeddings answers POST /api/embeddings of older clients: one text, and its vector as the model
// computes it.
func (p protocol) embeddings(c *wire.Call) error {
	var in embeddingsRequest
	if err := c.ReadJSON(&in); err != nil {
		return err
	}
	model, err := p.named(in.Model)
	if err != nil {
		return err
	}
	if err := p.context(c, model, &in.Options); err != nil {
		return err
	}
	o := text.EmbedOptions{Scale: text.ScaleRaw}
	o.Long = text.LongTruncate
	vectors, _, err := p.engine.Embed(c.Context(), model, text.Texts(in.Prompt), in.Asked, o)
	if err != nil {
		return err
	}
	out, err := wire.AppendFloats([]byte(`{"embedding":`), vectors[0])
	if err != nil {
		return err
	}
	return c.Write(http.StatusOK, "application/json", append(out, '}'))
}
