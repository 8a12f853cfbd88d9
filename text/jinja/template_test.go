package jinja

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/avoformer/avoformer/fault"
)

// rendered is the file that text/scripts/chat_templates.py writes.
type rendered struct {
	Now       string
	Templates []struct {
		Name, Template string
		Cases          []struct {
			Messages  json.RawMessage
			Variables map[string]json.RawMessage
			Expected  *string
			Error     string
		}
	}
}

var compileError = regexp.MustCompile(`^(Template)?SyntaxError|^TemplateAssertionError`)

func readRendered(t testing.TB) rendered {
	t.Helper()
	data, err := os.ReadFile("testdata/templates.json")
	if err != nil {
		t.Fatal(err)
	}
	var r rendered
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTemplates compares with what transformers renders: the same text, or an error where it has
// one.
func TestTemplates(t *testing.T) {
	r := readRendered(t)
	at, err := time.Parse("2006-01-02T15:04:05", r.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range r.Templates {
		t.Run(x.Name, func(t *testing.T) {
			template, err := Parse(x.Template)
			// Errors that jinja2 finds when it compiles a template are found when it is parsed.
			compiles := !compileError.MatchString(x.Cases[0].Error)
			if compiles != (err == nil) || err != nil && !errors.Is(err, fault.ErrTemplateSyntax) {
				t.Fatalf("error %v, want one like %q", err, x.Cases[0].Error)
			}
			if err != nil {
				return
			}
			template = template.WithClock(func() time.Time { return at })
			for i, c := range x.Cases {
				v := map[string]any{"messages": c.Messages}
				for k, y := range c.Variables {
					v[k] = y
				}
				got, err := template.Render(v)
				switch {
				case c.Expected == nil && err == nil:
					t.Errorf("case %d: got %q, want an error like %q", i, got, c.Error)
				case c.Expected == nil:
					if raised := strings.Contains(c.Error, "TemplateError: "); !errors.Is(err, fault.ErrTemplate) || raised != errors.Is(err, fault.ErrTemplateRaised) {
						t.Errorf("case %d: error %v, want one like %q", i, err, c.Error)
					}
				case err != nil:
					t.Errorf("case %d: %v\nwant %q", i, err, *c.Expected)
				case got != *c.Expected:
					t.Errorf("case %d: got\n%q\nwant\n%q", i, got, *c.Expected)
				}
			}
		})
	}
}

// TestBounded renders templates that would work, or grow, without end.
func TestBounded(t *testing.T) {
	for name, source := range map[string]string{
		"string":    "{% set n = namespace(s='x') %}{% for i in range(100000) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
		"list":      "{% set n = namespace(s=[1]) %}{% for i in range(100000) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ n.s == [] }}",
		"sum":       "{% set n = namespace(s=[1]) %}{% for i in range(100000) %}{% set n.s = n.s + n.s %}{% endfor %}",
		"repeat":    "{{ 'x' * 1000000000000 }}",
		"loops":     "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
		"output":    "{% set s = 'x' * 10000000 %}{% for a in range(100000) %}{{ s }}{% endfor %}",
		"recursion": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
		"replace":   "{{ ('x' * 10000000).replace('x', 'x' * 200000) }}",
		"join":      "{{ ('x' * 200000).join('y' * 1000000) }}",
		"format":    "{{ '%999999999d' % 1 }}",
		"indent":    "{{ 'x'|indent(999999999, true) }}",
		"power":     "{{ 9 ** 9999999999 }}",
		"powers":    "{{ (2 ** 99) ** (2 ** 99) }}",
		"squares":   "{% set n = namespace(x=3) %}{% for i in range(100000) %}{% set n.x = n.x * n.x %}{% endfor %}",
		"divisions": "{% set x = 2 ** 130000 %}{% set y = 2 ** 65000 %}{% for i in range(100000) %}{% set z = x % y %}{% endfor %}",
		"quotients": "{% set x = 3 ** 80000 %}{% set y = 5 ** 50000 %}{% for i in range(100000) %}{% set z = x / y %}{% endfor %}",
		"digits":    "{{ 9 ** 40000 }}",
		"generator": "{% for x in range(100000) | map('string') | map('length') | select('odd') | map('string') | map('upper') | select('string') | list %}{{ range(100000) | map('string') | join }}{% endfor %}",
	} {
		t.Run(name, func(t *testing.T) {
			template, err := Parse(source)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := template.Render(nil); !errors.Is(err, fault.ErrTemplate) {
				t.Errorf("error %v, want a fault.ErrTemplate", err)
			}
		})
	}
	for name, source := range map[string]string{
		"parentheses": strings.Repeat("(", 200000),
		"nots":        "{{" + strings.Repeat("not ", 200000) + "1 }}",
		"minus":       "{{" + strings.Repeat("-", 200000) + "1 }}",
		"blocks":      strings.Repeat("{% if x %}", 200000),
		"points":      "{{ x" + strings.Repeat(".x", 200000) + "}}",
		"sum":         "{{ 1" + strings.Repeat(" + 1", 200000) + "}}",
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(source, "(") {
				source = "{{" + source + "}}"
			}
			if _, err := Parse(source); !errors.Is(err, fault.ErrTemplateSyntax) {
				t.Errorf("error %v, want a fault.ErrTemplateSyntax", err)
			}
		})
	}
}

// FuzzTemplate renders anything: an error at worst, in bounded time.
func FuzzTemplate(f *testing.F) {
	for _, x := range readRendered(f).Templates {
		f.Add(x.Template)
	}
	messages := json.RawMessage(`[{"role": "user", "content": "x"}, {"role": "assistant", "content": [{"type": "text"}], "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}]`)
	f.Fuzz(func(t *testing.T, source string) {
		template, err := Parse(source)
		if err != nil {
			return
		}
		if _, err := template.Render(map[string]any{"messages": messages, "bos_token": "<s>"}); err != nil && !errors.Is(err, fault.ErrTemplate) {
			t.Errorf("%v is not a fault.ErrTemplate", err)
		}
	})
}

// TestNumbersOfVariables compares numbers that come as JSON with what Python makes of json.loads.
func TestNumbersOfVariables(t *testing.T) {
	template, err := Parse("{{ x }} {{ x | tojson }} {{ x + 1 }}")
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"9223372036854775807":             "9223372036854775807 9223372036854775807 9223372036854775808",
		"-123456789012345678901234567890": "-123456789012345678901234567890 -123456789012345678901234567890 -123456789012345678901234567889",
		"-0":                              "0 0 1",
		"1e5":                             "100000.0 100000.0 100001.0",
		"1e400":                           "inf Infinity inf",
		"-0.0":                            "-0.0 -0.0 1.0",
	} {
		got, err := template.Render(map[string]any{"x": json.RawMessage(in)})
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", in, got, err, want)
		}
	}
	long := json.RawMessage(strings.Repeat("9", 4301))
	if _, err := template.Render(map[string]any{"x": long}); !errors.Is(err, fault.ErrTemplate) {
		t.Errorf("an integer of 4301 digits: error %v, want a fault.ErrTemplate", err)
	}
}
