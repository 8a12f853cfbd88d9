package serve

import (
	"context"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/text"
)

func TestMetrics(t *testing.T) {
	h := started(t, Options{}, "embed")
	// Without a connection: what is answered has been counted. Batches have the text that warms the
	// model up, too.
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
		`te_request_count{method="batch"} 1`, `te_request_success{method="single"} 1`, `te_request_failure{err="validation"} 1`, "te_request_duration_count 2", "te_request_queue_duration_count 2", "te_request_batch_size_sum 3",
		"te_queue_size 0", "te_batch_next_size_sum 4", "te_batch_next_tokens_count 3", "llamacpp:requests_deferred 0", "llamacpp:requests_processing 0", "llamacpp:prompt_tokens_total 0", "llamacpp:tokens_predicted_total 0", "avoformer_models_open 1",
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
	for _, bound := range []string{"0.1", "0.5", "1", "10"} {
		if !strings.Contains(answer, `avoformer_request_seconds_bucket{route="/embed",le="`+bound+`"}`) {
			t.Errorf("no requests within %s seconds", bound)
		}
	}
	series := 0
	for line := range strings.Lines(answer) {
		if !strings.HasPrefix(line, "#") {
			series++
		}
	}
	if series > 250 {
		t.Errorf("%d series", series)
	}
}

// TestShareInDocument: the share of fast requests, as doc/serving.md writes it for Prometheus, is
// of requests to models alone.
func TestShareInDocument(t *testing.T) {
	data, err := os.ReadFile("../doc/serving.md")
	if err != nil {
		t.Skip(err) // the module alone
	}
	h := started(t, Options{}, "embed")
	ask := func(method, path, body string) string {
		w := httptest.NewRecorder()
		h.Config.Handler.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		return w.Body.String()
	}
	ask("POST", "/embed", `{"inputs":"Paris."}`)
	ask("GET", "/health", "")
	ask("GET", "/metrics", "")
	metrics := ask("GET", "/metrics", "")
	selectors := regexp.MustCompile(`rate\(avoformer_request_seconds_(bucket|count)\{route!~"([^"]*)"(,le="0.1")?\}\[`).FindAllSubmatch(data, -1)
	if len(selectors) != 2 {
		t.Fatalf("doc/serving.md has %d selectors", len(selectors))
	}
	for _, s := range selectors {
		sum, not := "", regexp.MustCompile("^(?:"+string(s[2])+")$")
		for _, m := range regexp.MustCompile(`(?m)^avoformer_request_seconds_`+string(s[1])+`\{route="([^"]*)"`+string(s[3])+`\} (\S+)$`).FindAllStringSubmatch(metrics, -1) {
			if !not.MatchString(m[1]) {
				sum += m[1] + " " + m[2]
			}
		}
		if sum != "/embed 1" {
			t.Errorf("%s selects %q, want /embed 1", s[0], sum)
		}
	}
}

// TestDeferred: a text that waits since the keys and values of another take all the room is
// counted.
func TestDeferred(t *testing.T) {
	s, err := New([]Model{{Dir: testdata + "generate", Options: text.Options{CacheMemory: 1 << 17}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	for range 16 {
		group.Go(func() {
			body := strings.NewReader(`{"model":"generate","prompt":"The quick","max_tokens":100,"temperature":1,"logit_bias":{"562":-100}}`)
			for ctx.Err() == nil {
				s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/v1/completions", body).WithContext(ctx))
				body.Seek(0, 0)
			}
		})
	}
	until(t, func() bool {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		_, after, found := strings.Cut(w.Body.String(), "\nllamacpp:requests_deferred ")
		return found && after[0] != '0'
	})
}
