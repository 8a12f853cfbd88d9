package serve

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestMetrics(t *testing.T) {
	h := started(t, Options{}, "embed")
	// Without a connection: what is answered has been counted.
	serve := func(method, path, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.Config.Handler.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		return w
	}
	serve("POST", "/embed", `{"inputs":["hello world","Paris."]}`)
	serve("POST", "/embed", `{"inputs":"Paris."}`)
	serve("POST", "/embed", `{"inputs":[]}`)
	serve("GET", "/nothing/of/a/name", "")
	w := serve("GET", "/metrics", "")
	answer := w.Body.String()
	if format := w.Header().Get("Content-Type"); w.Code != 200 || !strings.HasPrefix(format, "text/plain; version=0.0.4") {
		t.Fatal(w.Code, format, answer)
	}
	for _, line := range []string{
		`te_request_count{method="batch"} 1`, `te_request_success{method="single"} 1`, `te_request_failure{err="validation"} 1`, "te_request_duration_count 2", "te_request_batch_size_sum 3",
		"te_queue_size 0", "llamacpp:requests_processing 0", "llamacpp:prompt_tokens_total 0", "llamacpp:tokens_predicted_total 0", "avoformer_models_open 1",
		`avoformer_requests_total{model="embed",protocol="tei",route="/embed",status="200"} 2`,
		`avoformer_requests_total{model="",protocol="none",route="none",status="404"} 1`,
	} {
		if !strings.Contains(answer, "\n"+line+"\n") {
			t.Errorf("no %s", line)
		}
	}
	if t.Failed() {
		t.Log(answer)
	}
}
