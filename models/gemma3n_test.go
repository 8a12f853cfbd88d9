package models_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// TestGemma3nWithTowers opens gemma3n_text within the model that reads images and hears sound. The
// text has the same logits. Tokens beyond the table of per-layer embeddings stand for images and
// sound: the text alone takes them, the larger model refuses them.
func TestGemma3nWithTowers(t *testing.T) {
	const folder = "gemma3n_text"
	var text map[string]any
	tftest.NoError(t, json.Unmarshal(tftest.Must(os.ReadFile(filepath.Join(own, folder, "config.json")))(t), &text))
	config := tftest.Must(json.Marshal(map[string]any{
		"model_type": "gemma3n", "architectures": []string{"Gemma3nForConditionalGeneration"}, "text_config": text, "vision_config": map[string]any{}, "audio_config": map[string]any{},
		"vision_soft_tokens_per_image": 256, "audio_soft_tokens_per_image": 188, "boi_token_id": 90, "eoi_token_id": 92, "image_token_id": 93, "boa_token_id": 91, "eoa_token_id": 94, "audio_token_id": 95,
	}))(t)
	w := newRenamed(t, folder, func(name string) string {
		return strings.Replace(name, "model.", "model.language_model.", 1)
	})
	for _, tower := range []string{"model.vision_tower.timm_model.conv_stem.conv.weight", "model.audio_tower.conformer.0.norm.weight", "model.embed_vision.embedding.weight", "model.embed_audio.embedding.weight"} {
		w.names[tower] = "model.norm.weight"
	}
	whole := tftest.Must(models.New(config, w, models.Options{}))(t)
	alone := tftest.Must(models.Open(filepath.Join(own, folder), models.Options{}))(t)
	logits := func(m *models.Model, tokens ...int) ([]float32, error) {
		x := make([]float32, len(tokens)*m.LM.Vocab())
		return x, m.Logits(new(models.Workspace), x, tokens, transformer.Ragged(len(tokens)), nil, nil)
	}
	got, want := tftest.Must(logits(whole, 11, 45, 91))(t), tftest.Must(logits(alone, 11, 45, 91))(t)
	if !slices.Equal(got, want) {
		t.Error("logits differ from those of the text model")
	}
	if _, err := logits(alone, 11, 93, 45); err != nil {
		t.Errorf("token 93 in the text model: %v", err)
	}
	if _, err := logits(whole, 11, 93, 45); !errors.Is(err, fault.ErrToken) {
		t.Errorf("token 93, which stands for an image: %v, want ErrToken", err)
	}
}
