package models

import (
	"encoding/json"
	"math"

	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Ministral 3: Mistral AI, 2025, "Ministral 3": Mistral whose queries grow with their positions, slowly.

func init() {
	Register(newMinistral3, "ministral3")
	registerGGUF("mistral3", llamacpp.Architecture{ModelType: "mistral", Neighbours: true, Read: readMistral3GGUF})
}

// ministral3Rope is what transformers takes where config.json has no positions.
const ministral3Rope = `{"rope_type": "yarn", "rope_theta": 1000000.0, "factor": 16.0, "original_max_position_embeddings": 16384, "beta_fast": 32.0, "beta_slow": 1.0, "mscale_all_dim": 1.0, "mscale": 1.0, "llama_4_scaling_beta": 0.1}`

func newMinistral3(c *Checkpoint) (*Model, error) {
	config := mistralConfig{llamaFields: llamaDefaults}
	config.Vocab, config.Layers, config.Hidden, config.KVHeads, config.HeadDim = 131072, 34, 14336, 8, 128
	config.MaxPositions, config.Eps, config.RopeTheta = 262144, 1e-5, 1e6
	if c.doc.IsNull("head_dim") {
		config.HeadDim = 0
	}
	scale, err := c.queryScale()
	if err != nil {
		return nil, err
	}
	return c.mistral(config, func(layer *transformer.LayerConfig) { layer.Self.QueryScale = scale })
}

// queryScale is what queries at a position are multiplied by: 1 within the length trained on.
func (c *Checkpoint) queryScale() (func(position int) float32, error) {
	field := "rope_parameters"
	switch {
	case !c.doc.Empty("rope_scaling"):
		field = "rope_scaling"
	case c.doc.Empty(field):
		c.doc = c.doc.With(field, ministral3Rope)
	}
	object, err := c.doc.Unaccounted().Sub(field)
	if err != nil {
		return nil, err
	}
	said := struct {
		Beta     float64 `json:"llama_4_scaling_beta" min:"0"`
		Original int     `json:"original_max_position_embeddings"`
	}{Original: 1}
	for _, name := range []string{"llama_4_scaling_beta", "original_max_position_embeddings"} {
		if !object.Has(name) {
			return nil, object.Errorf(name, "want a number")
		}
	}
	if err := object.Decode(&said); err != nil {
		return nil, err
	}
	rest, err := json.Marshal(object.Without("llama_4_scaling_beta", "max_position_embeddings").Fields)
	c.doc = c.doc.With(field, string(rest))
	return func(position int) float32 {
		return float32(1 + said.Beta*math.Log(float64(1+position/said.Original)))
	}, err
}

// readMistral3GGUF reads how queries grow. Where they do not, the model is Mistral.
func readMistral3GGUF(r *llamacpp.Reader) {
	r.Fields["sliding_window"] = nil
	beta := r.NumberOf("attention.temperature_scale", 0)
	if beta == 0 {
		return
	}
	rope, ok := r.Fields["rope_scaling"].(map[string]any)
	if !ok || rope["rope_type"] != "yarn" {
		r.Refuse("attention.temperature_scale", beta, "want rope.scaling.type = yarn beside it")
		return
	}
	r.Fields["model_type"], rope["llama_4_scaling_beta"] = "ministral3", llamacpp.Shortest(beta)
}
