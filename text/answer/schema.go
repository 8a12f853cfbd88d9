// Types of values that are written as text.

package answer

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/internal/pyjson"
)

// schema is the types of a tool's parameters, as far as they are said.
type schema map[string][]string

func readSchema(parameters json.RawMessage) schema {
	var o struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if pyjson.Unmarshal(parameters, &o) != nil {
		return nil
	}
	s := schema{}
	for name, raw := range o.Properties {
		s[name] = types(raw, 8)
	}
	return s
}

// types returns the types that a schema allows; it follows schemas in schemas to a depth.
func types(raw json.RawMessage, depth int) []string {
	var o struct {
		Type     any               `json:"type"`
		AnyOf    []json.RawMessage `json:"anyOf"`
		OneOf    []json.RawMessage `json:"oneOf"`
		Nullable bool              `json:"nullable"`
	}
	if depth == 0 || pyjson.Unmarshal(raw, &o) != nil {
		return nil
	}
	var list []string
	switch t := o.Type.(type) {
	case string:
		list = append(list, t)
	case []any:
		for _, x := range t {
			if name, ok := x.(string); ok {
				list = append(list, name)
			}
		}
	}
	for _, choice := range slices.Concat(o.AnyOf, o.OneOf) {
		list = append(list, types(choice, depth-1)...)
	}
	if o.Nullable {
		list = append(list, "null")
	}
	return list
}

// isText reports whether values are strings, whatever they look like.
func isText(types []string) bool {
	return !slices.ContainsFunc(types, func(t string) bool { return t != "string" })
}

// cast returns the JSON of a value of one of the types. A value that fits none of them becomes a
// string.
func cast(raw string, types []string) []byte {
	trimmed := strings.TrimSpace(raw)
	var v any
	valid := json.Valid([]byte(trimmed)) && pyjson.Unmarshal([]byte(trimmed), &v) == nil
	for _, t := range types {
		ok := false
		switch t {
		case "integer":
			var f float64
			if f, ok = v.(float64); ok {
				ok = f == float64(int64(f)) || !strings.ContainsAny(trimmed, ".eE")
			}
		case "number":
			var f float64
			f, ok = v.(float64)
			ok = ok && !math.IsInf(f, 0)
		case "object":
			_, ok = v.(map[string]any)
		case "array":
			_, ok = v.([]any)
		case "boolean": // Templates write what Python does.
			if s := strings.ToLower(trimmed); s == "true" || s == "false" {
				return []byte(s)
			}
		case "null":
			if trimmed == "None" {
				return []byte("null")
			}
			ok = valid && v == nil
		}
		if ok {
			return []byte(trimmed)
		}
	}
	return append(appendText([]byte{'"'}, raw), '"')
}

// appendText appends the inside of a string of JSON.
func appendText(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\t':
			b = append(b, '\\', 't')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return b
}
