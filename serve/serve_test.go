package serve

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/text"
)

const testdata = "../text/testdata/"

// started returns a server of models of the test data, by their folders' names, that is ready.
func started(t testing.TB, o Options, folders ...string) *httptest.Server {
	t.Helper()
	var models []Model
	for _, f := range folders {
		models = append(models, Model{Dir: testdata + f, Aliases: []string{"alias-" + f}})
	}
	return startedAs(t, o, models...)
}

// startedAs returns a server of models that is ready.
func startedAs(t testing.TB, o Options, models ...Model) *httptest.Server {
	t.Helper()
	s, err := New(models, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return h
}

// ask sends a request, with headers as name and value in turn.
func ask(t testing.TB, method, url, body string, headers ...string) (status int, answer string, h http.Header) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(bytes.TrimSpace(data)), resp.Header
}

func decode[T any](t testing.TB, data string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return v
}

// near reports whether vectors agree as far as a batch's other texts change them.
func near(a, b []float32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !(math.Abs(float64(a[i]-b[i])) < 1e-5) {
			return false
		}
	}
	return true
}

type embeddings struct {
	Model string
	Data  []struct {
		Index     int
		Embedding json.RawMessage
	}
	Usage struct {
		Prompt int `json:"prompt_tokens"`
		Total  int `json:"total_tokens"`
	}
}

func TestEmbeddings(t *testing.T) {
	e, err := text.OpenEmbedder(testdata+"embed", text.Options{})
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"hello world", "the cat reads", "Paris."}
	want, counts, err := counted(e.Embed(t.Context(), text.Texts(texts...), text.EmbedOptions{Scale: text.ScaleUnit}))
	if err != nil {
		t.Fatal(err)
	}
	h := started(t, Options{}, "embed")
	for _, format := range []string{"float", "base64"} {
		body, _ := json.Marshal(map[string]any{"model": "alias-embed", "input": texts, "encoding_format": format, "user": "u"})
		status, answer, _ := ask(t, "POST", h.URL+"/v1/embeddings", string(body))
		if status != 200 {
			t.Fatal(status, answer)
		}
		got := decode[embeddings](t, answer)
		if got.Model != "embed" || len(got.Data) != 3 || got.Usage.Prompt != counts.Sum() || got.Usage.Total != counts.Sum() {
			t.Errorf("%s: %+v, want %d tokens", format, got, counts.Sum())
		}
		for i, d := range got.Data {
			var v []float32
			if format == "float" {
				v = decode[[]float32](t, string(d.Embedding))
			} else {
				raw, err := base64.StdEncoding.DecodeString(decode[string](t, string(d.Embedding)))
				if err != nil {
					t.Fatal(err)
				}
				for ; len(raw) > 0; raw = raw[4:] {
					v = append(v, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
				}
			}
			if d.Index != i || !near(v, want[i]) {
				t.Errorf("%s: vector %d is another", format, i)
			}
		}
	}
	status, answer, header := ask(t, "POST", h.URL+"/embed", `{"inputs": ["hello world", "the cat reads", "Paris."]}`)
	if status != 200 || header.Get("X-Compute-Tokens") == "" {
		t.Fatal(status, answer)
	}
	for i, v := range decode[[][]float32](t, answer) {
		if !near(v, want[i]) {
			t.Errorf("/embed: vector %d is another", i)
		}
	}
}

func TestErrors(t *testing.T) {
	h := started(t, Options{MaxBody: 1000, MaxBatch: 2}, "embed")
	const openai, tei = `"error":{"message":"`, `"error_type":"`
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		want                     []string
	}{
		{"unknown model", "POST", "/v1/embeddings", `{"model":"x","input":"a"}`, 404, []string{openai, `"param":"model"`, `"code":"model_not_found"`}},
		{"no input", "POST", "/v1/embeddings", `{"model":"embed"}`, 400, []string{"no texts", `"param":"input"`}},
		{"empty list", "POST", "/v1/embeddings", `{"model":"embed","input":[]}`, 400, []string{"no texts"}},
		{"empty query", "POST", "/v1/rerank", `{"query":"","documents":["a"]}`, 400, []string{"the query is empty"}},
		{"empty text", "POST", "/v1/embeddings", `{"model":"embed","input":["a",""]}`, 400, []string{"text 1 is empty"}},
		{"token ids", "POST", "/v1/embeddings", `{"model":"embed","input":[[1,2]]}`, 400, []string{"check_embedding_ctx_length=False"}},
		{"ids of one", "POST", "/v1/embeddings", `{"model":"embed","input":[1,2]}`, 400, []string{"check_embedding_ctx_length=False"}},
		{"mixed", "POST", "/v1/embeddings", `{"model":"embed","input":["a",2]}`, 400, []string{"want a string, a list"}},
		{"number", "POST", "/v1/embeddings", `{"model":"embed","input":7}`, 400, []string{"want a string, a list"}},
		{"type", "POST", "/v1/embeddings", `{"model":7,"input":"a"}`, 400, []string{`"param":"model"`}},
		{"format", "POST", "/v1/embeddings", `{"model":"embed","input":"a","encoding_format":"x"}`, 400, []string{"float or base64"}},
		{"dimensions", "POST", "/v1/embeddings", `{"model":"embed","input":"a","dimensions":33}`, 400, []string{"32 elements", `"param":"dimensions"`}},
		{"no dimensions", "POST", "/v1/embeddings", `{"model":"embed","input":"a","dimensions":0}`, 400, []string{"at least 1"}},
		{"no JSON", "POST", "/v1/embeddings", `{"model"`, 400, []string{"not JSON"}},
		{"no body", "POST", "/v1/embeddings", ``, 400, []string{"no body"}},
		{"large", "POST", "/v1/embeddings", `{"model":"embed","input":"` + strings.Repeat("a", 1000) + `"}`, 413, []string{"1000 bytes"}},
		{"many", "POST", "/v1/embeddings", `{"model":"embed","input":["a","b","c"]}`, 413, []string{"at most 2"}},
		{"method", "GET", "/v1/embeddings", ``, 405, []string{"POST"}},
		{"lost", "GET", "/v1/nothing", ``, 404, []string{openai}},
		{"lost too", "GET", "/nothing", ``, 404, []string{tei}},
		{"no such model", "GET", "/v1/models/x", ``, 404, []string{"model_not_found"}},
		{"tei empty", "POST", "/embed", `{"inputs":[]}`, 400, []string{tei + "Empty"}},
		{"tei invalid", "POST", "/embed", `{"inputs":7}`, 422, []string{tei + "Validation"}},
		{"tei long", "POST", "/embed", `{"inputs":"` + strings.Repeat("a ", 200) + `","truncate":false}`, 422, []string{tei + "Validation", "at most 64"}},
		{"tei direction", "POST", "/embed", `{"inputs":"a","truncation_direction":"Up"}`, 422, []string{"Left or Right"}},
		{"tei prompt", "POST", "/embed", `{"inputs":"a","prompt_name":"none"}`, 422, []string{"no prompt"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, answer, header := ask(t, c.method, h.URL+c.path, c.body)
			if status != c.status || header.Get("Content-Type") != "application/json" || header.Get("X-Request-Id") == "" {
				t.Errorf("status %d, want %d: %s", status, c.status, answer)
			}
			for _, w := range c.want {
				if !strings.Contains(answer, w) {
					t.Errorf("no %q in %s", w, answer)
				}
			}
		})
	}
}

func encoded(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
