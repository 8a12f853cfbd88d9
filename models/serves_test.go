package models_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
)

// uses are all uses.
var uses = []models.Use{
	models.UseStates, models.UseScore, models.UseLabels, models.UseTokenLabels, models.UseMasks, models.UseNextSentence, models.UseAnswers,
	models.UseText, models.UseOtherText, models.UseSpeech, models.UseImageLabels, models.UseImages,
}

// otherUses are those of folders that serve something else than what their classes say.
var otherUses = map[string][]models.Use{
	"albert-pretraining":        {models.UseStates, models.UseMasks}, // whose class names two heads
	"bert-pretraining-gamma":    {models.UseStates, models.UseMasks, models.UseNextSentence},
	"bert-alibi":                {models.UseStates},                 // of which Jina's vectors are made
	"mpnet":                     {models.UseStates},                 // as all-mpnet-base-v2 is published
	"qwen3-embed":               {models.UseStates, models.UseText}, // a decoder with a modules.json
	"clip-text":                 nil,                                // whose traits say that texts have no vectors
	"clip-text-defaults":        nil,
	"clip-text-ends":            nil,
	"siglip-text":               nil,
	"siglip-text-defaults":      nil,
	"siglip2-text":              nil,
	"siglip2-text-defaults":     nil,
	"parakeet_encoder":          nil, // of sound
	"parakeet_encoder-defaults": nil,
	"wav2vec2-stable":           nil,
}

// TestServes: the model of each folder serves what its configuration says that it is for, and
// nothing else.
func TestServes(t *testing.T) {
	t.Parallel()
	also := map[models.Use]models.Use{ // what models of a use serve too
		models.UseScore: models.UseLabels, models.UseImageLabels: models.UseImages, models.UseMasks: models.UseStates, models.UseNextSentence: models.UseStates,
	}
	for _, name := range hashFolders(t) {
		dir := filepath.Join(own, name)
		config, err := os.ReadFile(filepath.Join(dir, "config.json"))
		if err != nil {
			continue // a module StaticEmbedding
		}
		use := tftest.Must(models.UseOf(config))(t)
		want, other := otherUses[name]
		if !other {
			want = []models.Use{use}
			if more, ok := also[use]; ok {
				want = append(want, more)
			}
		}
		m := tftest.Must(models.Open(dir, models.Options{HeadersOnly: true}))(t)
		for _, u := range uses {
			if m.Serves(u) != slices.Contains(want, u) {
				t.Errorf("%s, which is for %s, serves %s: %v", name, use, u, m.Serves(u))
			}
		}
	}
}
