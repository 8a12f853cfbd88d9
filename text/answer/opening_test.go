package answer

import (
	"reflect"
	"testing"
)

// TestOpening finds the call that an opening begins.
func TestOpening(t *testing.T) {
	tools := []any{map[string]any{"type": "function", "function": map[string]any{"name": "weather"}}}
	found := 0
	for _, calls := range []Calls{None, Hermes, QwenCoder, GLM, Llama, Mistral, Piped, DeepSeek, Written, Nemotron, Hunyuan} {
		opening, arguments, ok := Format{Calls: calls}.Opening()
		if !ok {
			continue
		}
		found++
		a, err := Parse(Format{Calls: calls}, Options{Tools: tools, NewID: func() string { return "x" }}, opening+`{"name": "weather", "`+arguments+`": {"city": "Rom"}}`)
		if want := (Answer{Calls: []Call{{"x", "weather", `{"city": "Rom"}`}}}); err != nil || !reflect.DeepEqual(a, want) {
			t.Errorf("%s: %+v, %v, want %+v", calls, a, err, want)
		}
	}
	if found != 6 {
		t.Errorf("%d formats have an opening", found)
	}
}
