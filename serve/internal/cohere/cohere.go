// Package cohere implements Cohere's protocols of ranking, which Jina and other providers also use,
// and of vectors.
package cohere

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
)

// Routes returns the routes of the protocol. The path /rerank, which text-embeddings-inference also
// has, belongs to package tei.
func Routes(e *engine.Engine) []wire.Route {
	rank := func(pattern string) wire.Route {
		handle := func(c *wire.Call) error {
			var in Request
			if err := c.ReadJSON(&in); err != nil {
				return err
			}
			return Rank(e, c, &in)
		}
		return wire.Route{Method: "POST", Pattern: pattern, Protocol: "cohere", Summary: "Documents by how well they answer a query", Handle: handle, Error: Error, Body: new(Request)}
	}
	vectors := func(pattern string) wire.Route {
		handle := func(c *wire.Call) error { return embed(e, c) }
		return wire.Route{Method: "POST", Pattern: pattern, Protocol: "cohere", Summary: "Vectors of texts", Handle: handle, Error: Error, Body: new(embedRequest)}
	}
	return []wire.Route{rank("/v1/rerank"), rank("/v2/rerank"), vectors("/v1/embed"), vectors("/v2/embed")}
}

// Error writes an error in Cohere's form.
func Error(w http.ResponseWriter, e *engine.Error) {
	data, err := json.Marshal(struct {
		Message string `json:"message"`
	}{e.Message})
	if err != nil {
		panic(err) // impossible: strings can always be JSON
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Kind.Status())
	w.Write(data)
}

// Request is a request to rank documents.
type Request struct {
	Model     string     `json:"model"`
	Query     *string    `json:"query"`
	Documents []document `json:"documents"`
	TopN      *int       `json:"top_n"`
	Return    bool       `json:"return_documents"`
	// These fields would change the scores and are not supported.
	Fields          json.RawMessage `json:"rank_fields"`
	Chunks          *int            `json:"max_chunks_per_doc"`
	DocumentTokens  *int            `json:"max_tokens_per_doc"`
	QueryTokens     *int            `json:"max_tokens_per_query"`
	TruncatedPrompt *int            `json:"truncate_prompt_tokens"`
	Instruction     string          `json:"instruction"`
}

// Neutral returns the fields that have no effect on a ranking.
func (*Request) Neutral() wire.Neutral {
	return wire.Neutral{"user": nil, "priority": nil, "request_id": nil, "return_embeddings": {"false"}}
}

// document is a text, or an object with one.
type document struct {
	text string
	raw  json.RawMessage // as received
}

func (d *document) UnmarshalJSON(data []byte) error {
	d.raw = bytes.Clone(data)
	if data[0] == '"' {
		return json.Unmarshal(data, &d.text)
	}
	var object struct {
		Text *string `json:"text"`
	}
	if data[0] != '{' || json.Unmarshal(data, &object) != nil || object.Text == nil {
		return engine.Errorf(engine.Invalid, "a document is neither a string nor an object with the string text").At("documents")
	}
	d.text = *object.Text
	return nil
}

// check returns an error for fields that are not supported.
func (in *Request) check() error {
	if in.Query == nil {
		return engine.Errorf(engine.Invalid, "query is missing").At("query")
	}
	if in.TopN != nil && *in.TopN < 1 {
		return engine.Errorf(engine.Invalid, "top_n %d, want at least 1", *in.TopN).At("top_n")
	}
	if s := string(in.Fields); s != "" && s != "null" && s != `["text"]` {
		return engine.Errorf(engine.Invalid, "rank_fields is not supported: documents are ranked by their text").At("rank_fields")
	}
	if in.Instruction != "" {
		return engine.Errorf(engine.Invalid, "instruction is not supported: write it into the query").At("instruction")
	}
	for _, x := range []struct {
		name string
		n    *int
	}{
		{"max_chunks_per_doc", in.Chunks}, {"max_tokens_per_doc", in.DocumentTokens}, {"max_tokens_per_query", in.QueryTokens},
		{"truncate_prompt_tokens", in.TruncatedPrompt},
	} {
		if x.n != nil {
			return engine.Errorf(engine.Invalid, "%s is not supported: what is too long is cut at the model's limit", x.name).At(x.name)
		}
	}
	return nil
}

// result is a document with its score.
type result struct {
	Index    int             `json:"index"`
	Score    float32         `json:"relevance_score"`
	Document json.RawMessage `json:"document,omitempty"`
}

// Rank answers a request, the best documents first.
func Rank(e *engine.Engine, c *wire.Call, in *Request) error {
	if err := in.check(); err != nil {
		return err
	}
	texts := make([]string, len(in.Documents))
	for i, d := range in.Documents {
		texts[i] = d.text
	}
	ranked, usage, err := e.Rank(c.Context(), in.Model, *in.Query, texts, text.RerankOptions{})
	if err != nil {
		return err
	}
	if in.TopN != nil {
		ranked = ranked[:min(*in.TopN, len(ranked))]
	}
	results := make([]result, len(ranked))
	for i, r := range ranked {
		results[i] = result{Index: r.Index, Score: r.Score}
		if in.Return {
			if results[i].Document = in.Documents[r.Index].raw; results[i].Document[0] == '"' {
				results[i].Document = append(append([]byte(`{"text":`), results[i].Document...), '}')
			}
		}
	}
	version := "1"
	if c.Record.Route == "/v2/rerank" {
		version = "2"
	}
	return c.WriteJSON(http.StatusOK, map[string]any{
		"id": c.Record.ID, "model": c.Record.Model, "object": "list", "results": results,
		"meta":  meta(version, map[string]int{"search_units": 1}, usage),
		"usage": map[string]any{"prompt_tokens": usage.Tokens, "total_tokens": usage.Tokens},
	})
}
