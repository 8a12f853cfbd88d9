package jinja_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text/jinja"
)

// ChatML, as many models have it in tokenizer_config.json.
const chatML = `{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content | trim }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

func ExampleParse() {
	_, err := jinja.Parse("{% for m in messages %}{{ m.content }")
	fmt.Println(errors.Is(err, fault.ErrTemplateSyntax))
	// Output: true
}

func ExampleTemplate_Render() {
	t, err := jinja.Parse(chatML)
	if err != nil {
		log.Fatal(err)
	}
	messages := json.RawMessage(`[{"role": "user", "content": " Hello! "}]`)
	prompt, err := t.Render(map[string]any{"messages": messages, "add_generation_prompt": true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(prompt)
	// Output:
	// <|im_start|>user
	// Hello!<|im_end|>
	// <|im_start|>assistant
}

// The template refuses messages.
func ExampleTemplate_Render_raised() {
	t, err := jinja.Parse(`{% if messages | length == 0 %}{{ raise_exception("no messages") }}{% endif %}`)
	if err != nil {
		log.Fatal(err)
	}
	_, err = t.Render(map[string]any{"messages": []any{}})
	fmt.Println(err, errors.Is(err, fault.ErrTemplateRaised))
	// Output: chat template: raised by the template: no messages true
}

func ExampleTemplate_WithClock() {
	t, err := jinja.Parse(`Today is {{ strftime_now("%d %B %Y") }}.`)
	if err != nil {
		log.Fatal(err)
	}
	day := time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)
	prompt, err := t.WithClock(func() time.Time { return day }).Render(nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(prompt)
	// Output: Today is 01 May 2026.
}
