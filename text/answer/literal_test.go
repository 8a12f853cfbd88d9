package answer

import (
	"encoding/json"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestLiterals compares arguments of calls as in Python with what ast.literal_eval of Python 3
// makes of them. scripts/literals.py has drawn the literals; AVOFORMER_LITERALS names a file with
// more of them.
func TestLiterals(t *testing.T) {
	name := "testdata/literals.json"
	if more := os.Getenv("AVOFORMER_LITERALS"); more != "" {
		name = more
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var cases [][2]json.RawMessage
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 150 {
		t.Fatalf("%d literals", len(cases))
	}
	differ, refused := 0, 0
	for _, c := range cases {
		var source string
		if err := json.Unmarshal(c[0], &source); err != nil {
			t.Fatal(err)
		}
		text := "<|tool_call_start|>[f(v=" + source + "\n)]<|tool_call_end|>"
		for _, n := range []int{1, len(text)} {
			var a Answer
			var pieces []string
			for piece := range slices.Chunk([]byte(text), n) {
				pieces = append(pieces, string(piece))
			}
			for _, e := range events(t, Format{Calls: LFM}, Options{Tools: tools}, pieces...) {
				a.Add(e)
			}
			got := any(nil)
			if len(a.Calls) == 1 {
				got = exactly(t, a.Calls[0].Arguments)
			}
			want := exactly(t, string(c[1]))
			if want == nil {
				refused++
			}
			if !sameValue(want, got) {
				if differ++; differ <= 20 {
					t.Errorf("%q in pieces of %d bytes: got %v, want %v", source, n, got, want)
				}
			}
		}
	}
	t.Logf("%d literals, %d of them refused, each whole and byte by byte: %d differ", len(cases), refused/2, differ)
}

// exactly decodes JSON without rounding its whole numbers.
func exactly(t *testing.T, source string) (v any) {
	d := json.NewDecoder(strings.NewReader(source))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Errorf("%s: %v", source, err)
	}
	return v
}

// sameValue compares values. In want, a set is a map that has only "set", in any order and without
// what is there twice.
func sameValue(want, got any) bool {
	switch want := want.(type) {
	case json.Number:
		got, ok := got.(json.Number)
		if x, whole := new(big.Int).SetString(want.String(), 10); whole && ok {
			y, whole := new(big.Int).SetString(got.String(), 10)
			return whole && x.Cmp(y) == 0
		}
		x, _ := strconv.ParseFloat(want.String(), 64)
		y, err := strconv.ParseFloat(got.String(), 64)
		return ok && err == nil && x == y && strings.ContainsAny(got.String(), ".e")
	case []any:
		got, ok := got.([]any)
		return ok && slices.EqualFunc(want, got, sameValue)
	case map[string]any:
		if list, ok := want["set"].([]any); ok && len(want) == 1 {
			got, ok := got.([]any)
			return ok && sameSet(list, got) && sameSet(got, list)
		}
		got, ok := got.(map[string]any)
		if !ok || len(want) != len(got) {
			return false
		}
		for key, x := range want {
			if y, ok := got[key]; !ok || !sameValue(x, y) {
				return false
			}
		}
		return true
	}
	return want == got
}

// sameSet reports whether each element of a is in b.
func sameSet(a, b []any) bool {
	return !slices.ContainsFunc(a, func(x any) bool {
		return !slices.ContainsFunc(b, func(y any) bool { return sameValue(x, y) || sameValue(y, x) })
	})
}

// TestZeroKey has the key -0, which is 0 to Python, and -0.0, which is not.
func TestZeroKey(t *testing.T) {
	for source, want := range map[string]string{"{-0: 1}": `{"0": 1}`, "{-0.0: 1}": `{"-0.0": 1}`, "{- 0x0: -0}": `{"0": -0}`, "{'-0': 1}": `{"-0": 1}`} {
		var a Answer
		for _, e := range events(t, Format{Calls: LFM}, Options{Tools: tools}, "<|tool_call_start|>[f(v="+source+")]<|tool_call_end|>") {
			a.Add(e)
		}
		if len(a.Calls) != 1 || string(a.Calls[0].Arguments) != `{"v": `+want+`}` {
			t.Errorf("%s: calls %+v, want %s", source, a.Calls, want)
		}
	}
}
