// One template.

package chat

import (
	"strings"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/text/answer"
	"github.com/avoformer/avoformer/text/jinja"
)

// chatTemplate is a template, or the error of parsing it: a folder opens even if its template uses
// something that this package does not know.
type chatTemplate struct {
	source string
	parsed *jinja.Template
	err    error
}

// clock is the clock of templates; a test stops it.
var clock = time.Now

func newTemplate(source string) *chatTemplate {
	t := &chatTemplate{source: source}
	if t.parsed, t.err = jinja.Parse(source); t.err == nil {
		t.parsed = t.parsed.WithClock(func() time.Time { return clock() })
	}
	return t
}

// render returns the prompt that a template makes of messages.
func (t *chatTemplate) render(messages any, l *Literal, variables map[string]any, open string, calls callForm) (string, error) {
	messages, err := calls.write(messages)
	if err != nil {
		return "", check.Errorf(fault.ErrInput, "messages: %w", err)
	}
	list, err := readMessages(messages, l)
	if err != nil {
		return "", err
	}
	calls.fill(list)
	return t.renderList(list, variables, open)
}

// renderList is render for messages that have been read.
func (t *chatTemplate) renderList(list conversation, variables map[string]any, open string) (string, error) {
	var rest *continued
	if open != "" {
		var err error
		if rest, err = list.leaveOpen(open, t.source); err != nil {
			return "", err
		}
	}
	variables["messages"] = list
	prompt, err := t.parsed.Render(variables)
	if err != nil {
		return "", err
	}
	if rest != nil {
		return rest.cut(prompt)
	}
	return prompt, nil
}

// format is that of answers to prompts by a template with tools, or without.
func (t *chatTemplate) format(tools bool, hasToken func(string) bool) answer.Format {
	f := answer.Detect(t.source, hasToken)
	if tools && (f.Calls == answer.None || !strings.Contains(t.source, "tools")) {
		f.Calls = answer.Written
	}
	return f
}
