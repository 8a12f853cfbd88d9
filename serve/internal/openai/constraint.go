// This file reads the format that an answer must follow, from the fields of several servers.

package openai

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/avoformer/avoformer/grammar"
	"github.com/avoformer/avoformer/serve/internal/chat"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
)

// constraint has the fields with which a request states the format of an answer: OpenAI's,
// llama.cpp's, vLLM's. Only one may be set.
type constraint struct {
	Format *responseFormat `json:"response_format"`

	Schema json.RawMessage `json:"json_schema"`
	GBNF   string          `json:"grammar"`

	Structured    *structured     `json:"structured_outputs"`
	GuidedJSON    json.RawMessage `json:"guided_json"`
	GuidedRegex   string          `json:"guided_regex"`
	GuidedChoice  []string        `json:"guided_choice"`
	GuidedGrammar string          `json:"guided_grammar"`
}

type responseFormat struct {
	Type   string          `json:"type"`
	Value  json.RawMessage `json:"value"` // text-generation-inference's, of the types json and regex, and of json_object
	Schema *struct {
		Schema      json.RawMessage `json:"schema"`
		Name        string          `json:"name"` // has no effect on the answer; nor has the description
		Description string          `json:"description"`
		Strict      *bool           `json:"strict"` // a keyword that generation cannot enforce is an error
	} `json:"json_schema"`
}

// structured is vLLM's structured_outputs.
type structured struct {
	JSON    json.RawMessage `json:"json"`
	Object  bool            `json:"json_object"`
	Regex   string          `json:"regex"`
	Choice  []string        `json:"choice"`
	Grammar string          `json:"grammar"`
}

// format returns the format that the answer must follow, nil for any text, and the name of the
// field that states it.
func (in *constraint) format() (f *chat.Format, field string, err error) {
	type source struct {
		field string
		given bool
		make  func() (*chat.Format, error)
	}
	schema := func(field string, raw json.RawMessage) source {
		return source{field, !wire.IsNull(raw), func() (*chat.Format, error) {
			if s, ok := textOf(raw); ok { // a schema may be written as a string
				raw = json.RawMessage(s)
			}
			return chat.SchemaFormat(raw, false)
		}}
	}
	gbnf := func(field, text string) source {
		return source{field, text != "", func() (*chat.Format, error) { return formatOf(grammar.GBNF(text)) }}
	}
	pattern := func(field, text string) source {
		return source{field, text != "", func() (*chat.Format, error) { return formatOf(grammar.Regexp(text)) }}
	}
	choice := func(field string, texts []string) source {
		return source{field, texts != nil, func() (*chat.Format, error) { return formatOf(oneOf(texts)) }}
	}
	s := in.Structured
	if s == nil {
		s = new(structured)
	}
	for _, x := range []source{
		{"response_format", in.Format != nil && in.Format.Type != "text", in.Format.format},
		schema("json_schema", in.Schema), gbnf("grammar", in.GBNF),
		schema("structured_outputs.json", s.JSON), {"structured_outputs.json_object", s.Object, func() (*chat.Format, error) { return chat.JSON(), nil }},
		pattern("structured_outputs.regex", s.Regex), choice("structured_outputs.choice", s.Choice), gbnf("structured_outputs.grammar", s.Grammar),
		schema("guided_json", in.GuidedJSON), pattern("guided_regex", in.GuidedRegex), choice("guided_choice", in.GuidedChoice), gbnf("guided_grammar", in.GuidedGrammar),
	} {
		switch {
		case !x.given:
			continue
		case field != "":
			return nil, "", engine.Errorf(engine.Invalid, "%s and %s are given, want one of them", field, x.field).At(x.field)
		}
		field = x.field
		if f, err = x.make(); err != nil {
			return nil, "", wrongGrammar(err, field)
		}
	}
	return f, field, nil
}

// wrongGrammar returns an error about a field that is not a grammar.
func wrongGrammar(err error, field string) error {
	e := engine.AsError(err)
	if e.Kind == engine.Internal { // of package grammar
		e = &engine.Error{Kind: engine.Invalid, Message: field + ": " + strings.TrimPrefix(err.Error(), "grammar: "), Err: err}
	}
	return e.At(field)
}

// formatOf returns the format of a grammar.
func formatOf(g *grammar.Grammar, err error) (*chat.Format, error) {
	if err != nil {
		return nil, err
	}
	return &chat.Format{Grammar: g}, nil
}

// oneOf returns the grammar of some texts.
func oneOf(texts []string) (*grammar.Grammar, error) {
	if len(texts) == 0 {
		return nil, engine.Errorf(engine.Invalid, "there is nothing to choose from")
	}
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = regexp.QuoteMeta(t)
	}
	return grammar.Regexp("(" + strings.Join(quoted, "|") + ")")
}

// format returns the format that the answer must follow.
func (f *responseFormat) format() (*chat.Format, error) {
	valued := !wire.IsNull(f.Value)
	switch {
	case valued && f.Schema != nil:
		return nil, engine.Errorf(engine.Invalid, "response_format with value and json_schema, want one of them")
	case valued:
		return chat.ValueFormat(f.Type, f.Value)
	case f.Type == "json_object":
		return chat.JSON(), nil
	case f.Type != "json_schema":
		return nil, engine.Errorf(engine.Invalid, "response_format %.50q, want text, json_object or json_schema, or json or regex with a value", f.Type)
	case f.Schema == nil || wire.IsNull(f.Schema.Schema):
		return nil, engine.Errorf(engine.Invalid, "response_format without json_schema.schema")
	}
	return chat.SchemaFormat(f.Schema.Schema, flag(f.Schema.Strict, false))
}
