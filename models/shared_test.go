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
	for _, name := range []string{"modernbert", "mpnet", "bert-tokens"} {
		m := tftest.Must(models.Open("testdata/folders/"+name, models.Options{}))(t)
		in := models.Tokens{IDs: []int{5, 17, 40, 6, 80, 31, 7}, Batch: tf.Ragged(4, 3)}
		uses[name] = func(ws *tf.Workspace) (any, error) {
			x := make([]float32, 7*m.Encoder.Dim())
			return x, m.Encoder.Encode(ws, x, in)
		}
	}
	tftest.Shared(t, uses)
}
