package chat

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text/answer"
	"github.com/avoformer/avoformer/text/tokenizer"
)

var weather = json.RawMessage(`[{"type": "function", "function": {"name": "weather", "description": "The weather", "parameters": {"type": "object", "properties": {
	"city": {"type": "string", "description": "A city"}, "days": {"type": "integer", "description": "How many"}, "exact": {"type": "boolean", "description": "Or not"}}, "required": ["city"]}}}]`)

var weatherCalls = []answer.Call{
	{ID: "abcdefgh1", Name: "weather", Arguments: `{"city": "Zürich \"1\"\n<b>", "days": 3, "exact": true}`},
	{ID: "abcdefgh2", Name: "weather", Arguments: `{"city": "7"}`},
}

// publicTemplates are those that packages of the registry have, in a folder that make compare
// WHAT=chats names, or those in the tree.
func publicTemplates(t *testing.T) map[string]string {
	found := map[string]string{}
	if dir := os.Getenv("AVOFORMER_TEMPLATES"); dir != "" {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(files) == 0 {
			t.Fatal("no templates", err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found[filepath.Base(file)] = string(source)
		}
		return found
	}
	data, err := os.ReadFile("../../jinja/testdata/templates.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Templates []struct{ Name, Template string }
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for _, x := range file.Templates {
		found[x.Name] = x.Template
	}
	return found
}

// TestDetect finds the formats of templates in the tree.
func TestDetect(t *testing.T) {
	templates := publicTemplates(t)
	if os.Getenv("AVOFORMER_TEMPLATES") != "" {
		t.Skip("for the templates in the tree")
	}
	think := answer.Format{Think: "<think>", Unthink: "</think>"}
	for name, want := range map[string]answer.Format{
		"qwen2.5": {Calls: answer.Hermes}, "qwen3": think, "hermes-macros": {},
		"llama3.1": {Calls: answer.Llama}, "mistral": {Calls: answer.Mistral}, "deepseek": {Calls: answer.DeepSeek, Think: think.Think, Unthink: think.Unthink},
		"chatml": {}, "llama2": {}, "llama3": {}, "gemma": {}, "gemma3": {}, "phi3": {}, "zephyr": {}, "smol-generation": {},
	} {
		if got := answer.Detect(templates[name], nil); got != want || templates[name] == "" {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	for name, c := range map[string]struct {
		template string
		want     answer.Format
	}{
		"gemma 4":         {"{{ '<|tool_call>call:' + function['name'] + '{' }}{{ '}<tool_call|>' }}{{ '<|channel>thought\n<channel|>' }}", answer.Format{Calls: answer.Gemma, Think: "<|channel>thought", Unthink: "<channel|>"}},
		"lfm2":            {"{{ 'List of tools: <|tool_list_start|>[' }}{{ ']<|tool_list_end|>' }}{{ '<|tool_response_start|>' }}", answer.Format{Calls: answer.LFM}},
		"olmo 3":          {"{{ '<functions>' + tools + '</functions>' }}{{ '<function_calls>' + message['function_calls'] + '</function_calls>' }}", answer.Format{Calls: answer.OLMo}},
		"nemotron nano 2": {"{{ '<AVAILABLE_TOOLS>' }}{{ '<TOOLCALL>[' }}{{ message.tool_calls }}{{ ']</TOOLCALL>' }}{{ '<think></think>' }}", answer.Format{Calls: answer.Nemotron, Think: think.Think, Unthink: think.Unthink}},
		"ministral 3":     {"{{ '[TOOL_CALLS]' + name + '[ARGS]' + arguments }}{{ '[THINK]' + thinking + '[/THINK]' }}", answer.Format{Calls: answer.Mistral, Think: "[THINK]", Unthink: "[/THINK]"}},
		"hunyuan":         {"{{ '你必须将其格式化为<tool_calls>[{\"name\": ' }}{{ '<|extra_4|>' }}{{ '<|extra_0|>' }}{{ '<think>\\n\\n</think>\\n' }}", answer.Format{Calls: answer.Hunyuan, Think: think.Think, Unthink: think.Unthink, Answer: "<answer>", Unanswer: "</answer>"}},
		"hunyuan dense":   {"{{ '<｜hy_Assistant｜>' + message['content'].split('</think>')[-1] }}", answer.Format{Think: think.Think, Unthink: think.Unthink, Answer: "<answer>", Unanswer: "</answer>"}},
		"no thoughts":     {"{{ '<｜hy_Assistant｜>' + message['content'] }}", answer.Format{}},
		"ernie 4.5":       {"{{ '<global_setting>\\nthink_mode=True\\n</global_setting>' }}{{ message.content.split('</think>')[-1] }}{{ '<response>\\n' + content + '\\n</response>' }}", answer.Format{Think: think.Think, Unthink: think.Unthink, Answer: "<response>", Unanswer: "</response>"}},
		"minimax":         {"{{ '<response>' + message.content + '</response>' }}{{ content.split('</think>')[-1] }}", think},
		"granite 4":       {"{{ '<tool_call></tool_call> XML tags' }}{{ '\n<tool_call>\n{\"name\": ' }}", answer.Format{Calls: answer.Hermes}},
	} {
		if got := answer.Detect(c.template, nil); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	for token, want := range map[string]answer.Calls{"[TOOL_CALLS]": answer.Mistral, "<|tool_call|>": answer.Piped, "<|python_tag|>": answer.Llama, "<|tool_call_start|>": answer.LFM, "<|tool_call>": answer.Gemma, "<tool_call>": answer.None} {
		for template, want := range map[string]answer.Calls{templates["chatml"]: want, templates["qwen2.5"]: answer.Hermes, "{{ message.tool_calls }}": answer.None} {
			if got := answer.Detect(template, func(s string) bool { return s == token }); got != (answer.Format{Calls: want}) {
				t.Errorf("token %s: %+v, want %+v", token, got, want)
			}
		}
	}
	got := answer.Detect(templates["chatml"], func(s string) bool { return s == "[THINK]" || s == "[/THINK]" })
	if want := (answer.Format{Think: "[THINK]", Unthink: "[/THINK]"}); got != want {
		t.Errorf("tokens of reasoning: %+v, want %+v", got, want)
	}
}

// faulty are templates that write none of the calls, write them without a quotation mark or in a
// way of their own, or write the indentation of the template into the answer.
var faulty = regexp.MustCompile(`falcon_h1|trl_chat_templates_lfm2|qwen1\.5-chat|MiniMax-M3|DeepSeek-V3\.2|Deepseek-V3\.1`)

// ends are the tokens at the end of an answer.
var ends = regexp.MustCompile(`(<\|[a-z_]+\|?>|</s>|\s)+$`)

// TestAnswersOfTemplates takes apart what templates make of messages: the same messages come back.
func TestAnswersOfTemplates(t *testing.T) {
	stopClock(t)
	known := map[answer.Calls]int{}
	for name, source := range publicTemplates(t) {
		f := answer.Detect(source, nil)
		if f.Calls == answer.None || faulty.MatchString(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c := New(tokenizer.Config{ChatTemplate: source, Special: map[string]string{"bos_token": "<s>", "eos_token": "</s>"}})
			rendered := 0
			for _, m := range []Message{
				{Role: "assistant", ToolCalls: weatherCalls[:1]},
				{Role: "assistant", Content: "I look.", ToolCalls: weatherCalls[:1]},
				{Role: "assistant", ToolCalls: weatherCalls},
				{Role: "assistant", Content: "So.", Reasoning: "Hm."},
				{Role: "assistant", Content: "So.", Reasoning: "Hm.", ToolCalls: weatherCalls},
			} {
				text, prompt, err := written(c, m, f)
				if err != nil {
					continue // The template takes no such message.
				}
				a, err := answer.Parse(f, answer.Options{Tools: weather, Prompt: prompt}, text)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Count(text, "weather") < len(m.ToolCalls) {
					continue // It leaves calls out.
				}
				sameCalls(t, text, a.Calls, m.ToolCalls)
				rendered += len(m.ToolCalls)
				if strings.Contains(text, m.Content) && strings.TrimSpace(a.Content) != m.Content || strings.Contains(text, m.Reasoning) && a.Reasoning != m.Reasoning {
					t.Errorf("reasoning %q and content %q of %q, want %q and %q", a.Reasoning, a.Content, text, m.Reasoning, m.Content)
				}
			}
			if rendered == 0 {
				t.Error("no calls are rendered")
			}
			known[f.Calls]++
		})
	}
	t.Log(known)
	for _, c := range []answer.Calls{answer.Hermes, answer.Llama, answer.Mistral, answer.DeepSeek} {
		if known[c] == 0 {
			t.Errorf("no template of %s", c)
		}
	}
}

// written is what a model wrote if it wrote m as the template does, and the prompt before.
func written(c *Templates, m Message, f answer.Format) (text, prompt string, err error) {
	chat := []Message{{Role: "user", Content: "Hello"}}
	o := Options{Tools: weather}
	if prompt, err = c.prompt(chat, o); err != nil {
		return "", "", err
	}
	o.NoGenerationPrompt = true
	whole, err := c.prompt(append(chat, m), o)
	if err != nil {
		return "", "", err
	}
	at := 0
	for at < len(prompt) && at < len(whole) && prompt[at] == whole[at] {
		at++
	}
	if at < len(prompt) {
		// The prompt begins reasoning, and the message has no reasoning.
		at = strings.LastIndexAny(whole[:at], ">\n]") + 1
	}
	text = whole[at:]
	if f.Unthink == "" || !strings.HasPrefix(text, f.Unthink) {
		prompt = prompt[:at]
	}
	if plain, err := c.prompt(append(chat, Message{Role: "assistant", Content: "END"}), o); err == nil {
		_, end, _ := strings.Cut(plain, "END")
		text = strings.TrimSuffix(text, end)
	}
	return ends.ReplaceAllString(text, ""), prompt, nil
}

// sameCalls compares calls except for their IDs.
func sameCalls(t *testing.T, text string, got, want []answer.Call) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d calls in %q, want %d", len(got), text, len(want))
		return
	}
	for i := range got {
		var a, b map[string]any
		if err := json.Unmarshal([]byte(got[i].Arguments), &a); err != nil {
			t.Error(err)
		}
		if err := json.Unmarshal([]byte(want[i].Arguments), &b); err != nil {
			t.Error(err)
		}
		if got[i].Name != want[i].Name || !reflect.DeepEqual(a, b) || got[i].ID == "" {
			t.Errorf("%+v in %q, want %+v", got[i], text, want[i])
		}
	}
}

// TestCallsInPrompts renders calls as the raw messages that transformers takes, and in other ways
// for templates that fail with those.
func TestCallsInPrompts(t *testing.T) {
	stopClock(t)
	chat := []Message{{Role: "user", Content: "Hello"}, {Role: "assistant", Reasoning: "Hm.", ToolCalls: weatherCalls[:1]}, {Role: "tool", ToolCallID: "abcdefgh1", Content: "21"}}
	raw := json.RawMessage(`[{"role": "user", "content": "Hello"}, {"role": "assistant", "content": null, "reasoning_content": "Hm.", "tool_calls": [{"id": "abcdefgh1", "type": "function",
		"function": {"name": "weather", "arguments": ` + weatherCalls[0].Arguments + `}}]}, {"role": "tool", "content": "21", "tool_call_id": "abcdefgh1"}]`)
	templates := publicTemplates(t)
	templates["all"] = "{% for m in messages %}{% for name, value in m.items() %}{{ name if name != 'thinking' }}={{ value | tojson if name != 'thinking' }};{% endfor %}{% endfor %}"
	compared := 0
	for name, source := range templates {
		c := New(tokenizer.Config{ChatTemplate: source})
		want, err := c.prompt(raw, Options{Tools: weather})
		if err != nil {
			continue
		}
		compared++
		if got, err := c.prompt(chat, Options{Tools: weather}); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	if compared < 5 {
		t.Errorf("%d templates take calls", compared)
	}
	for _, x := range []struct{ template, want string }{
		{"{% for m in messages %}{% for c in m.tool_calls %}{{ '>' + c.function.arguments }}{% endfor %}{% endfor %}", ">" + weatherCalls[0].Arguments},
		{"{{ 'none' if messages[1].content is none else messages[1].content + 'x' }}", "none"},
		{"{{ messages[1].content.split('x') | length }}", "1"},
		{"{{ messages[1].content.split('x') | length }}{{ messages[1].tool_calls[0].function.arguments + 'x' }}", "1" + weatherCalls[0].Arguments + "x"},
		{"{{ messages[1].tool_calls[0].function.arguments.days }}{{ messages[1].content is defined }}", "3False"},
	} {
		c := New(tokenizer.Config{ChatTemplate: x.template})
		if got, err := c.prompt(chat, Options{}); err != nil || got != x.want {
			t.Errorf("%s: %q, %v, want %q", x.template, got, err, x.want)
		}
	}
	c := New(tokenizer.Config{ChatTemplate: "{{ raise_exception('no ' + messages[1].tool_calls[0].function.arguments.city) }}"})
	if _, err := c.prompt(chat, Options{}); !errors.Is(err, fault.ErrTemplate) || !strings.Contains(err.Error(), "no Zürich") {
		t.Errorf("error %v, want the first one", err)
	}
	chat[1].ToolCalls = []answer.Call{{Name: "f", Arguments: "no JSON"}}
	c = New(tokenizer.Config{ChatTemplate: "{{ messages[1].tool_calls[0].function.arguments }}"})
	if got, err := c.prompt(chat, Options{}); err != nil || got != "no JSON" {
		t.Errorf("arguments that are not an object: %q, %v", got, err)
	}
}
