// Package wire is what all protocols need of HTTP: routes, requests within limits, answers,
// streams.
package wire

import (
	"net/http"

	"github.com/avoformer/avoformer/serve/internal/engine"
)

// Route is one thing that a protocol answers.
type Route struct {
	Method   string // such as "POST"
	Pattern  string // as http.ServeMux has it, without the method: "/v1/models/{id}"
	Protocol string // the name of the package
	Summary  string // a line for the OpenAPI document
	// Body is a pointer to the struct that the JSON of a request is read into, for the OpenAPI
	// document; nil: none, or one of several.
	Body any
	// Open routes need no key and are answered while the server is not ready, full or shutting
	// down.
	Open bool
	// Handle answers, or returns an error, which becomes what Error writes.
	Handle func(c *Call) error
	// Error writes an error as the protocol has it. The status, unless it writes another, is
	// err.Kind.Status().
	Error func(w http.ResponseWriter, err *engine.Error)
}

// Reads returns the route, with the struct that the JSON of a request is read into.
func (r Route) Reads(body any) Route {
	r.Body = body
	return r
}
