package grammar

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

func compileSchema(s string) (*Grammar, error) { return JSONSchema([]byte(s)) }

func TestJSONSchema(t *testing.T) {
	long := `"` + strings.Repeat("é", 300) + `"`
	for _, s := range []source{
		{`true`, []string{`null`, `-1.5e+10`, `"a\n\u00e9\ud83d\ude00🙂"`, `[1, {"a": []}]`, "{\n  \"a\":1,\n  \"b\": [ true ]\n}"},
			[]string{``, `nul`, `01`, `.5`, `"\x"`, "\"\n\"", `"\ud83d"`, `"\ude00"`, `[1,]`, `{"a"}`, ` 1`, `1 `, `{"a" :1}`}},
		{`{"type": "object"}`, []string{`{}`, `{ }`, `{"": 1, "x": {}}`}, []string{`[]`, `{,}`, `{"a":1,}`}},
		{`{"type": ["string", "null"], "maxLength": 1}`, []string{`""`, `"é"`, `"\u00e9"`, `"\ud83d\ude00"`, `null`}, []string{`"ab"`, `1`}},
		{`{"type": "string", "minLength": 2}`, []string{`"ab"`, long}, []string{`"a"`, `""`}},
		{`{"minLength": 300, "maxLength": 300}`, []string{long}, []string{`"a"`, `1`}},
		{`{"type": "boolean"}`, []string{`true`, `false`}, []string{`null`}},
		{`{"type": "integer"}`, []string{`0`, `-12`}, []string{`1.5`, `1e3`, `-`, `00`}},
		{`{"enum": ["a\"b\u0001é", "ab", 1, 1.50, null, {"k": [1, 2]}, "ab"]}`,
			[]string{`"a\"b\u0001é"`, `"ab"`, `1`, `1.50`, `null`, `{"k": [1, 2]}`}, []string{`"a"`, `1.5`, `"abc"`}},
		{`{"const": "x", "type": "string"}`, []string{`"x"`}, []string{`x`}},
		{`{"type": "integer", "enum": [1, 2.0, 2.5, "a", 7, -1], "maximum": 5, "exclusiveMinimum": -1}`, []string{`1`, `2.0`}, []string{`2.5`, `"a"`, `7`, `-1`}},
		{`{"enum": ["ab", "abc", "zyx", "2024-02-29"], "minLength": 3, "pattern": "^[a-y]"}`, []string{`"abc"`}, []string{`"ab"`, `"zyx"`}},
		{`{"enum": ["2024-02-29", "2023-02-29"], "format": "date"}`, []string{`"2024-02-29"`}, []string{`"2023-02-29"`}},
		{`{"enum": [[], [1]], "minItems": 1}`, []string{`[1]`}, []string{`[]`}},
		{`{"properties": {"a": {"type": "integer"}, "b": {"type": "null"}, "c": true}, "required": ["b"]}`,
			[]string{`{"b":null}`, `{"a": 1, "b": null}`, `{"a":1,"b":null,"c":"x"}`, `{ "b":null, "c":[] }`},
			[]string{`{}`, `{"a":1}`, `{"b":null,"a":1}`, `{"b":null,"d":1}`, `{"b":null,}`, `1`}},
		{`{"properties": {"a": {"const": 1}, "b": {"const": 2}}}`, []string{`{}`, `{"a":1}`, `{"b":2}`, `{"a":1,"b":2}`}, []string{`{"a":1 "b":2}`, `{,"b":2}`}},
		{`{"properties": {"a": false, "ab\"": {"const": 1}, "é": {"const": 2}}, "additionalProperties": {"type": "boolean"}, "required": ["z"]}`,
			[]string{`{"z":true}`, `{"ab\"":1,"z":true,"b":true}`, `{"z":true,"ab":true,"":false,"\"":true,"e":true,"ab\"c":true,"zz":true}`},
			[]string{`{}`, `{"z":1}`, `{"a":true,"z":true}`, `{"z":true,"ab\"":true}`, `{"z":true,"\u0061":true}`, `{"z":true,"é":true}`, `{"z":true,"z":true}`}},
		{`{"required": ["a"], "additionalProperties": false}`, nil, nil},
		{`{"properties": {"a\n": {}, "a\"": {}, "b": {}}, "additionalProperties": {"const": 1}}`, []string{`{"a":1,"a\r":1,"\n":1}`, `{"a\t":1,"é":1,"aé\"":1,"bb":1}`},
			[]string{`{"b":1,"b":1}`, `{"a\n":1,"a\n":1}`, `{"x":1,"a\"":1}`, "{\"x\n\":1}"}},
		{`{"properties": {"": {}}, "additionalProperties": {"const": 1}}`, []string{`{"a":1,"\"":1}`}, []string{`{"":1,"":1}`, `{""a":1}`, `{"\a":1}`}},
		{`{"required": ["a"]}`, []string{`{"a":[]}`, `{"a":1,"b":2}`}, []string{`{}`, `{"b":1}`}},
		{`{"items": {"type": "null"}, "minItems": 1, "maxItems": 3}`, []string{`[null]`, "[\nnull, null,null ]"}, []string{`[]`, `[null,null,null,null]`, `[1]`}},
		{`{"type": "array", "maxItems": 0}`, []string{`[]`, `[ ]`}, []string{`[1]`}},
		{`{"items": false}`, []string{`[]`}, []string{`[1]`}},
		{`{"type": "array", "minItems": 2}`, []string{`[1, "a"]`, `[1,2,3]`}, []string{`[1]`}},
		{`{"prefixItems": [{"const": 1}, {"const": 2}, {"const": 3}], "minItems": 1}`, []string{`[1]`, `[1,2]`, `[1, 2, 3]`}, []string{`[]`, `[2]`, `[1,2,3,4]`}},
		{`{"prefixItems": [{"const": 1}, {"const": 2}], "minItems": 3}`, []string{`[1,2,"x"]`, `[1,2,3,4]`}, []string{`[1,2]`}},
		{`{"prefixItems": [{"const": 1}, {"const": 2}], "items": {"const": 3}, "maxItems": 3}`, []string{`[]`, `[1]`, `[1,2]`, `[1,2,3]`}, []string{`[1,3]`, `[1,2,3,3]`}},
		{`{"prefixItems": [{"const": 1}, {"const": 2}], "items": {"const": 3}, "maxItems": 1}`, []string{`[]`, `[1]`}, []string{`[1,2]`}},
		{`{"pattern": "^(\\d{2}|a\"\\n)$"}`, []string{`"12"`, `"a\"\n"`}, []string{`"123"`, "\"a\\\"\n\"", `"1"`}},
		{`{"pattern": "b+"}`, []string{`"b"`, `"abc"`, `"\\b"`}, []string{`"ac"`, `""`, `"a\b"`}},
		{`{"pattern": "^a|b$"}`, []string{`"ax"`, `"xb"`, `"a"`}, []string{`"xa"`, `"bx"`}},
		{`{"format": "date"}`, []string{`"2023-12-31"`, `"2000-02-29"`}, []string{`"2023-02-29"`, `"1900-02-29"`, `"2023-04-31"`, `"2023-13-01"`}},
		{`{"format": "date-time"}`, []string{`"2023-12-31T23:59:59Z"`, `"2023-12-31T00:00:00.5+01:30"`}, []string{`"2023-12-31"`, `"2023-12-31T24:00:00Z"`}},
		{`{"format": "time"}`, []string{`"00:00:00-23:59"`}, []string{`"00:00:00"`}},
		{`{"format": "uuid"}`, []string{`"01234567-89ab-cdef-0123-456789ABCDEF"`}, []string{`"0123456789abcdef0123456789abcdef"`}},
		{`{"format": "email"}`, []string{`"a.b+c@x-y.example.com"`}, []string{`"a@b"`, `"@x.y"`, `"a@-b.c"`}},
		{`{"format": "ipv4"}`, []string{`"255.0.10.199"`}, []string{`"256.0.0.1"`, `"1.2.3"`, `"01.2.3.4"`}},
		{`{"type": "integer", "format": "int32"}`, []string{`1`}, nil},
		{`{"anyOf": [{"type": "string"}, {"type": "integer"}], "maxLength": 2, "minimum": 5}`, []string{`"ab"`, `5`}, []string{`"abc"`, `4`}},
		{`{"properties": {"a": {"const": 1}, "b": {"const": 2}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}`,
			[]string{`{"a":1}`, `{"b":2}`, `{"a":1,"b":2}`}, []string{`{}`}},
		{`{"allOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"properties": {"a": {"minimum": 3}, "b": {"type": "null"}}}], "title": "x"}`,
			[]string{`{"a":3}`, `{"a":3,"b":null}`}, []string{`{"a":2}`, `{}`, `{"a":3,"c":1}`}},
		{`{"allOf": [{"properties": {"a": {"const": 1}}, "additionalProperties": false}, {"properties": {"b": {"const": 2}}}]}`, []string{`{}`, `{"a":1}`}, []string{`{"b":2}`}},
		{`{"allOf": [{"type": ["number", "null"]}, {"type": ["integer", "string"]}, {"enum": [1, 2, "a"]}, {"enum": ["a", 2.0, 3]}]}`, []string{`2`}, []string{`1`, `3`, `"a"`}},
		{`{"oneOf": [{"type": "object", "properties": {"t": {"const": "x"}, "v": {"type": "null"}}, "required": ["t"]}, {"type": "object", "properties": {"t": {"enum": ["y", "z"]}}, "required": ["t"]}, {"type": "integer"}, {"enum": ["q"]}],
			"discriminator": {"propertyName": "t"}}`, []string{`{"t":"x","v":null}`, `{"t":"z"}`, `7`, `"q"`}, []string{`{"t":"z","v":null}`, `{}`}},
		{`{"oneOf": [{"type": "object", "properties": {"a": true}, "required": ["a"]}, {"type": "object", "properties": {"b": true}, "required": ["b"]}]}`, []string{`{"a":1}`, `{"b":1}`}, []string{`{"a":1,"b":1}`, `{}`}},
		{`{"oneOf": [{"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": false}, {"type": "object", "properties": {"b": {}}, "required": ["b"], "additionalProperties": false}]}`,
			[]string{`{"a":1}`, `{"b":1}`}, []string{`{"a":1,"b":1}`, `{"a":1,"c":1}`}},
		{`{"allOf": [{"type": "integer"}, {"type": "number"}, {"minimum": 3}, {"minimum": 5}, {"exclusiveMinimum": 5}, {"minimum": 5}, {"maximum": 9}, {"maximum": 8}, {"exclusiveMaximum": 8}, {"maximum": 10}]}`,
			[]string{`6`, `7`}, []string{`3`, `5`, `8`, `9`, `6.5`}},
		{`{"$ref": "#/$defs/a~1b%20c/items", "$defs": {"a/b c": {"items": {"const": 1}}}}`, []string{`1`}, []string{`2`, `[1]`}},
		{`{"$ref": "#/$defs/list/1", "$defs": {"list": [1, {"const": 1}]}}`, []string{`1`}, []string{`2`}},
		{`{"properties": {"next": {"$ref": "#"}, "v": {"const": 1}}, "required": ["v"]}`, []string{`{"next":{"next":{"v":1},"v":1},"v":1}`}, []string{`{"next":{}}`}},
		{`{"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [{"type": "null"}, {"items": {"$ref": "#/$defs/n"}, "minItems": 2}]}}}`, []string{`null`, `[null,[null,null]]`}, []string{`[]`, `[[null,null]]`}},
		{`{"$defs": {"t": {"allOf": [{"$ref": "#/$defs/base"}], "properties": {"k": {"$ref": "#/$defs/t"}}}, "base": {"properties": {"id": {"const": 1}}, "required": ["id"]}}, "$ref": "#/$defs/t"}`,
			[]string{`{"id":1}`, `{"k":{"id":1},"id":1}`, `{"k":{"k":{"id":1},"id":1},"id":1}`}, []string{`{}`, `{"k":{},"id":1}`}},
		{`{"$defs": {"unused": {"foo": 1}}, "const": 1, "$schema": "x", "$id": "y", "$comment": "", "examples": [], "default": 1, "description": ""}`, []string{`1`}, nil},
	} {
		if s.yes == nil && s.no == nil {
			refusal{s.text, fault.ErrUnsupported, "nothing"}.test(t, compileSchema)
			continue
		}
		s.test(t, compileSchema)
	}
}

