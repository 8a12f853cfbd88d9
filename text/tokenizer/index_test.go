package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// TestIndex compares an index that grows with a map.
func TestIndex(t *testing.T) {
	for _, room := range []int{0, 1, 5000} {
		r, x, want := rand.New(rand.NewPCG(1, uint64(room))), newIndex(room), map[string]uint32{}
		for range 20000 {
			text, id := fmt.Sprint(r.IntN(5000)), r.Uint32()
			_, known := want[text]
			want[text] = id
			if _, first := x.set([]byte(text), id); first == known {
				t.Fatalf("set(%q) says that it is the first: %v", text, first)
			}
		}
		if len(x.list) != len(want) {
			t.Errorf("%d strings, want %d", len(x.list), len(want))
		}
		for n := range 6000 {
			text := fmt.Sprint(n)
			id, ok := x.get(text)
			found, okToo := x.find([]byte(text))
			if w, wantOK := want[text]; id != w || ok != wantOK || found != w || okToo != wantOK {
				t.Fatalf("%q: %d, %v and %d, %v, want %d, %v", text, id, ok, found, okToo, w, wantOK)
			}
		}
	}
}

// TestSpans: groups that are not read again are the same as those that are.
func TestSpans(t *testing.T) {
	long := strings.Repeat(`["é]\"[", {"a": [1, {}]}], `, large/20) + "[]"
	text := []byte(` {"first": [` + long + `], "short": [1, 2], "second" : { "x": [` + long + `], "y": {"z": [` + long + `]}} , "last": "]" } `)
	v, known, err := spannedJSON(text)
	if err != nil || len(known) != 6 { // itself, first, second, x, y, z
		t.Fatalf("%d spans, %v", len(known), err)
	}
	var walk func(known spans, v value) string
	walk = func(known spans, v value) string {
		if v[0] != '{' {
			return string(v)
		}
		var all strings.Builder
		v.eachOf(known, func(key, v value) error { fmt.Fprintf(&all, "%s=%s;", key, walk(known, v)); return nil })
		return all.String()
	}
	if got, want := walk(known, v), walk(nil, v); got != want || strings.Count(got, "=") != 7 {
		t.Errorf("with spans %.200q,\nwithout %.200q", got, want)
	}
	if _, _, err := spannedJSON(text[:len(text)-2]); !errors.Is(err, fault.ErrFormat) {
		t.Errorf("a text without end: %v", err)
	}
}

// TestClaims: strings full of what counts entries take no memory for entries.
func TestClaims(t *testing.T) {
	const n = 4 << 20
	for kind, text := range map[string]string{
		"vocabulary": `{"model":{"type":"WordLevel","unk_token":"a","vocab":{"` + strings.Repeat(":", n) + `":0}}}`,
		"pieces":     `{"model":{"type":"Unigram","unk_id":0,"vocab":[["` + strings.Repeat("[", n) + `",0],1]}}`,
		"merges":     `{"model":{"type":"BPE","vocab":{"a":0,"aa":1},"merges":[["a","a"],"` + strings.Repeat(",", n) + `"]}}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		Parse([]byte(text))
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 24*n {
			t.Errorf("%s of %d bytes take %d", kind, len(text), took)
		}
	}
}

// TestSource: what a class builds of a file is what the same file says when it is read by itself,
// whatever was read before with other options.
func TestSource(t *testing.T) {
	vocab := map[string]int{"a": 0, "b": 1, "ab": 2, "##b": 3, "a##b": 4, "▁": 5, "▁a": 6, "a▁": 7, "<unk>": 8}
	ids, err := json.Marshal(vocab)
	if err != nil {
		t.Fatal(err)
	}
	var from source
	merges := [][]byte{[]byte(`[["a","b"],["▁","a"]]`), []byte(`[["a","b"],["a","▁"]]`), []byte(`["a ##b"]`)}
	options := []string{`"unk_token":"<unk>","continuing_subword_prefix":"##"`, `"unk_token":"<unk>","ignore_merges":true`, `"unk_token":"<unk>"`, `"continuing_subword_prefix":"##"`}
	for round := range 2 {
		for _, m := range merges {
			for _, o := range options {
				read := func(s *source) (*bpe, error) {
					f, err := readFile(fmt.Appendf(nil, `{"model":{"type":"BPE",%s}}`, o))
					if err != nil {
						t.Fatal(err)
					}
					f.model.fields["vocab"], f.model.fields["merges"] = ids, m
					model, err := parseModel(f.model, s)
					if err != nil {
						return nil, err
					}
					return model.(*bpe), nil
				}
				got, err := read(&from)
				want, wantErr := read(new(source))
				if fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Errorf("round %d, %s, %s: %v, want %v", round, m, o, err, wantErr)
				}
				if err == nil && (got.parts != want.parts || fmt.Sprint(got.merges) != fmt.Sprint(want.merges)) {
					t.Errorf("round %d, %s, %s: parts %v, merges %v, want %v, %v", round, m, o, got.parts, got.merges, want.parts, want.merges)
				}
			}
		}
	}
}
