package schemas

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/grammar"
)

// A suiteCase is a schema of the JSON-Schema-Test-Suite with its instances.
type suiteCase struct {
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

// counts are numbers of instances of a suite, by their outcome.
type counts struct {
	schemas                  int
	valid, invalid           int // instances that are accepted and rejected correctly
	refused, narrower, wrong int // instances of schemas that are refused by name; valid ones in a form that is not generated; wrong outcomes
	reasons                  map[string]int
}

// TestSuite compiles every schema of drafts 7 and 2020-12 in the folder tests of the
// JSON-Schema-Test-Suite. Either the grammar accepts the JSON text of each valid instance, in at
// least one order of its members, and of no invalid instance in any order, or the schema is refused
// by name.
func TestSuite(t *testing.T) {
	dir := os.Getenv("AVOFORMER_SCHEMA_SUITE")
	if dir == "" {
		t.Skip("AVOFORMER_SCHEMA_SUITE is not set: the folder tests of the JSON-Schema-Test-Suite; make compare WHAT=schemas sets it")
	}
	for _, draft := range []string{"draft7", "draft2020-12"} {
		t.Run(draft, func(t *testing.T) {
			for _, group := range []string{".", "optional", "optional/format"} {
				names, err := filepath.Glob(filepath.Join(dir, draft, group, "*.json"))
				if err != nil || len(names) == 0 {
					t.Fatal(names, err)
				}
				sum := counts{reasons: map[string]int{}}
				for _, name := range names {
					sum.file(t, draft, group, name)
				}
				t.Logf("%s %s: %d files, %d schemas, %d instances: valid and let through %d, invalid and not let through %d, of schemas refused by name %d, valid but of a form that is not generated %d, wrong %d",
					draft, group, len(names), sum.schemas, sum.valid+sum.invalid+sum.refused+sum.narrower+sum.wrong, sum.valid, sum.invalid, sum.refused, sum.narrower, sum.wrong)
				var reasons []string
				for r, n := range sum.reasons {
					reasons = append(reasons, fmt.Sprintf("%4d %s", n, r))
				}
				slices.Sort(reasons)
				slices.Reverse(reasons)
				t.Log("refused:\n" + strings.Join(reasons, "\n"))
				if sum.wrong > 0 {
					t.Errorf("%d wrong", sum.wrong)
				}
			}
		})
	}
}

func (s *counts) file(t *testing.T, draft, group, name string) {
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var cases []suiteCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(name, err)
	}
	base := strings.TrimSuffix(filepath.Base(name), ".json")
	if group == "optional" && remarks[base] {
		return
	}
	for _, c := range cases {
		s.schemas++
		schema := c.Schema
		if draft == "draft7" && schema[0] == '{' && !strings.Contains(string(schema), `"$schema"`) {
			rest := strings.TrimSpace(string(schema[1:]))
			if rest != "}" {
				rest = "," + rest
			}
			schema = json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#"` + rest)
		}
		o := grammar.SchemaOptions{Open: true, NoFormats: group != "optional/format" && base != "format-assertion"}
		g, _, err := o.Compile(schema)
		nothing := err != nil && strings.Contains(err.Error(), "nothing matches")
		if err != nil && !nothing {
			s.refused += len(c.Tests)
			s.reasons[base+": "+reason(err)] += len(c.Tests)
			if errors.Is(err, fault.ErrSyntax) {
				t.Errorf("%s/%s: %s: %v", draft, base, c.Description, err)
			}
			continue
		}
		for _, x := range c.Tests {
			through := false
			if !nothing {
				for _, text := range variants(t, x.Data) {
					through = through || follows(t, g, text)
				}
			}
			id := base + ": " + c.Description + ": " + x.Description
			switch {
			case through == x.Valid && through:
				s.valid++
			case through == x.Valid:
				s.invalid++
			case x.Valid && notGenerated(id):
				s.narrower++
			default:
				s.wrong++
				t.Logf("%s: %s, let through %v\n%s\n%s", draft, id, through, schema, x.Data)
			}
		}
	}
}

