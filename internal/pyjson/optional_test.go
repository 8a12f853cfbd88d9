package pyjson_test

import (
	"testing"

	"github.com/avoformer/avoformer/internal/pyjson"
)

// TestOptional distinguishes absent, null and given fields.
func TestOptional(t *testing.T) {
	for text, want := range map[string]pyjson.Optional[int]{
		`{}`: {}, `{"x": null}`: {Present: true, Null: true}, `{"x": 0}`: {Present: true}, `{"x": 7}`: {Present: true, Value: 7}, `{"x": 7, "x": null}`: {Present: true, Null: true},
	} {
		var got struct {
			X pyjson.Optional[int] `json:"x"`
		}
		if err := pyjson.Unmarshal([]byte(text), &got); err != nil || got.X != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got.X, err, want)
		}
		if or := got.X.Or(5); !want.Present && or.Value != 5 || want.Present && or != want || or.Given() == want.Null {
			t.Errorf("%s: %+v where 5 is the default", text, or)
		}
	}
	var bad struct {
		X pyjson.Optional[int] `json:"x"`
	}
	if err := pyjson.Unmarshal([]byte(`{"x": "a"}`), &bad); err == nil {
		t.Error("a string is a number")
	}
}
