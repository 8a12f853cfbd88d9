package serve

import (
	"strings"
	"testing"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/text"
)

type ollamaReply struct {
	Model    string
	Response string
	Thinking string
	Message  struct {
		Role, Content string
		Calls         []struct {
			Function struct {
				Name      string
				Arguments map[string]any
			}
		} `json:"tool_calls"`
	}
	Done        bool
	Reason      string `json:"done_reason"`
	Total       int64  `json:"total_duration"`
	PromptCount int    `json:"prompt_eval_count"`
	Count       int    `json:"eval_count"`
	Embeddings  [][]float32
	Error       string
}

// TestOllama compares answers, streamed as by default and whole, with what the generator gives.
func TestOllama(t *testing.T) {
	g := generator(t)
	h := started(t, Options{}, "generate")
	messages := []text.Message{{Role: "user", Content: "Hi"}}
	collect := func(o text.GenerateOptions) string {
		s, err := text.Collect(g.Chat(t.Context(), messages, o))
		if err != nil {
			t.Fatal(err)
		}
		return s.Text
	}
	raw, err := text.Collect(g.Generate(t.Context(), "The quick brown", text.GenerateOptions{MaxTokens: 5}))
	if err != nil {
		t.Fatal(err)
	}
	sampled := text.GenerateOptions{Sampling: generation.Sampling{Temperature: 1, TopK: 5, Seed: 3}, MaxTokens: 8}
	for _, c := range []struct{ path, fields, want, reason string }{
		{"chat", hi + `, "options": {"num_predict": 8, "num_thread": 2}`, collect(text.GenerateOptions{MaxTokens: 8}), "length"},
		{"chat", hi + `, "options": {"num_predict": 8, "temperature": 1, "top_k": 5, "seed": 3}, "keep_alive": "5m"`, collect(sampled), "length"},
		{"generate", `"prompt": "Hi", "options": {"num_predict": 8}`, collect(text.GenerateOptions{MaxTokens: 8}), "length"},
		{"generate", `"prompt": "The quick brown", "raw": true, "options": {"num_predict": 5}`, raw.Text, "length"},
		{"generate", `"prompt": "Hi", "format": {"const": 7}`, "7", "stop"},
	} {
		for _, whole := range []bool{false, true} {
			body := `{"model": "generate:latest", ` + c.fields + `}`
			if whole {
				body = `{"stream": false, ` + body[1:]
			}
			status, answer, header := ask(t, "POST", h.URL+"/api/"+c.path, body)
			lines := strings.Split(answer, "\n")
			if status != 200 || (header.Get("Content-Type") == "application/x-ndjson") == whole || whole != (len(lines) == 1) && c.reason != "stop" {
				t.Fatal(status, header, answer)
			}
			got := ""
			for i, line := range lines {
				r := decode[ollamaReply](t, line)
				got += r.Message.Content + r.Response
				if last := i == len(lines)-1; r.Done != last || r.Model != "generate:latest" || last && (r.Reason != c.reason || r.Count == 0 || r.PromptCount == 0 || r.Total == 0) {
					t.Errorf("line %d: %s", i, line)
				}
				if c.path == "chat" && r.Message.Role != "assistant" {
					t.Errorf("line %d: %s", i, line)
				}
			}
			if got != c.want && got != strings.TrimSpace(c.want) {
				t.Errorf("%s: %q, want %q", body, got, c.want)
			}
		}
	}
	_, answer, _ := ask(t, "POST", h.URL+"/api/chat", `{"model": "generate", "stream": false, "options": {"num_ctx": 60}, `+hi+`}`)
	if r := decode[ollamaReply](t, answer); r.PromptCount+r.Count > 60 || r.Count == 0 {
		t.Error(answer)
	}
}

