package models_test

import (
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
)

// TestSharedModels has many goroutines use the same models at once, each with a
// workspace of its own, and wants the bits that each use has alone. It is for the race
// detector too.
func TestSharedModels(t *testing.T) {
	uses := map[string]func(ws *tf.Workspace) (result any, err error){}
	llama := tiny(t, 50)
	uses["LanguageModel, greedy"] = func(ws *tf.Workspace) (any, error) {
		return models.Collect(models.Generate(t.Context(), llama.Start(ws, 1), []int{1, 4, 2}, models.Sampling{}, models.Limits{MaxTokens: 12}))
	}
	uses["LanguageModel, sampled"] = func(ws *tf.Workspace) (any, error) {
		s := models.Sampling{Temperature: 0.8, TopK: 20, TopP: 0.9, Seed: 5}
		return models.Collect(models.Generate(t.Context(), llama.Start(ws, 1), []int{1, 4, 2}, s, models.Limits{MaxTokens: 12}))
	}
	uses["LanguageModel, beam"] = func(ws *tf.Workspace) (any, error) {
		return models.Beam(t.Context(), llama.Start(ws, 3), []int{1}, models.BeamConfig{Width: 3, MaxTokens: 6, Stop: []int{5}, LengthPenalty: 1})
	}

	for _, name := range []string{"modernbert", "mpnet", "bert-tokens"} {
		m := tftest.Must(models.Open("testdata/folders/" + name))(t)
		in := models.Tokens{IDs: []int{5, 17, 40, 6, 80, 31, 7}, Batch: tf.Ragged(4, 3)}
		uses[name] = func(ws *tf.Workspace) (any, error) {
			x := make([]float32, 7*m.Encoder.Dim())
			return x, m.Encoder.Encode(ws, x, in)
		}
	}
	tftest.Shared(t, uses)
}
