// This file has the formats that answers must follow, and checks finished answers.

package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/grammar"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/text/answer"
)

// Format is a format that an answer must follow.
type Format struct {
	Grammar  *grammar.Grammar
	warnings []string                      // of keywords that the grammar does not enforce
	content  *grammar.Validator            // of the content's schema; nil: the grammar enforces all of it
	calls    map[string]*grammar.Validator // of the schemas of arguments, by the names of tools
}

// JSON returns the format of any JSON object.
func JSON() *Format { return &Format{Grammar: grammar.JSONObject()} }

// SchemaFormat returns the format of a JSON schema. If strict is set, a keyword that a grammar
// cannot enforce is an error with its path; otherwise answers have a warning, and are validated.
// Errors have a kind.
func SchemaFormat(schema []byte, strict bool) (*Format, error) {
	g, unheld, err := grammar.SchemaOptions{Lenient: !strict}.Compile(schema)
	if err != nil {
		return nil, schemaError("", err)
	}
	f := &Format{Grammar: g}
	f.content = f.warn("the schema", schema, unheld)
	return f, nil
}

func schemaError(where string, err error) error {
	return &engine.Error{Kind: engine.Invalid, Message: where + strings.TrimPrefix(err.Error(), "grammar: "), Err: err}
}

// warn adds warnings for the keywords of a schema that generation does not enforce, and returns a
// validator of the schema. It returns nil if nothing needs a check, or if the schema cannot be
// checked.
func (f *Format) warn(what string, schema []byte, unheld []grammar.Unheld) *grammar.Validator {
	needed := false
	for _, u := range unheld {
		f.warnings = append(f.warnings, fmt.Sprintf("%s: %s: not held while the answer is generated: %s", what, u.Path, u.Reason))
		needed = needed || !u.Unknown
	}
	if !needed {
		return nil
	}
	c, err := grammar.NewValidator(schema)
	if err != nil {
		f.warnings = append(f.warnings, what+": answers are not validated either, the validator refuses it")
		return nil
	}
	return c
}

// verify returns the violation by an answer of a schema that the grammar does not enforce
// completely, or nil.
func (f *Format) verify(a *answer.Answer) (broken []string) {
	if f.content != nil && len(a.Calls) == 0 {
		if err := check(f.content, a.Content); err != nil {
			broken = append(broken, fmt.Sprintf("the answer does not follow the schema: %v", err))
		}
	}
	for _, call := range a.Calls {
		if c := f.calls[call.Name]; c != nil {
			if err := check(c, call.Arguments); err != nil {
				broken = append(broken, fmt.Sprintf("the arguments of %.60q do not follow the schema: %v", call.Name, err))
			}
		}
	}
	return broken
}

// anyObject is used for the parameters of a tool whose own are missing or cannot be enforced.
var anyObject = json.RawMessage(`{"type": "object"}`)

// callFormat returns the format of calls of tools: an object with the name and with the arguments,
// under that name. If a tool is not strict, and its parameters are not a schema or a grammar cannot
// enforce them, its calls may have any object.
func callFormat(tools []Tool, arguments string) (*Format, error) {
	f := &Format{calls: map[string]*grammar.Validator{}}
	var options []any
	for i, t := range tools {
		parameters := t.Parameters
		if len(parameters) == 0 || string(parameters) == "null" {
			parameters = anyObject
		}
		parameters, err := f.parameters(t, parameters)
		if err != nil {
			return nil, err
		}
		options = append(options, map[string]any{
			"type": "object", "additionalProperties": false, "required": []string{"name", arguments},
			"properties": ordered{{"name", map[string]any{"const": t.Name}}, {arguments, resource(parameters, i)}},
		})
	}
	schema, err := json.Marshal(map[string]any{"anyOf": options})
	if err != nil {
		return nil, err
	}
	if f.Grammar, _, err = (grammar.SchemaOptions{Lenient: true}).Compile(schema); err != nil {
		return nil, schemaError("parameters of tools: ", err)
	}
	return f, nil
}

// parameters returns the schema that the calls of a tool must follow.
func (f *Format) parameters(t Tool, parameters json.RawMessage) (json.RawMessage, error) {
	what := fmt.Sprintf("the tool %.60q", t.Name)
	_, unheld, err := grammar.SchemaOptions{Lenient: !t.Strict}.Compile(parameters)
	switch {
	case err != nil && (t.Strict || errors.Is(err, fault.ErrTooLarge)):
		return nil, schemaError(what+": ", err)
	case err != nil:
		f.warnings = append(f.warnings, fmt.Sprintf("%s: its arguments are any object: %s", what, strings.TrimPrefix(err.Error(), "grammar: ")))
		return anyObject, nil
	}
	if c := f.warn(what, parameters, unheld); c != nil {
		f.calls[t.Name] = c
	}
	return parameters, nil
}

// resource returns a schema as part of another: its references lead to itself.
func resource(schema json.RawMessage, i int) json.RawMessage {
	var o struct {
		ID *string `json:"$id"`
	}
	if schema[0] != '{' || json.Unmarshal(schema, &o) != nil || o.ID != nil {
		return schema
	}
	rest := strings.TrimLeft(string(schema[1:]), " \t\r\n")
	comma := ","
	if rest[0] == '}' {
		comma = ""
	}
	return fmt.Appendf(nil, `{"$id":"urn:tool:%d"%s%s`, i, comma, rest)
}

// ordered is a JSON object whose fields keep their order.
type ordered [2]struct {
	name  string
	value any
}

func (o ordered) MarshalJSON() ([]byte, error) {
	first, err := json.Marshal(o[0].value)
	if err != nil {
		return nil, err
	}
	second, err := json.Marshal(o[1].value)
	return fmt.Appendf(nil, "{%q:%s,%q:%s}", o[0].name, first, o[1].name, second), err
}

// ValueFormat returns the format that text-generation-inference's protocol writes as a type and a
// value: the types are json, with a schema, and regex, with a regular expression.
func ValueFormat(kind string, value json.RawMessage) (*Format, error) {
	switch kind {
	case "json", "json_object":
		return SchemaFormat(value, false)
	case "json_schema": // with a name next to the schema
		var named struct {
			Schema json.RawMessage `json:"schema"`
		}
		if json.Unmarshal(value, &named) == nil && named.Schema != nil {
			return SchemaFormat(named.Schema, false)
		}
		return SchemaFormat(value, false)
	case "regex":
		var pattern string
		if err := json.Unmarshal(value, &pattern); err != nil {
			return nil, engine.Errorf(engine.Invalid, "the value of a regex is not a string")
		}
		g, err := grammar.Regexp(pattern)
		if err != nil {
			return nil, schemaError("", err)
		}
		return &Format{Grammar: g}, nil
	}
	return nil, engine.Errorf(engine.Invalid, "a format of type %.50q with a value, want json or regex", kind)
}
