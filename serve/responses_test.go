package serve

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/text"
)

type responseItem struct {
	ID, Type, Status, Role, Name, Arguments string
	Content                                 []struct{ Type, Text string }
	CallID                                  string `json:"call_id"`
}

// responseAnswer is an answer of OpenAI's protocol of responses.
type responseAnswer struct {
	ID, Object, Status, Model string
	Output                    []responseItem
	Incomplete                *struct{ Reason string } `json:"incomplete_details"`
	Previous                  *string                  `json:"previous_response_id"`
	Usage                     *struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
		Total  int `json:"total_tokens"`
	}
}

// responseOf returns the response at the end of a stream, in which every item has been built from
// its pieces.
func responseOf(t *testing.T, body string) (r responseAnswer) {
	t.Helper()
	var names []string
	open := map[int]*responseItem{}
	deltas := map[int]string{}
	for i, data := range namedEvents(t, body) {
		e := decode[struct {
			Type     string
			Sequence int `json:"sequence_number"`
			Response responseAnswer
			Index    int    `json:"output_index"`
			ItemID   string `json:"item_id"`
			Item     *responseItem
			Delta    string
			Text     *string
			Args     *string `json:"arguments"`
		}](t, data)
		if e.Sequence != i {
			t.Errorf("event %d has the number %d", i, e.Sequence)
		}
		names = append(names, e.Type)
		item := open[e.Index]
		if e.ItemID != "" && (item == nil || item.ID != e.ItemID) {
			t.Fatalf("%s is of no open item", data)
		}
		switch e.Type {
		case "response.output_item.added":
			if e.Item.Status != "in_progress" || len(e.Item.Content) > 0 || e.Item.Arguments != "" {
				t.Error(data)
			}
			open[e.Index] = e.Item
		case "response.output_text.delta", "response.reasoning_text.delta", "response.function_call_arguments.delta":
			deltas[e.Index] += e.Delta
		case "response.output_text.done", "response.reasoning_text.done":
			if *e.Text != deltas[e.Index] {
				t.Errorf("%s, the pieces are %q", data, deltas[e.Index])
			}
		case "response.function_call_arguments.done":
			if *e.Args != deltas[e.Index] {
				t.Errorf("%s, the pieces are %q", data, deltas[e.Index])
			}
		case "response.output_item.done":
			delete(open, e.Index)
			if e.Item.Status == "in_progress" || e.Item.Type != "function_call" && e.Item.Content[0].Text != deltas[e.Index] || e.Item.Type == "function_call" && e.Item.Arguments != deltas[e.Index] {
				t.Error(data)
			}
		case "response.completed", "response.incomplete":
			r = e.Response
		}
	}
	if !regexp.MustCompile(`^response.created response.in_progress( response.output_item.added( response.content_part.added( response.\w+_text.delta)* response.\w+_text.done response.content_part.done|( response.function_call_arguments.delta)* response.function_call_arguments.done) response.output_item.done)* response.(completed|incomplete)$`).MatchString(strings.Join(names, " ")) {
		t.Errorf("events are %q", names)
	}
	return r
}

var randomID = regexp.MustCompile(`"(resp|msg|fc|call|rs)_\w+"`)

// responsesBoth asks for a response as a whole and in pieces. Both must be the same except for ids.
func responsesBoth(t *testing.T, url, fields string) responseAnswer {
	t.Helper()
	status, answer, _ := ask(t, "POST", url+"/v1/responses", `{"model": "generate", `+fields+`}`)
	if status != 200 {
		t.Fatal(status, answer)
	}
	r := decode[responseAnswer](t, answer)
	status, answer, header := ask(t, "POST", url+"/v1/responses", `{"model": "generate", "stream": true, `+fields+`}`)
	if status != 200 || header.Get("Content-Type") != "text/event-stream" {
		t.Fatal(status, answer)
	}
	streamed := responseOf(t, answer)
	var texts []string
	for _, x := range []responseAnswer{r, streamed} {
		x.Previous = nil
		data, _ := json.Marshal(x)
		texts = append(texts, randomID.ReplaceAllString(string(data), `""`))
	}
	if texts[0] != texts[1] {
		t.Errorf("whole %s, streamed %s", texts[0], texts[1])
	}
	if r.Object != "response" || !strings.HasPrefix(r.ID, "resp_") || r.Model != "generate" || r.Usage == nil || r.Usage.Total != r.Usage.Input+r.Usage.Output || r.Usage.Output == 0 {
		t.Errorf("%+v", r)
	}
	return r
}

