package grammar

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// TestValidator validates values that are valid, and values that violate a schema at a place.
// scripts/schemas compares with a test suite and a library.
func TestValidator(t *testing.T) {
	const dynamic = `{"$id": "http://x/a", "$dynamicAnchor": "node", "type": "object", "properties": {"next": {"$dynamicRef": "#node"}}, "unevaluatedProperties": false}`
	for _, c := range []struct {
		schema string
		valid  []string
		broken map[string]string // by a text, a part of the message
	}{
		{`{"type": ["integer", "null"], "minimum": 2, "exclusiveMaximum": 9, "multipleOf": 0.5}`, []string{"2", "8.0", "null", "2e0"}, map[string]string{"1": "minimum 2", "9": "exclusiveMaximum", "2.5": "type", `"2"`: "type"}},
		{`{"minLength": 2, "maxLength": 3, "pattern": "^(?!ab)[a-zé]"}`, []string{`"éa"`, `"acb"`, "7"}, map[string]string{`"é"`: "1 characters", `"abc"`: "match", `"aaaa"`: "maxLength"}},
		{`{"enum": [1, {"a": [1.0, "x"]}], "const": {"a": [1, "x"]}}`, []string{`{"a": [1, "x"]}`}, map[string]string{"1": "const", "2": "enum"}},
		{`{"uniqueItems": true, "prefixItems": [{"type": "integer"}], "items": {"type": "object"}}`, []string{"[]", `[1, {"a": 1}, {"a": 2}]`},
			map[string]string{`[1, {"a": 1, "b": 2}, {"b": 2.0, "a": 1}]`: "elements 1 and 2", `[1, 2]`: "at '/1'"}},
		{`{"contains": {"const": 1}, "minContains": 2, "maxContains": 3}`, []string{"[1, 2, 1]"}, map[string]string{"[1]": "minContains", "[1,1,1,1]": "maxContains"}},
		{`{"properties": {"a/b": {"type": "null"}}, "patternProperties": {"^p": {"type": "integer"}}, "additionalProperties": false, "required": ["a/b"], "propertyNames": {"maxLength": 4}}`,
			[]string{`{"a/b": null, "p": 1}`}, map[string]string{`{"a/b": 1}`: "at '/a~1b'", `{"a/b": null, "x": 1}`: `"x"`, `{"a/b": null, "p": "x"}`: "/p", `{}`: `"a/b" is missing`, `{"a/b": null, "ppppp": 1}`: "maxLength"}},
		{`{"dependentRequired": {"a": ["b"]}, "dependencies": {"c": ["d"], "e": {"maxProperties": 1}}, "not": {"type": "object", "required": ["n"]}}`,
			[]string{`{"a": 1, "b": 1}`, `{"e": 1}`, "[1]"}, map[string]string{`{"a": 1}`: `"b"`, `{"c": 1}`: `"d"`, `{"e": 1, "f": 1}`: "maxProperties", `{"n": 1}`: "not"}},
		{`{"oneOf": [{"minimum": 3}, {"maximum": 5}], "anyOf": [{"multipleOf": 2}, {"multipleOf": 3}]}`, []string{"2", "6", "9"}, map[string]string{"4": "2 schemas of oneOf", "7": "multiple"}},
		{`{"if": {"properties": {"k": {"const": 1}}, "required": ["k"]}, "then": {"required": ["a"]}, "else": {"required": ["b"]}, "unevaluatedProperties": false, "properties": {"a": true, "b": true}}`,
			[]string{`{"k": 1, "a": 1}`, `{"b": 1}`}, map[string]string{`{"k": 1}`: `"a"`, `{"a": 1}`: `"b"`, `{"k": 2, "b": 1}`: "at '/k'"}},
		{`{"anyOf": [{"prefixItems": [true]}, {"contains": {"const": 7}}], "unevaluatedItems": {"type": "string"}}`, []string{`[1, "a", 7]`}, map[string]string{"[1, 2]": "/1"}},
		{`{"$ref": "#/$defs/n", "$defs": {"n": {"properties": {"n": {"$ref": "#/$defs/n"}}, "type": "object"}}}`, []string{`{"n": {"n": {}}}`}, map[string]string{`{"n": {"n": 1}}`: "at '/n/n'"}},
		{`{"$id": "http://x/b", "$dynamicAnchor": "node", "$ref": "a", "properties": {"more": true}, "unevaluatedProperties": false, "$defs": {"a": ` + strings.Replace(dynamic, `, "unevaluatedProperties": false`, "", 1) + `}}`,
			[]string{`{"next": {"more": 1}}`}, map[string]string{`{"next": {"mor": 1}}`: "/next/mor"}},
		{`{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"$ref": "#/definitions/x", "type": "null"}}, "definitions": {"x": {"items": [true, {"const": 2}], "additionalItems": false}}}`,
			[]string{`{"a": [1, 2]}`}, map[string]string{`{"a": [1, 3]}`: "/a/1", `{"a": [1, 2, 3]}`: "no value"}},
		{`{"minimum": 1, "exclusiveMinimum": true, "nullable": true, "type": "number"}`, []string{"1.5", "null"}, map[string]string{"1": "minimum"}},
		{`{"properties": {"a": {"type": "string"}}}`, []string{`{"a": 1, "a": "the last one counts"}`}, map[string]string{`{"a": "x", "a": 1}`: "/a"}},
		{`false`, nil, map[string]string{"1": "no value"}},
		{`{"$id": "http://x/root", "$ref": "list", "$defs": {"foo": {"$dynamicAnchor": "items", "type": "string", "pattern": "^a", "minLength": 2},
			"list": {"$id": "list", "type": "array", "items": {"$dynamicRef": "#items"}, "$defs": {"items": {"$dynamicAnchor": "items"}}}}}`,
			[]string{`["ab"]`}, map[string]string{`["b"]`: "/0", `["a"]`: "minLength", `[1]`: "/0"}},
		{`{"type": "integer"}`, []string{"1e500", "1.50e400", "-2E999999999999999999999"}, map[string]string{"1e-500": "type", "1.5e0": "type", "1e-999999999999999999999": "type"}},
		{`{"properties": {"default": {"$ref": "#/$defs/x"}, "properties": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "integer"}}, "default": {"$ref": "#/no"}}`,
			[]string{`{"default": 1, "properties": 2}`}, map[string]string{`{"default": "a"}`: "/default", `{"properties": "a"}`: "/properties"}},
	} {
		v, err := NewValidator([]byte(c.schema))
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		for _, text := range c.valid {
			if err := v.Validate(text); err != nil {
				t.Errorf("%s\n%s: %v", c.schema, text, err)
			}
		}
		for text, part := range c.broken {
			if err := v.Validate(text); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), part) {
				t.Errorf("%s\n%s: %v, want %q", c.schema, text, err, part)
			}
		}
	}
}

