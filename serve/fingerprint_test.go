package serve

import (
	"strings"
	"testing"
	"time"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/text"
)

// identified waits until the fingerprints of all open models are known.
func identified(t testing.TB, url string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		list := answerOf(t, url+"/v1/models")
		if strings.Count(list, `"fingerprint":`) == strings.Count(list, `"open":true`) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no fingerprints after 10 seconds: %s", list)
		}
	}
}

// TestFingerprint: answers of every protocol have the fingerprint of the model's pipeline once it
// is known, and none without it.
func TestFingerprint(t *testing.T) {
	pipeline := opened[*text.Embedder](t, "embed")
	embeds := tftest.Must(pipeline.Fingerprint(t.Context()))(t)
	generates := tftest.Must(opened[*text.Generator](t, "generate").Fingerprint(t.Context()))(t)
	h := started(t, Options{}, "embed", "generate")
	identified(t, h.URL)
	without := started(t, Options{NoFingerprints: true}, "embed", "generate")
	chat := `{"model":"generate","max_tokens":2,"messages":[{"role":"user","content":"a"}]`
	for _, c := range []struct{ path, body, want, field string }{
		{"/v1/embeddings", `{"model":"embed","input":"a"}`, embeds, ""},
		{"/embed", `{"model":"embed","inputs":"a"}`, embeds, ""},
		{"/api/embed", `{"model":"embed","input":"a"}`, embeds, ""},
		{"/info", "", "", "fingerprint"},
		{"/v1/models", "", "", "fingerprint"},
		{"/v1/completions", `{"model":"generate","max_tokens":2,"prompt":"a"}`, generates, "system_fingerprint"},
		{"/v1/chat/completions", chat + `}`, generates, "system_fingerprint"},
		{"/v1/chat/completions", chat + `,"stream":true}`, generates, "system_fingerprint"},
		{"/v1/responses", `{"model":"generate","input":"a","max_output_tokens":2}`, generates, ""},
	} {
		method := "POST"
		if c.body == "" {
			method = "GET"
		}
		status, answer, header := ask(t, method, h.URL+c.path, c.body)
		if status != 200 || header.Get("X-Fingerprint") != c.want {
			t.Errorf("%s: %d %.100s with X-Fingerprint %q, want %q", c.path, status, answer, header.Get("X-Fingerprint"), c.want)
		}
		field := c.want
		if field == "" {
			field = embeds
		}
		if c.field != "" && !strings.Contains(answer, `"`+c.field+`":"`+field+`"`) {
			t.Errorf("%s: no %s %q in %s", c.path, c.field, field, answer)
		}
		status, answer, header = ask(t, method, without.URL+c.path, c.body)
		if status != 200 || header.Get("X-Fingerprint") != "" || strings.Contains(answer, `fingerprint"`) {
			t.Errorf("%s with NoFingerprints: %d %s, %s", c.path, status, answer, header)
		}
	}
}
