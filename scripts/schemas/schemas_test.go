package schemas

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
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

// draw is a schema; at depth 0 one of a scalar.
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

// combination joins schemas; those of a oneOf exclude each other.
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

// vocabulary has every byte, and pieces of what JSON has.
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

// generate goes through g at random, and after many tokens to a near end.
func generate(t *testing.T, r *rand.Rand, g *grammar.Grammar, v *grammar.Vocabulary, tokens [][]byte) string {
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
			t.Fatalf("%.300q: it does not end", text[max(len(text)-300, 0):])
		}
	}
	return string(text)
}

// closing is the bracket or quote among tokens that closes something, or else next.
func closing(tokens []int, next int) int {
	object, array := slices.Contains(tokens, '}'), slices.Contains(tokens, ']')
	switch {
	case object && !array: // both may follow in strings alone
		return '}'
	case array && !object:
		return ']'
	case slices.Contains(tokens, '"'):
		return '"'
	}
	return next
}

func TestSchemas(t *testing.T) {
	const count, texts, want = 300, 8, 200 // some of the schemas hold for nothing
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
				s := generate(t, r, g, v, tokens)
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
