// GET /v1/models and /v1/models/{id}.

package openai

import (
	"net/http"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
)

// model is one of a list as OpenAI has it, with what else is known: clients ignore it.
type model struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	OwnedBy string   `json:"owned_by"`
	Kind    string   `json:"kind"`
	Aliases []string `json:"aliases,omitempty"`
	Open    bool     `json:"open"`
}

func modelOf(m engine.ModelInfo) model {
	return model{m.Name, "model", m.Added.Unix(), "avoformer", string(m.Kind), m.Aliases, m.Open}
}

func (p protocol) models(c *wire.Call) error {
	list := []model{}
	for _, m := range p.engine.Models() {
		list = append(list, modelOf(m))
	}
	return c.WriteJSON(http.StatusOK, map[string]any{"object": "list", "data": list})
}

func (p protocol) model(c *wire.Call) error {
	m, ok := p.engine.Find(c.Path("id"))
	if !ok {
		return engine.Errorf(engine.UnknownModel, "no model %.200q is served here", c.Path("id")).At("model")
	}
	return c.WriteJSON(http.StatusOK, modelOf(m))
}
