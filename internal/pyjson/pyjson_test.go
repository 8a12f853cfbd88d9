package pyjson_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/avoformer/avoformer/internal/pyjson"
)

type base struct {
	Size int `json:"hidden_size"`
}

type nested struct {
	A int `json:"a"`
	B int `json:"b"`
}

type config struct {
	base
	Eps     float64            `json:"eps"`
	Flag    bool               `json:"flag"`
	Name    string             `json:"name"`
	Pointer *int               `json:"pointer"`
	Sub     nested             `json:"sub"`
	List    []int              `json:"list"`
	Pair    [2]*int            `json:"pair"`
	Map     map[string]float64 `json:"map"`
	Raw     json.RawMessage    `json:"raw"`
	Any     any                `json:"any"`
	Unread  int                `json:"-"`
}

func TestUnmarshal(t *testing.T) {
	four, nine := 4, 9
	for _, c := range []struct {
		name, text string
		want       config
	}{
		{"exact case", `{"Hidden_Size": 1, "HIDDEN_SIZE": 2, "flag": true, "Flag": false, "Unread": 3, "-": 4}`, config{Flag: true}},
		{"embedded", `{"hidden_size": 7}`, config{base: base{7}}},
		{"last of two, whole", `{"eps": "wrong", "sub": {"a": 1}, "eps": 2, "sub": {"b": 3, "b": 4}}`, config{Eps: 2, Sub: nested{B: 4}}},
		{"last of two is null", `{"eps": 5, "eps": null}`, config{}},
		{"escaped key", `{"e\u0070s": 1.5e2}`, config{Eps: 150}},
		{"infinite", `{"eps": -Infinity, "map": {"a": Infinity, "b": 1e999, "a": -1e999}}`, config{Eps: math.Inf(-1), Map: map[string]float64{"a": math.Inf(-1), "b": math.Inf(1)}}},
		{"pointers", `{"pointer": 4, "pair": [null, 9]}`, config{Pointer: &four, Pair: [2]*int{nil, &nine}}},
		{"lists", `{"list": [], "any": [1, {"a": null, "b": [true]}, "\ud83d\ude00"]}`, config{List: []int{}, Any: []any{1., map[string]any{"a": nil, "b": []any{true}}, "😀"}}},
		{"raw", `{"raw":  {"x" : [NaN]} }`, config{Raw: json.RawMessage(`{"x" : [NaN]}`)}},
		{"raw null", `{"raw": null, "any": null}`, config{Raw: json.RawMessage("null")}},
		{"white space", "\t{ \"name\" : \"a\\n\\u00e9\" }\r\n", config{Name: "a\né"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got config
			if err := pyjson.Unmarshal([]byte(c.text), &got); err != nil || !reflect.DeepEqual(got, c.want) {
				t.Fatalf("have %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

// TestUnmarshalDefaults: fields that the text lacks, or has as null, keep their values.
func TestUnmarshalDefaults(t *testing.T) {
	got := config{Eps: 1, Name: "before", Sub: nested{A: 1, B: 2}, Map: map[string]float64{"x": 1}}
	if err := pyjson.Unmarshal([]byte(`{"eps": null, "sub": {"a": 5}, "map": {"y": 2}}`), &got); err != nil {
		t.Fatal(err)
	}
	want := config{Eps: 1, Name: "before", Sub: nested{A: 5, B: 2}, Map: map[string]float64{"x": 1, "y": 2}}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("have %+v, want %+v", got, want)
	}
}

func TestNaN(t *testing.T) {
	var x float64
	if err := pyjson.Unmarshal([]byte("NaN"), &x); err != nil || !math.IsNaN(x) {
		t.Fatal(x, err)
	}
}

func TestSyntax(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "space": " ", "trailing": `{} {}`, "trailing comma": `{"a": 1,}`, "mark": "\ufeff{}", "invalid UTF-8": "\"\xff\"",
		"leading zero": "01", "plus": "+1", "point": "1.", "exponent": "1e", "minus": "-", "minus NaN": "-NaN", "word": "nul", "comment": "/**/1",
		"quotes": "'a'", "control": "\"\x01\"", "escape": `"\x"`, "short escape": `"\u12"`, "no digits": `"\u12g4"`, "half a pair": `"\ud800"`,
		"second half": `"\udc00"`, "two first halves": `"\ud800\ud800"`, "no end": `"a`, "escape at end": `"a\`, "no colon": `{"a" 1}`, "no key": `{1: 1}`, "open": `[1`,
		"deep": strings.Repeat("[", 2000) + strings.Repeat("]", 2000),
	} {
		t.Run(name, func(t *testing.T) {
			var x any
			if err := pyjson.Unmarshal([]byte(text), &x); !errors.Is(err, pyjson.ErrSyntax) {
				t.Fatal(x, err)
			}
		})
	}
}

func TestTypes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"hidden_size": 1.0}`, "hidden_size = 1.0, want int"},
		{`{"hidden_size": 99999999999999999999}`, "hidden_size = 99999999999999999999, want int"},
		{`{"hidden_size": true}`, "hidden_size = true, want int"},
		{`{"eps": "1"}`, `eps = "1", want float64`},
		{`{"flag": 1}`, "flag = 1, want bool"},
		{`{"name": NaN}`, "name = NaN, want string"},
		{`{"sub": [1]}`, "sub = [1], want pyjson_test.nested"},
		{`{"sub": {"a": "x"}}`, `sub.a = "x", want int`},
		{`{"list": [1, []]}`, "list.1 = [], want int"},
		{`{"list": 1}`, "list = 1, want []int"},
		{`{"pair": [1]}`, "pair = [1], want [2]*int"},
		{`{"map": {"k": null, "j": {}}}`, "map.j = {}, want float64"},
		{`"` + strings.Repeat("é", 99) + `"`, `"` + strings.Repeat("é", 29) + "…, want pyjson_test.config"},
	} {
		var x config
		var wrong *pyjson.TypeError
		if err := pyjson.Unmarshal([]byte(c.text), &x); !errors.As(err, &wrong) || err.Error() != c.want {
			t.Errorf("%s: have %v, want %s", c.text, err, c.want)
		}
	}
}

// TestTagless: a field without a tag panics, since its key is not known.
func TestTagless(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Fatal("no panic")
		}
	}()
	pyjson.Unmarshal([]byte("{}"), &struct{ Name string }{})
}

func TestMembers(t *testing.T) {
	var got []string
	err := pyjson.Members([]byte(` {"b": 1, "a": [2, 3], "b" :{} } `), func(key string, value json.RawMessage) error {
		got = append(got, key+"="+string(value))
		return nil
	})
	if want := []string{"b=1", "a=[2, 3]", "b={}"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Fatal(got, err)
	}
	stop := errors.New("stop")
	if err := pyjson.Members([]byte(`{"a": 1, "b": 2}`), func(string, json.RawMessage) error { return stop }); err != stop {
		t.Fatal(err)
	}
	if pyjson.Members([]byte(`[1]`), nil) == nil {
		t.Fatal("an array has no members")
	}
}

// FuzzUnmarshal compares with encoding/json the texts that are accepted, and their values. The
// package comment lists the differences.
func FuzzUnmarshal(f *testing.F) {
	for _, s := range []string{`{"a": [1, -2.5e-3, "x\u00e9", null, true]}`, `"\ud83d\ude00"`, "1e400", "[]", " {} ", `{"a":1,"a":2}`, "NaN", "01", `"\ud800"`, "\ufeff1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got, want any
		err, reference := pyjson.Unmarshal(text, &got), json.Unmarshal(text, &want)
		switch {
		case err == nil && reference == nil:
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: have %v, want %v", text, got, want)
			}
		case err == nil && !strings.Contains(string(text), "NaN") && !strings.Contains(string(text), "Infinity"):
			var number *json.UnmarshalTypeError // 1e400
			if !errors.As(reference, &number) {
				t.Fatalf("%q: accepted; encoding/json: %v", text, reference)
			}
		case reference == nil && utf8.Valid(text) && !strings.Contains(err.Error(), "surrogate") && !strings.Contains(err.Error(), "deep"):
			t.Fatalf("%q: %v; encoding/json has %v", text, err, want)
		}
	})
}
