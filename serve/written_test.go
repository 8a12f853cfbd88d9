package serve

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// toolless returns a server of the generator with a longer context and a template that has no place
// for tools.
func toolless(t *testing.T) *httptest.Server {
	const template = `{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n`
	dir := roomyFolder(t)
	path := filepath.Join(dir, "tokenizer_config.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	config := decode[map[string]any](t, string(data))
	config["chat_template"] = strings.ReplaceAll(template, `\n`, "\n")
	if data, err = json.Marshal(config); err != nil || !bytes.Contains(data, []byte("m.content")) {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return startedAs(t, Options{}, Model{Dir: dir})
}

// TestToolsWithoutTemplate: a model whose template has no tools is told of them, and calls them
// where it must.
func TestToolsWithoutTemplate(t *testing.T) {
	t.Parallel()
	h := toolless(t)
	counts := map[bool]int{}
	for _, tools := range []bool{false, true} {
		body := `{` + hi + `, "max_tokens": 60`
		if tools {
			body += `, ` + weatherTools + `, "tool_choice": "required"`
		}
		status, reply, _ := ask(t, "POST", h.URL+"/v1/chat/completions", body+`}`)
		if status != 200 {
			t.Fatal(status, reply)
		}
		got := decode[chatAnswer](t, reply)
		counts[tools] = got.Usage.Prompt
		calls := got.Choices[0].Message.Calls
		if !tools {
			continue
		}
		if len(calls) != 1 || calls[0].Function.Name != "see" || strings.ReplaceAll(calls[0].Function.Arguments, " ", "") != `{"a":"Rom"}` || got.Choices[0].Finish != "tool_calls" {
			t.Error(reply)
		}
	}
	if counts[true] < counts[false]+100 {
		t.Errorf("a prompt of %d tokens, %d with tools", counts[false], counts[true])
	}
	const turn = `"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "see", "arguments": "{\"a\": \"Rom\"}"}}]}, {"role": "tool", "tool_call_id": "c", "content": "Sun"}]`
	if status, reply, _ := ask(t, "POST", h.URL+"/v1/chat/completions", `{`+turn+`, `+weatherTools+`, "max_tokens": 4}`); status != 200 || decode[chatAnswer](t, reply).Usage.Prompt < counts[true]+50 {
		t.Error(status, reply)
	}
}