func TestJSONSchemaRefusals(t *testing.T) {
	deep := strings.Repeat(`{"items": `, 150) + "true" + strings.Repeat("}", 150)
	for _, s := range []refusal{
		{`{`, fault.ErrSyntax, "JSON"},
		{"\"\xff\"", fault.ErrSyntax, "UTF-8"},
		{`1`, fault.ErrSyntax, "# is not a schema"},
		{`{"type": "int"}`, fault.ErrSyntax, `#/type: "int" is not a type`},
		{`{"type": 1}`, fault.ErrSyntax, `#/type: 1`},
		{`{"a": 1, "a": 2}`, fault.ErrSyntax, "twice"},
		{`{"properties": {"x/y": {"type": "array", "uniqueItems": true}}}`, fault.ErrUnsupported, `#/properties/x~1y/uniqueItems: `},
		{`{"items": {"anyOf": [{}, {"not": {"uniqueItems": true}}]}}`, fault.ErrUnsupported, `#/items/anyOf/1/not: it cannot be negated`},
		{`{"oneOf": [{"type": "array", "items": {"uniqueItems": true}}, {"type": "array"}]}`, fault.ErrUnsupported, "#/oneOf: schemas 0 and 1"},
		{`{"$ref": "http://x/y"}`, fault.ErrUnsupported, "http://x/y"},
		{`{"$ref": "#/$defs/x"}`, fault.ErrSyntax, "there is no"},
		{`{"$ref": "#/%zz"}`, fault.ErrSyntax, "zz"},
		{`{"$ref": 1}`, fault.ErrSyntax, "string"},
		{`{"$ref": "#"}`, fault.ErrUnsupported, "back to this schema"},
		{`{"$ref": "#", "minimum": 1}`, fault.ErrUnsupported, "back to this schema"},
		{`{"anyOf": [{"$ref": "#"}, {"type": "null"}]}`, fault.ErrUnsupported, "left recursion: #"},
		{`{"properties": {"a": {"$ref": "#"}}, "required": ["a"]}`, fault.ErrUnsupported, "nothing"},
		{`{"anyOf": []}`, fault.ErrSyntax, "#/anyOf"},
		{`{"allOf": {}}`, fault.ErrSyntax, "#/allOf"},
		{`{"properties": []}`, fault.ErrSyntax, "#/properties"},
		{`{"required": "a"}`, fault.ErrSyntax, "#/required"},
		{`{"required": [1]}`, fault.ErrSyntax, "#/required"},
		{`{"enum": 1}`, fault.ErrSyntax, "#/enum"},
		{`{"minLength": -1}`, fault.ErrSyntax, "#/minLength"},
		{`{"minItems": 1.5}`, fault.ErrSyntax, "#/minItems"},
		{`{"minItems": 1e300}`, fault.ErrTooLarge, "#/minItems"},
		{`{"maxItems": "1"}`, fault.ErrSyntax, "#/maxItems"},
		{`{"minimum": "1"}`, fault.ErrSyntax, "#/minimum"},
		{`{"exclusiveMinimum": "1"}`, fault.ErrSyntax, "#/exclusiveMinimum"},
		{`{"maximum": 1e999999999}`, fault.ErrTooLarge, "#/maximum"},
		{`{"minimum": 5, "maximum": 4, "type": "integer"}`, fault.ErrUnsupported, "nothing"},
		{`{"pattern": 1}`, fault.ErrSyntax, "#/pattern"},
		{`{"pattern": "("}`, fault.ErrSyntax, "#/pattern"},
		{`{"pattern": "(?<=x)y"}`, fault.ErrUnsupported, "#/pattern"},
		{`{"pattern": "(a)\\1"}`, fault.ErrUnsupported, "#/pattern"},
		{`{"format": "regex"}`, fault.ErrUnsupported, "#/format"},
		{deep[:len(deep)/2], fault.ErrSyntax, ""},
		{`{"minLength": 1, "anyOf": [{"$ref": "#"}], "oneOf": [{"$ref": "#"}]}`, fault.ErrTooLarge, "apply together"},
		{`{"properties": {"` + strings.Repeat("x", maxNames) + `": {}}, "additionalProperties": true}`, fault.ErrTooLarge, "bytes"},
		{strings.Repeat("[", 300) + strings.Repeat("]", 300), fault.ErrTooLarge, "nests"},
	} {
		s.test(t, compileSchema)
	}
	if _, err := compileSchema(deep); err != nil {
		t.Error(err)
	}
}

