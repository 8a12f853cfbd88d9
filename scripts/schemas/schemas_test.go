package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/grammar"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A drawing draws schemas.
type drawing struct{ *rand.Rand }

type object = map[string]any

func (d drawing) one(options ...any) any { return options[d.IntN(len(options))] }

// draw returns a random schema. At depth 0 it is the schema of a scalar.
func (d drawing) draw(depth int) any {
	n := d.IntN(12)
	if depth == 0 {
		n = d.IntN(5)
	}
	switch n {
	case 0:
		return d.string()
	case 1, 2:
		return d.number()
	case 3:
		return object{"type": d.one("boolean", "null", []any{"null", "integer"}, []any{"string", "boolean"})}
	case 4:
		return d.one(object{"enum": []any{"a", "aé\"b", 1, nil, 2.5}}, object{"const": "x\n"}, object{"enum": []any{1, 5, 9, "5"}, "minimum": 2, "type": "integer"})
	case 5, 6, 7:
		return d.object(depth)
	case 8, 9:
		return d.array(depth)
	case 10:
		return object{"$ref": "#/$defs/" + d.one("x", "y/z").(string), "title": "a reference"}
	}
	return d.combination(depth)
}

func (d drawing) string() any {
	s := object{"type": "string"}
	switch d.IntN(5) {
	case 0:
		s["minLength"] = d.IntN(4)
		s["maxLength"] = 4 + d.IntN(4)
	case 1:
		s["pattern"] = d.one("^[a-c]{2,5}$", "x+", "^a|b$", `^("|\\|é)*$`, `\d`, `^\S{3}`, "^(?i:straße)$")
	case 2:
		s["format"] = d.one("date", "time", "date-time", "uuid", "email", "ipv4")
	case 3:
		s["minLength"] = d.IntN(10)
	}
	return s
}

func (d drawing) number() any {
	s := object{"type": d.one("integer", "number")}
	if d.IntN(2) == 0 {
		s[d.one("minimum", "exclusiveMinimum").(string)] = d.one(-100, -3, 0, 7, -0.5, 1.25)
	}
	if d.IntN(2) == 0 {
		s[d.one("maximum", "exclusiveMaximum").(string)] = d.one(9, 10, 99, 1000, 12.75)
	}
	return s
}

func (d drawing) object(depth int) any {
	s := object{"type": "object"}
	properties, required := object{}, []any{}
	for _, name := range []string{"a", "ab", "b\"", "é", "c d", ""} {
		if d.IntN(3) > 0 {
			continue
		}
		properties[name] = d.draw(depth - 1)
		if d.IntN(2) == 0 {
			required = append(required, name)
		}
	}
	if len(properties) > 0 || d.IntN(2) == 0 {
		s["properties"], s["required"] = properties, required
	}
	switch d.IntN(4) {
	case 0:
		s["additionalProperties"] = false
	case 1:
		s["additionalProperties"] = true
	case 2:
		s["additionalProperties"] = d.draw(0)
		if d.IntN(3) == 0 {
			s["required"] = append(required, "other")
		}
	}
	return s
}

func (d drawing) array(depth int) any {
	s := object{"type": "array"}
	if d.IntN(2) == 0 {
		s["items"] = d.draw(depth - 1)
	}
	if d.IntN(3) == 0 {
		s["prefixItems"] = []any{d.draw(depth - 1), d.draw(0)}
	}
	if d.IntN(2) == 0 {
		s["minItems"] = d.IntN(4)
	}
	if d.IntN(2) == 0 {
		s["maxItems"] = 3 + d.IntN(3)
	}
	return s
}

// combination returns a schema that combines others. Schemas of a oneOf exclude each other.
func (d drawing) combination(depth int) any {
	switch d.IntN(3) {
	case 0:
		return object{"anyOf": []any{d.draw(depth - 1), d.draw(depth - 1)}, "description": "either"}
	case 1:
		kind := func(name string) any {
			return object{"type": "object", "properties": object{"kind": object{"const": name}, name: d.draw(depth - 1)}, "required": []any{"kind"}}
		}
		return object{"oneOf": []any{kind("p"), kind("q"), object{"type": "integer"}}}
	}
	a := d.object(depth).(object)
	a["allOf"] = []any{d.object(depth), object{"properties": object{"z": d.draw(0)}, "required": []any{"z"}}}
	return a
}

