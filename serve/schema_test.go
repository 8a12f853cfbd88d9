package serve

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// pairs is a schema of two equal strings that says that they differ, which no grammar holds.
const pairs = `{"type": "array", "items": {"type": "string", "pattern": "^a$"}, "minItems": 2, "maxItems": 2, "uniqueItems": true}`

// TestSchemaNotHeld: what a grammar does not hold of a schema is an error where strict is set, and
// elsewhere a warning, with another one if the answer breaks it.
func TestSchemaNotHeld(t *testing.T) {
	var log lockedBuffer
	s, err := New([]Model{{Name: "roomy", Dir: roomyFolder(t)}}, Options{AccessLog: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	defer h.Close()
	const inWay, broken = "#/uniqueItems: ", "does not follow"
	format := func(strict string) string {
		return fmt.Sprintf(`"response_format": {"type": "json_schema", "json_schema": {"name": "x", %s"schema": %s}}`, strict, pairs)
	}
	tools := func(strict, choice, parameters string) string {
		return fmt.Sprintf(`"tools": [{"type": "function", "function": {"name": "see", %s"parameters": %s}}], "tool_choice": %q`, strict, parameters, choice)
	}
	inList := `{"type": "object", "properties": {"a": ` + pairs + `}, "required": ["a"]}`
	for _, c := range []struct {
		name, path, fields string
		status             int
		answer             string // part of it
		warnings           []string
	}{
		{"strict", "/v1/chat/completions", format(`"strict": true, `), 400, "#/uniqueItems: ", nil},
		{"lenient", "/v1/chat/completions", format(""), 200, `[\"a`, []string{inWay, broken}},
		{"stream", "/v1/chat/completions", `"stream": true, ` + format(""), 200, "DONE", []string{inWay}},
		{"ollama", "/api/chat", `"model": "roomy", "stream": false, "format": ` + pairs, 200, `[\"a`, []string{inWay, broken}},
		{"tool", "/v1/chat/completions", tools("", "required", inList), 200, "see", []string{`the tool "see": #/properties/a/uniqueItems: `, "the arguments of"}},
		{"strict tool", "/v1/chat/completions", tools(`"strict": true, `, "required", inList), 400, `#/properties/a/uniqueItems: `, nil},
		{"no schema", "/v1/chat/completions", tools("", "required", `{"type": "elephant"}`), 200, "see", []string{"its arguments are any object"}},
		{"auto", "/v1/chat/completions", tools("", "auto", `{"type": "elephant", "properties": 7}`), 200, "choices", nil},
		{"references", "/v1/chat/completions", tools("", "required", `{"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}, "required": ["a"], "$defs": {"b": {"const": 7}}}`), 200, `{\"a\":7}`, nil},
		{"unknown", "/v1/chat/completions", `"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"const": 7, "maxlength": 3}}}`, 200, `"content":"7"`, []string{"#/maxlength: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			log.reset()
			fields := `, "max_tokens": 90, `
			if strings.HasPrefix(c.path, "/api") {
				fields = ", "
			}
			status, answer, header := ask(t, "POST", h.URL+c.path, `{`+hi+fields+c.fields+`}`)
			spaceless := strings.NewReplacer(" ", "", `\n`, "").Replace
			if status != c.status || !strings.Contains(spaceless(answer), spaceless(c.answer)) {
				t.Fatalf("%d %s", status, answer)
			}
			given := header.Values("X-Warning")
			if len(given) != len(c.warnings) {
				t.Fatalf("warnings %q, want %q", given, c.warnings)
			}
			for i, want := range c.warnings {
				if !strings.Contains(given[i], want) {
					t.Errorf("warning %q, want %q", given[i], want)
				}
			}
			for range 200 { // the line is written once the answer is sent
				if log.String() != "" {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			if logged := strings.Contains(log.String(), broken) || strings.Contains(log.String(), "the arguments of"); logged != (c.name == "stream" || len(c.warnings) == 2) {
				t.Errorf("log: %s", log.String())
			}
		})
	}
}

// lockedBuffer is what a server logs while a test reads it.
type lockedBuffer struct {
	sync.Mutex
	b bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.Lock()
	defer l.Unlock()
	return l.b.String()
}

func (l *lockedBuffer) reset() {
	l.Lock()
	defer l.Unlock()
	l.b.Reset()
}

// TestResponseValue: formats with a value, as text-generation-inference and huggingface_hub write
// them.
func TestResponseValue(t *testing.T) {
	h := started(t, Options{}, "generate")
	for format, want := range map[string]string{
		`{"type":"json_object","value":{"const":7}}`: "7", `{"type":"json","value":{"const":7}}`: "7", `{"type":"regex","value":"a{3}"}`: "aaa",
		`{"type":"json_schema","value":{"name":"x","schema":{"const":8}}}`: "8",
	} {
		_, answer, _ := ask(t, "POST", h.URL+"/v1/chat/completions", `{"model":"generate",`+hi+`,"response_format":`+format+`}`)
		if !strings.Contains(answer, `"content":"`+want+`"`) {
			t.Errorf("%s: %s", format, answer)
		}
		if strings.Contains(format, "regex") || strings.Contains(format, `"json"`) {
			got := posted[[]struct {
				Text string `json:"generated_text"`
			}](t, h.URL+"/", object{"inputs": "hello", "parameters": object{"grammar": decode[object](t, format)}})
			if got[0].Text != want {
				t.Errorf("grammar %s: %q", format, got[0].Text)
			}
		}
	}
	for _, format := range []string{`{"type":"regex","value":"("}`, `{"type":"regex","value":7}`, `{"type":"xml","value":"x"}`, `{"type":"json","value":{"type":7}}`} {
		if status, answer, _ := ask(t, "POST", h.URL+"/v1/chat/completions", `{"model":"generate",`+hi+`,"response_format":`+format+`}`); status != 400 {
			t.Errorf("%s: %d %s", format, status, answer)
		}
		if status, answer, _ := ask(t, "POST", h.URL+"/", `{"inputs":"a","parameters":{"grammar":`+format+`}}`); status != 422 {
			t.Errorf("grammar %s: %d %s", format, status, answer)
		}
	}
}
