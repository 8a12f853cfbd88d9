// Package openapi describes the routes of the server as an OpenAPI document. Bodies and answers are
// in the files of this folder, one per protocol; everything else comes from the routes themselves.
package openapi

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
)

// fragments has the paths of each protocol, and the schemas that they refer to.
//
//go:embed *.json
var fragments embed.FS

type object = map[string]any

// fragment is the content of a file. The operations of its paths lack the fields that complete
// derives from routes.
type fragment struct {
	Paths   map[string]map[string]object `json:"paths"`
	Schemas object                       `json:"schemas"`
}

// read returns the contents of all files together.
func read() (all fragment, err error) {
	all = fragment{map[string]map[string]object{}, object{}}
	files, err := fragments.ReadDir(".")
	if err != nil {
		return all, err
	}
	for _, f := range files {
		data, err := fragments.ReadFile(f.Name())
		if err != nil {
			return all, err
		}
		var one fragment
		if err := json.Unmarshal(data, &one); err != nil {
			return all, fmt.Errorf("%s: %w", f.Name(), err)
		}
		for path, methods := range one.Paths {
			if all.Paths[path] == nil {
				all.Paths[path] = map[string]object{}
			}
			maps.Copy(all.Paths[path], methods)
		}
		maps.Copy(all.Schemas, one.Schemas)
	}
	return all, nil
}

// Document returns the document of routes, with the names of models as examples. Routes that the
// files lack, and paths of files without a route, are an error.
func Document(routes []wire.Route, models []engine.ModelInfo, keys bool) ([]byte, error) {
	all, err := read()
	if err != nil {
		return nil, err
	}
	described := map[string]bool{}
	for i := range routes {
		r := &routes[i]
		path, method := Path(r.Pattern), strings.ToLower(r.Method)
		operation, ok := all.Paths[path][method]
		if !ok {
			return nil, fmt.Errorf("openapi: %s %s is not described", r.Method, path)
		}
		described[method+" "+path] = true
		complete(operation, r)
		if r.Body != nil {
			closeBody(operation, all.Schemas, r.Body)
		}
	}
	for path, methods := range all.Paths {
		for method := range methods {
			if !described[method+" "+path] {
				return nil, fmt.Errorf("openapi: %s %s is described and no route", method, path)
			}
		}
	}
	components := object{"schemas": all.Schemas}
	doc := object{
		"openapi":    "3.1.0",
		"info":       object{"title": "avoformer", "version": "0.1.0", "description": "Transformers on the CPU, by the protocols of several clients.", "license": object{"name": "BSD-3-Clause", "identifier": "BSD-3-Clause"}},
		"servers":    []object{{"url": "/"}},
		"paths":      all.Paths,
		"components": components,
	}
	if keys {
		components["securitySchemes"] = object{"key": object{"type": "http", "scheme": "bearer"}, "header": object{"type": "apiKey", "in": "header", "name": "X-Api-Key"}}
		doc["security"] = []object{{"key": []string{}}, {"header": []string{}}}
	}
	name(all.Schemas, models)
	return json.Marshal(doc)
}

var wildcard = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{(\w+)(?:\.\.\.)?\}`) })

// Path returns a route's pattern in OpenAPI's form.
func Path(pattern string) string {
	return wildcard().ReplaceAllString(strings.TrimSuffix(pattern, "{$}"), "{$1}")
}

// complete adds the fields that follow from the route.
func complete(operation object, r *wire.Route) {
	path := Path(r.Pattern)
	id := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(path, "_"), "_")
	operation["operationId"] = strings.TrimSuffix(strings.ToLower(r.Method)+"_"+id, "_")
	operation["summary"], operation["tags"] = r.Summary, []string{r.Protocol}
	var parameters []object
	for _, m := range wildcard().FindAllStringSubmatch(path, -1) {
		parameters = append(parameters, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string", "minLength": 1}})
	}
	if r.Open {
		operation["security"] = []object{}
	}
	if parameters == nil {
		parameters = []object{}
	}
	operation["parameters"] = append(parameters, object{"name": wire.TimeoutHeader, "in": "header", "description": "seconds that the request has",
		"schema": object{"type": "number", "exclusiveMinimum": 0, "maximum": 1e6}})
	responses := operation["responses"].(object)
	failure := map[string]string{"openai": "OpenAIError", "responses": "OpenAIError", "ollama": "OllamaError", "cohere": "CohereError", "anthropic": "AnthropicError"}[r.Protocol]
	if failure == "" {
		failure = "TEIError"
	}
	for _, status := range statuses(r) {
		responses[strconv.Itoa(status)] = object{"description": http.StatusText(status), "content": object{"application/json": object{"schema": object{"$ref": "#/components/schemas/" + failure}}}}
	}
}

// statuses returns the statuses of errors that a route may answer.
func statuses(r *wire.Route) []int {
	all := map[int]bool{}
	for kind := engine.Internal; kind <= engine.Unavailable; kind++ {
		switch kind {
		case engine.Cancelled, engine.NotFound, engine.NotAllowed: // nobody reads the first; the others are not answers of routes
			continue
		}
		w := status{}
		r.Error(&w, engine.Errorf(kind, ""))
		all[w.code] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// status records the status of an answer.
type status struct {
	code   int
	header http.Header
}

func (s *status) Header() http.Header {
	if s.header == nil {
		s.header = http.Header{}
	}
	return s.header
}

func (s *status) Write(p []byte) (int, error) { return len(p), nil }

func (s *status) WriteHeader(code int) { s.code = code }

// name adds the names of served models as examples to the schemas of models' names.
func name(schemas object, models []engine.ModelInfo) {
	for schema, kinds := range map[string][]text.Kind{
		"Embedder": {text.KindEmbedder}, "Generator": {text.KindGenerator}, "Reranker": {text.KindReranker}, "Classifier": {text.KindClassifier},
		"Transcriber": {text.KindTranscriber}, "Model": text.Kinds(),
	} {
		examples := []string{}
		for _, m := range models {
			if slices.Contains(kinds, m.Kind) {
				examples = append(examples, m.Name)
			}
		}
		if len(examples) > 0 {
			schemas[schema].(object)["examples"] = examples
		}
	}
}