// TestJSONSchemaLongNames verifies that a message does not repeat long names for every level.
func TestJSONSchemaLongNames(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, `"%d": {},`, i)
	}
	schema := `{"properties": {"` + strings.Repeat("x", 200000) + `": {"properties": {` + b.String() + `"y": {"foo": 1}}}}}`
	refusal{schema, fault.ErrUnsupported, `xxx/properties/y/foo: `}.test(t, func(s string) (*Grammar, error) {
		g, err := compileSchema(s)
		if n := len(fmt.Sprint(err)); n > 1000 {
			t.Errorf("a message of %d bytes", n)
		}
		return g, err
	})
}

// TestJSONSchemaExplosion verifies that a schema whose branches multiply is too large, within a
// short time.
func TestJSONSchemaExplosion(t *testing.T) {
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, `{"anyOf": [{"minLength": %d}, {"maxLength": %d}, {"type": "null"}]},`, i, 2*i)
	}
	refusal{`{"allOf": [` + strings.TrimSuffix(b.String(), ",") + `]}`, fault.ErrTooLarge, "schemas"}.test(t, compileSchema)
}

func TestIntegersBetween(t *testing.T) {
	bounds := []int64{-1000, -999, -120, -100, -99, -10, -9, -1, 0, 1, 5, 9, 10, 11, 19, 99, 100, 105, 999, 1000, 1234}
	r := rand.New(rand.NewPCG(5, 6))
	for _, lo := range bounds {
		for _, hi := range bounds {
			if lo > hi || r.IntN(3) > 0 {
				continue
			}
			p := &program{}
			p.rule(nil, integersBetween(big.NewInt(lo), big.NewInt(hi)))
			g, err := compile(p)
			if err != nil {
				t.Fatal(lo, hi, err)
			}
			for n := int64(-1300); n <= 1300; n++ {
				if _, whole := begins(t, g, strconv.FormatInt(n, 10)); whole != (lo <= n && n <= hi) {
					t.Errorf("%d to %d: %d is %v", lo, hi, n, whole)
				}
			}
		}
	}
	for _, s := range []source{
		{`{"type": "integer", "minimum": 7}`, []string{"7", "10", "9999999999999999"}, []string{"6", "-7", "07", "10000000000000000"}},
		{`{"type": "integer", "maximum": -7.5}`, []string{"-8", "-100"}, []string{"-7", "7", "0"}},
		{`{"type": "integer", "exclusiveMinimum": -1, "exclusiveMaximum": 1}`, []string{"0"}, []string{"-1", "1", "-0"}},
		{`{"type": "integer", "minimum": 123456789012345678901234567890}`, []string{"123456789012345678901234567890"}, []string{"123456789012345678901234567889"}},
		{`{"type": "integer", "minimum": 1e2, "maximum": 1E2}`, []string{"100"}, []string{"99", "101"}},
	} {
		s.test(t, compileSchema)
	}
}

