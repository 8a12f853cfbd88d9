package configuration_test

import (
	"encoding/json"
	"testing"

	"github.com/avoformer/avoformer/internal/pyclass"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/models/internal/configuration"
)

// TestClasses demands a class for every model_type, in which all names lead somewhere.
func TestClasses(t *testing.T) {
	for _, kind := range models.ModelTypes() {
		if pyclass.Config(kind) == nil && configuration.HandMade[kind] == nil {
			t.Errorf("no class for %s: make config-table finds the types of the committed folders", kind)
		}
	}
	for _, kind := range pyclass.ConfigTypes() {
		c := pyclass.Config(kind)
		for name, initial := range c.Fields {
			if !json.Valid([]byte(initial)) {
				t.Errorf("%s.%s = %s", kind, name, initial)
			}
		}
		for alias, name := range c.Aliases {
			if _, ok := c.Fields[name]; !ok {
				t.Errorf("%s.%s stands for %s, which is none of its fields", kind, alias, name)
			}
		}
		for name, part := range c.Parts {
			if pyclass.Config(part) == nil {
				t.Errorf("%s.%s is a %s, which has no class", kind, name, part)
			}
		}
	}
}

// TestNeutral demands that fields with an effect are not said to be without.
func TestNeutral(t *testing.T) {
	for _, name := range []string{"num_attention_heads", "rms_norm_eps", "is_causal", "hidden_act", "sliding_window", "attention_bias", "rope_scaling", "quantization_config"} {
		if configuration.Neutral[name] != "" || configuration.Generation(name) {
			t.Errorf("%s has an effect", name)
		}
	}
	for _, name := range configuration.CommonFields {
		if name != "pad_token_id" && name != "bos_token_id" && name != "eos_token_id" && configuration.Neutral[name] != "" {
			t.Errorf("%s is read", name)
		}
	}
}
