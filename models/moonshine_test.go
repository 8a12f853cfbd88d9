package models_test

import (
	"errors"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
)

// TestMoonshineRows has the numbers of hidden states that transformers gives for samples, and sound
// that is too short for one.
func TestMoonshineRows(t *testing.T) {
	t.Parallel()
	m := tftest.Must(models.Open("testdata/folders/moonshine", models.Options{}))(t)
	for samples, want := range map[int]int{894: 0, 895: 1, 1278: 1, 1279: 2, 16000: 40, 480000: 1248} {
		if got := m.Audio.Rows(samples); got != want {
			t.Errorf("%d samples have %d rows, want %d", samples, got, want)
		}
	}
	for _, samples := range []int{0, 1, 127, 894, 895} {
		x := make([]float32, m.Audio.Rows(samples)*m.Audio.Dim())
		if err := m.Audio.EncodeAudio(new(models.Workspace), x, make([]float32, samples), 1, samples); errors.Is(err, fault.ErrShape) != (len(x) == 0) {
			t.Errorf("%d samples: %v", samples, err)
		}
	}
}

// TestMoonshineFields has fields that contradict each other: heads share no keys, and the decoder
// has the heads of the encoder.
func TestMoonshineFields(t *testing.T) {
	t.Parallel()
	modelstest.RefusesFields(t, "moonshine", map[string]string{
		"decoder_num_attention_heads": "4", "encoder_num_key_value_heads": "1", "pad_head_dim_to_multiple_of": "0",
		"encoder_hidden_act": `"nonsense"`, "decoder_hidden_act": `"nonsense"`, "hidden_size": "0", "head_dim": "-1",
	})
}
