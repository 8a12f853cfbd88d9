package serve

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text"
)

// TestNamedAdapters: a request that has an adapter's name for its model gets its text with that
// adapter, in every protocol, and lists of models have it.
func TestNamedAdapters(t *testing.T) {
	path := tftest.WriteAdapter(t, 0.4, map[string][2]int{"model.layers.0.self_attn.v_proj": {16, 32}, "model.layers.1.mlp.down_proj": {32, 48}})
	generator := Model{Dir: testdata + "generate", Options: text.Options{Model: models.Options{Adapters: []models.Adapter{{Name: "formal", Path: path}}}}}
	s := tftest.Must(New([]Model{generator}, Options{}))(t)
	tftest.NoError(t, s.Wait(t.Context()))
	h := httptest.NewServer(s)
	defer h.Close()
	texts := map[string]string{}
	for _, model := range []string{"generate", "formal"} {
		status, answer, _ := ask(t, "POST", h.URL+"/v1/completions", `{"model":"`+model+`","prompt":"hello","max_tokens":20,"temperature":0}`)
		a := decode[struct {
			Model   string
			Choices []struct{ Text string }
		}](t, answer)
		if status != 200 || a.Model != model || len(a.Choices) != 1 {
			t.Fatalf("%s: %d %s", model, status, answer)
		}
		texts[model] = a.Choices[0].Text
		status, answer, _ = ask(t, "POST", h.URL+"/api/generate", `{"model":"`+model+`","prompt":"hello","raw":true,"stream":false,"options":{"num_predict":20,"temperature":0}}`)
		if of := decode[struct{ Response string }](t, answer); status != 200 || of.Response != texts[model] {
			t.Errorf("%s by Ollama's protocol: %d %s, want %q", model, status, answer, texts[model])
		}
	}
	if texts["generate"] == texts["formal"] {
		t.Errorf("the adapter changes nothing: %q", texts)
	}
	if _, list, _ := ask(t, "GET", h.URL+"/v1/models", ""); !strings.Contains(list, `"id":"formal"`) || !strings.Contains(list, `"parent":"generate"`) {
		t.Errorf("models: %s", list)
	}
	if status, one, _ := ask(t, "GET", h.URL+"/v1/models/formal", ""); status != 200 || !strings.Contains(one, `"parent":"generate"`) {
		t.Errorf("the adapter: %d %s", status, one)
	}
	for name, models := range map[string][]Model{
		"of vectors":     {{Dir: testdata + "embed", Options: generator.Options}},
		"a model's name": {generator, {Dir: testdata + "embed", Name: "formal"}},
	} {
		if _, err := New(models, Options{}); err == nil {
			t.Errorf("adapters %s: no error", name)
		}
	}
}
