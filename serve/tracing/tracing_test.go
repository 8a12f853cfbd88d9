package tracing

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/avoformer/avoformer/serve"
)

// traced returns a server of models of the test data whose spans the recorder has.
func traced(t *testing.T, folders ...string) (*httptest.Server, *tracetest.SpanRecorder) {
	t.Helper()
	var models []serve.Model
	for _, f := range folders {
		models = append(models, serve.Model{Dir: "../../text/testdata/" + f})
	}
	spans := tracetest.NewSpanRecorder()
	s, err := serve.New(models, serve.Options{Observer: New(Options{Provider: sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))})})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return h, spans
}

func ask(t *testing.T, h *httptest.Server, method, path, body string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, h.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

// waitFor returns the spans once there are n: the client may have the answer before.
func waitFor(t *testing.T, spans *tracetest.SpanRecorder, n int) []sdk.ReadOnlySpan {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); len(spans.Ended()) < n && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	ended := spans.Ended()
	if len(ended) != n {
		t.Fatalf("%d spans, want %d", len(ended), n)
	}
	return ended
}

func attributes(s sdk.ReadOnlySpan) map[attribute.Key]any {
	m := map[attribute.Key]any{}
	for _, a := range s.Attributes() {
		m[a.Key] = a.Value.AsInterface()
	}
	return m
}

// TestSpans: a request is a span of its caller's trace. The spans of its work lie within it, one
// after the other.
func TestSpans(t *testing.T) {
	h, spans := traced(t, "embed", "generate")
	for _, x := range []struct {
		path, body string
		parts      [2]string
		model      string
		generated  int64
	}{
		{"/v1/embeddings", `{"model": "embed", "input": ["hello world", "a"]}`, [2]string{"queue", "compute"}, "embed", 0},
		{"/v1/completions", `{"model": "generate", "prompt": "The quick", "max_tokens": 4, "temperature": 0}`, [2]string{"prompt", "generate"}, "generate", 4},
	} {
		spans.Reset()
		if status := ask(t, h, "POST", x.path, x.body); status != 200 {
			t.Fatal(x.path, status)
		}
		ended := waitFor(t, spans, 3)
		s, a := ended[2], attributes(ended[2])
		if s.Name() != "POST "+x.path || s.SpanKind() != trace.SpanKindServer || s.Status().Code != codes.Unset {
			t.Errorf("%s %v %v", s.Name(), s.SpanKind(), s.Status())
		}
		if s.Parent().SpanID().String() != "b7ad6b7169203331" || s.SpanContext().TraceID().String() != "0af7651916cd43dd8448eb211c80319c" || !s.Parent().IsRemote() {
			t.Errorf("%s: parent %v", x.path, s.Parent())
		}
		if a["http.route"] != x.path || a["http.request.method"] != "POST" || a["http.response.status_code"] != int64(200) || a["gen_ai.response.model"] != x.model ||
			a["gen_ai.usage.output_tokens"] != x.generated || a["gen_ai.usage.input_tokens"].(int64) < 2 || a["avoformer.request.id"] == "" {
			t.Errorf("%s: %v", x.path, a)
		}
		at := s.StartTime()
		for i, part := range ended[:2] {
			if part.Name() != x.parts[i] || part.Parent().SpanID() != s.SpanContext().SpanID() || part.StartTime().Before(at) || part.EndTime().Before(part.StartTime()) || part.EndTime().After(s.EndTime()) {
				t.Errorf("%s: %s from %v to %v, after %v", x.path, part.Name(), part.StartTime(), part.EndTime(), at)
			}
			at = part.EndTime()
		}
	}
}

// TestErrors: spans of requests without a route and of refused requests; /health has no span.
func TestErrors(t *testing.T) {
	h, spans := traced(t, "embed")
	for _, x := range []struct {
		method, path, body, name string
		status                   int
	}{
		{"GET", "/nothing", "", "GET", 404},
		{"PRY", "/nothing", "", "HTTP", 404},
		{"POST", "/v1/embeddings", `{"model": "embed", "input": ""}`, "POST /v1/embeddings", 400},
		{"POST", "/v1/embeddings", `{"model": "other", "input": "a"}`, "POST /v1/embeddings", 404},
		{"GET", "/v1/models", "", "GET /v1/models", 200},
	} {
		spans.Reset()
		if status := ask(t, h, x.method, x.path, x.body); status != x.status {
			t.Error(x.path, status)
		}
		ended := waitFor(t, spans, 1)
		if s := ended[0]; s.Name() != x.name || s.Status().Code != codes.Unset || attributes(s)["http.response.status_code"] != int64(x.status) || (attributes(s)["avoformer.error"] != nil) != (x.status != 200) {
			t.Errorf("%s %v %v", s.Name(), s.Status(), attributes(s))
		}
	}
	spans.Reset()
	if status := ask(t, h, "GET", "/health", ""); status != 200 || len(spans.Ended()) != 0 {
		t.Errorf("/health: %d, %d spans", status, len(spans.Ended()))
	}
}
