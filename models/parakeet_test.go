package models_test

import (
	"errors"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
)

// TestSpectrogramLengths counts the hidden states of spectrograms. Sizes that do not fit are
// errors.
func TestSpectrogramLengths(t *testing.T) {
	t.Parallel()
	a := tftest.Must(models.Open("testdata/folders/parakeet_ctc", models.Options{}))(t).Audio
	for frames, want := range map[int]int{1: 1, 7: 1, 8: 1, 9: 2, 16: 2, 17: 3, 3000: 375} {
		if got := a.Rows(frames); got != want {
			t.Errorf("%d frames make %d rows, want %d", frames, got, want)
		}
	}
	ws, x := new(models.Workspace), make([]float32, a.Dim())
	for frames, features := range map[int]int{0: 0, -1: 16, 1: 15, 9: 9 * 16} {
		if err := a.EncodeAudio(ws, x, make([]float32, features), 1, frames); !errors.Is(err, fault.ErrShape) {
			t.Errorf("%d features of %d frames: %v", features, frames, err)
		}
	}
	if err := a.EncodeAudio(ws, x, make([]float32, 16), 1, 1); err != nil {
		t.Errorf("one frame: %v", err)
	}
}

// TestParakeetConfigs refuses configurations that make no model.
func TestParakeetConfigs(t *testing.T) {
	t.Parallel()
	modelstest.RefusesFields(t, "parakeet_encoder", map[string]string{
		"num_attention_heads": "5", "num_key_value_heads": "2", "head_dim": "16", "conv_kernel_size": "4", "subsampling_conv_kernel_size": "2",
		"num_mel_bins": "201", "hidden_act": `"sine"`,
	})
	modelstest.RefusesFields(t, "parakeet_encoder", map[string]string{"subsampling_conv_kernel_size": "33", "conv_kernel_size": "1025", "num_mel_bins": "17"})
}
