package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/text"
)

// chatAnswer is an answer to a chat or a completion, or a chunk of one.
type chatAnswer struct {
	Object, Model string
	Choices       []struct {
		Index          int
		Text           string
		Message, Delta struct {
			Role, Content string
			Calls         []struct {
				Index    int
				ID, Type string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Finish   string `json:"finish_reason"`
		LogProbs *struct {
			Content []struct {
				Token   string
				LogProb float64
				Bytes   []byte
				Top     []struct{ LogProb float64 } `json:"top_logprobs"`
			}
			Tokens   []string
			LogProbs []float64            `json:"token_logprobs"`
			Top      []map[string]float64 `json:"top_logprobs"`
		}
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
		Details    struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
}

// events returns the data of server-sent events. The last one must be [DONE].
func events(t *testing.T, body string) (all []string) {
	t.Helper()
	for _, event := range strings.Split(body, "\n\n") {
		data, ok := strings.CutPrefix(event, "data: ")
		if !ok {
			t.Fatalf("%q is not an event", event)
		}
		all = append(all, data)
	}
	if all[len(all)-1] != "[DONE]" {
		t.Fatalf("the stream ends with %s", all[len(all)-1])
	}
	return all[:len(all)-1]
}

const hello = `"messages": [{"role": "system", "content": "You are a pirate."}, {"role": "user", "content": [{"type": "text", "text": "Hello, wörld! How are you?"}]}]`

func helloMessages() []text.Message {
	return []text.Message{{Role: "system", Content: "You are a pirate."}, {Role: "user", Content: "Hello, wörld! How are you?"}}
}

func generator(t *testing.T) *text.Generator {
	t.Helper()
	g, err := text.OpenGenerator(testdata+"generate", text.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestChat compares answers, whole and streamed, with what the generator gives.
func TestChat(t *testing.T) {
	g := generator(t)
	h := started(t, Options{}, "generate")
	for _, c := range []struct {
		name, fields string
		o            text.GenerateOptions
		finish       string
	}{
		{"greedy", `"max_tokens": 12`, text.GenerateOptions{MaxTokens: 12}, "length"},
		{"sampled", `"max_completion_tokens": 12, "temperature": 1.5, "top_p": 0.9, "seed": 7`, text.GenerateOptions{Sampling: generation.Sampling{Temperature: 1.5, TopP: 0.9, Seed: 7}, MaxTokens: 12}, "length"},
		{"stopped", `"max_tokens": 30, "stop": "ter"`, text.GenerateOptions{MaxTokens: 30, Stop: []string{"ter"}}, "stop"},
		{"presence", `"max_tokens": 12, "presence_penalty": 2`, text.GenerateOptions{MaxTokens: 12, Hook: penalty(t, g, 2)}, "length"},
		{"bias", `"max_tokens": 4, "logit_bias": {"40": 100}`, text.GenerateOptions{MaxTokens: 4, Hook: func(logits []float32, _ []int) { logits[40] += 100 }}, "length"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, err := text.Collect(g.Chat(t.Context(), helloMessages(), c.o))
			if err != nil {
				t.Fatal(err)
			}
			status, answer, _ := ask(t, "POST", h.URL+"/v1/chat/completions", `{"model": "alias-generate", "user": "u", `+hello+`, `+c.fields+`}`)
			if status != 200 {
				t.Fatal(status, answer)
			}
			whole := decode[chatAnswer](t, answer)
			choice := whole.Choices[0]
			if whole.Object != "chat.completion" || whole.Model != "generate" || choice.Message.Role != "assistant" || choice.Message.Content != strings.TrimSpace(want.Text) && choice.Message.Content != want.Text || choice.Finish != c.finish {
				t.Errorf("%s, want %q", answer, want.Text)
			}
			if u := whole.Usage; u.Prompt == 0 || u.Completion == 0 || u.Total != u.Prompt+u.Completion {
				t.Errorf("usage %+v", u)
			}
			_, answer, header := ask(t, "POST", h.URL+"/v1/chat/completions", `{"stream": true, "stream_options": {"include_usage": true}, `+hello+`, `+c.fields+`}`)
			if header.Get("Content-Type") != "text/event-stream" {
				t.Fatal(header, answer)
			}
			all := events(t, answer)
			content, finish := "", ""
			for i, event := range all {
				chunk := decode[chatAnswer](t, event)
				if i == len(all)-1 {
					if len(chunk.Choices) != 0 || chunk.Usage == nil || chunk.Usage.Total != whole.Usage.Total || c.finish == "length" && chunk.Usage.Details.Cached == 0 {
						t.Errorf("the last chunk is %s", event)
					}
					break
				}
				if first := chunk.Choices[0].Delta.Role == "assistant"; first != (i == 0) || chunk.Object != "chat.completion.chunk" || finish != "" {
					t.Errorf("chunk %d is %s", i, event)
				}
				content, finish = content+chunk.Choices[0].Delta.Content, chunk.Choices[0].Finish
			}
			if content != choice.Message.Content || finish != c.finish {
				t.Errorf("streamed %q, %s, want %q", content, finish, choice.Message.Content)
			}
		})
	}
}

// penalty makes tokens that were generated after hello less likely.
func penalty(t *testing.T, g *text.Generator, by float32) generation.LogitHook {
	prompt, err := g.Prompt(helloMessages(), text.PromptOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var first int
	for piece, err := range g.ContinuePrompt(t.Context(), prompt, text.GenerateOptions{MaxTokens: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		first += piece.Usage.Prompt
	}
	return func(logits []float32, tokens []int) {
		seen := map[int]bool{}
		for _, id := range tokens[first:] {
			if !seen[id] {
				logits[id] -= by
			}
			seen[id] = true
		}
	}
}

func TestChatChoices(t *testing.T) {
	h := started(t, Options{}, "generate")
	body := `{"model": "dummy", ` + hello + `, "max_tokens": 6, "temperature": 1, "seed": 0, "n": 3, "logprobs": true, "top_logprobs": 2}`
	status, answer, _ := ask(t, "POST", h.URL+"/v1/chat/completions", body)
	if status != 200 {
		t.Fatal(status, answer)
	}
	got := decode[chatAnswer](t, answer)
	if len(got.Choices) != 3 || got.Usage.Completion != 18 || got.Choices[0].Message.Content == got.Choices[1].Message.Content {
		t.Fatal(answer)
	}
	for i, c := range got.Choices {
		if c.Index != i || len(c.LogProbs.Content) != 6 {
			t.Fatal(answer)
		}
		for _, p := range c.LogProbs.Content {
			if !(p.LogProb < 0) || len(p.Top) != 2 || !(p.Top[0].LogProb >= p.Top[1].LogProb) || p.Top[0].LogProb < p.LogProb {
				t.Errorf("%+v", p)
			}
		}
	}
	_, again, _ := ask(t, "POST", h.URL+"/v1/chat/completions", strings.Replace(body, "{", `{"stream": true, `, 1))
	contents, tokens := map[int]string{}, 0
	for _, event := range events(t, again) {
		for _, c := range decode[chatAnswer](t, event).Choices {
			contents[c.Index] += c.Delta.Content
			if c.LogProbs != nil {
				tokens += len(c.LogProbs.Content)
			}
		}
	}
	for i, c := range got.Choices {
		if contents[i] != c.Message.Content {
			t.Errorf("choice %d is streamed as %q, want %q", i, contents[i], c.Message.Content)
		}
	}
	if tokens != 18 {
		t.Errorf("%d tokens are streamed", tokens)
	}
}

const hi = `"messages": [{"role": "user", "content": "Hi"}]`

const weatherTools = `"tools": [{"type": "function", "function": {"name": "see", "parameters": {"type": "object", "properties": {"a": {"enum": ["Rom"]}}, "required": ["a"], "additionalProperties": false}}}]`

// roomyFolder returns a copy of the generator with a longer context, for tools.
func roomyFolder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "generate")
	if err := os.CopyFS(dir, os.DirFS(testdata+"generate")); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string][2]string{
		"config.json":           {`"max_position_embeddings": 256`, `"max_position_embeddings": 2048`},
		"tokenizer_config.json": {`"model_max_length": 512`, `"model_max_length": 2048`},
	} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Contains(data, []byte(edit[0])) {
			t.Fatal(name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), bytes.Replace(data, []byte(edit[0]), []byte(edit[1]), 1), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// roomy returns a server of the generator with a longer context.
func roomy(t *testing.T) *httptest.Server { return startedAs(t, Options{}, Model{Dir: roomyFolder(t)}) }

// TestChatConstrained has answers follow what a random model would never write.
func TestChatConstrained(t *testing.T) {
	h := roomy(t)
	for _, stream := range []string{"", `"stream": true, `} {
		for _, c := range []struct{ fields, content, arguments string }{
			{`"response_format": {"type": "json_schema", "json_schema": {"name": "x", "strict": true, "schema": {"type": "object", "properties": {"a": {"const": 7}}, "required": ["a"], "additionalProperties": false}}}`, `{"a":7}`, ""},
			{weatherTools + `, "tool_choice": {"type": "function", "function": {"name": "see"}}`, "", `{"a":"Rom"}`},
			{weatherTools + `, "tool_choice": "required", "parallel_tool_calls": false`, "", `{"a":"Rom"}`},
		} {
			status, answer, _ := ask(t, "POST", h.URL+"/v1/chat/completions", `{`+stream+hi+`, "max_tokens": 60, `+c.fields+`}`)
			if status != 200 {
				t.Fatal(status, answer)
			}
			content, arguments, name, finish := "", "", "", ""
			pieces := []string{answer}
			if stream != "" {
				pieces = events(t, answer)
			}
			for _, piece := range pieces {
				choice := decode[chatAnswer](t, piece).Choices[0]
				content += choice.Message.Content + choice.Delta.Content
				for _, call := range append(choice.Message.Calls, choice.Delta.Calls...) {
					name, arguments = name+call.Function.Name, arguments+call.Function.Arguments
				}
				finish += choice.Finish
			}
			spaceless := strings.NewReplacer(" ", "", "\n", "", "\t", "").Replace
			if spaceless(content) != c.content || spaceless(arguments) != c.arguments {
				t.Errorf("%s: %s", c.fields, answer)
			}
			if called := c.arguments != ""; called != (finish == "tool_calls") || called != (name != "") || called && !json.Valid([]byte(arguments)) {
				t.Errorf("%s: finish %q, call of %q with %s", c.fields, finish, name, arguments)
			}
		}
	}
}

func TestCompletions(t *testing.T) {
	g := generator(t)
	h := started(t, Options{}, "generate")
	prompts := []string{"The quick brown", "Yes."}
	var want []string
	for _, p := range prompts {
		s, err := text.Collect(g.Generate(t.Context(), p, text.GenerateOptions{MaxTokens: 16}))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, s.Text, s.Text)
	}
	list, _ := json.Marshal(prompts)
	for _, stream := range []bool{false, true} {
		status, answer, _ := ask(t, "POST", h.URL+"/v1/completions", fmt.Sprintf(`{"model": "generate", "prompt": %s, "n": 2, "logprobs": 1, "stream": %v}`, list, stream))
		if status != 200 {
			t.Fatal(status, answer)
		}
		pieces := []string{answer}
		if stream {
			pieces = events(t, answer)
		}
		texts, tokens := make([]string, 4), 0
		for _, piece := range pieces {
			for _, c := range decode[chatAnswer](t, piece).Choices {
				texts[c.Index] += c.Text
				tokens += len(c.LogProbs.Tokens)
				if len(c.LogProbs.LogProbs) != len(c.LogProbs.Tokens) || len(c.LogProbs.Top) != len(c.LogProbs.Tokens) {
					t.Errorf("%+v", c.LogProbs)
				}
			}
		}
		if tokens != 64 || fmt.Sprint(texts) != fmt.Sprint(want) {
			t.Errorf("stream %v: %d tokens, %q, want %q", stream, tokens, texts, want)
		}
	}
}

func TestChatErrors(t *testing.T) {
	h := started(t, Options{}, "generate", "embed")
	for _, c := range []struct {
		fields string
		status int
		want   string
	}{
		{`"messages": []`, 400, "no messages"},
		{`"messages": [{"content": "a"}]`, 400, "no role"},
		{`"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]`, 400, "image_url"},
		{hello + `, "model": "x"`, 404, "model_not_found"},
		{hello + `, "model": "embed"`, 400, "the kind is embedder, want generator"},
		{hello + `, "n": 0`, 400, `"param":"n"`},
		{hello + `, "best": 1`, 400, `"param":"best"`},
		{hello + `, "functions": []`, 400, "use tools"},
		{hello + `, "temperature": 3`, 400, `"param":"temperature"`},
		{hello + `, "min_p": 2`, 400, `"param":"min_p"`},
		{hello + `, "top_p": 1.5`, 400, `top_p = 1.5: want 0 to 1`},
		{hello + `, "logit_bias": {"100000": 1}`, 400, "vocabulary"},
		{hello + `, "top_logprobs": 3`, 400, "without logprobs"},
		{hello + `, "stream_options": {}`, 400, "without stream"},
		{hello + `, "response_format": {"type": "xml"}`, 400, "json_schema"},
		{hello + `, "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "x"}}}`, 400, `"param":"response_format"`},
		{hello + `, "tool_choice": "required"`, 400, "without tools"},
		{hello + `, ` + weatherTools + `, "tool_choice": {"type": "function", "function": {"name": "none"}}`, 400, "not one of the tools"},
		{hello + `, "stream": true, "max_tokens": 0`, 400, "at least 1"},
		{`"stream": true, "messages": [{"role": "user", "content": "` + strings.Repeat("word ", 400) + `"}]`, 400, "context_length_exceeded"},
	} {
		status, answer, _ := ask(t, "POST", h.URL+"/v1/chat/completions", `{`+c.fields+`}`)
		if status != c.status || !strings.Contains(answer, c.want) || !strings.HasPrefix(answer, `{"error":{"message":"`) {
			t.Errorf("%.100s: %d %s, want %d with %q", c.fields, status, answer, c.status, c.want)
		}
	}
	for fields, want := range map[string]string{`"prompt": [1, 2]`: "token ids", `"prompt": "a", "echo": true, "logprobs": 1`: "echo", `"prompt": "a", "suffix": "b"`: "suffix", `"prompt": "a", "best_of": 2`: "best_of", ``: "no prompt"} {
		if status, answer, _ := ask(t, "POST", h.URL+"/v1/completions", `{`+fields+`}`); status != 400 || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s", fields, status, answer)
		}
	}
}

// TestVanished has clients leave in the middle of a stream: their answers do not continue.
func TestVanished(t *testing.T) {
	s, err := New([]Model{{Dir: testdata + "generate"}}, Options{MaxRequests: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := make(chan struct{}, 8)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { left <- struct{}{} }()
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	for _, n := range []string{"1", "3", "1", "2"} {
		ctx, cancel := context.WithCancel(t.Context())
		r, _ := http.NewRequestWithContext(ctx, "POST", h.URL+"/v1/chat/completions", strings.NewReader(`{"stream": true, "temperature": 1, "n": `+n+`, "logit_bias": {"562": -100}, `+hello+`}`))
		resp, err := http.DefaultClient.Do(r)
		if err != nil || resp.StatusCode != 200 {
			t.Fatal(resp, err)
		}
		if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		cancel()
		resp.Body.Close()
		select {
		case <-left:
		case <-time.After(20 * time.Second):
			t.Fatal("the request of a client that has gone still runs")
		}
	}
	if status, answer, _ := ask(t, "POST", h.URL+"/v1/chat/completions", `{"max_tokens": 1, `+hello+`}`); status != 200 {
		t.Error(status, answer)
	}
	if d, err := s.Shutdown(t.Context()); err != nil || d.Left != 0 {
		t.Error(d, err)
	}
}

// TestForcedCallCut: what the limit leaves of a call that tool_choice asks for is not content, and
// the finish says so.
func TestForcedCallCut(t *testing.T) {
	h := roomy(t)
	for _, c := range []struct{ path, body, finish string }{
		{"/v1/chat/completions", hi + `, "max_tokens": %d, ` + weatherTools + `, "tool_choice": "required"`, `"finish_reason":"length"`},
		{"/v1/messages", hi + `, "max_tokens": %d, ` + anthropicTools + `, "tool_choice": {"type": "any"}`, `"stop_reason":"max_tokens"`},
		{"/v1/responses", `"input": "Hi", "max_output_tokens": %d, ` + responseTools + `, "tool_choice": "required"`, `"reason":"max_output_tokens"`},
	} {
		for _, stream := range []string{"", `"stream": true, `} {
			for n := 1; n <= 12; n++ {
				status, reply, _ := ask(t, "POST", h.URL+c.path, `{`+stream+fmt.Sprintf(c.body, n)+`}`)
				_, output, _ := strings.Cut(reply, `"output":`) // responses say before it what was asked for
				if output == "" {
					output = reply
				}
				if status != 200 || !strings.Contains(reply, c.finish) || strings.Contains(reply, "tool_call>") || strings.Contains(output, `\"name\"`) || strings.Contains(output, `"text":"{`) {
					t.Errorf("%s %swith %d tokens: %d %s", c.path, stream, n, status, reply)
				}
			}
		}
	}
}
