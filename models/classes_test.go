package models

import (
	"encoding/json"
	"testing"
)

// TestClasses demands a class for every model_type, in which all names lead somewhere.
func TestClasses(t *testing.T) {
	for _, kind := range ModelTypes() {
		if classes[kind] == nil && handMade[kind] == nil {
			t.Errorf("%s is not in classes.go; add it to MODEL_TYPES in scripts/configs/classes.py", kind)
		}
	}
	for kind, c := range classes {
		for name, initial := range c.fields {
			if !json.Valid([]byte(initial)) {
				t.Errorf("%s.%s = %s", kind, name, initial)
			}
		}
		for alias, name := range c.aliases {
			if _, ok := c.fields[name]; !ok {
				t.Errorf("%s.%s stands for %s, which is none of its fields", kind, alias, name)
			}
		}
		for name, part := range c.parts {
			if classes[part] == nil {
				t.Errorf("%s.%s is a %s, which has no class", kind, name, part)
			}
		}
	}
}

// TestNeutral demands that fields with an effect are not said to be without.
func TestNeutral(t *testing.T) {
	for _, name := range []string{"num_attention_heads", "rms_norm_eps", "is_causal", "hidden_act", "sliding_window", "attention_bias", "rope_scaling", "quantization_config"} {
		if neutral[name] != "" || generationFields[name] {
			t.Errorf("%s has an effect", name)
		}
	}
	for _, name := range commonFields {
		if name != "pad_token_id" && name != "bos_token_id" && name != "eos_token_id" && neutral[name] != "" {
			t.Errorf("%s is read", name)
		}
	}
}
