package serve

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/overrides"
	"github.com/avoformer/avoformer/serve/internal/openapi"
	"github.com/avoformer/avoformer/serve/internal/wire"
)

// TestOpenAPI: the document has every route with its answers, refers to what it has, and names the
// models.
func TestOpenAPI(t *testing.T) {
	h := started(t, Options{Keys: []string{"k"}}, "embed", "generate")
	if status, _, _ := ask(t, "GET", h.URL+"/openapi.json", ""); status != 401 {
		t.Errorf("without key: %d", status)
	}
	status, answer, _ := ask(t, "GET", h.URL+"/openapi.json", "", "Authorization", "Bearer k")
	if status != 200 {
		t.Fatal(status, answer)
	}
	type operation struct {
		ID        string `json:"operationId"`
		Responses map[string]struct{ Description string }
	}
	doc := decode[struct {
		OpenAPI    string
		Paths      map[string]map[string]operation
		Components struct {
			Schemas map[string]struct{ Examples []string }
		}
	}](t, answer)
	s, err := New([]Model{{Dir: testdata + "embed"}}, Options{Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, r := range s.routes(Options{}) {
		o := doc.Paths[openapi.Path(r.Pattern)][strings.ToLower(r.Method)]
		if o.ID == "" || ids[o.ID] || o.Responses["200"].Description == "" || o.Responses["503"].Description == "" {
			t.Errorf("%s %s: %+v", r.Method, r.Pattern, o)
		}
		ids[o.ID] = true
	}
	for _, piece := range strings.Split(answer, `{"$ref":"#/components/schemas/`)[1:] {
		name, _, _ := strings.Cut(piece, `"`)
		if _, ok := doc.Components.Schemas[name]; !ok {
			t.Errorf("there is no schema %q", name)
		}
	}
	if m := doc.Components.Schemas["Generator"].Examples; len(m) != 1 || m[0] != "generate" || len(doc.Components.Schemas["Model"].Examples) != 2 {
		t.Errorf("models are %q", m)
	}
}

// TestOpenAPIRoutes: a route that is not described, and a description without a route, are errors.
func TestOpenAPIRoutes(t *testing.T) {
	s, err := New([]Model{{Dir: testdata + "embed"}}, Options{Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	routes := s.routes(Options{})
	if _, err := openapi.Document(append(routes, wire.Route{Method: "GET", Pattern: "/new"}), nil, false); err == nil || !strings.Contains(err.Error(), "GET /new is not described") {
		t.Error(err)
	}
	if _, err := openapi.Document(routes[1:], nil, false); err == nil || !strings.Contains(err.Error(), "/v1/embeddings is described") {
		t.Error(err)
	}
}

// TestOpenAPIFields: requests that refuse fields which they do not know take all that the document
// has.
func TestOpenAPIFields(t *testing.T) {
	h := started(t, Options{}, "embed", "generate")
	_, answer, _ := ask(t, "GET", h.URL+"/openapi.json", "")
	type schema struct {
		Ref        string `json:"$ref"`
		Properties map[string]json.RawMessage
		Closed     *bool `json:"additionalProperties"`
	}
	doc := decode[struct {
		Paths map[string]struct {
			Post *struct {
				Body struct {
					Content map[string]struct{ Schema json.RawMessage }
				} `json:"requestBody"`
			}
		}
		Components struct {
			Schemas map[string]json.RawMessage
		}
	}](t, answer)
	strict := 0
	for path, item := range doc.Paths {
		if item.Post == nil || len(item.Post.Body.Content["application/json"].Schema) == 0 {
			continue
		}
		raw := item.Post.Body.Content["application/json"].Schema
		var x schema
		if ref := decode[struct {
			Ref string `json:"$ref"`
		}](t, string(raw)).Ref; ref != "" {
			raw = doc.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
		}
		if json.Unmarshal(raw, &x) != nil || x.Closed == nil {
			continue
		}
		strict++
		if path == "/v1/chat/completions" || path == "/v1/completions" {
			hasSampling(t, path, x.Properties)
		}
		for name := range x.Properties {
			if _, answer, _ := ask(t, "POST", h.URL+path, `{"`+name+`": null}`); strings.Contains(answer, "not supported here") {
				t.Errorf("%s: %s", path, answer)
			}
		}
		if _, answer, _ := ask(t, "POST", h.URL+path, `{"nothing": null}`); !strings.Contains(answer, `\"nothing\" is not supported here`) {
			t.Errorf("%s takes a field that the document refuses: %s", path, answer)
		}
	}
	hasSampling(t, "OllamaOptions", decode[schema](t, string(doc.Components.Schemas["OllamaOptions"])).Properties)
	s, err := New([]Model{{Dir: testdata + "embed"}}, Options{Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	closed := 0
	for _, r := range s.routes(Options{}) {
		if r.Body != nil {
			closed++
		}
	}
	if strict < closed || closed < 16 {
		t.Errorf("the document closes %d requests to other fields, %d routes have a struct", strict, closed)
	}
	for _, name := range []string{"input_type", "prompt_name", "normalize", "cache_prompt", "structured_outputs", "thinking", "mirostat", "n_predict", "documents"} {
		if !strings.Contains(answer, `"`+name+`":{`) {
			t.Errorf("the document lacks the field %s", name)
		}
	}
}

// hasSampling checks that a schema has all options of sampling that requests may state.
func hasSampling(t *testing.T, schema string, properties map[string]json.RawMessage) {
	t.Helper()
	options := reflect.TypeFor[overrides.Sampling]()
	for i := range options.NumField() {
		if name := options.Field(i).Tag.Get("json"); properties[name] == nil {
			t.Errorf("%s lacks the option %s", schema, name)
		}
	}
}
