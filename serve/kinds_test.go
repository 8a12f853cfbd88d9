package serve

import (
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
)

// TestKindsHaveRoutes: each kind that the server opens has a route, and a model of a kind without
// one is refused.
func TestKindsHaveRoutes(t *testing.T) {
	t.Parallel()
	s, err := New([]Model{{Dir: testdata + "embed"}}, Options{Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	routes := s.routes(Options{})
	for _, kind := range text.Kinds() {
		pattern := engine.RouteOf(kind)
		if pattern == "" {
			if _, err := New([]Model{{Dir: testdata + "embed", Kind: kind}}, Options{Lazy: true}); err == nil || !strings.Contains(err.Error(), "kind") {
				t.Errorf("a %s, which has no route, is served: %v", kind, err)
			}
		} else if !slices.ContainsFunc(routes, func(r wire.Route) bool { return r.Method == "POST" && r.Pattern == pattern }) {
			t.Errorf("a %s is served, but there is no route %s", kind, pattern)
		}
	}
}
