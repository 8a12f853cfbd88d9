package models

import (
	"slices"

	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// The mixtures of experts of Nemotron 3: NVIDIA, 2025, "Nemotron 3: Efficient and Open
// Intelligence". Experts have no gates. They are picked by sigmoids, and a network that every row
// takes is added. The larger models project rows to a latent width before the experts, and back
// after them ("LatentMoE").

type nemotronExpertsConfig struct {
	Experts      int     `json:"n_routed_experts"`
	Hidden       int     `json:"moe_intermediate_size"`
	SharedHidden int     `json:"moe_shared_expert_intermediate_size"`
	Latent       *int    `json:"moe_latent_size"`
	TopK         int     `json:"num_experts_per_tok"`
	Groups       int     `json:"n_group"`
	TopGroups    int     `json:"topk_group"`
	Normalize    bool    `json:"norm_topk_prob"`
	Scale        float32 `json:"routed_scaling_factor"`
}

// experts returns the configuration of mixtures, nil if no layer has one: what config.json says of
// them then has no effect.
func (config *nemotronHConfig) experts(c *Checkpoint, kinds []string, network transformer.FeedForwardConfig) (*nemotronExpertsConfig, error) {
	experts := &nemotronExpertsConfig{Experts: 8, Hidden: 7688, SharedHidden: 7688, TopK: 2, Groups: 1, TopGroups: 1, Normalize: true, Scale: 1}
	if !slices.Contains(kinds, nemotronExperts) {
		for _, field := range []string{
			"n_routed_experts", "moe_intermediate_size", "moe_shared_expert_intermediate_size", "moe_latent_size", "num_experts_per_tok", "n_group", "topk_group", "norm_topk_prob", "routed_scaling_factor",
		} {
			c.doc.Note(field)
		}
		return nil, nil
	}
	if network.Sharpness != 0 {
		return nil, c.doc.Errorf("mlp_hidden_act", "not supported for experts")
	}
	if err := c.doc.Decode(experts); err != nil {
		return nil, err
	}
	if experts.Latent != nil && *experts.Latent < 1 {
		return nil, c.doc.Errorf("moe_latent_size", "want null, or at least 1")
	}
	return experts, nil
}

// load takes the tensors of a mixture in a layer with networks like network.
func (config *nemotronExpertsConfig) load(l *transformer.Loader, network transformer.FeedForwardConfig) feeds {
	shared := network
	shared.Hidden = config.SharedHidden
	mixture := transformer.MixtureConfig{
		Dim: network.Dim, Hidden: config.Hidden, Experts: config.Experts, TopK: config.TopK, Activation: network.Activation, Plain: true,
		Sigmoid: true, Normalize: config.Normalize, Epsilon: 1e-20, Groups: config.Groups, TopGroups: config.TopGroups, Scale: config.Scale,
	}
	names := transformer.MixtureNames{Router: "gate.", Each: "experts.%d.", All: "experts.", Correction: "gate.e_score_correction_bias", Expert: nemotronNetwork}
	both := feeds{l.At("shared_experts.").FeedForward(shared, nemotronNetwork)}
	if config.Latent == nil {
		both[1] = l.Mixture(mixture, names)
		return both
	}
	mixture.Dim, mixture.RouterDim = *config.Latent, network.Dim
	both[1] = &latentMixture{
		down: l.At("fc1_latent_proj.").Linear(network.Dim, *config.Latent, network.Bias), up: l.At("fc2_latent_proj.").Linear(*config.Latent, network.Dim, network.Bias),
		experts: l.Mixture(mixture, names),
	}
	return both
}

// latentMixture is a mixture of experts that compute rows of another width. The router scores them
// by the rows themselves.
type latentMixture struct {
	down, up *transformer.Linear
	experts  *transformer.Mixture
}

// Forward sets dst, [rows, D], to the mixture's value at x, [rows, D], plus residual, nil or [rows,
// D].
func (m *latentMixture) Forward(ws *Workspace, dst, x, residual []float32) error {
	defer ws.Release(ws.Mark())
	latent := ws.Alloc(len(x) / m.down.In * m.down.Out)   // [rows, L]
	if err := m.down.Forward(ws, latent, x); err != nil { // latent = down(x)
		return err
	}
	if err := m.experts.ForwardBy(ws, latent, latent, x, nil); err != nil { // latent = experts(latent)
		return err
	}
	return m.up.ForwardAdd(ws, dst, latent, residual) // dst = up(latent) + residual
}

// readNemotronExperts reads what a file has of mixtures.
func readNemotronExperts(r *llamacpp.Reader) {
	r.SigmoidExperts(llamacpp.Sigmoid)
	r.Integer("moe_shared_expert_intermediate_size", "expert_shared_feed_forward_length", true)
	r.Integer("moe_latent_size", "moe_latent_size", false)
}
