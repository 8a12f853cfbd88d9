// Package engine has the parts of the server that do not depend on protocols: models by name,
// admission of requests, and the operations.
//
// A protocol is a package next to this one that exports Routes(e *engine.Engine) []wire.Route,
// which serve/routes.go lists. A handler reads the request, calls the engine, writes the answer,
// and returns any error unchanged:
//
//	func (p protocol) embed(c *wire.Call) error {
//		var body struct{ Inputs wire.Inputs }
//		if err := c.ReadJSON(&body); err != nil { return err }
//		vectors, usage, err := p.engine.Embed(c.Context(), model, body.Inputs.List, text.EmbedOptions{})
//		if err != nil { return err }
//		return c.WriteJSON(http.StatusOK, answer)
//	}
//
// Before a handler runs, the server has admitted the request and checked its key. Handlers must use
// c.Context() for everything; it ends with the client, the deadline or the server. The server
// converts the error that a handler returns to an [Error], and the route's Error writes it. Create
// an error with [Errorf], and state the field with At; [AsError] returns any error with its [Kind].
// For answers that come in pieces use c.Events() for server-sent events and c.Lines() for JSON
// lines; their Send flushes, and returns an error for clients that do not read. After a handler has
// sent something, it must send an error in the protocol's form, and return nil. wire.AppendFloats
// and wire.AppendBase64 write vectors, c.Write sends bytes.
//
// Model names: "" is the first model of the kind that an operation needs; [Engine.Default],
// [Engine.Find] and [Engine.Models] return the models. [Engine.Embed], [Engine.Similarity],
// [Engine.Rank], [Engine.Classify], [Engine.Entities], [Engine.Transcribe],
// [Engine.TranscribeTimed] and [Engine.Translate] enforce limits, open models and fill records.
// [Engine.Generator] returns a generator that stays open for a request: call its Prompt and Pieces,
// and Release at the end.
//
// Metrics and traces implement [Observer], which receives a [Record] of each request, and read
// [Engine.Stats].
package engine
