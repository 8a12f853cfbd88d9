package serve

import (
	"strings"
	"testing"
)

// chosen returns the text of the first choice, and why it ended.
func chosen(t testing.TB, url, path, fields string) (text, finish string) {
	t.Helper()
	status, answer, _ := ask(t, "POST", url+path, `{`+fields+`}`)
	if status != 200 {
		t.Fatalf("%s %s: %d %s", path, fields, status, answer)
	}
	c := decode[struct {
		Choices []struct {
			Text    string
			Message struct{ Content string }
			Finish  string `json:"finish_reason"`
		}
	}](t, answer).Choices[0]
	return c.Text + c.Message.Content, c.Finish
}

// TestLocalFields: fields of vLLM, llama.cpp and newer clients of OpenAI have the effects that
// those document.
func TestLocalFields(t *testing.T) {
	h := started(t, Options{}, "generate")
	const chat, complete = "/v1/chat/completions", "/v1/completions"
	const yes, hello8 = `{"type":"object","properties":{"a":{"const":"yes"}},"required":["a"],"additionalProperties":false}`, hello + `, "max_tokens": 8`
	same := func(path, begin, fields, as string) {
		t.Helper()
		got, _ := chosen(t, h.URL, path, begin+fields)
		if want, _ := chosen(t, h.URL, path, begin+as); got != want {
			t.Errorf("%s %s: %q, want %q as with %s", path, fields, got, want, as)
		}
	}
	plain, _ := chosen(t, h.URL, chat, hello8)
	same(chat, hello, `, "n_predict": 8`, `, "max_tokens": 8`)
	same(complete, `"prompt": "The"`, `, "n_predict": 8`, `, "max_tokens": 8`)
	same(complete, `"prompt": "The"`, `, "n_predict": -1`, `, "max_tokens": -1`)
	same(chat, hello, `, "n_predict": -1, "max_tokens": -1`, ``)
	without, _ := chosen(t, h.URL, complete, `"prompt": "The"`)
	if all, _ := chosen(t, h.URL, complete, `"prompt": "The", "n_predict": -1`); len(all) <= len(without) || !strings.HasPrefix(all, without) {
		t.Errorf("n_predict -1: %q, want more than %q", all, without)
	}
	same(chat, hello8, `, "repeat_penalty": 3`, `, "repetition_penalty": 3`)
	if with, _ := chosen(t, h.URL, chat, hello8+`, "repeat_penalty": 50, "repeat_last_n": -1`); with == plain {
		t.Error("repeat_penalty changes nothing")
	}
	for _, path := range []string{chat, complete} {
		begin := map[string]string{chat: hello, complete: `"prompt": "The"`}[path] + `, "max_tokens": 30`
		for fields, want := range map[string]string{
			`"json_schema": ` + yes:                       `{"a":"yes"}`,
			`"guided_json": ` + yes:                       `{"a":"yes"}`,
			`"structured_outputs": {"json": ` + yes + `}`: `{"a":"yes"}`,
			`"response_format": {"type": "json_schema", "json_schema": {"schema": ` + yes + `}}`: `{"a":"yes"}`,
			`"grammar": "root ::= \"yes\""`:                         "yes",
			`"guided_grammar": "root ::= \"yes\""`:                  "yes",
			`"structured_outputs": {"grammar": "root ::= \"yes\""}`: "yes",
			`"guided_regex": "ye+s!"`:                               "yes!",
			`"structured_outputs": {"regex": "(yes){2}"}`:           "yesyes",
			`"guided_choice": ["(y.e.s)"]`:                          "(y.e.s)",
			`"structured_outputs": {"choice": ["a|b"]}`:             "a|b",
		} {
			got, finish := chosen(t, h.URL, path, begin+`, "logit_bias": {}, `+fields)
			got = strings.ReplaceAll(strings.ReplaceAll(got, " ", ""), "\n", "")
			if want == "yes!" && strings.HasPrefix(got, "yee") && strings.Trim(got, "e") == "y" { // a repetition that goes on
				continue
			}
			if got != want || finish != "stop" {
				t.Errorf("%s %s: %q, %s", path, fields, got, finish)
			}
		}
	}
	system := `"max_tokens": 8, "messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "The cat"}]`
	new, _ := chosen(t, h.URL, chat, system)
	if continued, _ := chosen(t, h.URL, chat, system+`, "continue_final_message": true, "add_generation_prompt": false`); continued == new {
		t.Error("continue_final_message changes nothing")
	}
	if without, _ := chosen(t, h.URL, chat, system+`, "add_generation_prompt": false`); without == new {
		t.Error("add_generation_prompt changes nothing")
	}
	for _, fields := range []string{
		`"stop": ""`, `"stop": []`, `"stop": [""]`, `"stop": null`, `"cache_prompt": true`, `"keep_alive": "5m"`, `"id_slot": 0`, `"verbosity": "low"`, `"thinking": {"type": "disabled"}`,
		`"enable_thinking": true`, `"thinking": true`, `"mirostat": 0`, `"mirostat_tau": 5.0`, `"service_tier": "flex"`, `"prediction": {"type": "content", "content": "a"}`,
		`"ignore_eos": false`, `"length_penalty": 1.0`, `"repeat_last_n": 64`, `"structured_outputs": null`, `"include_reasoning": false`, `"prompt_cache_key": "a"`,
	} {
		if got, _ := chosen(t, h.URL, chat, hello8+`, `+fields); got != plain {
			t.Errorf("%s: %q, want %q", fields, got, plain)
		}
	}
	for fields, want := range map[string]string{
		`"mirostat": 2`: "mirostat 2 is not supported here, want 0", `"use_beam_search": true`: "use_beam_search", `"verbosity": "loud"`: "low, medium or high", `"cache_promt": true`: `\"cache_promt\" is not supported`,
		`"repeat_last_n": 64, "repeat_penalty": 1.1`: "repeat_last_n", `"n_predict": 5, "max_tokens": 4`: "differ", `"n_predict": 0`: "at least 1", `"max_tokens": 0`: "or -1 for as many as there is room for", `"max_tokens": -2`: "at least 1", `"n_predict": -1, "max_tokens": 4`: "differ",
		`"guided_regex": "a", "grammar": "root ::= \"a\""`: "want one of them", `"guided_regex": "("`: `"param":"guided_regex"`, `"guided_choice": []`: "nothing to choose",
		`"grammar": "root"`: `"param":"grammar"`, `"thinking": {"type": "on"}`: "enabled, disabled", `"thinking": {"type": "enabled", "budget_tokens": 100}`: "budget_tokens",
		`"structured_outputs": {"structural_tag": {}}`: `\"structured_outputs.structural_tag\" is not supported`, `"thinking": true, "enable_thinking": false`: "differ",
		`"continue_final_message": true, "add_generation_prompt": true`: "add_generation_prompt",
	} {
		if status, answer, _ := ask(t, "POST", h.URL+chat, `{`+hello+`, `+fields+`}`); status != 400 || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s, want %q", fields, status, answer, want)
		}
	}
	ollama := `{"model":"generate","stream":false,"options":{"num_predict":4,"mirostat":0,"num_keep":5,"stop":["",""]},"truncate":true,"messages":[{"role":"user","content":"Hello"}]`
	if status, answer, _ := ask(t, "POST", h.URL+"/api/chat", ollama+`}`); status != 200 {
		t.Error(status, answer)
	}
	if status, answer, _ := ask(t, "POST", h.URL+"/api/chat", ollama+`,"logprobs":true}`); status != 400 || !strings.Contains(answer, "logprobs true is not supported here, want false") {
		t.Error(status, answer)
	}
}