func TestOllamaEmbed(t *testing.T) {
	e, err := text.OpenEmbedder(testdata+"embed", text.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := outputs(e.Embed(t.Context(), text.Texts("hello world"), text.EmbedOptions{Scale: text.ScaleUnit}))
	if err != nil {
		t.Fatal(err)
	}
	h := started(t, Options{}, "embed")
	_, answer, _ := ask(t, "POST", h.URL+"/api/embed", `{"model": "embed", "input": "hello world"}`)
	if r := decode[ollamaReply](t, answer); len(r.Embeddings) != 1 || !near(r.Embeddings[0], want[0]) || r.PromptCount == 0 || r.Model != "embed" {
		t.Error(answer)
	}
	if _, answer, _ := ask(t, "GET", h.URL+"/api/tags", ""); !strings.Contains(answer, `"name":"embed"`) {
		t.Error(answer)
	}
	if _, answer, _ := ask(t, "GET", h.URL+"/api/version", ""); !strings.Contains(answer, `{"version":"`) {
		t.Error(answer)
	}
}

func TestOllamaErrors(t *testing.T) {
	h := started(t, Options{}, "generate", "embed")
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"chat", `{` + hi + `}`, 400, "model is missing"},
		{"chat", `{"model": "x", ` + hi + `}`, 404, "no model"},
		{"chat", `{"model": "embed", ` + hi + `}`, 400, "the kind is embedder, want generator"},
		{"chat", `{"model": "x", "messages": []}`, 404, "no model"},
		{"generate", `{"model": "x", "keep_alive": 0}`, 404, "no model"},
		{"generate", `{"model": "generate", "prompt": "a", "keep_alive": "soon"}`, 400, "keep_alive"},
		{"embed", `{"model": "embed", "input": "a", "keep_alive": [5]}`, 400, "keep_alive"},
		{"embeddings", `{"model": "embed", "prompt": ""}`, 400, "empty"},
		{"embeddings", `{"model": "embed", "prompt": "a", "options": {"num_ctx": 0}}`, 400, "num_ctx"},
		{"show", `{"model": "x"}`, 404, "no model"},
		{"show", `{}`, 400, "model is missing"},
		{"chat", `{"model": "generate", "options": {"mirostat": 1}, ` + hi + `}`, 400, "mirostat"},
		{"chat", `{"model": "generate", "options": {"num_ctx": 4}, ` + hi + `}`, 400, "num_ctx"},
		{"chat", `{"model": "generate", "options": {"min_p": 2}, ` + hi + `}`, 400, "min_p = 2: want 0 to 1"},
		{"chat", `{"model": "generate", "format": "xml", ` + hi + `}`, 400, "JSON schema"},
		{"chat", `{"model": "generate", "think": true, ` + hi + `}`, 400, "does not think"},
		{"chat", `{"model": "generate", "messages": [{"role": "user", "content": "a", "images": ["eA=="]}]}`, 400, "images"},
		{"generate", `{"model": "generate", "prompt": "a", "context": [1]}`, 400, "context"},
		{"embed", `{"model": "embed", "input": [1]}`, 400, "token ids"},
		{"nothing", `{}`, 404, "nothing at"},
	} {
		status, answer, _ := ask(t, "POST", h.URL+"/api/"+c.path, c.body)
		if r := decode[ollamaReply](t, answer); status != c.status || !strings.Contains(r.Error, c.want) || strings.Contains(answer, "error_type") {
			t.Errorf("%s %s: %d %s, want %d with %q", c.path, c.body, status, answer, c.status, c.want)
		}
	}
}

