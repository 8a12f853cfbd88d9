// Package wire has the parts of HTTP that all protocols need: routes, requests within limits,
// answers and streams.
package wire

import (
	"net/http"

	"github.com/avoformer/avoformer/serve/internal/engine"
)

// Route is a route of a protocol.
type Route struct {
	Method   string // such as "POST"
	Pattern  string // as in http.ServeMux, without the method: "/v1/models/{id}"
	Protocol string // the name of the package
	Summary  string // a line for the OpenAPI document
	// Body is a pointer to the struct for the JSON of a request, for the OpenAPI document; nil: no
	// struct, or one of several.
	Body any
	// Open routes need no key and are answered while the server is not ready, full or shutting
	// down.
	Open bool
	// Handle answers a request, or returns an error that Error writes.
	Handle func(c *Call) error
	// Error writes an error in the protocol's form. It must also write the status, which is usually
	// err.Kind.Status().
	Error func(w http.ResponseWriter, err *engine.Error)
}

// Reads returns the route with Body, a pointer to the struct for the JSON of a request.
func (r Route) Reads(body any) Route {
	r.Body = body
	return r
}