// TestResponses compares responses with what the generator gives.
func TestResponses(t *testing.T) {
	t.Parallel()
	g := generator(t)
	h := started(t, Options{}, "generate")
	for _, c := range []struct {
		fields string
		o      text.GenerateOptions
		status string
	}{
		{`"input": "Hello, wörld! How are you?", "instructions": "You are a pirate.", "max_output_tokens": 12, "user": "u", "text": {"verbosity": "low"}`, text.GenerateOptions{MaxTokens: 12}, "incomplete"},
		{`"input": [{"role": "developer", "content": "You are a pirate."}, {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello, wörld! How are you?"}]}], "max_output_tokens": 5, "temperature": 0`,
			text.GenerateOptions{MaxTokens: 5}, "incomplete"},
	} {
		want, err := text.Collect(g.Chat(t.Context(), helloMessages(), c.o))
		if err != nil {
			t.Fatal(err)
		}
		r := responsesBoth(t, h.URL, c.fields)
		if len(r.Output) != 1 || r.Output[0].Type != "message" || r.Output[0].Role != "assistant" || r.Output[0].Status != c.status || strings.TrimSpace(r.Output[0].Content[0].Text) != strings.TrimSpace(want.Text) {
			t.Errorf("%+v, want %q", r, want.Text)
		}
		if r.Status != c.status || r.Incomplete == nil || r.Incomplete.Reason != "max_output_tokens" {
			t.Errorf("%+v", r)
		}
	}
}

const responseTools = `"tools": [{"type": "function", "name": "see", "strict": true, "parameters": {"type": "object", "properties": {"a": {"enum": ["Rom"]}}, "required": ["a"], "additionalProperties": false}}]`

// TestResponsesGoOn: calls, results and the next turn, sent with previous_response_id, give the
// same prompt as the whole conversation in the protocol of chats.
func TestResponsesGoOn(t *testing.T) {
	t.Parallel()
	h := roomy(t)
	r := responsesBoth(t, h.URL, `"input": "Hi", "text": {"format": {"type": "json_schema", "name": "x", "schema": {"const": 7}}}`)
	if len(r.Output) != 1 || strings.TrimSpace(r.Output[0].Content[0].Text) != "7" || r.Status != "completed" {
		t.Errorf("%+v", r)
	}
	for _, choice := range []string{`"required"`, `{"type": "function", "name": "see"}`, `{"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "see"}]}`} {
		r = responsesBoth(t, h.URL, `"input": "Hi", "instructions": "Never said again", `+responseTools+`, "tool_choice": `+choice)
		if len(r.Output) != 1 || r.Output[0].Type != "function_call" || r.Output[0].Name != "see" || strings.ReplaceAll(r.Output[0].Arguments, " ", "") != `{"a":"Rom"}` || r.Output[0].CallID == "" || r.Status != "completed" {
			t.Errorf("%s: %+v", choice, r)
		}
	}
	call := r.Output[0]
	result := fmt.Sprintf(`{"type": "function_call_output", "call_id": %q, "output": "Sun"}, {"role": "user", "content": "And now?"}`, call.CallID)
	arguments, _ := json.Marshal(call.Arguments)
	status, answer, _ := ask(t, "POST", h.URL+"/v1/chat/completions", fmt.Sprintf(`{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": null, "tool_calls": [{"id": %q, "type": "function", "function": {"name": "see", "arguments": %s}}]},
		{"role": "tool", "tool_call_id": %q, "name": "see", "content": "Sun"}, {"role": "user", "content": "And now?"}], "max_tokens": 4, %s}`, call.CallID, arguments, call.CallID, weatherTools))
	if status != 200 {
		t.Fatal(status, answer)
	}
	want := decode[chatAnswer](t, answer)
	whole := fmt.Sprintf(`"input": [{"role": "user", "content": "Hi"}, {"type": "reasoning", "summary": []}, {"type": "function_call", "call_id": %q, "name": "see", "arguments": %s}, %s]`, call.CallID, arguments, result)
	onward := fmt.Sprintf(`"previous_response_id": %q, "input": [%s]`, r.ID, result)
	for _, fields := range []string{whole, onward} {
		got := responsesBoth(t, h.URL, fields+`, "max_output_tokens": 4, `+responseTools)
		if got.Usage.Input != want.Usage.Prompt || len(got.Output) != 1 || got.Output[0].Content[0].Text != want.Choices[0].Message.Content {
			t.Errorf("%+v, want %s", got, answer)
		}
		status, counted, _ := ask(t, "POST", h.URL+"/v1/responses/input_tokens", `{`+fields+`, `+responseTools+`}`)
		if n := decode[struct {
			Input int `json:"input_tokens"`
		}](t, counted).Input; status != 200 || n != want.Usage.Prompt {
			t.Errorf("%d %s, want %d tokens", status, counted, want.Usage.Prompt)
		}
	}
	keptOrNot(t, h, r.ID)
}