// TestOllamaModels: what older and newer clients ask of models before and after they use them.
func TestOllamaModels(t *testing.T) {
	e, err := text.OpenEmbedder(testdata+"embed", text.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := outputs(e.Embed(t.Context(), text.Texts("hello world"), text.EmbedOptions{Scale: text.ScaleRaw}))
	if err != nil {
		t.Fatal(err)
	}
	h := started(t, Options{Lazy: true}, "generate", "embed")
	open := func() string {
		_, answer, _ := ask(t, "GET", h.URL+"/api/ps", "")
		var names []string
		for _, m := range decode[struct{ Models []struct{ Name string } }](t, answer).Models {
			names = append(names, m.Name)
		}
		return strings.Join(names, " ")
	}
	show := func(model string) string {
		_, answer, _ := ask(t, "POST", h.URL+"/api/show", `{"model": "`+model+`", "verbose": true}`)
		return strings.Join(decode[struct{ Capabilities []string }](t, answer).Capabilities, " ")
	}
	if s := show("generate"); open() != "" || s != "completion" {
		t.Errorf("%q is open, generate is for %q", open(), s)
	}
	for _, c := range []struct{ path, body, reason, open string }{
		{"generate", `{"model": "generate:latest", "keep_alive": "10m"}`, "load", "generate"},
		{"chat", `{"model": "embed", "messages": [], "keep_alive": -1, "stream": false}`, "load", "generate embed"},
		{"chat", `{"model": "generate", "messages": [], "keep_alive": 0}`, "unload", "embed"},
		{"generate", `{"model": "generate", "keep_alive": "0s"}`, "unload", "embed"},
		{"generate", `{"model": "generate", "keep_alive": 300.5}`, "load", "generate embed"},
	} {
		_, answer, _ := ask(t, "POST", h.URL+"/api/"+c.path, c.body)
		if r := decode[ollamaReply](t, answer); !r.Done || r.Reason != c.reason || open() != c.open {
			t.Errorf("%s: %s, %q is open, want %q", c.body, answer, open(), c.open)
		}
	}
	if s := show("embed"); s != "embedding" {
		t.Errorf("embed is for %q", s)
	}
	if s := show("alias-generate:latest"); !strings.HasPrefix(s, "completion") {
		t.Errorf("generate is for %q", s)
	}
	_, answer, _ := ask(t, "POST", h.URL+"/api/embeddings", `{"model": "embed:latest", "prompt": "hello world", "keep_alive": "5m"}`)
	if got := decode[struct{ Embedding []float32 }](t, answer); !near(got.Embedding, want[0]) {
		t.Error(answer)
	}
}

// TestOllamaOptions: requests for vectors accept options of generators, null or not; images may be
// an empty list; pulling a model that is served succeeds.
func TestOllamaOptions(t *testing.T) {
	h := started(t, Options{}, "embed", "generate")
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"embed", `{"model":"embed","input":"a","options":{"num_ctx":2048,"temperature":null,"mirostat":null,"mirostat_eta":null,"num_gpu":1,"stop":null,"tfs_z":null}}`, 200, "embeddings"},
		{"embeddings", `{"model":"embed","prompt":"a","options":{"num_thread":2,"top_k":40}}`, 200, "embedding"},
		{"embed", `{"model":"embed","input":"a","options":{"nmu_ctx":5}}`, 400, "nmu_ctx"},
		{"embed", `{"model":"embed","input":"a","options":{"num_ctx":-5}}`, 400, "num_ctx"},
		{"generate", `{"model":"generate","prompt":"a","stream":false,"images":[],"options":{"num_predict":1}}`, 200, "response"},
		{"generate", `{"model":"generate","prompt":"a","stream":false,"images":["eA=="]}`, 400, "images"},
		{"generate", `{"model":"generate","prompt":"a","raw":true,"images":["eA=="]}`, 400, "raw with images"},
		{"pull", `{"model":"generate:latest"}`, 200, `{"status":"success"}`},
		{"pull", `{"name":"embed","stream":false}`, 200, `{"status":"success"}`},
		{"pull", `{"model":"other"}`, 404, "fetches none"},
	} {
		if status, answer, _ := ask(t, "POST", h.URL+"/api/"+c.path, c.body); status != c.status || !strings.Contains(answer, c.want) {
			t.Errorf("%s %s: %d %s", c.path, c.body, status, answer)
		}
	}
	if _, _, header := ask(t, "POST", h.URL+"/api/embed", `{"model":"embed","input":"a","options":{"num_ctx":5}}`); !strings.Contains(header.Get("X-Warning"), "num_ctx") {
		t.Errorf("a num_ctx at which nothing is cut: %v", header)
	}
}

// TestStreamedLines: no stream has a character inside its JSON at which Python's str.splitlines
// ends a line, and the text is whole all the same.
func TestStreamedLines(t *testing.T) {
	h := started(t, Options{}, "generate")
	const text = "a\u0085b\u2028c\u2029d"
	format := object{"const": text}
	for path, body := range map[string]object{
		"/api/generate":        {"prompt": "Hi", "format": format},
		"/api/chat":            {"messages": []object{{"role": "user", "content": "Hi"}}, "format": format},
		"/models/generate":     {"inputs": "Hi", "parameters": object{"grammar": object{"type": "json", "value": format}, "max_new_tokens": 60}},
		"/v1/chat/completions": {"messages": []object{{"role": "user", "content": "Hi"}}, "response_format": object{"type": "json_schema", "json_schema": object{"name": "a", "schema": format}}},
	} {
		body["model"], body["stream"] = "generate", true
		status, answer, _ := ask(t, "POST", h.URL+path, encoded(t, body))
		if status != 200 || strings.ContainsAny(answer, "\v\f\x1c\x1d\x1e\u0085\u2028\u2029") {
			t.Errorf("%s: %d %q", path, status, answer)
		}
		said := ""
		for line := range strings.Lines(answer) {
			data := strings.TrimPrefix(strings.TrimSpace(line), "data: ")
			if data == "" || data == "[DONE]" {
				continue
			}
			piece := decode[struct {
				Response string
				Message  struct{ Content string }
				Token    struct{ Text string }
				Choices  []struct{ Delta struct{ Content string } }
			}](t, data)
			said += piece.Response + piece.Message.Content + piece.Token.Text
			if len(piece.Choices) > 0 {
				said += piece.Choices[0].Delta.Content
			}
		}
		if got := decode[string](t, said); got != text {
			t.Errorf("%s: %q, want %q", path, got, text)
		}
	}
}
