// This file has the routes about served models: GET /api/tags, /api/ps and POST /api/show,
// /api/pull.

package ollama

import (
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/answer"
)

type details struct {
	Format       string   `json:"format"`
	Family       string   `json:"family"`
	Families     []string `json:"families"`
	Quantization string   `json:"quantization_level"`
}

// entry is a model of a list.
type entry struct {
	Name     string     `json:"name"`
	Model    string     `json:"model"`
	Modified *time.Time `json:"modified_at,omitempty"`
	Expires  *time.Time `json:"expires_at,omitempty"`
	Size     int64      `json:"size"`
	VRAM     *int64     `json:"size_vram,omitempty"`
	Context  int        `json:"context_length,omitempty"`
	Details  details    `json:"details"`
}

func entryOf(m engine.ModelInfo) entry {
	d := details{Format: "safetensors", Family: string(m.Kind), Families: []string{string(m.Kind)}, Quantization: m.Weights.String()}
	if strings.HasSuffix(m.Dir, ".gguf") {
		d.Format = "gguf"
	}
	return entry{Name: m.Name, Model: m.Name, Size: m.Bytes, Details: d}
}

// tags answers GET /api/tags.
func (p protocol) tags(c *wire.Call) error {
	list := []entry{}
	for _, m := range p.engine.Models() {
		e := entryOf(m)
		e.Modified = &m.Added
		list = append(list, e)
	}
	return c.WriteJSON(http.StatusOK, map[string]any{"models": list})
}

// ps answers GET /api/ps with the open models. The time at which a model will close is unknown, so
// it is in the far future, as in Ollama's answers.
func (p protocol) ps(c *wire.Call) error {
	list := []entry{}
	for _, m := range p.engine.Models() {
		if !m.Open {
			continue
		}
		e := entryOf(m)
		never := time.Now().Add(math.MaxInt64)
		e.Expires, e.VRAM, e.Context = &never, new(int64), m.MaxTokens
		list = append(list, e)
	}
	return c.WriteJSON(http.StatusOK, map[string]any{"models": list})
}

// showRequest names a model.
type showRequest struct {
	Model   string `json:"model"`
	Name    string `json:"name"` // of older clients
	Verbose bool   `json:"verbose"`
}

// show answers POST /api/show. Whether a generator calls tools and thinks is known while it is
// open.
func (p protocol) show(c *wire.Call) error {
	var in showRequest
	if err := c.ReadJSON(&in); err != nil {
		return err
	}
	if in.Model == "" {
		in.Model = in.Name
	}
	name, err := p.named(in.Model)
	if err != nil {
		return err
	}
	m, ok := p.engine.Find(name)
	if !ok {
		return engine.Errorf(engine.UnknownModel, "no model %.200q is served here", in.Model).At("model")
	}
	info := map[string]any{"general.architecture": string(m.Kind), "general.basename": m.Name}
	if m.MaxTokens > 0 {
		info[string(m.Kind)+".context_length"] = m.MaxTokens
	}
	capabilities := []string{}
	switch m.Kind {
	case text.KindEmbedder:
		capabilities = append(capabilities, "embedding")
	case text.KindGenerator:
		capabilities = append(capabilities, "completion")
		if m.Open {
			g, err := p.engine.Generator(c.Context(), m.Name)
			if err != nil {
				return err
			}
			defer g.Release()
			if g.ReadsImages() {
				capabilities = append(capabilities, "vision")
			}
			f := g.AnswerFormat(text.PromptOptions{})
			if f.Calls != answer.None {
				capabilities = append(capabilities, "tools")
			}
			if f.Think != "" {
				capabilities = append(capabilities, "thinking")
			}
		}
	}
	return c.WriteJSON(http.StatusOK, map[string]any{"modified_at": m.Added, "details": entryOf(m).Details, "model_info": info, "capabilities": capabilities})
}

// pullRequest names a model that the server should download.
type pullRequest struct {
	Model    string `json:"model"`
	Name     string `json:"name"` // of older clients
	Insecure bool   `json:"insecure"`
	Stream   *bool  `json:"stream"` // nil: true
}

// pull answers POST /api/pull: the server fetches nothing, so that it succeeds for the models that
// are served.
func (p protocol) pull(c *wire.Call) error {
	var in pullRequest
	if err := c.ReadJSON(&in); err != nil {
		return err
	}
	if in.Model == "" {
		in.Model = in.Name
	}
	name, err := p.named(in.Model)
	if err != nil {
		return err
	}
	if _, ok := p.engine.Find(name); !ok {
		return engine.Errorf(engine.UnknownModel, "no model %.200q is served here, and this server fetches none: start it with the model", in.Model).At("model")
	}
	done := struct {
		Status string `json:"status"`
	}{"success"}
	if in.Stream != nil && !*in.Stream {
		return c.WriteJSON(http.StatusOK, done)
	}
	return c.Lines().Send(done)
}
