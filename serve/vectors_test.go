package serve

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/text/quantize"
)

// TestVectorElements: each protocol's field for the elements of vectors gives the numbers of
// package quantize, as lists or in base64.
func TestVectorElements(t *testing.T) {
	h := started(t, Options{}, "embed")
	type vectors struct {
		Data []struct{ Embedding []float64 }
	}
	floats := posted[vectors](t, h.URL+"/v1/embeddings", object{"input": "hello world", "input_type": "search_document"}).Data[0].Embedding // one model embeds: its name is not needed
	v := make([]float32, len(floats))
	for i, x := range floats {
		v[i] = float32(x)
	}
	scaled, _, err := quantize.Scaled([][]float32{v})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]float64{"float": floats}
	for _, x := range scaled[0] {
		want["int8"], want["uint8"] = append(want["int8"], float64(x)), append(want["uint8"], float64(x)+128)
	}
	for _, x := range quantize.UBinary([][]float32{v})[0] {
		want["ubinary"], want["binary"] = append(want["ubinary"], float64(x)), append(want["binary"], float64(x)-128)
	}
	for name, want := range want {
		for _, field := range []string{"output_dtype", "embedding_type"} {
			if got := posted[vectors](t, h.URL+"/v1/embeddings", object{"input": "hello world", "input_type": "search_document", field: name}).Data[0].Embedding; !slices.Equal(got, want) {
				t.Errorf("%s %s: %v, want %v", field, name, got, want)
			}
		}
		for _, version := range []string{"v1", "v2"} {
			got := posted[struct {
				Embeddings map[string][][]float64
				Kind       string `json:"response_type"`
			}](t, h.URL+"/"+version+"/embed", object{"model": "embed", "texts": []string{"hello world"}, "input_type": "search_document", "embedding_types": []string{name, "float"}})
			if !slices.Equal(got.Embeddings[name][0], want) || !slices.Equal(got.Embeddings["float"][0], floats) || got.Kind != "embeddings_by_type" {
				t.Errorf("/%s/embed of %s: %v", version, name, got)
			}
		}
		if name == "float" {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(posted[struct{ Data []struct{ Embedding string } }](t, h.URL+"/v1/embeddings",
			object{"input": "hello world", "input_type": "search_document", "output_dtype": name, "encoding_format": "base64"}).Data[0].Embedding)
		if err != nil || len(raw) != len(want) {
			t.Fatalf("%s in base64: %d bytes, %v", name, len(raw), err)
		}
		for i, b := range raw {
			if b != byte(int(want[i])) {
				t.Errorf("%s in base64: byte %d is %d, want %g", name, i, b, want[i])
			}
		}
	}
	one := posted[struct {
		Embeddings [][]float64
		Texts      []string
	}](t, h.URL+"/v1/embed", object{"texts": []string{"hello world"}, "input_type": "search_document"})
	parts := posted[struct{ Embeddings map[string][][]float64 }](t, h.URL+"/v2/embed", object{"inputs": []object{{"content": []object{{"type": "text", "text": "hello world"}}}}, "output_dimension": 8.0})
	if !slices.Equal(one.Embeddings[0], floats) || one.Texts[0] != "hello world" || len(parts.Embeddings["float"][0]) != 8 {
		t.Errorf("/v1/embed %v, /v2/embed of parts %v", one, parts)
	}
	for _, c := range []struct{ path, body, want string }{
		{"/v1/embeddings", `{"input":"a","output_dtype":"int4"}`, "output_dtype"}, {"/v1/embeddings", `{"input":"a","embedding_type":"int8","encoding_format":"float"}`, "embedding_type with"},
		{"/v1/embed", `{"texts":["a"],"embedding_types":["x"]}`, `{"message":"embedding_types`}, {"/v2/embed", `{"texts":["a"],"images":["data:"]}`, "images are"},
		{"/v2/embed", `{"texts":["a"],"truncate":"MIDDLE"}`, "truncate"}, {"/v2/embed", `{"texts":["a"],"output_dimension":100000}`, "elements"},
		{"/v2/embed", `{"texts":["a"],"max_tokens":3}`, "max_tokens"}, {"/v2/embed", `{"texts":[]}`, "no texts"},
		{"/v2/embed", `{"inputs":[{"content":[{"type":"image_url","text":"x"}]}]}`, "want text"},
	} {
		if status, answer, _ := ask(t, "POST", h.URL+c.path, c.body); status != 400 || !strings.Contains(answer, c.want) {
			t.Errorf("%s %s: %d %s", c.path, c.body, status, answer)
		}
	}
	several := started(t, Options{}, "embed", "embed-sparse")
	if status, answer, _ := ask(t, "POST", several.URL+"/v1/embeddings", `{"input":"a"}`); status != 400 || !strings.Contains(answer, "model is missing") {
		t.Errorf("one of two models: %d %s", status, answer)
	}
}
