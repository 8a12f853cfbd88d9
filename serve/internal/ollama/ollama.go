// Package ollama implements Ollama's protocol: the requests of its clients, and the answers and
// errors that they expect.
package ollama

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
)

type protocol struct{ engine *engine.Engine }

// Routes returns the routes of the protocol.
func Routes(e *engine.Engine) []wire.Route {
	p := protocol{e}
	route := func(method, pattern, summary string, handle func(c *wire.Call) error) wire.Route {
		return wire.Route{Method: method, Pattern: pattern, Protocol: "ollama", Summary: summary, Handle: handle, Error: Error}
	}
	return []wire.Route{
		route("POST", "/api/chat", "An assistant's answer to messages", p.chat).Reads(new(chatRequest)),
		route("POST", "/api/generate", "An assistant's answer to a text, or what follows it", p.generate).Reads(new(generateRequest)),
		route("POST", "/api/embed", "Vectors of texts", p.embed).Reads(new(embedRequest)),
		route("POST", "/api/embeddings", "The vector of a text", p.embeddings).Reads(new(embeddingsRequest)),
		route("POST", "/api/show", "What a model is", p.show).Reads(new(showRequest)),
		route("POST", "/api/pull", "Whether a model is served", p.pull).Reads(new(pullRequest)),
		route("GET", "/api/ps", "The models that are open", p.ps),
		route("GET", "/api/tags", "The models that are served", p.tags),
		route("GET", "/api/version", "The version", p.version),
	}
}

// Error writes an error in Ollama's form.
func Error(w http.ResponseWriter, e *engine.Error) {
	data, err := json.Marshal(failure{e.Message})
	if err != nil {
		panic(err) // impossible: strings can always be JSON
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Kind.Status())
	w.Write(data)
}

type failure struct {
	Error string `json:"error"`
}

// named returns the model with a name. The name may end with Ollama's tag for the current version.
func (p protocol) named(model string) (string, error) {
	if model == "" {
		return "", engine.Errorf(engine.Invalid, "model is missing").At("model")
	}
	if _, ok := p.engine.Find(model); !ok {
		model = strings.TrimSuffix(model, ":latest")
	}
	return model, nil
}

// version answers GET /api/version.
func (p protocol) version(c *wire.Call) error {
	return c.WriteJSON(http.StatusOK, map[string]string{"version": "0.1.0"})
}
