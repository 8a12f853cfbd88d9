// GET /metrics.

package metrics

import (
	"bytes"
	"net/http"

	"github.com/prometheus/common/expfmt"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
)

// Routes are what reads the metrics. Errors are written by fail.
func (m *Metrics) Routes(fail func(w http.ResponseWriter, e *engine.Error)) []wire.Route {
	return []wire.Route{{Method: "GET", Pattern: "/metrics", Protocol: "metrics", Summary: "What Prometheus reads", Open: true, Handle: m.write, Error: fail}}
}

// write answers in Prometheus's text format, which all readers take.
func (m *Metrics) write(c *wire.Call) error {
	families, err := m.registry.Gather()
	if err != nil {
		return err
	}
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	var b bytes.Buffer
	e := expfmt.NewEncoder(&b, format)
	for _, f := range families {
		if err := e.Encode(f); err != nil {
			return err
		}
	}
	return c.Write(http.StatusOK, string(format), b.Bytes())
}
