package chat

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text/answer"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// chatRequest is a line of what scripts/chats.py and compare_chats.py ask for.
type chatRequest struct {
	Template                   string
	Templates, Special         map[string]string
	Messages, Tools, Documents json.RawMessage
	Use, Continue              string
	Closed                     bool
	Variables                  map[string]json.RawMessage
	Expected                   *string // what transformers makes of it,
	Error                      string  // or raises
}

func (r *chatRequest) chats() *Templates {
	return New(tokenizer.Config{ChatTemplate: r.Template, Templates: r.Templates, Special: r.Special})
}

func (r *chatRequest) prompt(c *Templates) (string, error) {
	o := Options{Template: r.Use, Continue: r.Continue, NoGenerationPrompt: r.Closed, Variables: map[string]any{}}
	if r.Tools != nil {
		o.Tools = r.Tools
	}
	if r.Documents != nil {
		o.Documents = r.Documents
	}
	for name, v := range r.Variables {
		o.Variables[name] = v
	}
	return c.prompt(r.Messages, o)
}

// stopClock sets the date to that of the scripts.
func stopClock(t *testing.T) {
	at, err := time.Parse("2006-01-02T15:04:05", "2025-03-09T07:05:02")
	if err != nil {
		t.Fatal(err)
	}
	clock = func() time.Time { return at }
	t.Cleanup(func() { clock = time.Now })
}

// TestChats compares prompts with those of transformers' apply_chat_template.
func TestChats(t *testing.T) {
	stopClock(t)
	data, err := os.ReadFile("../../testdata/chats.json")
	if err != nil {
		t.Fatal(err)
	}
	var requests []chatRequest
	if err := json.Unmarshal(data, &requests); err != nil {
		t.Fatal(err)
	}
	for i, r := range requests {
		got, err := r.prompt(r.chats())
		switch {
		case r.Expected == nil && !errors.Is(err, fault.ErrTemplate) && !errors.Is(err, fault.ErrInput) && !errors.Is(err, fault.ErrOption):
			t.Errorf("case %d: %q, %v, want an error like %q", i, got, err, r.Error)
		case r.Expected != nil && (err != nil || got != *r.Expected):
			t.Errorf("case %d: %q, %v, want %q", i, got, err, *r.Expected)
		}
	}
}

// TestPromptErrors verifies that errors name what is wrong.
func TestPromptErrors(t *testing.T) {
	c := New(tokenizer.Config{Templates: map[string]string{"rag": "{{ documents }}", "other": "{% if %}"}})
	user := []Message{{Role: "user", Content: "Hi"}}
	for _, x := range []struct {
		messages any
		opts     Options
		is       error
		says     string
	}{
		{user, Options{}, fault.ErrTemplate, `["other" "rag"]`},
		{user, Options{Template: "other"}, fault.ErrTemplate, "line 1"},
		{[]Message{}, Options{Template: "rag"}, fault.ErrInput, "no messages"},
		{nil, Options{Template: "rag"}, fault.ErrInput, "no messages"},
		{"Hi", Options{Template: "rag"}, fault.ErrInput, "array of objects"},
		{json.RawMessage(`[{}, 3]`), Options{Template: "rag"}, fault.ErrInput, "element 1"},
		{json.RawMessage(`[{}] x`), Options{Template: "rag"}, fault.ErrInput, "invalid character 'x'"},
		{make(chan int), Options{Template: "rag"}, fault.ErrInput, "chan int"},
		{user, Options{Template: "rag", Tools: map[string]int{"a": 1}}, fault.ErrOption, "tools"},
		{user, Options{Template: "rag", Documents: []string{"a"}}, fault.ErrOption, "documents: element 0"},
		{user, Options{Template: "rag", Variables: map[string]any{"tools": nil}}, fault.ErrOption, "Variables = tools"},
		{user, Options{Template: "rag", Variables: map[string]any{"messages": nil}}, fault.ErrOption, "Variables = messages"},
		{user, Options{Template: "rag", Variables: map[string]any{"f": func() {}}}, fault.ErrTemplate, "func()"},
		{user, Options{Template: "rag", Continue: "content"}, fault.ErrTemplate, "content"},
		{user, Options{Template: "rag", Continue: "prefix"}, fault.ErrInput, "prefix"},
	} {
		_, err := c.prompt(x.messages, x.opts)
		if !errors.Is(err, x.is) || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%v %+v: error %v, want one that says %q", x.messages, x.opts, err, x.says)
		}
	}
}

