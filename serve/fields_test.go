package serve

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/text"
)

// bodies are requests to each route that takes JSON, that are answered with 200.
var bodies = map[string]string{
	"/v1/embeddings":             `{"model":"embed","input":"hello world"`,
	"/v1/chat/completions":       `{"model":"generate","max_tokens":1,"messages":[{"role":"user","content":"Hello"}]`,
	"/v1/messages":               `{"model":"generate","max_tokens":1,"messages":[{"role":"user","content":"Hello"}]`,
	"/v1/messages/count_tokens":  `{"model":"generate","messages":[{"role":"user","content":"Hello"}]`,
	"/v1/responses":              `{"model":"generate","max_output_tokens":1,"input":"Hello"`,
	"/v1/responses/input_tokens": `{"model":"generate","input":"Hello"`,
	"/v1/completions":            `{"model":"generate","max_tokens":1,"prompt":"The"`,
	"/v1/rerank":                 `{"model":"rerank","query":"a","documents":["b"]`,
	"/v2/rerank":                 `{"model":"rerank","query":"a","documents":["b"]`,
	"/v1/embed":                  `{"model":"embed","texts":["hello world"]`,
	"/v2/embed":                  `{"model":"embed","texts":["hello world"],"embedding_types":["int8"]`,
	"/rerank":                    `{"model":"rerank","query":"a","texts":["b"]`,
	"/embed":                     `{"model":"embed","inputs":"hello world"`,
	"/embed_all":                 `{"model":"embed","inputs":"hello world"`,
	"/embed_sparse":              `{"model":"embed-sparse","inputs":"hello world"`,
	"/similarity":                `{"model":"embed","inputs":{"source_sentence":"a","sentences":["b"]}`,
	"/predict":                   `{"model":"classify","inputs":"hello world"`,
	"/tokenize":                  `{"model":"embed","inputs":"hello world"`,
	"/decode":                    `{"model":"embed","ids":[5]`,
	"/api/embed":                 `{"model":"embed","input":"hello world"`,
	"/api/embeddings":            `{"model":"embed","prompt":"hello world"`,
	"/api/chat":                  `{"model":"generate","options":{"num_predict":1},"stream":false,"messages":[{"role":"user","content":"Hello"}]`,
	"/api/generate":              `{"model":"generate","options":{"num_predict":1},"stream":false,"prompt":"Hello"`,
	"/api/show":                  `{"model":"embed"`,
	"/api/pull":                  `{"model":"embed:latest"`,
	"/models/embed":              `{"inputs":"hello world"`,
	"/models/classify":           `{"inputs":"hello world"`,
	"/models/generate":           `{"inputs":"The","parameters":{"max_new_tokens":1}`,
}

// withAll returns a server with a model for each of the bodies.
func withAll(t testing.TB, o Options) *httptest.Server {
	return started(t, o, "embed", "embed-sparse", "classify", "rerank", "generate")
}

