package chat

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text/answer"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// writtenPrompt is what a template makes of messages with the tools of the tests.
func writtenPrompt(source string, messages any, o Options) (string, error) {
	o.Format, o.Tools = &answer.Format{Calls: answer.Written}, weather
	return New(tokenizer.Config{ChatTemplate: source}).prompt(messages, o)
}

const plainTemplate = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"

// TestWrittenTools: what models without tools are told, by templates that take a system's message,
// have none, ignore it, or want the roles to take turns.
func TestWrittenTools(t *testing.T) {
	t.Parallel()
	const told = `You can call these tools:

{"name":"weather",`
	hello := []Message{{Role: "user", Content: "Hello"}}
	rules := append([]Message{{Role: "system", Content: "Be kind."}}, hello...)
	const turns = "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}" +
		"{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('turns') }}{% endif %}{% endfor %}" + plainTemplate
	const deaf = "{% for m in messages if m.role != 'system' %}<{{ m.role }}>{{ m.content }}{% endfor %}"
	for _, c := range []struct {
		name, template string
		messages       any
		before, after  string
	}{
		{"new system", plainTemplate, hello, "<system>" + told, "is needed.<user>Hello<assistant>"},
		{"system", plainTemplate, rules, "<system>Be kind.\n\n" + told, "is needed.<user>Hello<assistant>"},
		{"no system", turns, hello, "<user>" + told, "is needed.\n\nHello<assistant>"},
		{"deaf to the system", deaf, rules, "<user>" + told, "is needed.\n\nHello"},
		{"parts", "{% for m in messages %}{% for p in m.content %}{{ p.type }}:{{ p.text }};{% endfor %}{% endfor %}",
			json.RawMessage(`[{"role": "system", "content": [{"type": "text", "text": "Be kind."}]}, {"role": "user", "content": [{"type": "text", "text": "Hello"}]}]`),
			"text:Be kind.;text:" + told, "is needed.;text:Hello;"},
	} {
		got, err := writtenPrompt(c.template, c.messages, Options{})
		if err != nil || !strings.HasPrefix(got, c.before) || !strings.HasSuffix(got, c.after) || strings.Count(got, told) != 1 {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
	for _, c := range []struct {
		template string
		messages any
		want     error
	}{
		{"nothing", hello, fault.ErrTemplate},
		{turns, rules, fault.ErrTemplate},
		{turns, []Message{{Role: "assistant", Content: "a"}}, fault.ErrInput},
		{plainTemplate, json.RawMessage(`[{"role": "system", "content": 7}]`), fault.ErrInput},
		{plainTemplate, json.RawMessage(`[{"role": "assistant", "tool_calls": [7]}]`), fault.ErrInput},
		{plainTemplate, json.RawMessage(`[{"role": "tool", "content": [{"type": "image"}]}]`), fault.ErrInput},
	} {
		if got, err := writtenPrompt(c.template, c.messages, Options{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %q, %v, want %v", c.template, got, err, c.want)
		}
	}
}

// TestWrittenConversation: calls and results come back as texts, roles take turns, and what is
// written is read again.
func TestWrittenConversation(t *testing.T) {
	t.Parallel()
	messages := []Message{
		{Role: "user", Content: "Hello"},
		{Role: "assistant", Content: "I look.", ToolCalls: weatherCalls[:1]},
		{Role: "tool", ToolCallID: "abcdefgh1", Content: "21"},
		{Role: "tool", ToolCallID: "abcdefgh2", Content: "22"},
		{Role: "user", Content: "And?"},
		{Role: "assistant", ToolCalls: weatherCalls[:1]},
		{Role: "tool", Content: "23"},
		{Role: "assistant", Content: "War"},
	}
	got, err := writtenPrompt(plainTemplate, messages, Options{Continue: "content"})
	if err != nil {
		t.Fatal(err)
	}
	call := "<tool_call>\n{\"name\": \"weather\", \"arguments\": " + weatherCalls[0].Arguments + "}\n</tool_call>"
	want := "<user>Hello<assistant>I look.\n\n" + call + "<user><tool_response>\n21\n</tool_response>\n\n<tool_response>\n22\n</tool_response>\n\nAnd?<assistant>" +
		call + "<user><tool_response>\n23\n</tool_response><assistant>War"
	if !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	a, err := answer.Parse(answer.Format{Calls: answer.Written}, answer.Options{Tools: weather}, call)
	if err != nil || len(a.Calls) != 1 || a.Content != "" || a.Calls[0].Name != "weather" || a.Calls[0].Arguments != weatherCalls[0].Arguments {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestWrittenFormat: tools are never left out in silence. A template without a place for them has
// them written, with whatever calls its vocabulary speaks of.
func TestWrittenFormat(t *testing.T) {
	t.Parallel()
	words, err := tokenizer.Open("../../testdata/generate")
	if err != nil {
		t.Fatal(err)
	}
	c := New(words.Config())
	hasToken := func(token string) bool {
		_, ok := words.TokenID(token)
		return ok
	}
	hello := []Message{{Role: "user", Content: "Hello"}}
	public := publicTemplates(t)
	templates := maps.Clone(public)
	templates["plain"] = plainTemplate
	for name, source := range templates {
		o := Options{Template: source, Tools: weather}
		f := c.Format(o, hasToken)
		prompt, err := c.Prompt(hello, o, hasToken)
		if err != nil {
			continue // the template wants something else
		}
		if !strings.Contains(prompt, "weather") || f.Calls == answer.None {
			t.Errorf("%s: calls in the form %q, prompt %q", name, f.Calls, prompt)
		}
		if o.Tools = []any{}; c.Format(o, hasToken).Calls == answer.Written {
			t.Errorf("%s: calls are written without tools", name)
		}
	}
	o := Options{Template: plainTemplate, Tools: weather, Format: &answer.Format{}}
	if f := c.Format(o, hasToken); f.Calls != answer.None {
		t.Errorf("a format that is given becomes %q", f.Calls)
	}
}
