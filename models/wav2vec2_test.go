package models_test

import (
	"errors"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/models"
)

// TestWaveLengths counts the hidden states of sounds, and refuses those that are too short for one.
func TestWaveLengths(t *testing.T) {
	m, err := models.Open("testdata/folders/wav2vec2", models.Options{}) // strides of 5, 3 and 2 over 10, 3 and 2
	if err != nil {
		t.Fatal(err)
	}
	for samples, want := range map[int]int{0: 0, 1: 0, 9: 0, 10: 0, 34: 0, 35: 1, 36: 1, 64: 1, 65: 2, 700: 23} {
		if got := m.Audio.Rows(samples); got != want {
			t.Errorf("%d samples make %d rows, want %d", samples, got, want)
		}
		x := make([]float32, want*m.Audio.Dim())
		if err := m.Audio.EncodeAudio(new(models.Workspace), x, make([]float32, samples), 1, samples); (err == nil) != (want > 0) || err != nil && !errors.Is(err, fault.ErrShape) {
			t.Errorf("%d samples: %v", samples, err)
		}
	}
}

// TestWaveConfigs refuses configurations that make no model.
func TestWaveConfigs(t *testing.T) {
	modelstest.RefusesFields(t, "wav2vec2", map[string]string{
		"conv_stride": "[5, 0, 2]", "conv_kernel": "[10, 3]", "conv_dim": "[]", "num_conv_pos_embedding_groups": "5", "num_attention_heads": "3",
		"feat_extract_norm": `"batch"`, "add_adapter": "true", "adapter_attn_dim": "16", "feat_extract_activation": `"sine"`, "num_conv_pos_embeddings": "1048576",
	})
}
