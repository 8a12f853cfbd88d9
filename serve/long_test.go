package serve

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/avoformer/avoformer/text"
)

// TestLong: texts over a model's length are cut, split or refused as it was opened, and counted.
func TestLong(t *testing.T) {
	const limit = 6
	long := "the cat reads hello world Paris the cat reads hello world Paris"
	for _, c := range []struct {
		name   string
		long   text.Long
		stride int
		status int
		metric string
	}{
		{"cut", text.LongTruncate, 0, 200, `avoformer_texts_cut_total{model="embed"} 1`},
		{"split", text.LongSplit, 1, 200, `avoformer_texts_split_total{model="embed"} 1`},
		{"refuse", text.LongRefuse, 0, 400, `avoformer_requests_too_long_total{model="embed"} 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := text.Options{MaxLength: limit, Long: c.long, Stride: c.stride}
			s, err := New([]Model{{Dir: testdata + "embed", Options: o}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			send := func(method, path, body string) (int, string) {
				w := httptest.NewRecorder()
				s.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
				return w.Code, w.Body.String()
			}
			body, _ := json.Marshal(map[string]any{"model": "embed", "input": []string{"Paris", long}})
			status, answer := send("POST", "/v1/embeddings", string(body))
			if status != c.status {
				t.Fatalf("status %d, want %d: %s", status, c.status, answer)
			}
			if _, metrics := send("GET", "/metrics", ""); !strings.Contains(metrics, "\n"+c.metric+"\n") {
				t.Errorf("no %s in\n%s", c.metric, metrics)
			}
			if c.status != 200 {
				return
			}
			e, err := text.OpenEmbedder(testdata+"embed", o)
			if err != nil {
				t.Fatal(err)
			}
			want, counts, err := counted(e.Embed(t.Context(), text.Texts("Paris", long), text.EmbedOptions{Scale: text.ScaleUnit}))
			if err != nil {
				t.Fatal(err)
			}
			got := decode[embeddings](t, answer)
			for i, d := range got.Data {
				if v := decode[[]float32](t, string(d.Embedding)); !near(v, want[i]) {
					t.Errorf("text %d: %v, want %v", i, v[:4], want[i][:4])
				}
			}
			if got.Usage.Prompt != counts.Sum() || c.name == "split" && counts.Windows[1] < 2 || c.name == "cut" && counts.Tokens[1] != limit {
				t.Errorf("usage %d, counts %+v", got.Usage.Prompt, counts)
			}
		})
	}
}

// TestLimits: what a server's options allow, and a request's header may only lessen.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name, path, body string
		o                Options
		header           []string
		status           int
		want             string
	}{
		{"time", "/v1/embeddings", one, Options{Timeout: time.Nanosecond}, nil, 504, "time"},
		{"time asked for is no more", "/v1/embeddings", one, Options{Timeout: time.Nanosecond}, []string{"X-Request-Timeout", "60"}, 504, "time"},
		{"body", "/v1/embeddings", one, Options{MaxBody: 10}, nil, 413, "larger than 10"},
		{"texts", "/embed", `{"inputs":["a","b","c"]}`, Options{MaxBatch: 2}, nil, 413, "at most 2"},
		{"tokens", "/v1/completions", `{"model":"generate","prompt":"The","max_tokens":9}`, Options{MaxTokens: 8}, nil, 400, "at most"},
		{"tokens within", "/v1/completions", `{"model":"generate","prompt":"The","max_tokens":3}`, Options{MaxTokens: 8}, nil, 200, `"completion_tokens":3`},
		{"tokens not asked for", "/v1/chat/completions", `{"model":"generate","messages":[{"role":"user","content":"Hello"}]}`, Options{MaxTokens: 2}, nil, 200, `"completion_tokens":2`},
	} {
		h := started(t, c.o, "embed", "generate")
		if status, answer, _ := ask(t, "POST", h.URL+c.path, c.body, c.header...); status != c.status || !strings.Contains(answer, c.want) {
			t.Errorf("%s: status %d, want %d with %q: %s", c.name, status, c.status, c.want, answer)
		}
	}
}