// vocabulary returns tokens: every byte, and pieces of JSON texts.
func vocabulary(t *testing.T) ([][]byte, *grammar.Vocabulary) {
	var tokens [][]byte
	for b := range 256 {
		tokens = append(tokens, []byte{byte(b)})
	}
	for _, s := range strings.Split(`{"|"}|",|": |: "|, "|[{|}]|null|true|false|0.|\u00|\ud83d\ude00|é|\xe4\xb8|abc|"a|"ab|kind|12|-1|\n  |]}|{}|[]|"é`, "|") {
		s = strings.NewReplacer(`\n`, "\n", `\xe4\xb8`, "\xe4\xb8").Replace(s)
		tokens = append(tokens, []byte(s))
	}
	tokens = append(tokens, nil)
	v, err := grammar.NewVocabulary(tokens, []int{len(tokens) - 1})
	if err != nil {
		t.Fatal(err)
	}
	return tokens, v
}

// generate chooses tokens of g at random. After many tokens it prefers tokens that close something.
// ended is false if the text did not end.
func generate(t *testing.T, r *rand.Rand, g *grammar.Grammar, v *grammar.Vocabulary, tokens [][]byte) (generated string, ended bool) {
	m, text := g.Matcher(v), []byte(nil)
	for n := 0; !m.Done(); n++ {
		mask, err := m.Mask()
		if err != nil {
			t.Fatal(err)
		}
		var may []int
		for token := range tokens {
			if mask[token/64]>>(token%64)&1 == 1 {
				may = append(may, token)
			}
		}
		if len(may) == 0 {
			t.Fatalf("%s: no token may follow", text)
		}
		next := may[r.IntN(len(may))]
		if m.CanEnd() && r.IntN(2) == 0 {
			next = may[len(may)-1]
		}
		if n > 60 {
			next = closing(may, next)
		}
		if err := m.Accept(next); err != nil {
			t.Fatalf("%s, then %q: %v", text, tokens[next], err)
		}
		if text = append(text, tokens[next]...); n > 5000 {
			return "", false
		}
	}
	return string(text), true
}

// closing returns a bracket or quote among tokens that closes a value, or next if there is none.
func closing(tokens []int, next int) int {
	object, array := slices.Contains(tokens, '}'), slices.Contains(tokens, ']')
	switch {
	case object && !array: // only in strings, both may follow
		return '}'
	case array && !object:
		return ']'
	case slices.Contains(tokens, '"'):
		return '"'
	}
	return next
}

func TestSchemas(t *testing.T) {
	const count, texts, want = 300, 8, 200 // no text is valid for some of the schemas
	tokens, v := vocabulary(t)
	done := 0
	for i := range count {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		d := drawing{r}
		schema, _ := d.draw(3).(object)
		schema["$defs"] = object{"x": object{"type": "object", "properties": object{"next": object{"$ref": "#/$defs/x"}, "n": d.draw(0)}}, "y/z": d.draw(1)}
		schema["$defs"].(object)["y"] = object{"z": true}
		text, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			g, err := grammar.JSONSchema(text)
			if err != nil {
				t.Logf("%v: %s", err, text)
				return
			}
			done++
			valid := validator(t, string(text))
			for range texts {
				s, ended := generate(t, r, g, v, tokens)
				if !ended {
					t.Fatalf("%s: a text does not end", text)
				}
				value, err := jsonschema.UnmarshalJSON(strings.NewReader(s))
				if err != nil {
					t.Fatalf("%s\n%s is not JSON: %v", text, s, err)
				}
				if err := valid.Validate(value); err != nil {
					t.Fatalf("%s\n%s: %v", text, s, err)
				}
			}
		})
	}
	if t.Log(done, "schemas"); done < want {
		t.Errorf("only %d schemas were compiled, want %d", done, want)
	}
}

