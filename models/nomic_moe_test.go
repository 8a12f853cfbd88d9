package models_test

import (
	"testing"

	"github.com/avoformer/avoformer/internal/modelstest"
)

// TestNomicMixtureConfigs refuses configurations that make no mixture of experts.
func TestNomicMixtureConfigs(t *testing.T) {
	modelstest.RefusesFields(t, "nomic_bert-moe", map[string]string{
		"moe_every_n_layers": "1", "num_experts": "0", "moe_top_k": "6", "expert_choice_router": "true", "num_shared_experts": "1",
		"activation_function": `"swiglu"`, "qkv_proj_bias": "false", "mlp_fc1_bias": "false",
	})
}
