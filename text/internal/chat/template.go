// Package chat makes prompts from a chat's messages with the templates of a folder.
package chat

import (
	"fmt"
	"maps"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/text/answer"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Options are those of text.PromptOptions, which says what they mean.
type Options struct {
	Tools, Documents   any
	Template           string
	Continue           string
	NoGenerationPrompt bool
	Variables          map[string]any
	Format             *answer.Format
	Literal            *Literal // nil: control tokens work wherever they are written
}

// hasTools reports whether there is a tool. It is true of anything that is not a list, so that
// using it is an error later.
func (o *Options) hasTools() bool {
	list, err := objects(o.Tools)
	return err != nil || len(list) > 0
}

// Templates makes prompts by a folder's templates.
type Templates struct {
	single  *chatTemplate            // nil if the folder has none, or named ones
	named   map[string]*chatTemplate // nil without names
	special map[string]string        // tokens by role
}

// New reads the templates of a tokenizer's folder.
func New(c tokenizer.Config) *Templates {
	r := &Templates{special: c.Special}
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

// template returns the one that the options ask for.
func (c *Templates) template(o *Options) (*chatTemplate, error) {
	t := c.named[o.Template]
	switch {
	case o.Template != "" && t != nil:
		return t, nil
	case o.Template != "":
		return newTemplate(o.Template), nil
	case c.single != nil:
		return c.single, nil
	case c.named == nil:
		return nil, fmt.Errorf("%w: the folder has none", fault.ErrTemplate)
	case o.Tools != nil && c.named["tool_use"] != nil:
		return c.named["tool_use"], nil
	case c.named["default"] != nil:
		return c.named["default"], nil
	}
	return nil, fmt.Errorf("%w: none is named default: name one of %q", fault.ErrTemplate, slices.Sorted(maps.Keys(c.named)))
}

// Format describes how a model writes calls and reasoning in answers to prompts with these options,
// as text.Generator's AnswerFormat says. hasToken reports whether the vocabulary has a token.
func (c *Templates) Format(o Options, hasToken func(string) bool) answer.Format {
	if o.Format != nil {
		return *o.Format
	}
	t, err := c.template(&o)
	if err != nil {
		t = new(chatTemplate)
	}
	return t.format(o.hasTools(), hasToken)
}

// Prompt returns the prompt that the options' template makes of messages: a []Message, or anything
// else whose JSON is an array of objects. hasToken is as for Format.
func (c *Templates) Prompt(messages any, o Options, hasToken func(string) bool) (string, error) {
	if f := c.Format(o, hasToken); f.Calls == answer.Written {
		o.Format = &f
	}
	return c.prompt(messages, o)
}

func (c *Templates) prompt(messages any, o Options) (string, error) {
	variables := map[string]any{"tools": nil, "documents": nil, "add_generation_prompt": !o.NoGenerationPrompt && o.Continue == ""}
	if err := o.set(variables); err != nil {
		return "", err
	}
	l := o.Literal
	if list, ok := variables["documents"].([]*object); ok {
		if err := l.documents(list); err != nil {
			return "", check.Option("documents", "", "%w", err)
		}
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
		return "", t.err
	}
	for role, token := range c.special {
		if _, hidden := variables[role]; !hidden {
			variables[role] = token
		}
	}
	if written {
		return t.renderWritten(messages, l, variables, o.Continue)
	}
	prompt, err := t.render(messages, l, variables, o.Continue, callForms[0])
	if list, ok := messages.([]Message); err != nil && ok && slices.ContainsFunc(list, Message.hasCalls) {
		for _, form := range callForms[1:] {
			if other, err := t.render(messages, l, variables, o.Continue, form); err == nil {
				return other, nil
			}
		}
	}
	return prompt, err
}

// set adds what the options say to the variables, which hold those that have an option of their
// own.
func (o *Options) set(variables map[string]any) error {
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
