// This file has the routes GET /v1/models and /v1/models/{id}.

package openai

import (
	"net/http"
	"slices"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
)

// model is a model in OpenAI's form, with further fields that clients ignore.
type model struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	OwnedBy string   `json:"owned_by"`
	Kind    string   `json:"kind"`
	Aliases []string `json:"aliases,omitempty"`
	Parent  string   `json:"parent,omitempty"` // of an adapter
	Open    bool     `json:"open"`
	// Fingerprint is the fingerprint of an open model. It is omitted until it is known.
	Fingerprint string `json:"fingerprint,omitempty"`
}

func modelOf(m engine.ModelInfo) model {
	return model{m.Name, "model", m.Added.Unix(), "avoformer", string(m.Kind), m.Aliases, "", m.Open, m.Fingerprint}
}

// adapterOf returns a model with an adapter.
func adapterOf(m engine.ModelInfo, name string) model {
	a := modelOf(m)
	a.ID, a.Aliases, a.Parent = name, nil, m.Name
	return a
}

func (p protocol) models(c *wire.Call) error {
	list := []model{}
	for _, m := range p.engine.Models() {
		list = append(list, modelOf(m))
		for _, name := range m.Adapters {
			list = append(list, adapterOf(m, name))
		}
	}
	return c.WriteJSON(http.StatusOK, map[string]any{"object": "list", "data": list})
}

func (p protocol) model(c *wire.Call) error {
	m, ok := p.engine.Find(c.Path("id"))
	if !ok {
		return engine.Errorf(engine.UnknownModel, "no model %.200q is served here", c.Path("id")).At("model")
	}
	if id := c.Path("id"); slices.Contains(m.Adapters, id) {
		return c.WriteJSON(http.StatusOK, adapterOf(m, id))
	}
	return c.WriteJSON(http.StatusOK, modelOf(m))
}
