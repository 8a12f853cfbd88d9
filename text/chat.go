// Chats: messages to a prompt, and the answer to it.

package text

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/text/answer"
	"github.com/avoformer/avoformer/text/internal/jinja"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// ErrTemplate is a chat template that cannot be used: none at all, one beyond
// the Jinja that is known, or one that refuses the messages.
var ErrTemplate = errors.New("chat template")

// PromptOptions says how messages become a prompt, as the arguments of transformers'
// apply_chat_template do. The zero value takes the folder's template and ends the prompt
// where the assistant's answer begins.
type PromptOptions struct {
	// Tools are those that the model may call, and Documents what it may quote: nil, or
	// anything whose JSON is an array of objects.
	Tools, Documents any
	// Template is the name of one of the folder's templates, or the Jinja of another;
	// "" is the folder's one, or of several the one named tool_use if there are Tools,
	// else default.
	Template string
	// Continue is the field of the last message, such as "content", that the answer
	// continues; "" begins a message of the assistant.
	Continue string
	// NoGenerationPrompt ends the prompt after the last message.
	NoGenerationPrompt bool
	// Variables are further ones of the template, such as "enable_thinking". They hide
	// the special tokens that templates get by role.
	Variables map[string]any
	// Format is how the model writes calls and reasoning; nil: as the template and the
	// vocabulary say. See [Generator.AnswerFormat].
	Format *answer.Format
}

// Chat yields the assistant's answer to the messages, which the folder's
// template turns into a prompt, piece by piece; the last one says why it ended, and what was counted. With tools and other
// options, see [Generator.Answer]; [CollectPieces] joins the pieces.
func (g *Generator) Chat(ctx context.Context, messages []Message, opts GenerateOptions) iter.Seq2[Piece, error] {
	prompt, err := g.Prompt(messages, PromptOptions{})
	if err != nil {
		return func(yield func(Piece, error) bool) { yield(Piece{}, err) }
	}
	return g.whole(ctx, prompt, plainTokens, opts)
}

// Prompt is what a template makes of messages: a []Message, or anything else whose JSON
// is an array of objects, such as a json.RawMessage, the keys of which keep their order.
// [Generator.ContinuePrompt] takes it. Errors are ErrTemplate, ErrInput for messages and
// ErrOption for options that cannot be.
//
// As in transformers, fields of a message that are null are left out; reasoning_content,
// thinking and reasoning are names for one thing, which templates find as
// reasoning_content and thinking; and tools and documents are none where there are none.
// Of a template without a place for tools, the tools become part of the system's message, or of the user's first one
// where the template has none for the system; calls and their results become texts of the assistant and of the user. See
// [answer.Written].
// ToolCalls of a []Message have their arguments as an object, as transformers wants them; of a
// template that fails with that, as text, and with a content that is none or empty.
func (g *Generator) Prompt(messages any, opts PromptOptions) (string, error) {
	if f := g.AnswerFormat(opts); f.Calls == answer.Written {
		opts.Format = &f
	}
	return g.chats.prompt(messages, opts)
}

// chats makes prompts by a folder's templates.
type chats struct {
	single  *chatTemplate            // nil if the folder has none, or named ones
	named   map[string]*chatTemplate // nil without names
	special map[string]string        // tokens by role
}

// chatTemplate is a template with what may be wrong with it: a template beyond what is
// known must not keep a folder from being opened.
type chatTemplate struct {
	source string
	parsed *jinja.Template
	err    error
}

func newTemplate(source string) *chatTemplate {
	t := &chatTemplate{source: source}
	t.parsed, t.err = jinja.Parse(source)
	return t
}

func newChats(c tokenizer.Config) *chats {
	r := &chats{special: c.Special}
	switch {
	case c.Templates != nil:
		r.named = map[string]*chatTemplate{}
		for name, source := range c.Templates {
			r.named[name] = newTemplate(source)
		}
	case c.ChatTemplate != "":
		r.single = newTemplate(c.ChatTemplate)
	}
	return r
}

// template is the one that the options ask for.
func (c *chats) template(o *PromptOptions) (*chatTemplate, error) {
	t := c.named[o.Template]
	switch {
	case o.Template != "" && t != nil:
		return t, nil
	case o.Template != "":
		return newTemplate(o.Template), nil
	case c.single != nil:
		return c.single, nil
	case c.named == nil:
		return nil, fmt.Errorf("%w: the folder has none", ErrTemplate)
	case o.Tools != nil && c.named["tool_use"] != nil:
		return c.named["tool_use"], nil
	case c.named["default"] != nil:
		return c.named["default"], nil
	}
	return nil, fmt.Errorf("%w: none is named default: name one of %q", ErrTemplate, slices.Sorted(maps.Keys(c.named)))
}

func (c *chats) prompt(messages any, o PromptOptions) (string, error) {
	variables := map[string]any{"tools": nil, "documents": nil, "add_generation_prompt": !o.NoGenerationPrompt && o.Continue == ""}
	if err := o.set(variables); err != nil {
		return "", err
	}
	written := o.Format != nil && o.Format.Calls == answer.Written && o.hasTools()
	if written {
		o.Tools = nil // to choose the template
	}
	t, err := c.template(&o)
	if err != nil {
		return "", err
	}
	if t.err != nil {
		return "", fmt.Errorf("%w: %w", ErrTemplate, t.err)
	}
	for role, token := range c.special {
		if _, hidden := variables[role]; !hidden {
			variables[role] = token
		}
	}
	if written {
		return t.renderWritten(messages, variables, o.Continue)
	}
	prompt, err := t.render(messages, variables, o.Continue, callForms[0])
	if list, ok := messages.([]Message); err != nil && ok && slices.ContainsFunc(list, Message.hasCalls) {
		for _, form := range callForms[1:] {
			if other, err := t.render(messages, variables, o.Continue, form); err == nil {
				return other, nil
			}
		}
	}
	return prompt, err
}

// render is the prompt that a template makes of messages.
func (t *chatTemplate) render(messages any, variables map[string]any, open string, calls callForm) (string, error) {
	messages, err := calls.write(messages)
	if err != nil {
		return "", check.Errorf(ErrInput, "messages: %w", err)
	}
	list, err := readMessages(messages)
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
		return "", fmt.Errorf("%w: %w", ErrTemplate, err)
	}
	if rest != nil {
		return rest.cut(prompt)
	}
	return prompt, nil
}

// set adds what the options say to the variables, which hold those that have an option of
// their own.
func (o *PromptOptions) set(variables map[string]any) error {
	for name, v := range o.Variables {
		if _, taken := variables[name]; taken || name == "messages" {
			return check.Option("Variables", name, "the messages or another option say it")
		}
		variables[name] = v
	}
	for _, x := range []struct {
		name string
		v    *any
	}{{"tools", &o.Tools}, {"documents", &o.Documents}} {
		list, err := objects(*x.v)
		if err != nil {
			return check.Option(x.name, "", "%w", err)
		}
		if list == nil {
			*x.v = nil // as JSON's null is
			continue
		}
		variables[x.name] = list
	}
	return nil
}
