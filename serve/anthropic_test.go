package serve

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/text"
)

// anthropicReply is a message of Anthropic's protocol.
type anthropicReply struct {
	ID, Type, Role, Model string
	Content               []anthropicBlock
	StopReason            string  `json:"stop_reason"`
	StopSequence          *string `json:"stop_sequence"`
	Usage                 anthropicUsage
}

type anthropicBlock struct {
	Type, Text, Thinking, ID, Name string
	Input                          json.RawMessage
}

type anthropicUsage struct {
	Input  int `json:"input_tokens"`
	Cached int `json:"cache_read_input_tokens"`
	Output int `json:"output_tokens"`
}

// namedEvents returns the server-sent events of an answer, each with a name that its data has as
// type.
func namedEvents(t *testing.T, body string) (all []string) {
	t.Helper()
	for _, event := range strings.Split(body, "\n\n") {
		name, data, ok := strings.Cut(event, "\ndata: ")
		if name, named := strings.CutPrefix(name, "event: "); !ok || !named || name != decode[struct{ Type string }](t, data).Type {
			t.Fatalf("%q is not an event with a name", event)
		}
		all = append(all, data)
	}
	return all
}

// assembled returns the message that a stream makes, as clients put it together.
func assembled(t *testing.T, body string) (r anthropicReply) {
	t.Helper()
	open := -1
	ended := false
	for i, data := range namedEvents(t, body) {
		e := decode[struct {
			Type    string
			Index   int
			Message anthropicReply
			Block   anthropicBlock `json:"content_block"`
			Delta   struct {
				Type, Text, Thinking string
				JSON                 string  `json:"partial_json"`
				StopReason           string  `json:"stop_reason"`
				StopSequence         *string `json:"stop_sequence"`
			}
			Usage anthropicUsage
		}](t, data)
		if ended || (i == 0) != (e.Type == "message_start") {
			t.Fatalf("event %d is %s", i, data)
		}
		switch e.Type {
		case "message_start":
			r = e.Message
			if r.Content == nil || len(r.Content) > 0 || r.StopReason != "" || r.Usage.Input == 0 {
				t.Error(data)
			}
		case "content_block_start":
			if open >= 0 || e.Index != len(r.Content) || e.Block.Text != "" {
				t.Fatal(data)
			}
			open, r.Content = e.Index, append(r.Content, e.Block)
			r.Content[open].Input = nil
		case "content_block_delta":
			if e.Index != open {
				t.Fatal(data)
			}
			b := &r.Content[open]
			b.Text, b.Thinking, b.Input = b.Text+e.Delta.Text, b.Thinking+e.Delta.Thinking, append(b.Input, e.Delta.JSON...)
			if e.Delta.Type != map[string]string{"text": "text_delta", "thinking": "thinking_delta", "tool_use": "input_json_delta"}[b.Type] {
				t.Errorf("%s in a block of type %s", data, b.Type)
			}
		case "content_block_stop":
			if e.Index != open {
				t.Fatal(data)
			}
			open = -1
		case "message_delta":
			r.StopReason, r.StopSequence, r.Usage = e.Delta.StopReason, e.Delta.StopSequence, e.Usage
			if open >= 0 {
				t.Errorf("block %d is open at the end", open)
			}
		case "message_stop":
			ended = true
		default:
			t.Errorf("event %s", data)
		}
	}
	if !ended {
		t.Error("the stream has no end")
	}
	return r
}

// messagesBoth asks for messages as a whole and in pieces. Both must be the same.
func messagesBoth(t *testing.T, url, fields string) anthropicReply {
	t.Helper()
	var replies []anthropicReply
	for _, stream := range []bool{false, true} {
		status, reply, header := ask(t, "POST", url+"/v1/messages", fmt.Sprintf(`{"model": "generate", "stream": %v, %s}`, stream, fields), "X-Api-Key", "key")
		if status != 200 || header.Get("Request-Id") == "" {
			t.Fatal(status, reply)
		}
		r := anthropicReply{}
		if stream {
			r = assembled(t, reply)
		} else {
			r = decode[anthropicReply](t, reply)
		}
		if !strings.HasPrefix(r.ID, "msg_") || r.Type != "message" || r.Role != "assistant" || r.Model != "generate" {
			t.Errorf("%+v", r)
		}
		r.ID, r.Usage.Input, r.Usage.Cached = "", r.Usage.Input+r.Usage.Cached, 0
		for i := range r.Content {
			if b := &r.Content[i]; b.Type == "tool_use" {
				if b.ID == "" {
					t.Errorf("a call without id: %+v", r)
				}
				b.ID = ""
			}
		}
		replies = append(replies, r)
	}
	whole, _ := json.Marshal(replies[0])
	streamed, _ := json.Marshal(replies[1])
	if string(whole) != string(streamed) {
		t.Errorf("whole %s, streamed %s", whole, streamed)
	}
	return replies[0]
}

