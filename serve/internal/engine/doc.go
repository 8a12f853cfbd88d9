// Package engine is the server without protocols: models by name, admission of requests, and the
// operations.
//
// A protocol is a package next to this one that exports Routes(e *engine.Engine) []wire.Route,
// which serve/routes.go lists. A handler reads, asks the engine, writes, and returns any error as
// it is:
//
//	func (p protocol) embed(c *wire.Call) error {
//		var body struct{ Inputs wire.Inputs }
//		if err := c.ReadJSON(&body); err != nil { return err }
//		vectors, usage, err := p.engine.Embed(c.Context(), model, body.Inputs.List, text.EmbedOptions{})
//		if err != nil { return err }
//		return c.WriteJSON(http.StatusOK, answer)
//	}
//
// The server has let the request in when a handler runs, and has checked its key: handlers only use
// c.Context(), which ends with the client, the deadline or the server, for everything. The server
// turns the error that a handler returns into an [Error], and the route's Error makes a body of it.
// Make one with [Errorf], and At for the field; [AsError] gives any error its [Kind]. For answers
// that come in pieces use c.Events() for server-sent events and c.Lines() for JSON lines; their
// Send flushes and gives up on clients that do not read. Once a handler has sent something, it must
// send an error as the protocol does, and return nil. wire.AppendFloats and wire.AppendBase64 write
// vectors, c.Write sends bytes.
//
// Model names: "" is the first model of the kind that an operation needs; [Engine.Default],
// [Engine.Find] and [Engine.Models] return the models. [Engine.Embed], [Engine.Similarity],
// [Engine.Rank], [Engine.Classify], [Engine.Entities], [Engine.Transcribe],
// [Engine.TranscribeTimed] and [Engine.Translate] take care of limits, models and records.
// [Engine.Generator] holds a generator for a request: call its Prompt and Pieces, and Release at
// the end.
//
// Metrics and traces implement [Observer], which gets a [Record] of each request, and read
// [Engine.Stats].
package engine
