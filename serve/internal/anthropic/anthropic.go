// Package anthropic implements Anthropic's Messages protocol: the requests of its clients, and the
// answers and errors that they expect.
package anthropic

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
	route := func(pattern, summary string, handle func(c *wire.Call) error) wire.Route {
		return wire.Route{Method: "POST", Pattern: pattern, Protocol: "anthropic", Summary: summary, Handle: handle, Error: Error}
	}
	return []wire.Route{
		route("/v1/messages", "An assistant's answer to messages, as Anthropic has it", p.messages),
		route("/v1/messages/count_tokens", "The number of tokens that messages become", p.count),
	}
}

// failure is an error in Anthropic's form, in an answer or in a stream.
type failure struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	RequestID string `json:"request_id,omitempty"`
}

func failureOf(e *engine.Error) failure {
	f := failure{Type: "error"}
	f.Error.Message = e.Message
	switch e.Kind {
	case engine.Unauthorized:
		f.Error.Type = "authentication_error"
	case engine.Forbidden:
		f.Error.Type = "permission_error"
	case engine.UnknownModel, engine.NotFound:
		f.Error.Type = "not_found_error"
	case engine.TooLarge:
		f.Error.Type = "request_too_large"
	case engine.Overloaded:
		f.Error.Type = "rate_limit_error"
	case engine.Unavailable:
		f.Error.Type = "overloaded_error"
	case engine.Deadline, engine.Cancelled:
		f.Error.Type = "timeout_error"
	case engine.Internal:
		f.Error.Type = "api_error"
	default:
		f.Error.Type = "invalid_request_error"
	}
	if e.Param != "" && f.Error.Type == "invalid_request_error" && !strings.HasPrefix(e.Message, e.Param) {
		f.Error.Message = e.Param + ": " + e.Message // the protocol has no field for it
	}
	return f
}

// Error writes an error in Anthropic's form.
func Error(w http.ResponseWriter, e *engine.Error) {
	f := failureOf(e)
	f.RequestID = w.Header().Get("X-Request-Id")
	data, err := json.Marshal(f)
	if err != nil {
		panic(err) // impossible: strings can always be JSON
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", f.RequestID)
	w.WriteHeader(e.Kind.Status())
	w.Write(data)
}
