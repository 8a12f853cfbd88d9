package configuration_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// TestLabels reads names of labels: keys that are numbers without a gap, in any order.
func TestLabels(t *testing.T) {
	for _, c := range []struct {
		labels string
		want   []string // nil: an error
		text   string   // of it
	}{
		{`{"1": "b", "0": "a"}`, []string{"a", "b"}, ""},
		{`{"0": "a", "1": "b", "0": "c"}`, []string{"c", "b"}, ""},
		{`{"0": "a", "1": "b", "00": "c"}`, []string{"c", "b"}, ""},
		{`null`, []string{"LABEL_0", "LABEL_1"}, ""},
		{`{"0": "a", "2": "b"}`, nil, `key "2"`},
		{`{"0": "a", "-1": "b"}`, nil, `key "-1"`},
		{`{"0": "a", "one": "b"}`, nil, `key "one"`},
		{`{"0": 7, "1": {"a": 1}}`, []string{"7", `{"a":1}`}, ""},
		{`["a"]`, nil, "id2label"},
		{`{"1048576": "one too many"}`, nil, "at most 1048575"},
	} {
		config := `{"model_type": "bert", "architectures": ["BertForSequenceClassification"], "vocab_size": 8, "hidden_size": 2, "num_attention_heads": 1,
			"num_hidden_layers": 1, "intermediate_size": 4, "max_position_embeddings": 8, "id2label": ` + c.labels + "}"
		m, err := models.New([]byte(config), transformer.Random(1), models.Options{})
		switch {
		case c.want == nil && (!errors.Is(err, fault.ErrConfig) || !strings.Contains(err.Error(), c.text) || len(err.Error()) > 500):
			t.Errorf("%.60s: error %v, want ErrConfig with %q", c.labels, err, c.text)
		case c.want != nil && err != nil:
			t.Errorf("%.60s: %v", c.labels, err)
		case c.want != nil && !slices.Equal(m.Config.Labels, c.want):
			t.Errorf("%.60s: labels %q, want %q", c.labels, m.Config.Labels, c.want)
		}
	}
}