// keptOrNot reads a response again, deletes it, and looks for those that are not kept.
func keptOrNot(t *testing.T, h *httptest.Server, id string) {
	status, answer, _ := ask(t, "GET", h.URL+"/v1/responses/"+id, "")
	if got := decode[responseAnswer](t, answer); status != 200 || got.ID != id || len(got.Output) != 1 {
		t.Error(status, answer)
	}
	if status, answer, _ := ask(t, "DELETE", h.URL+"/v1/responses/"+id, ""); status != 200 || !strings.Contains(answer, `"deleted":true`) {
		t.Error(status, answer)
	}
	_, answer, _ = ask(t, "POST", h.URL+"/v1/responses", `{"input": "Hi", "store": false, "max_output_tokens": 2}`)
	for _, gone := range []string{id, decode[responseAnswer](t, answer).ID} {
		for _, method := range []string{"GET", "DELETE"} {
			if status, answer, _ := ask(t, method, h.URL+"/v1/responses/"+gone, ""); status != 404 || !strings.Contains(answer, `{"error":{"message":`) {
				t.Error(method, status, answer)
			}
		}
		if status, answer, _ := ask(t, "POST", h.URL+"/v1/responses", `{"input": "Hi", "previous_response_id": "`+gone+`"}`); status != 400 || !strings.Contains(answer, `"param":"previous_response_id"`) {
			t.Error(status, answer)
		}
	}
}

func TestResponsesErrors(t *testing.T) {
	t.Parallel()
	h := started(t, Options{}, "generate", "embed")
	for _, c := range []struct {
		fields string
		status int
		want   string
	}{
		{`"input": "Hi", "model": "x"`, 404, "model_not_found"},
		{`"input": "Hi", "model": "embed"`, 400, "the kind is embedder, want generator"},
		{`"model": "generate"`, 400, "no input"},
		{`"input": []`, 400, "no input"},
		{`"input": 7`, 400, `"param":"input"`},
		{`"input": [{"role": "judge", "content": "a"}]`, 400, "judge"},
		{`"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]`, 400, "input_image"},
		{`"input": [{"type": "item_reference", "id": "x"}]`, 400, "item_reference"},
		{`"input": [{"type": "function_call", "call_id": "c", "name": "see", "arguments": "{"}]`, 400, "arguments"},
		{`"input": "Hi", "best": 1`, 400, `"param":"best"`},
		{`"input": "Hi", "temperature": 3`, 400, `"param":"temperature"`},
		{`"input": "Hi", "max_output_tokens": 0`, 400, `"param":"max_output_tokens"`},
		{`"input": "Hi", "background": true`, 400, `"param":"background"`},
		{`"input": "Hi", "conversation": "c"`, 400, `"param":"conversation"`},
		{`"input": "Hi", "include": ["message.output_text.logprobs"]`, 400, `"param":"include"`},
		{`"input": "Hi", "tools": [{"type": "web_search"}]`, 400, "web_search"},
		{`"input": "Hi", "tool_choice": "required"`, 400, "without tools"},
		{`"input": "Hi", "tool_choice": {"type": "web_search"}, ` + responseTools, 400, `"param":"tool_choice"`},
		{`"input": "Hi", "text": {"format": {"type": "grammar"}}`, 400, `"param":"text.format"`},
		{`"input": "Hi", "text": {"format": {"type": "json_object"}}, ` + responseTools, 400, "together"},
		{`"stream": true, "input": "` + strings.Repeat("word ", 400) + `"`, 400, "context_length_exceeded"},
	} {
		status, answer, _ := ask(t, "POST", h.URL+"/v1/responses", `{`+c.fields+`}`)
		if status != c.status || !strings.Contains(answer, c.want) || !strings.HasPrefix(answer, `{"error":{"message":"`) {
			t.Errorf("%.100s: %d %s, want %d with %q", c.fields, status, answer, c.status, c.want)
		}
	}
}