// TestUnknownFields: no route ignores a field that it does not know; a server that only warns of
// them answers as without.
func TestUnknownFields(t *testing.T) {
	var log bytes.Buffer
	refuses, warns := withAll(t, Options{}), withAll(t, Options{WarnUnknown: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	s, err := New([]Model{{Dir: testdata + "embed"}}, Options{Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.routes(Options{}) {
		if _, ok := bodies[r.Pattern]; !ok && r.Method == "POST" && r.Pattern != "/models/{id...}" && r.Pattern != "/{$}" && r.Pattern != "/v1/audio/transcriptions" {
			t.Errorf("no request to %s is tried", r.Pattern)
		}
	}
	for path, body := range bodies {
		if status, answer, h := ask(t, "POST", refuses.URL+path, body+"}"); status != 200 || strings.Contains(h.Get("X-Warning"), "known") {
			t.Errorf("%s: %d %s, %q", path, status, answer, h)
			continue
		}
		status, answer, _ := ask(t, "POST", refuses.URL+path, body+`,"inptu":7,"nrom":false}`)
		if status != 400 && status != 422 || !strings.Contains(answer, `\"inptu\" \"nrom\"`) {
			t.Errorf("%s with fields that nobody knows: %d %s", path, status, answer)
		}
		status, answer, h := ask(t, "POST", warns.URL+path, body+`,"inptu":7,"nrom":false}`)
		if w := h.Values("X-Warning"); status != 200 || !strings.Contains(strings.Join(w, "; "), `"inptu" is not known here and was ignored; "nrom" is`) {
			t.Errorf("%s with warnings: %d %s, %q", path, status, answer, w)
		}
	}
	if n := strings.Count(log.String(), `msg="\"inptu\" is not known`); n < 3 || n > len(bodies) {
		t.Errorf("the log has %d warnings:\n%s", n, log.String())
	}
}

// TestErrorNames: errors name the field that was sent and the value that is expected, without names
// of Go.
func TestErrorNames(t *testing.T) {
	h := withAll(t, Options{})
	chat := func(fields string) string {
		return `{"model":"generate","messages":[{"role":"user","content":"a"}],` + fields + `}`
	}
	for _, c := range []struct{ path, body, param, message string }{
		{"/v1/chat/completions", chat(`"max_tokens":"x"`), "max_tokens", "max_tokens: a JSON string, want a whole number"},
		{"/v1/chat/completions", chat(`"max_tokens":1.5`), "max_tokens", "max_tokens: a JSON number 1.5, want a whole number"},
		{"/v1/chat/completions", chat(`"seed":[]`), "seed", "want a whole number"},
		{"/v1/chat/completions", chat(`"temperature":"hot"`), "temperature", "want a number"},
		{"/v1/chat/completions", chat(`"stream":"yes"`), "stream", "want true or false"},
		{"/v1/chat/completions", chat(`"stop":7`), "stop", "want a string or a list of strings"},
		{"/v1/chat/completions", chat(`"verbosity":7`), "verbosity", "want a string"},
		{"/v1/chat/completions", chat(`"stream_options":{"usage":true}`), "stream_options.usage", `\"stream_options.usage\" is not supported here`},
		{"/v1/chat/completions", chat(`"stream_options":{"include_usage":1}`), "stream_options.include_usage", "want true or false"},
		{"/v1/chat/completions", chat(`"response_format":{"type":"json_schema","json_schema":{"schema":7}}`), "response_format", ""},
		{"/v1/chat/completions", `{"model":"generate","messages":7}`, "messages", "want a list"},
		{"/v1/chat/completions", `{"model":"generate","messages":[7]}`, "messages", "want an object"},
		{"/v1/completions", `{"model":"generate","prompt":"a","n":"x"}`, "n", "want a whole number"},
		{"/v1/completions", `{"model":"generate","prompt":{}}`, "prompt", "want a string, a list of strings"},
		{"/v1/embeddings", `{"model":"embed","input":{}}`, "input", "want a string, a list of strings"},
		{"/v1/embeddings", `["a"]`, "", "the body is a JSON array, want an object"},
		{"/embed", `{"inputs":"a","normalize":"x"}`, "", "normalize: a JSON string, want true or false"},
		{"/predict", `{"inputs":7}`, "", "inputs: want a string, a pair"},
		{"/similarity", `{"inputs":{"source_sentence":7,"sentences":["b"]}}`, "", "inputs.source_sentence: a JSON number, want a string"},
		{"/api/chat", `{"model":"generate","messages":[],"options":{"top_k":"x"}}`, "", "options.top_k: a JSON string, want a whole number"},
		{"/v1/rerank", `{"model":"rerank","query":"a","documents":[7]}`, "", "a document is neither a string nor an object"},
	} {
		status, answer, _ := ask(t, "POST", h.URL+c.path, c.body)
		if status != 400 && status != 422 || !strings.Contains(answer, c.message) || strings.Contains(answer, "Go ") || strings.Contains(answer, "common") {
			t.Errorf("%s %s: %d %s", c.path, c.body, status, answer)
		}
		if c.param != "" && !strings.Contains(answer, `"param":"`+c.param+`"`) {
			t.Errorf("%s %s: the parameter is not %s: %s", c.path, c.body, c.param, answer)
		}
	}
}

// TestHalfCharacters: half a surrogate pair and bytes that are not UTF-8 are U+FFFD, wherever they
// stand. There are no fingerprints, since the first answers may lack them.
func TestHalfCharacters(t *testing.T) {
	h := withAll(t, Options{NoFingerprints: true})
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"generate","max_tokens":1,"messages":[{"role":"user","name":"n%","content":"a %"}]}`,
		"/api/chat":            `{"model":"generate","stream":false,"options":{"num_predict":1},"messages":[{"role":"user","content":"a %"}]}`,
		"/v1/messages":         `{"model":"generate","max_tokens":1,"messages":[{"role":"user","content":"a %"}]}`,
		"/v1/completions":      `{"model":"generate","max_tokens":1,"prompt":"a %"}`,
		"/v1/embeddings":       `{"model":"embed","input":"a %"}`,
		"/embed":               `{"model":"embed","inputs":["a %"]}`,
		"/predict":             `{"model":"classify","inputs":"a %"}`,
		"/v1/rerank":           `{"model":"rerank","query":"a %","documents":["%"]}`,
	} {
		want := answered(t, h.URL+path, strings.ReplaceAll(body, "%", "\ufffd"))
		for _, half := range []string{`\ud83d`, `\uDE00`, "\xff", `\ufffd`} {
			if got := answered(t, h.URL+path, strings.ReplaceAll(body, "%", half)); got != want {
				t.Errorf("%s with %q: %s, want %s", path, half, got, want)
			}
		}
	}
	pair := `{"model":"generate","max_tokens":3,"messages":[{"role":"user","content":"a %"}]}`
	url := h.URL + "/v1/chat/completions"
	if answered(t, url, strings.ReplaceAll(pair, "%", `\ud83d\ude00`)) != answered(t, url, strings.ReplaceAll(pair, "%", "\U0001f600")) {
		t.Error("a whole pair is another text than its character")
	}
	text := `{"model":"embed","inputs":"\\ud83d"}` // a backslash and letters
	if answer := answered(t, h.URL+"/tokenize", text); strings.Contains(answer, "\ufffd") {
		t.Errorf("an escaped backslash: %s", answer)
	}
}

// answered returns the answer to a request, without what differs each time.
func answered(t testing.TB, url, body string) string {
	t.Helper()
	status, answer, _ := ask(t, "POST", url, body)
	if status != 200 {
		t.Errorf("%s: %d %s", body, status, answer)
	}
	all := decode[any](t, answer)
	if object, ok := all.(map[string]any); ok {
		for _, name := range []string{"id", "created", "created_at", "total_duration", "load_duration", "prompt_eval_duration", "eval_duration", "usage", "meta"} {
			delete(object, name)
		}
	}
	return string(must(t, all))
}

// TestPrompts: requests ask for prompts by name or by the words of other servers. An answer to a
// request without a prompt lists them.
func TestPrompts(t *testing.T) {
	var log bytes.Buffer
	h := started(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, "embed", "embed-roberta")
	e := opened[*text.Embedder](t, "embed")
	want := func(prompt string) []float32 {
		v, err := outputs(e.Embed(t.Context(), text.Texts("hello world"), text.EmbedOptions{Prompt: prompt, Scale: text.ScaleUnit}))
		if err != nil {
			t.Fatal(err)
		}
		return v[0]
	}
	vector := func(path, fields string) ([]float32, string) {
		body := map[string]string{"/v1/embeddings": `{"model":"embed","input":"hello world"`, "/api/embed": `{"model":"embed","input":"hello world"`, "/embed": `{"model":"embed","inputs":"hello world"`}[path]
		status, answer, header := ask(t, "POST", h.URL+path, body+fields+"}")
		if status != 200 {
			t.Fatalf("%s %s: %d %s", path, fields, status, answer)
		}
		switch path {
		case "/v1/embeddings":
			return decode[[]float32](t, string(decode[embeddings](t, answer).Data[0].Embedding)), header.Get("X-Warning")
		case "/api/embed":
			return decode[struct{ Embeddings [][]float32 }](t, answer).Embeddings[0], header.Get("X-Warning")
		}
		return decode[[][]float32](t, answer)[0], header.Get("X-Warning")
	}
	for _, path := range []string{"/v1/embeddings", "/api/embed", "/embed"} {
		for fields, prompt := range map[string]string{
			`,"input_type":"query"`: "query", `,"input_type":"search_query"`: "query", `,"task":"retrieval.query"`: "query", `,"prompt_name":"query"`: "query",
			`,"input_type":"document"`: "document", `,"input_type":"SEARCH_DOCUMENT"`: "document", `,"input_type":"passage"`: "document", `,"task":"retrieval.passage"`: "document",
		} {
			if got, warning := vector(path, fields); !near(got, want(prompt)) || near(got, want("")) || warning != "" {
				t.Errorf("%s %s: not the vector with the prompt %q, or a warning %q", path, fields, prompt, warning)
			}
		}
		if got, warning := vector(path, ""); !near(got, want("")) || !strings.Contains(warning, "prompts for texts (document, query)") {
			t.Errorf("%s without a prompt: the warning is %q", path, warning)
		}
	}
	if n := strings.Count(log.String(), "prompts for texts"); n != 1 {
		t.Errorf("the log tells it %d times", n)
	}
	for fields, message := range map[string]string{
		`,"input_type":"querry"`:                       `one of [\"query\"`,
		`,"input_type":"clustering"`:                   "the model has prompts for document, query",
		`,"input_type":"query","prompt_name":"query"`:  "want one of them",
		`,"task":"text-matching","input_type":"query"`: "want one of them",
		`,"prompt_name":"none"`:                        "no prompt",
	} {
		if status, answer, _ := ask(t, "POST", h.URL+"/v1/embeddings", `{"model":"embed","input":"a"`+fields+"}"); status != 400 || !strings.Contains(answer, message) {
			t.Errorf("%s: %d %s", fields, status, answer)
		}
	}
	plain := `{"model":"embed-roberta","input":"a"` // it has no prompts
	want2 := answered(t, h.URL+"/v1/embeddings", plain+"}")
	for _, word := range []string{"query", "search_document", "clustering"} {
		if got := answered(t, h.URL+"/v1/embeddings", plain+`,"input_type":"`+word+`"}`); got != want2 {
			t.Errorf("%s changes what a model without prompts makes", word)
		}
	}
}

// TestCutTold: answers tell how many texts were cut, and where. The log has a line for each model,
// however many they are.
func TestCutTold(t *testing.T) {
	var log bytes.Buffer
	h := withAll(t, Options{NoFingerprints: true, Log: slog.New(slog.NewTextHandler(&log, nil))}) // nothing in the background writes to the log
	long := `"` + strings.Repeat("the cat reads ", 40) + `"`
	for path, body := range map[string]string{
		"/v1/embeddings": `{"model":"embed","input":["a",` + long + `]}`, "/api/embed": `{"model":"embed","input":["a",` + long + `]}`, "/embed": `{"model":"embed","inputs":["a",` + long + `]}`,
		"/embed_all": `{"model":"embed","inputs":["a",` + long + `]}`, "/predict": `{"model":"classify","inputs":[["a"],[` + long + `]]}`, "/rerank": `{"query":"a","texts":["a",` + long + `]}`,
		"/v1/rerank": `{"query":"a","documents":["a",` + long + `]}`,
	} {
		status, answer, header := ask(t, "POST", h.URL+path, body)
		warnings := strings.Join(header.Values("X-Warning"), "; ")
		if status != 200 || header.Get("X-Texts-Cut") != "1" || !strings.Contains(warnings, "texts were cut at ") || strings.Contains(warnings, "at 0") {
			t.Errorf("%s: %d %.100s, %s", path, status, answer, header)
		}
	}
	if _, _, header := ask(t, "POST", h.URL+"/embed", `{"model":"embed","inputs":"a"}`); header.Get("X-Texts-Cut") != "" {
		t.Error("a text that was not cut is told of")
	}
	for n := range 4 {
		ask(t, "POST", h.URL+"/v1/embeddings", `{"model":"embed","input":["a"`+strings.Repeat(","+long, n)+`]}`)
	}
	h.Close() // lines are written once answers are sent
	if n := strings.Count(log.String(), "texts were cut"); n != 3 {
		t.Errorf("%d lines in the log, want one for each of three models:\n%s", n, &log)
	}
}

// must returns a value's JSON.
func must(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestWholeNumbers: a whole number may be written as 64.0, and only then.
func TestWholeNumbers(t *testing.T) {
	h := started(t, Options{}, "embed", "generate")
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{"/v1/embeddings", `{"model":"embed","input":"a","dimensions":8.0}`, 200}, {"/v1/embeddings", `{"model":"embed","input":"a","dimensions":8.5}`, 400},
		{"/v1/completions", `{"model":"generate","prompt":"8.0","max_tokens": 2.00,"n":1.0,"top_k":-1.0,"user":"64.0"}`, 200},
		{"/v1/completions", `{"model":"generate","prompt":"a","max_tokens":2e0}`, 400}, {"/v1/completions", `{"model":"generate","prompt":"a","max_tokens":"2.0"}`, 400},
		{"/api/chat", `{"model":"generate","stream":false,"options":{"num_predict":2.0},` + hi + `}`, 200},
		{"/models/generate", `{"inputs":"a","parameters":{"max_new_tokens":2.0}}`, 200},
	} {
		if status, answer, _ := ask(t, "POST", h.URL+c.path, c.body); status != c.status {
			t.Errorf("%s %s: %d %s, want %d", c.path, c.body, status, answer, c.status)
		}
	}
}
