package grammar

import (
	"errors"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// TestJSONSchemaKeywords tests the keywords that are converted to other keywords, or to automata.
func TestJSONSchemaKeywords(t *testing.T) {
	for _, s := range []source{
		// Patterns with lengths, and patterns of ECMA-262.
		{`{"pattern": "^[a-z]+$", "maxLength": 3}`, []string{`"a"`, `"abc"`}, []string{`""`, `"abcd"`, `"A"`}},
		{`{"pattern": "b", "minLength": 2, "maxLength": 3}`, []string{`"ab"`, `"bbb"`, `"éb"`}, []string{`"b"`, `"aa"`, `"abcd"`}},
		{`{"allOf": [{"pattern": "^a"}, {"pattern": "z$"}, {"minLength": 3}]}`, []string{`"a-z"`, `"aéz"`}, []string{`"az"`, `"a--"`, `"--z"`}},
		{`{"pattern": "^[\\u0041-\\u0043]{2}$"}`, []string{`"AC"`}, []string{`"AD"`}},
		{`{"pattern": "^\\uD83D\\uDE00\\u{e9}$"}`, []string{`"😀é"`}, []string{`"😀"`}},
		{`{"pattern": "^(?=.*[0-9])(?!.*--)[a-z0-9-]{3,}$"}`, []string{`"a1b"`, `"-1-a"`}, []string{`"abc"`, `"a--1"`, `"a1"`}},
		{`{"pattern": "^(?!admin$)\\w+$"}`, []string{`"admi"`, `"admins"`}, []string{`"admin"`}},
		{`{"pattern": "\\bcat\\b"}`, []string{`"cat"`, `"a cat!"`}, []string{`"cats"`, `"a_cat"`}},
		{`{"pattern": "^a(^|b)c$|^x$y|z"}`, []string{`"abc"`, `"zz"`}, []string{`"ac"`, `"x"`, `"xy"`}},
		{`{"pattern": "^\\s\\S\\d\\D\\w\\W$"}`, []string{"\"\u00a0é5aZ-\""}, []string{`" é٣aZ-"`}},
		{`{"pattern": "^[\\w.-]+\\/[^\\]\\d]$"}`, []string{`"a.b/x"`}, []string{`"a/]"`, `"a/1"`}},
		{`{"pattern": "^\\p{Lu}\\p{Script=Greek}\\P{L}\\p{Letter}$"}`, []string{`"Äα1a"`}, []string{`"äα1a"`, `"Äa1a"`}},
		{`{"pattern": "^\\cJ\\x41\\0$"}`, []string{`"\nA\u0000"`}, []string{`"\nB\u0000"`}},
		{`{"pattern": "^(?<year>[0-9]{4})(?:-[0-9]{2})??$"}`, []string{`"2024"`, `"2024-01"`}, []string{`"2024-"`}},
		{`{"pattern": "^{a}$"}`, []string{`"{a}"`}, []string{`"a"`}},
		{`{"pattern": "(?i)^ab$"}`, []string{`"aB"`}, []string{`"b"`}},
		{`{"pattern": "\\A[0-9]+\\Z"}`, []string{`"12"`}, []string{`"1a"`}},
		{`{"enum": ["ab", "ba"], "pattern": "(?=b)"}`, []string{`"ab"`, `"ba"`}, []string{`"a"`}},
		// Formats, and strings that do not have them.
		{`{"format": "uri"}`, []string{`"https://a.b:8/c?d=e#f"`, `"mailto:a@b.c"`, `"http://[::1]/"`}, []string{`"a b"`, `"//a"`, `"http://a/ b"`, `"http://[:::1]/"`}},
		{`{"format": "uri-reference", "maxLength": 4}`, []string{`"/a"`, `"#a"`, `""`}, []string{`"a\\b"`, `"/abcd"`}},
		{`{"format": "hostname"}`, []string{`"a-b.example.com"`, `"localhost"`}, []string{`"-a.b"`, `"a_b"`, `"a..b"`}},
		{`{"format": "ipv6"}`, []string{`"::1"`, `"1:2:3:4:5:6:7:8"`, `"::ffff:1.2.3.4"`}, []string{`"1:2"`, `"1::2::3"`}},
		{`{"format": "duration"}`, []string{`"P1Y2M3DT4H"`, `"PT5S"`, `"P2W"`}, []string{`"P"`, `"P1YT"`, `"1D"`}},
		{`{"format": "json-pointer"}`, []string{`"/a~1b"`, `""`}, []string{`"a"`, `"/~2"`}},
		{`{"type": "string", "format": "binary"}`, []string{`"x"`}, []string{`1`}},
		{`{"type": "string", "format": "password", "maxLength": 1}`, []string{`"x"`}, []string{`"xy"`}},
		{`{"type": "integer", "format": "uint8"}`, []string{`0`, `255`}, []string{`256`, `-1`}},
		// Older drafts, and OpenAPI.
		{`{"type": "number", "minimum": 1, "exclusiveMinimum": true, "maximum": 2, "exclusiveMaximum": false}`, []string{`1.5`, `2`}, []string{`1`, `2.5`}},
		{`{"type": "string", "nullable": true}`, []string{`null`, `"a"`}, []string{`1`}},
		{`{"items": [{"const": 1}, {"const": 2}], "additionalItems": {"const": 3}}`, []string{`[1,2,3,3]`, `[1]`}, []string{`[1,3]`, `[2]`}},
		{`{"items": [{"const": 1}], "additionalItems": false}`, []string{`[1]`, `[]`}, []string{`[1,1]`}},
		{`{"properties": {"a": {}, "b": {}, "c": {}}, "dependencies": {"a": ["b"], "b": {"required": ["c"]}}}`, []string{`{}`, `{"c":1}`, `{"b":1,"c":1}`, `{"a":1,"b":1,"c":1}`},
			[]string{`{"a":1}`, `{"a":1,"b":1}`, `{"b":1}`}},
		{`{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a", "maximum": 1, "definitions": {"a": {"type": "integer"}}}`, []string{`5`}, []string{`"a"`}},
		{`{"$ref": "#/definitions/a", "maximum": 1, "definitions": {"a": {"type": "integer"}}}`, []string{`1`}, []string{`5`}},
		// References.
		{`{"$id": "https://x.org/a", "properties": {"b": {"$id": "b", "$ref": "#/$defs/c", "$defs": {"c": {"const": 1}}}, "d": {"$ref": "b#/$defs/c"}}}`, []string{`{"b":1,"d":1}`}, []string{`{"b":2}`}},
		{`{"$ref": "#here", "$defs": {"a": {"$anchor": "here", "const": 1}}}`, []string{`1`}, []string{`2`}},
		{`{"$dynamicAnchor": "n", "properties": {"v": {"const": 1}, "next": {"$dynamicRef": "#n"}}, "required": ["v"]}`, []string{`{"v":1,"next":{"v":1}}`}, []string{`{"v":1,"next":{}}`}},
		// Numbers.
		{`{"type": "integer", "multipleOf": 7, "minimum": 5, "maximum": 30}`, []string{`7`, `28`}, []string{`5`, `8`, `35`, `0`}},
		{`{"type": "integer", "multipleOf": 5}`, []string{`0`, `-10`, `12345`}, []string{`3`, `51`}},
		{`{"type": "number", "multipleOf": 0.25}`, []string{`0.5`, `-1.75`, `3`, `2.500`}, []string{`0.1`, `0.255`}},
		{`{"type": "number", "multipleOf": 0.01, "minimum": 0, "maximum": 1}`, []string{`0.99`, `1`, `0.5`}, []string{`0.999`, `1.01`}},
		{`{"type": "integer", "not": {"multipleOf": 3}}`, []string{`1`, `-5`}, []string{`3`, `0`, `-9`}},
		{`{"enum": [3, 4, 6.5], "multipleOf": 1.5}`, []string{`3`}, []string{`4`, `6.5`}},
		// Members.
		{`{"patternProperties": {"^a": {"const": 1}, "z$": {"type": "integer"}}, "additionalProperties": {"const": "x"}}`,
			[]string{`{"ab":1}`, `{"bz":7}`, `{"az":1}`, `{"q":"x","a":1}`}, []string{`{"ab":2}`, `{"az":7}`, `{"q":1}`}},
		{`{"properties": {"ab": {"maximum": 3}}, "patternProperties": {"^a": {"type": "integer"}}}`, []string{`{"ab":3,"ac":9}`}, []string{`{"ab":4}`, `{"ab":"x"}`, `{"ac":"x"}`, `{"b":1}`}},
		{`{"type": "object", "propertyNames": {"pattern": "^[a-z]+$", "maxLength": 2}}`, []string{`{}`, `{"a":1,"bc":2}`}, []string{`{"A":1}`, `{"abc":1}`}},
		{`{"properties": {"a": {}, "B": {}}, "propertyNames": {"enum": ["a", "c"]}, "additionalProperties": true}`, []string{`{"a":1}`, `{"c":1}`}, []string{`{"B":1}`, `{"d":1}`}},
		{`{"properties": {"a": {}, "b": {}, "c": {}}, "minProperties": 2}`, []string{`{"a":1,"c":1}`, `{"a":1,"b":1,"c":1}`}, []string{`{"a":1}`, `{}`}},
		{`{"properties": {"a": {}, "b": {}, "c": {}}, "maxProperties": 1}`, []string{`{}`, `{"c":1}`}, []string{`{"a":1,"b":1}`}},
		{`{"type": "object", "minProperties": 1, "maxProperties": 2}`, []string{`{"x":1}`, `{"x":1,"y":2}`}, []string{`{}`, `{"x":1,"y":2,"z":3}`}},
		{`{"properties": {"a": {}, "b": {}}, "dependentRequired": {"b": ["a"]}}`, []string{`{}`, `{"a":1}`, `{"a":1,"b":1}`}, []string{`{"b":1}`}},
		{`{"properties": {"b": {}}, "dependentRequired": {"a": ["c"], "b": ["a"]}}`, []string{`{}`, `{"b":1,"a":1,"c":1}`}, []string{`{"b":1}`, `{"b":1,"a":1}`}},
		{`{"properties": {"a": {}, "b": {}}, "dependentSchemas": {"a": {"properties": {"b": {"const": 1}}, "required": ["b"]}}}`, []string{`{}`, `{"b":7}`, `{"a":1,"b":1}`}, []string{`{"a":1}`, `{"a":1,"b":7}`}},
		{`{"allOf": [{"properties": {"a": {}}}], "properties": {"b": {}}, "unevaluatedProperties": false}`, []string{`{"b":1}`, `{"b":1,"a":1}`, `{"a":1}`}, []string{`{"c":1}`}},
		{`{"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}, "unevaluatedProperties": {"const": 1}}]}`, []string{`{"a":1,"b":7}`, `{"c":1}`}, []string{`{"a":7}`, `{"c":7}`}},
		// Lists.
		{`{"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": true, "minItems": 2}`, []string{`["c","a"]`, `["a", "b", "c"]`}, []string{`["a","a"]`, `["a"]`, `["a","b","a"]`}},
		{`{"type": "array", "items": {"type": ["boolean", "null"]}, "uniqueItems": true}`, []string{`[true,null,false]`, `[]`}, []string{`[null,null]`}},
		{`{"type": "array", "items": {"enum": [1,2,3,4,5,6,7,8,9,10,11,12]}, "uniqueItems": true}`, []string{`[1,12]`, `[3]`}, []string{`[2,2]`}},
		{`{"items": {"type": "string"}, "uniqueItems": true, "maxItems": 1}`, []string{`["a"]`}, []string{`["a","a"]`}},
		{`{"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 5}}`, []string{`[5]`, `[1,7,2]`}, []string{`[]`, `[1,2]`}},
		{`{"items": {"enum": [1, 2]}, "contains": {"const": 1}, "minContains": 2, "maxContains": 2}`, []string{`[1,1]`, `[2,1,2,1]`}, []string{`[1]`, `[1,1,1]`}},
		{`{"prefixItems": [{"const": 1}], "unevaluatedItems": {"const": 2}}`, []string{`[1,2,2]`, `[]`}, []string{`[2]`, `[1,1]`}},
		// Conditions and negations.
		{`{"type": ["string", "integer"], "not": {"enum": ["a", 3]}}`, []string{`"b"`, `"aa"`, `2`, `4`}, []string{`"a"`, `3`}},
		{`{"type": "string", "not": {"pattern": "^x"}}`, []string{`""`, `"ax"`}, []string{`"x"`, `"xa"`}},
		{`{"type": "object", "properties": {"a": {}, "b": {}}, "not": {"required": ["a", "b"]}}`, []string{`{}`, `{"a":1}`, `{"b":1}`}, []string{`{"a":1,"b":1}`}},
		{`{"not": {"not": {"type": "null"}}}`, []string{`null`}, []string{`1`}},
		{`{"properties": {"kind": {"enum": ["x", "y"]}, "v": {}}, "required": ["kind"], "if": {"properties": {"kind": {"const": "x"}}}, "then": {"required": ["v"]}, "else": {"properties": {"v": false}}}`,
			[]string{`{"kind":"x","v":1}`, `{"kind":"y"}`}, []string{`{"kind":"x"}`, `{"kind":"y","v":1}`}},
		{`{"type": "array", "items": {"type": "integer"}, "not": {"items": {"minimum": 0}}}`, []string{`[1,-1]`}, []string{`[]`, `[1]`}},
		{`{"oneOf": [{"type": "number"}, {"type": "integer"}]}`, []string{`1.5`, `-0.25`}, []string{`1`, `1.0`}},
		{`{"oneOf": [{"type": "integer", "multipleOf": 2}, {"type": "integer", "multipleOf": 3}]}`, []string{`2`, `3`, `10`}, []string{`6`, `1`, `12`}},
		{`{"oneOf": [{"type": "string", "maxLength": 3}, {"type": "string", "pattern": "^a"}]}`, []string{`"bcd"`, `"abcd"`}, []string{`"abc"`, `"bcde"`}},
		{`{"properties": {"a": {}, "b": {}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}`, []string{`{"a":1}`, `{"b":1}`}, []string{`{}`, `{"a":1,"b":1}`}},
		{`{"oneOf": [{"const": 1}, {"enum": [1, 2]}]}`, []string{`2`}, []string{`1`}},
	} {
		s.test(t, compileSchema)
	}
}

// TestSchemaOpen tests values that are generated only with Open.
func TestSchemaOpen(t *testing.T) {
	for _, s := range []source{
		{`{"maxLength": 1}`, []string{`"a"`, `1`, `{"a":[]}`}, []string{`"ab"`}},
		{`{"properties": {"a": {"type": "null"}}}`, []string{`{"a":null,"b":1}`, `{"b":1}`, `7`}, []string{`{"a":1}`}},
		{`{"prefixItems": [{"const": 1}]}`, []string{`[1,"x"]`, `[]`}, []string{`[2]`}},
		{`{"const": 2.0}`, []string{`2.0`, `2`}, []string{`3`}},
		{`{}`, []string{`1234567890123456`, `-0.1234567890123456e-99`}, []string{`12345678901234567`, `0.12345678901234567`, `1e100`}},
	} {
		s.test(t, func(schema string) (*Grammar, error) {
			g, _, err := SchemaOptions{Open: true}.Compile([]byte(schema))
			return g, err
		})
		if _, err := compileSchema(s.text); err != nil {
			t.Error(err)
		}
	}
	source{`{"format": "date"}`, []string{`"x"`}, nil}.test(t, func(schema string) (*Grammar, error) {
		g, _, err := SchemaOptions{NoFormats: true}.Compile([]byte(schema))
		return g, err
	})
}

// TestSchemaLenient tests keywords that Compile ignores and returns.
func TestSchemaLenient(t *testing.T) {
	for _, s := range []struct {
		schema, path string
		unknown      bool
		yes          string
	}{
		{`{"type": "array", "items": {"type": "string"}, "uniqueItems": true}`, "#/uniqueItems", false, `["a","a"]`},
		{`{"properties": {"a": {"pattern": "(?<=x)y", "maxLength": 2}}}`, "#/properties/a/pattern", false, `{"a":"zz"}`},
		{`{"properties": {"a": {"format": "regex"}}}`, "#/properties/a/format", false, `{"a":1}`},
		{`{"properties": {"a": {"const": 1, "maxlength": 2}}}`, "#/properties/a/maxlength", true, `{"a":1}`},
		{`{"$ref": "https://example.com/a.json"}`, "#/$ref", false, `1`},
		{`{"oneOf": [{"type": "array", "items": {"type": "array", "uniqueItems": true}}, {"type": "array"}]}`, "#/oneOf", false, `[]`},
		{`{"type": "string", "not": {"uniqueItems": true}}`, "#/not", false, `"a"`},
		{`{"type": "object", "minProperties": 2}`, "#/minProperties", false, `{"a":1,"b":1}`},
		{`{"type": "number", "multipleOf": 0.123456789}`, "#/multipleOf", false, `1`},
		{`{"type": "string", "pattern": "(a|b)*a(a|b){20}", "maxLength": 50}`, "#/pattern", false, `"x"`},
	} {
		g, unheld, err := SchemaOptions{Lenient: true}.Compile([]byte(s.schema))
		if err != nil {
			t.Errorf("%s: %v", s.schema, err)
			continue
		}
		if len(unheld) == 0 || unheld[0].Path != s.path || unheld[0].Unknown != s.unknown {
			t.Errorf("%s: unheld is %v, want %s", s.schema, unheld, s.path)
		}
		if _, whole := begins(t, g, s.yes); !whole {
			t.Errorf("%s: %s does not match", s.schema, s.yes)
		}
		if _, _, err := (SchemaOptions{}).Compile([]byte(s.schema)); err == nil || !strings.Contains(err.Error(), s.path) || !errors.Is(err, fault.ErrUnsupported) && !errors.Is(err, fault.ErrTooLarge) {
			t.Errorf("%s: the error is %v, want one at %s", s.schema, err, s.path)
		}
	}
}