// TestNumbersBetween compares numbers with bounds with exact arithmetic.
func TestNumbersBetween(t *testing.T) {
	form := regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
	bounds := []string{"-12.5", "-1", "-0.25", "0", "0.05", "0.5", "1", "1.5", "9.99", "10", "123.456"}
	r := rand.New(rand.NewPCG(7, 8))
	for i, lo := range bounds {
		for _, hi := range append([]string{""}, bounds[i:]...) {
			low, high, open := "minimum", "maximum", [2]bool{r.IntN(2) == 0, r.IntN(2) == 0}
			if open[0] {
				low = "exclusiveMinimum"
			}
			if open[1] {
				high = "exclusiveMaximum"
			}
			schema := fmt.Sprintf(`{"type": "number", "%s": %s`, low, lo)
			if hi != "" {
				schema += fmt.Sprintf(`, "%s": %s`, high, hi)
			}
			schema += "}"
			g, err := compileSchema(schema)
			if lo == hi && (open[0] || open[1]) {
				if err == nil {
					t.Errorf("%s: no error", schema)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", schema, err)
			}
			for range 300 {
				b := []byte(bounds[r.IntN(len(bounds))])
				for range r.IntN(3) {
					at := r.IntN(len(b) + 1)
					b = append(b[:at], append([]byte{"0123456789.-"[r.IntN(12)]}, b[at:]...)...)
				}
				n := string(b)
				x, ok := new(big.Rat).SetString(n)
				want := ok && form.MatchString(n)
				if want {
					want = inBounds(x, lo, open[0], 1) && (hi == "" || inBounds(x, hi, open[1], -1)) && !(x.Sign() == 0 && n[0] == '-')
				}
				if _, whole := begins(t, g, n); whole != want {
					t.Fatalf("%s: %s is %v", schema, n, whole)
				}
			}
		}
	}
}

func inBounds(x *big.Rat, bound string, open bool, sign int) bool {
	b, _ := new(big.Rat).SetString(bound)
	c := sign * x.Cmp(b)
	return c > 0 || c == 0 && !open
}
