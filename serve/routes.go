// This file has the routes of the server.

package serve

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/avoformer/avoformer/serve/internal/anthropic"
	"github.com/avoformer/avoformer/serve/internal/cohere"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/huggingface"
	"github.com/avoformer/avoformer/serve/internal/ollama"
	"github.com/avoformer/avoformer/serve/internal/openai"
	"github.com/avoformer/avoformer/serve/internal/openapi"
	"github.com/avoformer/avoformer/serve/internal/page"
	"github.com/avoformer/avoformer/serve/internal/responses"
	"github.com/avoformer/avoformer/serve/internal/tei"
	"github.com/avoformer/avoformer/serve/internal/wire"
)

// routes returns the routes of all protocols.
func (s *Server) routes(o Options) []wire.Route {
	routes := slices.Concat(
		openai.Routes(s.engine, openai.Options{TokenIDs: o.TokenIDs}),
		tei.Routes(s.engine),
		ollama.Routes(s.engine),
		cohere.Routes(s.engine),
		huggingface.Routes(s.engine),
		anthropic.Routes(s.engine),
		responses.Routes(s.engine, o.MaxResponses),
		s.metrics.Routes(tei.Error),
		page.Routes(tei.Error),
	)
	describe := wire.Route{Method: "GET", Pattern: "/openapi.json", Protocol: "openapi", Summary: "These routes as an OpenAPI document", Error: tei.Error}
	routes = append(routes, describe)
	document := sync.OnceValues(func() ([]byte, error) { return openapi.Document(routes, s.engine.Models(), len(o.Keys) > 0) })
	routes[len(routes)-1].Handle = func(c *wire.Call) error {
		data, err := document()
		if err != nil {
			return err
		}
		return c.Write(http.StatusOK, "application/json", data)
	}
	return routes
}

// lost answers requests that match no route, with an error in the form of a protocol: Anthropic's
// below /v1/messages, OpenAI's below /v1, Ollama's below /api, and else
// text-embeddings-inference's.
func (s *Server) lost(w http.ResponseWriter, r *http.Request) {
	route := wire.Route{Protocol: "none", Open: true, Error: tei.Error}
	if strings.HasPrefix(r.URL.Path, "/v1/messages") {
		route.Error = anthropic.Error
	} else if strings.HasPrefix(r.URL.Path, "/v1/") {
		route.Error = openai.Error
	} else if strings.HasPrefix(r.URL.Path, "/api/") {
		route.Error = ollama.Error
	}
	route.Handle = func(c *wire.Call) error {
		var methods []string
		for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			other := r.Clone(r.Context())
			other.Method = m
			if _, pattern := s.mux.Handler(other); pattern != "" {
				methods = append(methods, m)
			}
		}
		if len(methods) > 0 {
			c.Header().Set("Allow", strings.Join(methods, ", "))
			return engine.Errorf(engine.NotAllowed, "%s is not possible here, but %s", r.Method, strings.Join(methods, ", "))
		}
		for _, path := range []string{"/v1" + r.URL.Path, "/v1" + r.URL.Path + "s", strings.TrimPrefix(r.URL.Path, "/v1")} { // paths of clients with another base URL, and llama.cpp's paths
			other := r.Clone(r.Context())
			other.URL.Path = path
			if _, pattern := s.mux.Handler(other); path != r.URL.Path && len(path) > 1 && pattern != "" {
				return engine.Errorf(engine.NotFound, "there is nothing at %.200q, but at %.200q", r.URL.Path, path)
			}
		}
		return engine.Errorf(engine.NotFound, "there is nothing at %.200q", r.URL.Path)
	}
	s.wire.Handler(&route).ServeHTTP(w, r)
}
