package serve

import (
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
)

// TestNotFinite: what a model with a damaged weight computes is an error that says so, on all
// routes and in all forms.
func TestNotFinite(t *testing.T) {
	var models []Model
	for name, tensor := range map[string]string{
		"embed": "embeddings.LayerNorm.weight", "classify": "embeddings.LayerNorm.weight", "rerank": "embeddings.LayerNorm.weight", "tokens": "embeddings.LayerNorm.weight",
		"embed-sparse": "embeddings.LayerNorm.weight", "generate": "model.norm.weight",
	} {
		models = append(models, Model{Dir: tftest.SpoiltFolder(t, testdata+name, tensor, 0, 4), Name: name})
	}
	h := startedAs(t, Options{Lazy: true}, models...)
	const said = "the model computed a number that is not finite"
	for _, c := range []struct{ path, body string }{
		{"/v1/embeddings", `{"model":"embed","input":"a"}`}, {"/v1/embeddings", `{"model":"embed","input":"a","encoding_format":"base64"}`}, {"/api/embed", `{"model":"embed","input":"a"}`},
		{"/api/embeddings", `{"model":"embed","prompt":"a"}`}, {"/embed", `{"model":"embed","inputs":"a"}`}, {"/embed_all", `{"model":"embed","inputs":"a"}`},
		{"/similarity", `{"model":"embed","inputs":{"source_sentence":"a","sentences":["b"]}}`}, {"/embed_sparse", `{"model":"embed-sparse","inputs":"a"}`},
		{"/predict", `{"model":"classify","inputs":"a"}`}, {"/models/tokens", `{"inputs":"a"}`}, {"/rerank", `{"query":"a","texts":["b"]}`}, {"/v1/rerank", `{"query":"a","documents":["b"]}`},
		{"/v1/chat/completions", `{"model":"generate","messages":[{"role":"user","content":"a"}]}`}, {"/v1/chat/completions", `{"model":"generate","stream":true,"messages":[{"role":"user","content":"a"}]}`},
		{"/v1/completions", `{"model":"generate","prompt":"a"}`}, {"/api/chat", `{"model":"generate","messages":[{"role":"user","content":"a"}]}`}, {"/models/generate", `{"inputs":"a"}`},
	} {
		if status, answer, _ := ask(t, "POST", h.URL+c.path, c.body); status != 500 && status != 424 || !strings.Contains(answer, said) {
			t.Errorf("%s %s: %d %.200s", c.path, c.body, status, answer)
		}
	}
}