func validator(t *testing.T, schema string) *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// more adds a keyword to a schema: one that excludes or counts values, or that makes a value depend
// on another.
func (d drawing) more(s object, depth int) {
	switch s["type"] {
	case "string":
		s["pattern"] = d.one("^[a-c]*$", "^(?:ab|é)+$", "b", "^a|b$", `^\S+$`)
		s["maxLength"] = 2 + d.IntN(6)
		if d.IntN(2) == 0 {
			s["not"] = d.one(object{"enum": []any{"ab", "b"}}, object{"pattern": "^b"}, object{"minLength": 4})
		}
	case "integer":
		s["multipleOf"] = d.one(2, 3, 7)
		s["not"] = d.one(object{"const": 6}, object{"multipleOf": 5}, object{"minimum": 50}, object{"type": "string"})
	case "number":
		s["multipleOf"] = d.one(0.5, 0.25, 0.1, 3)
		s["not"] = d.one(object{"type": "integer"}, object{"exclusiveMinimum": 10})
	case "object":
		switch d.IntN(6) {
		case 0:
			s["patternProperties"] = object{d.one("^a", "b", "^.$").(string): d.draw(0), "c$": d.draw(0)}
		case 1:
			s["minProperties"], s["maxProperties"] = d.IntN(2), 1+d.IntN(3)
		case 2:
			s["dependentRequired"] = object{"a": []any{"ab"}, "é": []any{"a"}}
		case 3:
			s["if"] = object{"properties": object{"a": d.draw(0)}}
			s["then"] = object{"required": []any{"ab"}}
			s["else"] = object{"properties": object{"é": d.draw(0)}}
		case 4:
			s["oneOf"] = []any{object{"required": []any{"a"}}, object{"required": []any{"ab"}}, object{"properties": object{"a": d.draw(0)}, "required": []any{"é"}}}
		case 5:
			s["propertyNames"] = object{"pattern": "^[a-cé]*$", "maxLength": 3}
			s["not"] = object{"required": []any{"a", "ab"}}
		}
	case "array":
		switch d.IntN(4) {
		case 0:
			s["contains"] = d.draw(0)
		case 1:
			s["contains"] = object{"type": "integer", "minimum": d.IntN(5)}
			s["minContains"], s["maxContains"] = d.IntN(2), 1+d.IntN(2)
		case 2:
			s["items"], s["uniqueItems"] = object{"enum": []any{1, "a", nil, 2}}, true
			delete(s, "prefixItems")
		case 3:
			s["not"] = object{"items": d.draw(0)}
		}
	}
}

// TestKeywords does the same as TestSchemas, for keywords that exclude, count or depend.
func TestKeywords(t *testing.T) {
	const count, texts, want = 400, 6, 250
	tokens, v := vocabulary(t)
	done, endless := 0, 0
	for i := range count {
		r := rand.New(rand.NewPCG(2, uint64(i)))
		d := drawing{r}
		var drawn []any
		for range 2 {
			s := d.one(d.string(), d.number(), d.object(1), d.object(1), d.array(1)).(object)
			d.more(s, 1)
			drawn = append(drawn, s)
		}
		schema := drawn[0].(object)
		if d.IntN(3) == 0 {
			schema = object{"oneOf": drawn}
		}
		schema["$defs"] = object{"x": true, "y": object{"z": true}, "y/z": object{"type": "integer"}}
		text, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		g, err := grammar.JSONSchema(text)
		if err != nil {
			continue
		}
		done++
		valid := validator(t, string(text))
		for range texts {
			s, ended := generate(t, r, g, v, tokens)
			if !ended {
				endless++
				continue
			}
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(s))
			if err != nil {
				t.Fatalf("%s\n%s is not JSON: %v", text, s, err)
			}
			if err := valid.Validate(value); err != nil {
				t.Errorf("%s\n%s: %v", text, s, err)
				break
			}
		}
	}
	t.Log(done, "schemas,", endless, "texts that found no end")
	if done < want || endless > done*texts/50 {
		t.Errorf("%d schemas were compiled, want %d; %d texts did not end", done, want, endless)
	}
}

// TestShapes validates texts that the grammars of the committed schemas generate.
func TestShapes(t *testing.T) {
	data, err := os.ReadFile("../../grammar/testdata/schemas.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	other := map[string]bool{"nullable of OpenAPI": true, "old bounds": true}                       // not valid in 2020-12
	ahead := map[string]bool{"password": true, "pydantic: decimal": true, "escapes of units": true} // not supported by package regexp, which the validator uses
	tokens, v := vocabulary(t)
	r := rand.New(rand.NewPCG(3, 3))
	for line := range bytes.Lines(data) {
		var s struct {
			Name    string
			Schema  json.RawMessage
			Yes, No []json.RawMessage
			Unheld  string
		}
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		if s.Unheld != "" || other[s.Name] || ahead[s.Name] {
			continue
		}
		valid := validator(t, string(s.Schema))
		check := func(text string, want bool) {
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if err != nil {
				t.Fatalf("%s: %s: %v", s.Name, text, err)
			}
			if err := valid.Validate(value); (err == nil) != want {
				t.Errorf("%s: %s: %v", s.Name, text, err)
			}
		}
		g, err := grammar.JSONSchema(s.Schema)
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		for range 10 {
			if text, ended := generate(t, r, g, v, tokens); ended {
				check(text, true)
			}
		}
		for _, text := range s.Yes {
			check(string(text), true)
		}
	}
}
