// This file adds to the bodies of requests what the files do not state.

package openapi

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/avoformer/avoformer/serve/internal/wire"
)

// closeBody adds to the schema of a body those fields of its struct that the file lacks, and
// forbids further fields.
func closeBody(operation object, schemas object, body any) {
	request, _ := operation["requestBody"].(object)
	content, _ := request["content"].(object)
	media, _ := content["application/json"].(object)
	schema, _ := media["schema"].(object)
	if ref, ok := schema["$ref"].(string); ok {
		schema, _ = schemas[strings.TrimPrefix(ref, "#/components/schemas/")].(object)
	}
	properties, ok := schema["properties"].(object)
	if !ok {
		return
	}
	schema["additionalProperties"] = false
	fields, neutral := wire.Fields(body)
	for name, t := range fields {
		if properties[name] == nil {
			properties[name] = typed(t)
		}
	}
	for name, values := range neutral {
		if properties[name] == nil && !strings.Contains(name, ".") {
			properties[name] = without(values)
		}
	}
}

// typed returns the schema of a field of a type.
func typed(t reflect.Type) object {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := map[reflect.Kind]string{reflect.Bool: "boolean", reflect.String: "string", reflect.Int: "integer", reflect.Int64: "integer", reflect.Float64: "number",
		reflect.Slice: "array", reflect.Map: "object", reflect.Struct: "object"}[t.Kind()]
	if name == "" || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return object{}
	}
	return object{"type": []any{name, "null"}}
}

// without returns the schema of a neutral field.
func without(values []string) object {
	s := object{"description": "changes no answer"}
	if len(values) > 0 {
		enum := []any{nil}
		for _, v := range values {
			enum = append(enum, json.RawMessage(v))
		}
		s["enum"] = enum
	}
	return s
}