const anthropicHello = `"system": [{"type": "text", "text": "You are a pirate.", "cache_control": {"type": "ephemeral"}}], "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello, wörld! How are you?"}]}]`

// TestAnthropic compares messages with what the generator gives.
func TestAnthropic(t *testing.T) {
	t.Parallel()
	g := generator(t)
	h := started(t, Options{Keys: []string{"key"}}, "generate")
	prefill := append(helloMessages(), text.Message{Role: "assistant", Content: "The best"})
	continued, err := g.Prompt(prefill, text.PromptOptions{Continue: "content"})
	if err != nil {
		t.Fatal(err)
	}
	chat := func(o text.GenerateOptions) string {
		s, err := text.Collect(g.Chat(t.Context(), helloMessages(), o))
		if err != nil {
			t.Fatal(err)
		}
		return s.Text
	}
	more, err := text.Collect(g.ContinuePrompt(t.Context(), continued, text.GenerateOptions{MaxTokens: 6}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, fields, want, reason, sequence string }{
		{"greedy", anthropicHello + `, "max_tokens": 12`, chat(text.GenerateOptions{MaxTokens: 12}), "max_tokens", ""},
		{"sampled", anthropicHello + `, "max_tokens": 12, "temperature": 0, "metadata": {"user_id": "u"}, "thinking": {"type": "disabled"}`, chat(text.GenerateOptions{MaxTokens: 12}), "max_tokens", ""},
		{"stopped", anthropicHello + `, "max_tokens": 30, "stop_sequences": ["nothing", "ter"]`, chat(text.GenerateOptions{MaxTokens: 30, Stop: []string{"ter"}}), "stop_sequence", "ter"},
		{"prefilled", strings.Replace(anthropicHello, `?"}]}`, `?"}]}, {"role": "assistant", "content": "The best"}`, 1) + `, "max_tokens": 6`, more.Text, "max_tokens", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := messagesBoth(t, h.URL, c.fields)
			if len(r.Content) != 1 || r.Content[0].Type != "text" || strings.TrimSpace(r.Content[0].Text) != strings.TrimSpace(c.want) || r.StopReason != c.reason || r.Usage.Input == 0 || r.Usage.Output == 0 {
				t.Errorf("%+v, want %q", r, c.want)
			}
			if (r.StopSequence != nil) != (c.sequence != "") || c.sequence != "" && *r.StopSequence != c.sequence {
				t.Errorf("stop sequence of %+v, want %q", r, c.sequence)
			}
		})
	}
}

const anthropicTools = `"tools": [{"name": "see", "description": "look <there>", "input_schema": {"type": "object", "properties": {"a": {"enum": ["Rom"]}}, "required": ["a"], "additionalProperties": false}}]`

// TestAnthropicTools: calls are made and answered, and prompts are those of OpenAI's protocol.
func TestAnthropicTools(t *testing.T) {
	t.Parallel()
	h := roomy(t)
	for _, choice := range []string{`{"type": "any"}`, `{"type": "tool", "name": "see", "disable_parallel_tool_use": true}`} {
		r := messagesBoth(t, h.URL, hi+`, "max_tokens": 60, `+anthropicTools+`, "tool_choice": `+choice)
		if len(r.Content) != 1 || r.Content[0].Type != "tool_use" || r.Content[0].Name != "see" || strings.ReplaceAll(string(r.Content[0].Input), " ", "") != `{"a":"Rom"}` || r.StopReason != "tool_use" {
			t.Errorf("%s: %+v", choice, r)
		}
	}
	r := messagesBoth(t, h.URL, hi+`, "max_tokens": 60, "output_config": {"format": {"type": "json_schema", "schema": {"const": 7}}}`)
	if len(r.Content) != 1 || strings.TrimSpace(r.Content[0].Text) != "7" || r.StopReason != "end_turn" {
		t.Errorf("%+v", r)
	}

	const turns = `"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "x"}, {"type": "text", "text": "So."},
		{"type": "tool_use", "id": "c1", "name": "see", "input": {"a": "Rom"}}]}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "Sun"}]}, {"type": "text", "text": "And"}, {"type": "text", "text": "now?"}]}]`
	const same = `"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "So.", "reasoning_content": "Hm.", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "see", "arguments": "{\"a\": \"Rom\"}"}}]},
		{"role": "tool", "tool_call_id": "c1", "name": "see", "content": "Sun"}, {"role": "user", "content": "And\nnow?"}]`
	tools := strings.Replace(weatherTools, `"name": "see",`, `"name": "see", "description": "look <there>",`, 1)
	status, answer, _ := ask(t, "POST", h.URL+"/v1/chat/completions", `{`+same+`, "max_tokens": 4, `+tools+`}`)
	if status != 200 {
		t.Fatal(status, answer)
	}
	want := decode[chatAnswer](t, answer)
	r = messagesBoth(t, h.URL, turns+`, "max_tokens": 4, `+anthropicTools)
	if r.Usage.Input != want.Usage.Prompt || len(r.Content) != 1 || r.Content[0].Text != want.Choices[0].Message.Content {
		t.Errorf("%+v, want %s", r, answer)
	}
	status, answer, _ = ask(t, "POST", h.URL+"/v1/messages/count_tokens", `{"model": "generate", `+turns+`, `+anthropicTools+`}`)
	if n := decode[anthropicReply](t, `{"usage": `+answer+`}`).Usage.Input; status != 200 || n != want.Usage.Prompt {
		t.Errorf("%d %s, want %d tokens", status, answer, want.Usage.Prompt)
	}
}

