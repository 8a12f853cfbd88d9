// Package responses is OpenAI's protocol of responses: answers made of items, which the next
// request can continue from.
package responses

import (
	"errors"
	"net/http"

	"github.com/avoformer/avoformer/serve/internal/chat"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/openai"
	"github.com/avoformer/avoformer/serve/internal/wire"
)

type protocol struct {
	engine *engine.Engine
	kept   *store
}

// Routes are what the protocol answers. Responses are kept in as many bytes of memory.
func Routes(e *engine.Engine, bytes int64) []wire.Route {
	p := protocol{e, newStore(bytes)}
	route := func(method, pattern, summary string, handle func(c *wire.Call) error) wire.Route {
		return wire.Route{Method: method, Pattern: pattern, Protocol: "responses", Summary: summary, Handle: handle, Error: openai.Error}
	}
	return []wire.Route{
		route("POST", "/v1/responses", "An assistant's answer to items, as OpenAI's newer clients ask for it", p.create),
		route("POST", "/v1/responses/input_tokens", "The number of tokens that items become", p.count),
		route("GET", "/v1/responses/{id}", "A response that is kept", p.get),
		route("DELETE", "/v1/responses/{id}", "Forgets a response", p.delete),
	}
}

// create answers POST /v1/responses.
func (p protocol) create(c *wire.Call) error {
	var in request
	if err := c.ReadJSON(&in); err != nil {
		return err
	}
	s, err := in.sampling()
	if err != nil {
		return err
	}
	q, messages, err := in.conversation(p.kept)
	if err != nil {
		return err
	}
	g, err := chat.Generator(c.Context(), p.engine, in.Model)
	if err != nil {
		return err
	}
	defer g.Release()
	j, err := job(q, g, &s)
	if err != nil {
		return err
	}
	w := newWriter(&in, g.Name, messages, p.kept)
	events := chat.Run(c.Context(), g, []chat.Job{*j})
	if in.Stream {
		return chat.Stream(c, events, chat.Sender{Open: c.Events, Begin: w.begin, Next: w.next, End: w.end, Fail: w.fail})
	}
	for e, err := range events {
		if err != nil {
			return err
		}
		if err := w.add(e, nil); err != nil {
			return err
		}
	}
	return c.WriteJSON(http.StatusOK, w.response)
}

// count answers POST /v1/responses/input_tokens.
func (p protocol) count(c *wire.Call) error {
	var in request
	if err := c.ReadJSON(&in); err != nil {
		return err
	}
	q, _, err := in.conversation(p.kept)
	if err != nil {
		return err
	}
	g, err := chat.Generator(c.Context(), p.engine, in.Model)
	if err != nil {
		return err
	}
	defer g.Release()
	j, err := job(q, g, new(chat.Sampling))
	if err != nil {
		return err
	}
	n, err := j.PromptTokens(g)
	if err != nil {
		return atInput(err)
	}
	return c.WriteJSON(http.StatusOK, map[string]any{"object": "response.input_tokens", "input_tokens": n})
}

// job returns the job of a conversation. Its errors name fields as this protocol has them.
func job(q *chat.Conversation, g *engine.Generator, s *chat.Sampling) (*chat.Job, error) {
	j, err := q.Job(g, s)
	return j, atInput(err)
}

// atInput returns an error about messages as one about the input.
func atInput(err error) error {
	if e, ok := errors.AsType[*engine.Error](err); ok && e.Param == "messages" {
		return e.At("input")
	}
	return err
}

func notKept(id string) *engine.Error {
	return engine.Errorf(engine.NotFound, "no response %.100q is kept", id)
}

// get answers GET /v1/responses/{id}.
func (p protocol) get(c *wire.Call) error {
	r := p.kept.get(c.Path("id"))
	if r == nil {
		return notKept(c.Path("id"))
	}
	return c.Write(http.StatusOK, "application/json", r.body)
}

// delete answers DELETE /v1/responses/{id}.
func (p protocol) delete(c *wire.Call) error {
	id := c.Path("id")
	if !p.kept.delete(id) {
		return notKept(id)
	}
	return c.WriteJSON(http.StatusOK, map[string]any{"id": id, "object": "response", "deleted": true})
}
