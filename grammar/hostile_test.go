package grammar

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avoformer/avoformer/internal/testenv"
)

// TestJSONSchemaHostile verifies that schemas that try to take much time or memory are an error, or
// are compiled within a few seconds.
func TestJSONSchemaHostile(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("no part of the test depends on the machine")
	}
	size := 60
	if testing.Short() {
		size = 20
	}
	many := func(n int, format string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = strings.ReplaceAll(format, "%", fmt.Sprint(i))
		}
		return strings.Join(list, ",")
	}
	for name, schema := range map[string]string{
		"repetitions":        `{"pattern": "^((a{1,1000}){1,1000}){1,1000}$", "maxLength": 100000}`,
		"an exponential DFA": `{"allOf": [{"pattern": "(a|b)*a(a|b){60}"}, {"pattern": "(a|b)*b(a|b){60}c"}]}`,
		"many patterns":      `{"allOf": [` + many(300, `{"pattern": "a[0-9]{%}b"}`) + `]}`,
		"look-ahead":         `{"pattern": "` + strings.Repeat("(?=.*(a|b)*a(a|b){12})", 60) + `x"}`,
		"nested look-ahead":  `{"pattern": "` + strings.Repeat("(?=.*a", 150) + strings.Repeat(")", 150) + `"}`,
		"many properties":    `{"pattern": "^[` + strings.Repeat(`\\p{L}\\P{Lu}`, 2000) + `]+$", "minLength": 3}`,
		"classes":            `{"allOf": [` + many(400, `{"pattern": "^[\\p{L}\\u{1%}]{2}[^\\p{Lu}%]+$"}`) + `]}`,
		"long lengths":       `{"pattern": "a", "minLength": 60000, "maxLength": 65000}`,
		"a list of schemas":  `{"oneOf": [` + many(200, `{"required": ["a%"], "properties": {"a%": {"type": "string"}, "b": {}}}`) + `]}`,
		"negations":          strings.Repeat(`{"not": {"anyOf": [true, `, 60) + `{}` + strings.Repeat(`]}}`, 60),
		"conditions":         `{"type": "object", "allOf": [` + many(40, `{"if": {"properties": {"a%": {"const": 1}, "b%": {"const": 2}}}, "then": {"required": ["c%"]}, "else": {"required": ["d%"]}}`) + `]}`,
		"dependents":         `{"properties": {` + many(60, `"a%": {}`) + `}, "dependentRequired": {` + many(59, `"a%": ["a59"]`) + `}}`,
		"counted members":    `{"properties": {` + many(3000, `"a%": {}`) + `}, "minProperties": 1500, "maxProperties": 2000}`,
		"counted elements":   `{"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 3}, "minContains": 60000, "maxContains": 60001}`,
		"differing elements": `{"type": "array", "prefixItems": [` + many(300, `{"enum": [%, 1, 2, 3]}`) + `], "items": false, "uniqueItems": true}`,
		"names of patterns":  `{"patternProperties": {` + many(40, `"^a.{%}": {"type": "integer"}`) + `}}`,
		"multiples":          `{"type": "number", "multipleOf": 0.0000004999, "not": {"multipleOf": 0.0000004993}}`,
		"a doubling":         `{"$ref": "#/$defs/0", "$defs": {` + many(60, `"%": {"not": {"not": {"allOf": [{"$ref": "#/$defs/%"}, {"title": "%"}]}}}`) + `}}`,
		"a negated doubling": `{"not": {"$ref": "#/$defs/a0"}, "$defs": {` + doubling(size) + `}}`,
	} {
		if testenv.Quick() && slices.Contains([]string{"conditions", "many properties", "classes", "many patterns", "multiples"}, name) {
			continue // each takes a tenth of a second or more
		}
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			if _, _, err := (SchemaOptions{Lenient: true}).Compile([]byte(schema)); err != nil {
				sane(t, err)
			}
			runtime.ReadMemStats(&after)
			// Memory measures the work even if the machine is busy. Time also measures work that
			// does not allocate.
			took, allocated := time.Since(began), (after.TotalAlloc-before.TotalAlloc)>>20
			if took > time.Minute || allocated > 1<<10 {
				t.Errorf("it took %v and %d MiB", took, allocated)
			}
			t.Logf("%v, %d MiB", took.Round(time.Millisecond), allocated)
		})
	}
}

// doubling returns a chain of n schemas, each of which refers to the next one twice.
func doubling(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"a%d": {"allOf": [{"$ref": "#/$defs/a%d"}, {"$ref": "#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	return b.String() + fmt.Sprintf(`"a%d": {"type": "null"}`, n)
}
