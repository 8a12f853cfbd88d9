package grammar

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"
)

// realistic returns a vocabulary of n tokens with lengths as in tokenizers for text and code: every
// byte, then words of random syllables with and without a space before them, punctuation marks,
// digits, and characters beyond ASCII, some of them incomplete.
func realistic(t testing.TB, n int) *Vocabulary {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	tokens := make([][]byte, 0, n)
	seen := map[string]bool{}
	for b := range 256 {
		tokens = append(tokens, []byte{byte(b)})
		seen[string([]byte{byte(b)})] = true
	}
	syllables := strings.Fields("a the in er on at re is it ly co de con ing tion st ment pro per ac un able ar or e s ed an al le ve us ic ou ra ti ma na")
	marks := strings.Fields(`" ", ": {" "} [ ] }, ], == () -> // . , ; : ! ? ' " _ - \n \t { }`)
	for len(tokens) < n-1 {
		var b strings.Builder
		switch k := r.IntN(20); {
		case k < 14:
			if r.IntN(2) == 0 {
				b.WriteByte(' ')
			}
			for range 1 + r.IntN(2) + r.IntN(3) {
				b.WriteString(syllables[r.IntN(len(syllables))])
			}
		case k < 16:
			for range 1 + r.IntN(3) {
				b.WriteString(strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(marks[r.IntN(len(marks))]))
			}
		default:
			for range 1 + r.IntN(3) {
				b.WriteRune(rune(0x4e00 + r.IntN(4000)))
			}
			if r.IntN(8) == 0 {
				s := b.String()
				b.Reset()
				b.WriteString(s[:len(s)-1])
			}
		}
		if s := b.String(); !seen[s] {
			seen[s] = true
			tokens = append(tokens, []byte(s))
		}
	}
	v, err := NewVocabulary(append(tokens, nil), []int{n - 1})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const large = 152_000

const personSchema = `{"type": "object", "properties": {
	"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0, "maximum": 150}, "email": {"type": "string", "format": "email"},
	"tags": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
	"address": {"type": "object", "properties": {"street": {"type": "string"}, "zip": {"type": "string", "pattern": "^[0-9]{5}$"}}, "required": ["street"]},
	"kind": {"enum": ["staff", "student", "guest"]}}, "required": ["name", "age", "kind"], "additionalProperties": false}`

const person = `{"name": "Ada L\u00e9vy", "age": 36, "email": "ada@example.org", "tags": ["math", "éngine"], "address": {"street": "St James's Square 12", "zip": "12345"}, "kind": "staff"}`

func BenchmarkVocabulary(b *testing.B) {
	v := realistic(b, large)
	var w *Vocabulary
	for b.Loop() {
		var err error
		if w, err = NewVocabulary(v.tokens, v.ends); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(w.nodes)*int(unsafe.Sizeof(node{}))+4*len(w.same)+len(w.isEnd))/1e6, "MB")
	b.ReportMetric(float64(len(w.nodes)), "nodes")
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := JSONSchema([]byte(personSchema)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirstUse follows a text byte by byte with a new grammar, and computes all masks.
func BenchmarkFirstUse(b *testing.B) {
	v := realistic(b, large)
	for _, c := range []struct{ name, schema string }{{"schema", personSchema}, {"object", `{"type": "object"}`}} {
		b.Run(c.name, func(b *testing.B) {
			var t *table
			for b.Loop() {
				g, err := JSONSchema([]byte(c.schema))
				if err != nil {
					b.Fatal(err)
				}
				t = follow(b, g.Matcher(v), person).table
			}
			b.ReportMetric(float64(t.bytes)/1e6, "MB")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(person)), "µs/token")
		})
	}
}

func follow(b testing.TB, m *Matcher, text string) *Matcher {
	for i := range len(text) {
		if _, err := m.Mask(); err != nil {
			b.Fatal(err)
		}
		if err := m.Accept(int(text[i])); err != nil {
			b.Fatalf("%q: %v", text[:i], err)
		}
	}
	return m
}

// BenchmarkStep measures a decode step whose states have been computed before: Apply to all logits
// and Accept, or Mask and Accept, on average over a text.
func BenchmarkStep(b *testing.B) {
	v := realistic(b, large)
	g, err := JSONSchema([]byte(personSchema))
	if err != nil {
		b.Fatal(err)
	}
	begin := g.Matcher(v)
	m := begin.Fork()
	follow(b, m, person)
	logits := make([]float32, large)
	for _, apply := range []bool{false, true} {
		name := "Mask"
		if apply {
			name = "Apply"
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if n%len(person) == 0 {
					m.Set(begin)
				}
				if apply {
					if err := m.Apply(logits); err != nil {
						b.Fatal(err)
					}
				} else if _, err := m.Mask(); err != nil {
					b.Fatal(err)
				}
				if err := m.Accept(int(person[n%len(person)])); err != nil {
					b.Fatal(err)
				}
				n++
			}
		})
	}
}