func TestAnthropicErrors(t *testing.T) {
	t.Parallel()
	h := started(t, Options{Keys: []string{"key"}, MaxBody: 5000}, "generate", "embed")
	for _, c := range []struct {
		fields string
		status int
		kind   string
		want   string
	}{
		{`"model": "x", "max_tokens": 3, ` + hi, 404, "not_found_error", "no model"},
		{`"model": "embed", "max_tokens": 3, ` + hi, 400, "invalid_request_error", "the kind is embedder, want generator"},
		{hi, 400, "invalid_request_error", "max_tokens"},
		{`"max_tokens": 0, ` + hi, 400, "invalid_request_error", "max_tokens"},
		{`"max_tokens": 3, "messages": []`, 400, "invalid_request_error", "no messages"},
		{`"max_tokens": 3, "messages": [{"role": "user", "content": 7}]`, 400, "invalid_request_error", "list of blocks"},
		{`"max_tokens": 3, "messages": [{"role": "judge", "content": "a"}]`, 400, "invalid_request_error", "judge"},
		{`"max_tokens": 3, "messages": [{"role": "user", "content": [{"type": "image"}]}]`, 400, "invalid_request_error", "image"},
		{`"max_tokens": 3, "messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "see", "input": "x"}]}]`, 400, "invalid_request_error", "tool_use"},
		{`"max_tokens": 3, "best": 1, ` + hi, 400, "invalid_request_error", "best"},
		{`"max_tokens": 3, "temperature": 3, ` + hi, 400, "invalid_request_error", "temperature"},
		{`"max_tokens": 3, "stop_sequences": [7], ` + hi, 400, "invalid_request_error", "stop_sequences"},
		{`"max_tokens": 3, "container": "c", ` + hi, 400, "invalid_request_error", "container"},
		{`"max_tokens": 3, "tool_choice": {"type": "any"}, ` + hi, 400, "invalid_request_error", "without tools"},
		{`"max_tokens": 3, "tool_choice": {"type": "tool"}, ` + anthropicTools + `, ` + hi, 400, "invalid_request_error", "tool_choice"},
		{`"max_tokens": 3, "tools": [{"type": "web_search_20250305", "name": "web_search"}], ` + hi, 400, "invalid_request_error", "web_search_20250305"},
		{`"max_tokens": 3, "thinking": {"type": "enabled"}, ` + hi, 400, "invalid_request_error", "budget_tokens"},
		{`"max_tokens": 3, "output_config": {"format": {"type": "xml"}}, ` + hi, 400, "invalid_request_error", "json_schema"},
		{`"max_tokens": 3, "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}, ` + hi, 400, "invalid_request_error", "clear_tool_uses"},
		{`"max_tokens": 3, "mcp_servers": [{}], ` + hi, 400, "invalid_request_error", "mcp_servers"},
		{`"max_tokens": 3, "stream": true, "messages": [{"role": "user", "content": "` + strings.Repeat("word ", 400) + `"}]`, 400, "invalid_request_error", "too many tokens"},
		{`"max_tokens": 3, "system": "` + strings.Repeat("a", 5000) + `"`, 413, "request_too_large", "5000"},
	} {
		status, answer, header := ask(t, "POST", h.URL+"/v1/messages", `{`+c.fields+`}`, "X-Api-Key", "key")
		r := decode[struct {
			Type  string
			Error struct{ Type, Message string }
			ID    string `json:"request_id"`
		}](t, answer)
		if status != c.status || r.Type != "error" || r.Error.Type != c.kind || !strings.Contains(r.Error.Message, c.want) || r.ID == "" || header.Get("Request-Id") != r.ID {
			t.Errorf("%.100s: %d %s, want %d %s with %q", c.fields, status, answer, c.status, c.kind, c.want)
		}
	}
	if status, answer, _ := ask(t, "POST", h.URL+"/v1/messages", `{}`); status != 401 || !strings.Contains(answer, "authentication_error") {
		t.Error(status, answer)
	}
	if status, answer, _ := ask(t, "GET", h.URL+"/v1/messages", "", "X-Api-Key", "key"); status != 405 || !strings.Contains(answer, `"type":"error"`) {
		t.Error(status, answer)
	}
}
