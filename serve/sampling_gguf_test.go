package serve

import (
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
)

// TestSamplingOfGGUF: texts from a GGUF file that states nothing are drawn as each protocol draws
// them; those of a file that states a temperature of 0, and of a request that does, are always the
// same.
func TestSamplingOfGGUF(t *testing.T) {
	const file = "../models/testdata/gguf/gemma3/f32.gguf"
	greedy := tftest.RewriteGGUF(t, file, map[string]any{"general.sampling.temp": float32(0)})
	h := startedAs(t, Options{}, Model{Name: "silent", Dir: file}, Model{Name: "greedy", Dir: greedy})
	type completion struct{ Choices []struct{ Text string } }
	text := func(name string, body any) string {
		switch name {
		case "/v1/completions":
			return posted[completion](t, h.URL+name, body).Choices[0].Text
		case "/api/generate":
			return posted[struct{ Response string }](t, h.URL+name, body).Response
		}
		t.Fatal(name)
		return ""
	}
	for _, route := range []string{"/v1/completions", "/api/generate"} {
		for _, c := range []struct {
			model string
			more  map[string]any
			same  bool
		}{{"silent", nil, false}, {"greedy", nil, true}, {"silent", map[string]any{"temperature": 0}, true}, {"greedy", map[string]any{"temperature": 2}, false}} {
			body := map[string]any{"model": c.model, "prompt": "a b c", "stream": false}
			options := map[string]any{}
			for k, v := range c.more {
				options[k] = v
			}
			if route == "/api/generate" {
				options["num_predict"], body["raw"], body["options"] = 12, true, options
			} else {
				body["max_tokens"] = 12
				for k, v := range options {
					body[k] = v
				}
			}
			texts := map[string]bool{}
			for range 4 {
				texts[text(route, body)] = true
			}
			if (len(texts) == 1) != c.same {
				t.Errorf("%s, %s, %v: %d texts of 4 differ", route, c.model, c.more, len(texts))
			}
		}
	}
	two := posted[completion](t, h.URL+"/v1/completions", map[string]any{"model": "silent", "prompt": "a b c", "max_tokens": 12, "n": 2})
	if two.Choices[0].Text == two.Choices[1].Text {
		t.Error("n: 2 gives one text twice")
	}
	// Ollama's 40 tokens, not OpenAI's all: of a vocabulary of 101, which is why a seed gives other
	// texts.
	ollama := text("/api/generate", map[string]any{"model": "silent", "prompt": "a b c", "raw": true, "stream": false, "options": map[string]any{"seed": 5, "num_predict": 12}})
	stated := text("/api/generate", map[string]any{"model": "silent", "prompt": "a b c", "raw": true, "stream": false, "options": map[string]any{"seed": 5, "num_predict": 12, "temperature": 0.8, "top_k": 40, "top_p": 0.9}})
	openai := text("/v1/completions", map[string]any{"model": "silent", "prompt": "a b c", "max_tokens": 12, "seed": 5})
	one := text("/v1/completions", map[string]any{"model": "silent", "prompt": "a b c", "max_tokens": 12, "seed": 5, "temperature": 1})
	if ollama != stated || openai != one || ollama == openai {
		t.Errorf("%q, %q stated; %q, %q stated", ollama, stated, openai, one)
	}
}
