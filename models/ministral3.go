package models

import "github.com/avoformer/avoformer/models/internal/llamacpp"

// Ministral 3: Mistral AI, 2025, "Ministral 3": Mistral whose queries grow with their positions,
// slowly.

func init() {
	Register(newMinistral3, "ministral3")
	registerGGUF("mistral3", llamacpp.Architecture{ModelType: "mistral", Neighbours: true, YarnKeys: true, Read: readMistral3GGUF})
}

// ministral3Rope has transformers' rotary positions for a config.json without any.
const ministral3Rope = `{"rope_type": "yarn", "rope_theta": 1000000.0, "factor": 16.0, "original_max_position_embeddings": 16384, "beta_fast": 32.0, "beta_slow": 1.0, "mscale_all_dim": 1.0, "mscale": 1.0, "llama_4_scaling_beta": 0.1}`

func newMinistral3(c *Checkpoint) (*Model, error) {
	config := mistralConfig{llamaFields: llamaDefaults}
	config.Vocab, config.Layers, config.Hidden, config.KVHeads, config.HeadDim = 131072, 34, 14336, 8, 128
	config.MaxPositions, config.Eps, config.RopeTheta = 262144, 1e-5, 1e6
	config.Grows = true
	if c.doc.IsNull("head_dim") {
		config.HeadDim = 0
	}
	if !c.doc.Has("rope_parameters") && c.doc.Empty("rope_scaling") { // transformers refuses an empty object
		c.doc = c.doc.With("rope_parameters", ministral3Rope)
	}
	return c.mistral(config)
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
		r.Refuse("attention.temperature_scale", beta, "want rope.scaling.type = yarn as well")
		return
	}
	r.Fields["model_type"], rope["llama_4_scaling_beta"] = "ministral3", llamacpp.Shortest(beta)
}
