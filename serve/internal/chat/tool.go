// This file creates tools for protocols with another form of tools.

package chat

import (
	"bytes"
	"encoding/json"

	"github.com/avoformer/avoformer/serve/internal/engine"
)

// NewTool returns a tool with its JSON in the form that templates accept. The parameters are a JSON
// schema; null or empty means no parameters.
func NewTool(name, description string, parameters json.RawMessage, strict *bool) (t Tool, err error) {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}
	switch {
	case name == "":
		return t, engine.Errorf(engine.Invalid, "a tool without a name").At("tools")
	case string(parameters) == "null":
		parameters = nil
	case len(parameters) > 0 && parameters[0] != '{':
		return t, engine.Errorf(engine.Invalid, "tool %.100q: the schema of its parameters is not an object", name).At("tools")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // models read the JSON
	err = e.Encode(struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", function{name, description, parameters}})
	return Tool{name, parameters, strict != nil && *strict, bytes.TrimSpace(b.Bytes())}, err
}
