package grammar

import (
	"slices"
	"strings"
	"testing"
)

// TestPropose verifies that Propose returns the longest tokens of the text that must follow, up to
// the point where the text can continue with more than one byte, or end.
func TestPropose(t *testing.T) {
	tokens := append(strings.Split(`abcdefghijklmnopqrstuvwxyz{}": `, ""), `{"`, "na", "name", "nam", `":`, ` "`, "ab", "")
	v := vocabularyOf(t, []int{len(tokens) - 1}, tokens...)
	for _, c := range []struct {
		pattern, before string
		most            int
		want            []string
	}{
		{`\{"name": "(x|y)"\}`, "", 9, []string{`{"`, "name", `":`, ` "`}},
		{`\{"name": "(x|y)"\}`, "", 2, []string{`{"`, "name"}},
		{`\{"name": "(x|y)"\}`, "", 0, nil},
		{`\{"name": "(x|y)"\}`, `{"n`, 9, []string{"a", "m", "e", `":`, ` "`}},
		{`\{"name": "(x|y)"\}`, `{"name": "x`, 9, []string{`"`, "}"}},
		{`\{"name": "(x|y)"\}`, `{"name": "x"}`, 9, nil},
		{`abc?`, "", 9, []string{"ab"}},
		{`a?b`, "", 9, nil},
		{`na(me|mf)`, "", 9, []string{"nam"}},
		{`(na|ne)x`, "", 9, []string{"n"}},
		{`ab(x|[b-c])`, "", 9, []string{"ab"}},
		{`aXb`, "", 9, []string{"a"}}, // no token has an X
	} {
		m := mustRegexp(t, c.pattern).Matcher(v)
		for _, b := range strings.Split(c.before, "") {
			if b != "" {
				accept(t, m, slices.Index(tokens, b))
			}
		}
		at := m.at
		got := m.Propose([]int{7}, c.most)
		var want []string
		for _, token := range got[1:] {
			want = append(want, tokens[token])
		}
		if got[0] != 7 || !slices.Equal(want, c.want) || m.at != at {
			t.Errorf("%s after %q: %q, want %q", c.pattern, c.before, want, c.want)
		}
		accept(t, m, got[1:]...)
	}
	m := mustRegexp(t, "a").Matcher(v)
	accept(t, m, 0, len(tokens)-1)
	if got := m.Propose(nil, 9); len(got) != 0 {
		t.Errorf("after the end: %v", got)
	}
	g, err := JSONSchema([]byte(`{"type": "object", "properties": {"name": {"const": {"ab": "na"}}}, "required": ["name"], "additionalProperties": false}`))
	if err != nil {
		t.Fatal(err)
	}
	m = g.Matcher(v)
	accept(t, m, slices.Index(tokens, "{"), slices.Index(tokens, `"`)) // white space may come before the quote
	if got := m.Propose(nil, 9); len(got) != 2 || tokens[got[0]] != "name" {
		t.Errorf("of a schema: %v", got)
	}
	if n := testing.AllocsPerRun(10, func() { _ = m.Propose(make([]int, 0, 8), 8) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
}