// TestEmbeddingsFields: fields of Jina, Cohere and vLLM in requests for vectors.
func TestEmbeddingsFields(t *testing.T) {
	h := started(t, Options{}, "embed")
	ask1 := func(fields string) (int, string) {
		status, answer, _ := ask(t, "POST", h.URL+"/v1/embeddings", `{"model":"embed",`+fields+`}`)
		return status, answer
	}
	first := func(fields string) []float32 {
		status, answer := ask1(fields)
		if status != 200 {
			t.Fatalf("%s: %d %s", fields, status, answer)
		}
		return decode[[]float32](t, string(decode[embeddings](t, answer).Data[0].Embedding))
	}
	raw := posted[[][]float32](t, h.URL+"/embed", object{"inputs": "hello world", "normalize": false})[0]
	unit := first(`"input":"hello world"`)
	for fields, want := range map[string][]float32{`"normalize":false`: raw, `"normalized":false`: raw, `"normalize":true`: unit, `"user":"u","keep_alive":-1,"priority":3`: unit, `"late_chunking":false`: unit} {
		if !near(first(`"input":"hello world",`+fields), want) {
			t.Errorf("%s: another vector", fields)
		}
	}
	long := strings.Repeat("the cat reads ", 40) + "Paris."
	left := posted[[][]float32](t, h.URL+"/embed", object{"inputs": long, "truncate": true, "truncation_direction": "left"})[0]
	if end := first(`"truncate":"END","input":"` + long + `"`); near(end, left) || !near(end, first(`"truncate":true,"input":"`+long+`"`)) || !near(left, first(`"truncate":"START","input":"`+long+`"`)) {
		t.Error("truncate of END, START and true are not what they say")
	}
	for fields, want := range map[string]string{
		`"truncate":"NONE","input":"` + long + `"`: "context_length_exceeded", `"truncate":false,"input":"` + long + `"`: "context_length_exceeded",
		`"input":"a","truncate":"MIDDLE"`: "START, END or NONE", `"input":"a","late_chunking":true`: "late_chunking true is not supported here", `"input":"a","embedding_type":"int4"`: "embedding_type",
		`"input":"a","normalize":true,"normalized":false`: "differ",
	} {
		if status, answer := ask1(fields); status != 400 || !strings.Contains(answer, want) {
			t.Errorf("%.60s: %d %s, want %q", fields, status, answer, want)
		}
	}
}