// notGenerated reports whether an instance is valid but not accepted by any grammar, because its
// form is in the list in the comment of grammar.JSONSchema.
func notGenerated(id string) bool {
	for _, form := range []string{
		"bignum: ",                           // numbers of more than 16 digits
		"float-overflow: ",                   // integers with an exponent
		"a quoted string", "address-literal", // in addresses of mail
		"leap second", "case-insensitive", "xn--", "punycoded", "Punycode", "A-label",
		"no validation: invalid number", // a metaschema that leaves keywords out
	} {
		if strings.Contains(id, form) {
			return true
		}
	}
	return false
}

// remarks are files of optional tests for keywords that the specification treats as annotations.
var remarks = map[string]bool{"content": true}

// reason returns the text of an error without the parts that differ from schema to schema.
func reason(err error) string {
	s := err.Error()
	if i := strings.LastIndex(s, ": "); i >= 0 && strings.Contains(s, "not supported") {
		return s[i+2:]
	}
	return s
}

// variants returns the JSON texts of a value in the spelling of grammars: its members in every
// order, and its numbers as they are written and without a fraction of zeros.
func variants(t *testing.T, data json.RawMessage) []string {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return spell(v)
}

const mostVariants = 3000

func spell(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{quote(v)}
	case json.Number:
		out := []string{v.String()}
		if r, ok := new(big.Rat).SetString(v.String()); ok && r.IsInt() && len(v.String()) < 40 {
			out = append(out, r.Num().String())
		} else if ok && len(v.String()) < 40 {
			out = append(out, strings.TrimRight(r.FloatString(40), "0"))
		}
		return slices.Compact(out)
	case []any:
		lists := []string{""}
		for i, x := range v {
			comma := ","
			if i == 0 {
				comma = ""
			}
			lists = product(lists, comma, spell(x))
		}
		return wrap("[", lists, "]")
	case map[string]any:
		return wrap("{", members(v), "}")
	}
	text, _ := json.Marshal(v)
	return []string{string(text)}
}

// members returns the members of an object in every order.
func members(v map[string]any) (out []string) {
	if len(v) == 0 {
		return []string{""}
	}
	for name, x := range v {
		rest := map[string]any{}
		for other, y := range v {
			if other != name {
				rest[other] = y
			}
		}
		head := product([]string{quote(name) + ":"}, "", spell(x))
		comma := ","
		if len(rest) == 0 {
			comma = ""
		}
		if out = append(out, product(head, comma, members(rest))...); len(out) > mostVariants {
			return out
		}
	}
	return out
}

func product(a []string, between string, b []string) (out []string) {
	for _, x := range a {
		for _, y := range b {
			if out = append(out, x+between+y); len(out) > mostVariants {
				return out
			}
		}
	}
	return out
}

func wrap(before string, list []string, behind string) []string {
	for i := range list {
		list[i] = before + list[i] + behind
	}
	return list
}

// quote writes a string as grammars do: it escapes a character only if JSON requires it.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ':
			text, _ := json.Marshal(string(r))
			b.WriteString(strings.Trim(string(text), `"`))
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

var bytesOnly = func() *grammar.Vocabulary {
	tokens := make([][]byte, 257)
	for b := range 256 {
		tokens[b] = []byte{byte(b)}
	}
	v, err := grammar.NewVocabulary(tokens, []int{256})
	if err != nil {
		panic(err)
	}
	return v
}()

// follows reports whether a grammar accepts a text.
func follows(t *testing.T, g *grammar.Grammar, text string) bool {
	m := g.Matcher(bytesOnly)
	for _, b := range []byte(text) {
		if err := m.Accept(int(b)); errors.Is(err, fault.ErrRefused) {
			return false
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return m.CanEnd()
}
