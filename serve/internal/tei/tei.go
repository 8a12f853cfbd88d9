// Package tei is the protocol of text-embeddings-inference.
package tei

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
)

type protocol struct{ engine *engine.Engine }

// Routes are what the protocol answers.
func Routes(e *engine.Engine) []wire.Route {
	p := protocol{e}
	route := func(method, pattern, summary string, open bool, handle func(c *wire.Call) error) wire.Route {
		return wire.Route{Method: method, Pattern: pattern, Protocol: "tei", Summary: summary, Open: open, Handle: handle, Error: Error}
	}
	return []wire.Route{
		route("POST", "/embed", "Vectors of texts", false, p.embed).Reads(new(EmbedRequest)),
		route("POST", "/embed_all", "Vectors of all tokens of texts", false, p.embedAll).Reads(new(eachRequest)),
		route("POST", "/embed_sparse", "Sparse vectors of texts", false, p.embedSparse).Reads(new(eachRequest)),
		route("POST", "/similarity", "How alike texts are to one", false, p.similarity).Reads(new(SimilarityRequest)),
		route("POST", "/predict", "Labels of texts and pairs", false, p.predict).Reads(new(predictRequest)),
		route("POST", "/rerank", "Texts by how well they answer a query", false, p.rerank).Reads(new(rankRequest)),
		route("POST", "/tokenize", "Tokens of texts", false, p.tokenize).Reads(new(tokenizeRequest)),
		route("POST", "/decode", "Texts of tokens", false, p.decode).Reads(new(decodeRequest)),
		route("GET", "/info", "What is served, and its limits", false, p.info),
		route("GET", "/health", "Whether the server is ready", true, p.health),
	}
}

// Error writes an error in text-embeddings-inference's form, with its codes.
func Error(w http.ResponseWriter, e *engine.Error) {
	status, kind := e.Kind.Status(), "Validation"
	switch e.Kind {
	case engine.Empty:
		kind = "Empty"
	case engine.Invalid, engine.TooLong, engine.UnknownModel:
		status = http.StatusUnprocessableEntity
		if errors.Is(e.Err, fault.ErrText) {
			kind = "Tokenizer"
		}
	case engine.Overloaded:
		kind = "Overloaded"
	case engine.Unavailable:
		kind = "Unhealthy"
	case engine.Internal, engine.WrongModel:
		status, kind = http.StatusFailedDependency, "Backend"
	case engine.Deadline, engine.Cancelled:
		kind = "Backend"
	}
	data, err := json.Marshal(struct {
		Error string `json:"error"`
		Type  string `json:"error_type"`
	}{e.Message, kind})
	if err != nil {
		panic(err) // strings always become JSON
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(data)
}

// common is what requests have. Model is an extension, for servers of several.
type common struct {
	Model string `json:"model"`
	long
}

// long is how texts that are too long are taken.
type long struct {
	Truncate  *bool  `json:"truncate"`
	Direction string `json:"truncation_direction"`
}

func (l long) options() (o text.InputOptions, err error) {
	switch {
	case l.Truncate != nil && *l.Truncate:
		o.Long = text.LongTruncate
	case l.Truncate != nil:
		o.Long = text.LongRefuse
	}
	switch l.Direction {
	case "", "Right", "right":
	case "Left", "left":
		o.TruncateLeft = o.Long != text.LongRefuse // where the server refuses long texts, that is an error
	default:
		return o, engine.Errorf(engine.Invalid, "truncation_direction %.50q, want Left or Right", l.Direction)
	}
	return o, nil
}

// measured sets the headers in which text-embeddings-inference reports the cost of an answer.
func measured(c *wire.Call) {
	h := c.Header()
	h.Set("X-Compute-Type", "cpu")
	h.Set("X-Compute-Tokens", strconv.Itoa(c.Record.Tokens))
	h.Set("X-Inference-Time", milliseconds(c.Record.Compute))
	h.Set("X-Total-Time", milliseconds(time.Since(c.Record.Began)))
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// health answers GET /health.
func (p protocol) health(c *wire.Call) error {
	if err := p.engine.Unready(); err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, struct{}{})
}

// info answers GET /info.
func (p protocol) info(c *wire.Call) error {
	models := p.engine.Models()
	m, config := models[0], p.engine.Config()
	kind := string(m.Kind)
	if m.Kind == text.KindEmbedder {
		kind = "embedding"
	}
	info := map[string]any{
		"model_id": m.Name, "model_dtype": m.Weights.String(), "model_type": map[string]any{kind: struct{}{}},
		"max_concurrent_requests": config.Requests, "max_client_batch_size": config.Batch,
		"max_input_length": m.MaxTokens, "version": "0.1.0",
	}
	if m.Fingerprint != "" {
		info["fingerprint"] = m.Fingerprint
	}
	return c.WriteJSON(http.StatusOK, info)
}
