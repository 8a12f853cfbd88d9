// This file has the route GET /metrics.

package metrics

import (
	"net/http"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
)

// Routes returns the route for the metrics. fail writes errors.
func (m *Metrics) Routes(fail func(w http.ResponseWriter, e *engine.Error)) []wire.Route {
	return []wire.Route{{Method: "GET", Pattern: "/metrics", Protocol: "metrics", Summary: "What Prometheus reads", Open: true, Handle: m.write, Error: fail}}
}

// write answers in Prometheus's text format.
func (m *Metrics) write(c *wire.Call) error {
	return c.Write(http.StatusOK, contentType, m.registry.Append(nil))
}
