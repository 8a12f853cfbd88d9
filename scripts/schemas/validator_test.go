package schemas

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/grammar"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// valid reports whether a Validator accepts a text.
func valid(t *testing.T, v *grammar.Validator, text string) bool {
	t.Helper()
	err := v.Validate(text)
	if err != nil && !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("%s: %v", text, err)
	}
	return err == nil
}

// TestValidatorSuite: grammar.Validator has the results of the JSON-Schema-Test-Suite for its
// instances.
func TestValidatorSuite(t *testing.T) {
	dir := os.Getenv("AVOFORMER_SCHEMA_SUITE")
	if dir == "" {
		t.Skip("AVOFORMER_SCHEMA_SUITE is not set: the folder tests of the JSON-Schema-Test-Suite; make compare WHAT=schemas sets it")
	}
	uris := map[string]string{"draft4": "http://json-schema.org/draft-04/schema#", "draft6": "http://json-schema.org/draft-06/schema#", "draft7": "http://json-schema.org/draft-07/schema#", "draft2019-09": "https://json-schema.org/draft/2019-09/schema", "draft2020-12": "https://json-schema.org/draft/2020-12/schema"}
	for draft, uri := range uris {
		t.Run(draft, func(t *testing.T) {
			names, err := filepath.Glob(filepath.Join(dir, draft, "*.json"))
			if err != nil || len(names) == 0 {
				t.Fatal(names, err)
			}
			right, most, refused := 0, map[string]int{"draft4": 15, "draft6": 13, "draft7": 13, "draft2019-09": 17, "draft2020-12": 22}[draft], map[string]int{}
			for _, name := range names {
				data, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				var cases []suiteCase
				if err := json.Unmarshal(data, &cases); err != nil {
					t.Fatal(name, err)
				}
				for _, c := range cases {
					schema := string(c.Schema)
					if schema[0] == '{' && !strings.Contains(schema, `"$schema"`) {
						schema = strings.Replace(strings.Replace(schema, "{", `{"$schema":"`+uri+`",`, 1), ",}", "}", 1)
					}
					v, err := grammar.NewValidator([]byte(schema))
					if err != nil {
						refused[filepath.Base(name)+": "+c.Description+": "+err.Error()] += len(c.Tests)
						continue
					}
					for _, x := range c.Tests {
						if valid(t, v, string(x.Data)) == x.Valid {
							right++
							continue
						}
						if strings.Contains(c.Description+": "+x.Description, "no validation: invalid number") { // a metaschema that leaves keywords out
							continue
						}
						t.Errorf("%s: %s: %s: valid is not %v\n%s\n%s", filepath.Base(name), c.Description, x.Description, x.Valid, schema, x.Data)
					}
				}
			}
			t.Logf("%d right; refused: %d", right, len(refused))
			for r, n := range refused { // references to other documents
				t.Log(n, r)
			}
			if len(refused) > most || right < 500 {
				t.Errorf("%d schemas are refused, want at most %d", len(refused), most)
			}
		})
	}
}

// TestValidatorDrawn: for random texts and random schemas, the validator agrees with another
// library.
func TestValidatorDrawn(t *testing.T) {
	const count, texts = 1500, 40
	said := map[bool]int{}
	for i := range count {
		r := rand.New(rand.NewPCG(2, uint64(i)))
		d := drawing{r}
		schema, _ := d.draw(3).(object)
		for range r.IntN(4) {
			d.beyond(schema)
		}
		schema["$defs"] = object{"x": object{"type": "object", "properties": object{"next": object{"$ref": "#/$defs/x"}, "n": d.draw(0)}}, "y/z": d.draw(1), "y": object{"z": true}}
		withoutFormats(schema) // the oracle enforces formats
		text, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		v, err := grammar.NewValidator(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		oracle := validator(t, string(text))
		for range texts {
			instance, err := json.Marshal(d.value(3))
			if err != nil {
				t.Fatal(err)
			}
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(instance)))
			if err != nil {
				t.Fatal(err)
			}
			want := oracle.Validate(value)
			said[want == nil]++
			if got := v.Validate(string(instance)); (got == nil) != (want == nil) {
				t.Errorf("%s\n%s: %v, want %v", text, instance, got, want)
			}
		}
	}
	if said[true] < 3000 || said[false] < 3000 {
		t.Errorf("counts of valid and invalid texts: %v", said)
	}
	t.Log(said)
}

// beyond adds keywords that the grammar does not enforce, or not always.
func (d drawing) beyond(s object) {
	switch d.IntN(8) {
	case 0:
		s["uniqueItems"] = true
	case 1:
		s["contains"], s["minContains"] = d.draw(0), d.IntN(3)
	case 2:
		s["not"] = d.draw(1)
	case 3:
		s["if"], s["then"], s["else"] = d.draw(1), d.draw(1), d.draw(1)
	case 4:
		s["unevaluatedProperties"] = d.one(false, d.draw(0))
	case 5:
		s["unevaluatedItems"] = d.one(false, d.draw(0))
	case 6:
		s["patternProperties"], s["propertyNames"] = object{"^a": d.draw(0)}, object{"maxLength": 2}
	case 7:
		s["dependentSchemas"], s["dependentRequired"], s["oneOf"] = object{"a": d.draw(1)}, object{"ab": []any{"a"}}, []any{d.draw(1), d.draw(1), true}
	}
	if d.IntN(8) == 0 {
		delete(s, "type")
	}
}

// withoutFormats removes format from a schema and all schemas within it.
func withoutFormats(s any) {
	switch s := s.(type) {
	case object:
		delete(s, "format")
		for _, below := range s {
			withoutFormats(below)
		}
	case []any:
		for _, below := range s {
			withoutFormats(below)
		}
	}
}

// value draws a random value that suits the drawn schemas.
func (d drawing) value(depth int) any {
	n := d.IntN(9)
	if depth == 0 {
		n = d.IntN(5)
	}
	switch n {
	case 0:
		return d.one("", "a", "b", "abc", "xyz", "2024-02-30", "2024-02-29", "x\n", "aé\"b", "straße", "  1 ", "é")
	case 1, 2:
		return d.one(0, 1, 2, 5, -3, 2.5, 7, 9.0, 1e2, -0.5, 12.75, 1000)
	case 3:
		return d.one(nil, true, false)
	case 4:
		return []any{}
	case 5, 6:
		o := object{}
		for range d.IntN(5) {
			o[d.one("a", "ab", "b\"", "é", "c d", "", "z", "kind", "p", "other", "next", "n").(string)] = d.value(depth - 1)
		}
		if d.IntN(4) == 0 {
			o["kind"] = d.one("p", "q")
		}
		return o
	}
	list := []any{}
	for range d.IntN(5) {
		list = append(list, d.value(depth-1))
	}
	return list
}
