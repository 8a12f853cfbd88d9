package models_test

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// TestNomicMixtureConfigs refuses configurations that make no mixture of experts.
func TestNomicMixtureConfigs(t *testing.T) {
	text, err := os.ReadFile("testdata/folders/nomic_bert-moe/config.json")
	if err != nil {
		t.Fatal(err)
	}
	for field, value := range map[string]any{
		"moe_every_n_layers": 1, "num_experts": 0, "moe_top_k": 6, "expert_choice_router": true, "num_shared_experts": 1, "activation_function": "swiglu", "qkv_proj_bias": false, "mlp_fc1_bias": false,
	} {
		config := map[string]any{}
		if err := json.Unmarshal(text, &config); err != nil {
			t.Fatal(err)
		}
		config[field] = value
		changed, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		_, err = models.New(changed, transformer.Random(1))
		if e := new(transformer.Error); !errors.As(err, &e) || e.Field != field {
			t.Errorf("%s = %v: %v", field, value, err)
		}
	}
}