// TestMessageJSON reads and writes messages without loss.
func TestMessageJSON(t *testing.T) {
	for _, x := range []struct {
		message Message
		json    string
	}{
		{Message{Role: "user", Content: "<Hi>"}, `{"role":"user","content":"<Hi>"}`},
		{Message{Role: "tool", Content: "4", Fields: map[string]any{"tool_call_id": "x", "name": "f"}}, `{"role":"tool","content":"4","name":"f","tool_call_id":"x"}`},
		{Message{Role: "tool", Content: "4", ToolCallID: "x"}, `{"role":"tool","content":"4","tool_call_id":"x"}`},
		{Message{Role: "assistant", Fields: map[string]any{"content": nil, "tool_calls": []any{}}}, `{"role":"assistant","content":null,"tool_calls":[]}`},
		{Message{Role: "assistant", Content: "4", Reasoning: "2"}, `{"role":"assistant","content":"4","reasoning_content":"2"}`},
		{Message{Role: "assistant", ToolCalls: []answer.Call{{ID: "x", Name: "f", Arguments: `{"a": "é"}`}}}, `{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{\"a\": \"é\"}"}}]}`},
		{Message{Role: "assistant", Content: "4", ToolCalls: []answer.Call{{Name: "f", Arguments: "no"}}}, `{"role":"assistant","content":"4","tool_calls":[{"type":"function","function":{"name":"f","arguments":"no"}}]}`},
		{Message{Role: "assistant", ToolCalls: []answer.Call{{Name: "f", Arguments: "{}"}}, Fields: map[string]any{"content": ""}}, `{"role":"assistant","content":"","tool_calls":[{"type":"function","function":{"name":"f","arguments":"{}"}}]}`},
		{Message{Role: "user", Fields: map[string]any{"content": []map[string]string{{"type": "image"}}}}, `{"role":"user","content":[{"type":"image"}]}`},
	} {
		data, err := encode(x.message)
		if err != nil || string(data) != x.json {
			t.Errorf("%+v: %s, %v, want %s", x.message, data, err, x.json)
		}
		var m Message
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		if again, err := encode(m); err != nil || string(again) != x.json {
			t.Errorf("%s again: %s, %v", x.json, again, err)
		}
	}
	var m Message
	if err := json.Unmarshal([]byte(`{"role": "user"}`), &m); err != nil || !reflect.DeepEqual(m, Message{Role: "user", Fields: map[string]any{"content": nil}}) {
		t.Errorf("a message without content: %+v, %v", m, err)
	}
	if err := json.Unmarshal([]byte(`{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"b": 1.0, "a": []}}}]}`), &m); err != nil || !reflect.DeepEqual(m, Message{Role: "assistant", ToolCalls: []answer.Call{{Name: "f", Arguments: `{"b":1.0,"a":[]}`}}, Fields: map[string]any{}}) {
		t.Errorf("arguments that are an object: %+v, %v", m, err)
	}
	for _, calls := range []string{`[{"function": {"name": "f", "arguments": "{}"}, "index": 0}]`, `[{"function": {"name": "f"}}]`, `[{"name": "f", "arguments": {}}]`, `[{"type": "custom", "function": {"name": "f", "arguments": "{}"}}]`, `{}`, `null`} {
		err := json.Unmarshal([]byte(`{"role": "assistant", "content": "x", "tool_calls": `+calls+`}`), &m)
		if want := map[string]any{"tool_calls": json.RawMessage(calls)}; err != nil || m.ToolCalls != nil || !reflect.DeepEqual(m.Fields, want) {
			t.Errorf("calls that are more, or less: %+v, %v, want %s in Fields", m, err, calls)
		}
	}
	if err := json.Unmarshal([]byte(`[]`), &m); err == nil {
		t.Error("an array is a message")
	}
}

// TestCompareChats serves scripts/compare_chats.py, which starts it with AVOFORMER_COMPARE: each line
// of the standard input is a request, and the answer a
// line of JSON. A request with a template precedes those that are for it.
func TestCompareChats(t *testing.T) {
	if os.Getenv("AVOFORMER_COMPARE") == "" {
		t.Skip("make compare WHAT=chats starts it")
	}
	stopClock(t)
	var c *Templates
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		var r chatRequest
		if err == nil {
			err = json.Unmarshal(line, &r)
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.Messages == nil {
			c = r.chats()
			continue
		}
		var answer struct {
			Expected *string `json:"expected,omitempty"`
			Error    string  `json:"error,omitempty"`
		}
		if prompt, err := r.prompt(c); err != nil {
			answer.Error = err.Error()
		} else {
			answer.Expected = &prompt
		}
		data, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("@%s\n", data)
	}
}
