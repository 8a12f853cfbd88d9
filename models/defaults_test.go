package models_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
)

// TestDefaultWindows leaves sliding_window out of config.json, and feeds more tokens than
// transformers' default of 4096: the last sees as many as with that number, and not as
// with its neighbours.
func TestDefaultWindows(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("too slow in an emulator, and no kernel is in question")
	}
	const tokens = 4098
	ids := make([]int, tokens)
	ids[1], ids[2] = 1, 2 // what the last token sees depends on them
	for kind, class := range map[string]string{"mistral": "Mistral", "gemma2": "Gemma2", "gemma3_text": "Gemma3"} {
		last := func(window string) []float32 {
			config := fmt.Sprintf(`{"model_type": %q, "architectures": ["%sForCausalLM"], "vocab_size": 3, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1,
				"num_key_value_heads": 1, "head_dim": 8, "intermediate_size": 8, "max_position_embeddings": 5000%s}`, kind, class, window)
			m := tftest.Must(models.New([]byte(config), tf.Random(4)))(t)
			ws := new(models.Workspace)
			d := generation.StartLM(ws, m.LM, nil, 1)
			return slices.Clone(tftest.Must(d.Feed([][]int{ids}))(t))
		}
		silent := last("")
		for window, equal := range map[int]bool{4095: false, 4096: true, 4097: false} {
			if got := last(fmt.Sprintf(`, "sliding_window": %d`, window)); slices.Equal(got, silent) != equal {
				t.Errorf("%s: %v without sliding_window, %v with %d", kind, silent, got, window)
			}
		}
	}
}

// TestNomicHubBase leaves rotary_emb_base out of a configuration in the form of the hub: it
// is 1000.
func TestNomicHubBase(t *testing.T) {
	text := tftest.Must(os.ReadFile("testdata/folders/nomic_bert-hub/config.json"))(t)
	encode := func(base any) []float32 {
		var config map[string]any
		tftest.NoError(t, json.Unmarshal(text, &config))
		delete(config, "rotary_emb_base")
		if base != nil {
			config["rotary_emb_base"] = base
		}
		m := tftest.Must(models.New(tftest.Must(json.Marshal(config))(t), tftest.Strong{Weights: tf.Random(5)}))(t)
		x := make([]float32, 8*m.Encoder.Dim())
		tftest.NoError(t, m.Encoder.Encode(new(models.Workspace), x, models.Tokens{IDs: []int{1, 2, 3, 4, 5, 6, 7, 8}, Batch: tf.Uniform(1, 8)}))
		return x
	}
	silent := encode(nil)
	if !slices.Equal(encode(1000), silent) {
		t.Error("without rotary_emb_base it is not 1000")
	}
	if slices.Equal(encode(2000), silent) {
		t.Error("rotary_emb_base has no effect")
	}
}
