// This file handles keep_alive, and requests without a prompt.

package ollama

import (
	"encoding/json"
	"math"
	"net/http"
	"time"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
)

// keepAlive is the time for which a model should stay open after a request: a duration such as
// "5m", or seconds. The server's own limits decide when a model closes. keepAlive has an effect
// only in a request without a prompt, where 0 closes the model.
type keepAlive struct{ close bool }

// UnmarshalJSON reads both forms.
func (k *keepAlive) UnmarshalJSON(data []byte) error {
	*k = keepAlive{}
	var x any
	if err := json.Unmarshal(data, &x); err != nil {
		return err
	}
	switch x := x.(type) {
	case nil:
		return nil
	case float64:
		if k.close = x == 0; math.Abs(x) <= 1e18 {
			return nil
		}
	case string:
		if d, err := time.ParseDuration(x); err == nil {
			k.close = d == 0
			return nil
		}
	}
	return engine.Errorf(engine.Invalid, "keep_alive %.50s, want a duration such as \"5m\", or seconds", data).At("keep_alive")
}

// touch opens a model, or closes it, as a request without a prompt asks.
func (p protocol) touch(c *wire.Call, in *common, messages bool) error {
	model, err := p.named(in.Model)
	if err != nil {
		return err
	}
	reason := "load"
	if in.KeepAlive.close {
		closed, err := p.engine.Unload(c.Context(), model)
		if err != nil {
			return err
		}
		if closed {
			reason = "unload"
		}
	} else if err := p.engine.Load(c.Context(), model); err != nil {
		return err
	}
	r := reply{Model: in.Model, Created: time.Now().UTC(), Done: true, ended: &ended{Reason: reason}}
	if messages {
		r.Message = &chatMessage{Role: "assistant"}
	} else {
		r.Response = new(string)
	}
	if in.Stream != nil && !*in.Stream {
		return c.WriteJSON(http.StatusOK, r)
	}
	return c.Lines().Send(r)
}
