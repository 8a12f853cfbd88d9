// Package ollama is Ollama's protocol: what its clients ask, and the answers and errors that they expect.
package ollama

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
)

type protocol struct{ engine *engine.Engine }

// Routes are what the protocol answers.
func Routes(e *engine.Engine) []wire.Route {
	p := protocol{e}
	route := func(method, pattern, summary string, handle func(c *wire.Call) error) wire.Route {
		return wire.Route{Method: method, Pattern: pattern, Protocol: "ollama", Summary: summary, Handle: handle, Error: Error}
	}
	return []wire.Route{
		route("POST", "/api/chat", "An assistant's answer to messages", p.chat),
		route("POST", "/api/generate", "An assistant's answer to a text, or what follows it", p.generate),
		route("POST", "/api/embed", "Vectors of texts", p.embed),
		route("GET", "/api/tags", "The models that are served", p.tags),
		route("GET", "/api/version", "The version", p.version),
	}
}

// Error writes an error in Ollama's form.
func Error(w http.ResponseWriter, e *engine.Error) {
	data, err := json.Marshal(failure{e.Message})
	if err != nil {
		panic(err) // strings always become JSON
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Kind.Status())
	w.Write(data)
}

type failure struct {
	Error string `json:"error"`
}

// named is the model of a name, which may have Ollama's tag for what is current.
func (p protocol) named(model string) (string, error) {
	if model == "" {
		return "", engine.Errorf(engine.Invalid, "model is missing").At("model")
	}
	if _, ok := p.engine.Find(model); !ok {
		model = strings.TrimSuffix(model, ":latest")
	}
	return model, nil
}

// tags answers GET /api/tags.
func (p protocol) tags(c *wire.Call) error {
	type details struct {
		Format       string `json:"format"`
		Family       string `json:"family"`
		Quantization string `json:"quantization_level"`
	}
	type model struct {
		Name     string    `json:"name"`
		Model    string    `json:"model"`
		Modified time.Time `json:"modified_at"`
		Size     int64     `json:"size"`
		Details  details   `json:"details"`
	}
	list := []model{}
	for _, m := range p.engine.Models() {
		list = append(list, model{m.Name, m.Name, m.Added, m.Bytes, details{Family: string(m.Kind), Quantization: m.Weights.String()}})
	}
	return c.WriteJSON(http.StatusOK, map[string]any{"models": list})
}

// version answers GET /api/version.
func (p protocol) version(c *wire.Call) error {
	return c.WriteJSON(http.StatusOK, map[string]string{"version": "0.1.0"})
}

// embed answers POST /api/embed.
func (p protocol) embed(c *wire.Call) error {
	var in struct {
		Model      string          `json:"model"`
		Input      wire.Inputs     `json:"input"`
		Truncate   *bool           `json:"truncate"`
		Dimensions *int            `json:"dimensions"`
		KeepAlive  json.RawMessage `json:"keep_alive"` // the server says how long
		Options    json.RawMessage `json:"options"`
	}
	if err := c.ReadStrict(&in); err != nil {
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
	case !wire.IsNull(in.Options) && string(in.Options) != "{}":
		return engine.Errorf(engine.Invalid, "options are not supported here").At("options")
	case in.Dimensions != nil && *in.Dimensions < 1:
		return engine.Errorf(engine.Invalid, "dimensions %d, want at least 1", *in.Dimensions).At("dimensions")
	case in.Dimensions != nil:
		o.Dim = *in.Dimensions
	}
	if in.Truncate != nil && !*in.Truncate {
		o.Long = text.LongRefuse
	}
	vectors, usage, err := p.engine.Embed(c.Context(), model, in.Input.List, o)
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