func TestValidatorErrors(t *testing.T) {
	for schema, want := range map[string]error{
		`{"type": "elephant"}`: fault.ErrSyntax, `{"properties": 7}`: fault.ErrSyntax, `{"required": [1]}`: fault.ErrSyntax, `{"maxItems": -1}`: fault.ErrSyntax, `{"enum": 1}`: fault.ErrSyntax,
		`{"multipleOf": 0}`: fault.ErrSyntax, `{"uniqueItems": 1}`: fault.ErrSyntax, `{"pattern": "("}`: fault.ErrSyntax, `{"not": []}`: fault.ErrSyntax, `{"allOf": {}}`: fault.ErrSyntax,
		`{"$ref": "#/no"}`: fault.ErrSyntax, `{"minimum": "1"}`: fault.ErrSyntax, `{"items": [7]}`: fault.ErrSyntax, `{"dependencies": {"a": [1]}}`: fault.ErrSyntax, `{"patternProperties": {"[": true}}`: fault.ErrSyntax,
		`{"$ref": "a", "$defs": {"x": {"$dynamicAnchor": "n", "type": "elephant"}, "a": {"$id": "a", "$dynamicRef": "#n", "$defs": {"n": {"$dynamicAnchor": "n"}}}}}`: fault.ErrSyntax,
		`{"$ref": "other.json"}`: fault.ErrUnsupported, `{"pattern": "(?<=a)b"}`: fault.ErrUnsupported, `{`: fault.ErrSyntax, `7`: fault.ErrSyntax,
	} {
		if _, err := NewValidator([]byte(schema)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", schema, err, want)
		}
	}
	anything, err := NewValidator([]byte(`true`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]error{"": fault.ErrSyntax, `{"a": `: fault.ErrSyntax, strings.Repeat("[", 300) + strings.Repeat("]", 300): fault.ErrTooLarge} {
		if err := anything.Validate(text); !errors.Is(err, want) {
			t.Errorf("%.20s: %v, want %v", text, err, want)
		}
	}
}

// TestValidatorSizes verifies that large elements count as work.
func TestValidatorSizes(t *testing.T) {
	var elements []string
	for i := range 100 {
		elements = append(elements, fmt.Sprintf("%q", strings.Repeat("x", 1000+i)))
	}
	text := "[" + strings.Join(elements, ",") + "]"
	for _, keyword := range []string{`"uniqueItems": true`, `"const": ` + text, `"enum": [` + text + `]`} {
		v, err := NewValidator([]byte(`{"$defs": {"x": {` + keyword + `}}, "allOf": [` + strings.Repeat(`{"$ref": "#/$defs/x"},`, 1000) + `{}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Validate(text); !errors.Is(err, fault.ErrTooLarge) {
			t.Errorf("%.60s: %.200v", keyword, err)
		}
	}
}

// TestNamesOfKeywords verifies that a property may have the name of a keyword whose value is data.
func TestNamesOfKeywords(t *testing.T) {
	const schema = `{"properties": {"default": {"$ref": "#/$defs/x"}, "enum": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "integer"}}}`
	if _, err := JSONSchema([]byte(schema)); err != nil {
		t.Error(err)
	}
	if _, err := NewValidator([]byte(schema)); err != nil {
		t.Error(err)
	}
}

// TestValidatorBudget verifies that schemas which would take more than a lifetime return an error,
// on several goroutines.
func TestValidatorBudget(t *testing.T) {
	var doubled strings.Builder
	for i := range 60 {
		fmt.Fprintf(&doubled, `"d%d": {"allOf": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]}, `, i, i+1, i+1)
	}
	for _, schema := range []string{`{"$ref": "#/$defs/d0", "$defs": {` + doubled.String() + `"d60": true}}`, `{"$ref": "#"}`, `{"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}`} {
		v, err := NewValidator([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if err := v.Validate("1"); !errors.Is(err, fault.ErrTooLarge) {
					t.Errorf("%.60s: %v", schema, err)
				}
			})
		}
		all.Wait()
	}
}
