package lora_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// baseOf returns the folder of the model that an adapter is for.
func baseOf(t *testing.T, dir string) string {
	t.Helper()
	file := tftest.Must(safetensors.Open(filepath.Join(dir, "expected.safetensors")))(t)
	defer file.Close()
	var about struct {
		Base string `json:"base"`
	}
	tftest.NoError(t, json.Unmarshal([]byte(file.Metadata()["about"]), &about))
	return filepath.Join(modelstest.Own, about.Base)
}

// TestAdapters compares models with adapters with what peft and transformers compute for them, on
// every tier.
func TestAdapters(t *testing.T) {
	entries := tftest.Must(os.ReadDir(modelstest.Adapters))(t)
	if len(entries) < 8 {
		t.Fatalf("%d adapters in %s", len(entries), modelstest.Adapters)
	}
	for _, entry := range entries {
		dir := filepath.Join(modelstest.Adapters, entry.Name())
		t.Run(entry.Name(), func(t *testing.T) {
			tftest.EachTier(t, func(t *testing.T) {
				m := tftest.Must(models.Open(baseOf(t, dir), models.Options{Adapters: []models.Adapter{{Path: dir}}}))(t)
				if len(m.Warnings) > 0 {
					t.Errorf("warnings: %q", m.Warnings)
				}
				modelstest.OpenExpected(t, dir).All(m)
			})
		})
	}
}
