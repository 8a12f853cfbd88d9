// Package metrics has the metrics of a server for Prometheus. Their names are those of
// text-embeddings-inference (te_) and of llama.cpp's server (llamacpp:), which dashboards use, and
// the server's own (avoformer_).
package metrics

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/avoformer/avoformer/serve/internal/engine"
)

// Metrics counts requests when they end.
type Metrics struct {
	registry registry

	count, success     *family // te_, by method: single or batch
	failure            *family // te_, by err
	duration, compute  *family
	queue              *family
	length, batch      *family
	next, nextTokens   *family // of batches of several requests' texts
	requests           *family // by model, protocol, route and status
	seconds            *family // by route
	tokens, cut        *family // by model
	split, tooLong     *family // by model
	prompt, predicted  *family // llamacpp:
	generationSeconds  *family
	firstTokenDuration *family
}

// The bounds of histograms are common values, for rules such as the share of requests within 0.1
// seconds.
var (
	seconds = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	texts   = []float64{1, 4, 16, 64, 256, 1024}
	tokens  = []float64{1, 8, 32, 128, 512, 2048, 8192, 32768, 131072}
)

// New returns metrics of requests and batches.
func New() *Metrics {
	m := &Metrics{}
	counter := func(name, help string, labels ...string) *family {
		return m.registry.add(&family{name: name, help: help, kind: "counter", labels: labels})
	}
	histogram := func(name, help string, bounds []float64, labels ...string) *family {
		return m.registry.add(&family{name: name, help: help, kind: "histogram", labels: labels, bounds: bounds})
	}
	m.count = counter("te_request_count", "Requests for a model.", "method")
	m.success = counter("te_request_success", "Requests for a model that were answered.", "method")
	m.failure = counter("te_request_failure", "Requests that were answered with an error.", "err")
	m.duration = histogram("te_request_duration", "Seconds from a request to its answer.", seconds)
	m.compute = histogram("te_request_inference_duration", "Seconds in which a request's texts waited for their batches and were computed.", seconds)
	m.queue = histogram("te_request_queue_duration", "Seconds until the first batch with a request's texts, of those that are not generated.", seconds)
	m.length = histogram("te_request_input_length", "Mean tokens of a request's texts.", tokens)
	m.batch = histogram("te_request_batch_size", "Texts of a request.", texts)
	m.next = histogram("te_batch_next_size", "Texts of a batch that was computed.", texts)
	m.nextTokens = histogram("te_batch_next_tokens", "Tokens of a batch that was computed.", tokens)
	m.prompt = counter("llamacpp:prompt_tokens_total", "Tokens of prompts that were computed.")
	m.predicted = counter("llamacpp:tokens_predicted_total", "Tokens that were generated.")
	m.generationSeconds = counter("llamacpp:tokens_predicted_seconds_total", "Seconds of requests in which tokens were generated.")
	m.firstTokenDuration = histogram("avoformer_first_piece_seconds", "Seconds until the first piece of a generated text.", seconds)
	m.requests = counter("avoformer_requests_total", "Requests.", "model", "protocol", "route", "status")
	m.seconds = histogram("avoformer_request_seconds", "Seconds from a request to its answer.", seconds, "route")
	m.tokens = counter("avoformer_tokens_total", "Tokens that were computed.", "model")
	m.cut = counter("avoformer_texts_cut_total", "Texts that were cut, since they have more tokens than the model takes.", "model")
	m.split = counter("avoformer_texts_split_total", "Texts that were too long and computed in windows.", "model")
	m.tooLong = counter("avoformer_requests_too_long_total", "Requests that were refused since a text was too long.", "model")
	return m
}

// Batch counts a batch of texts.
func (m *Metrics) Batch(windows, tokens int) {
	m.next.Observe(float64(windows))
	m.nextTokens.Observe(float64(tokens))
}

// Watch adds metrics of an engine. Each read of the metrics calls its Stats.
func (m *Metrics) Watch(e *engine.Engine) {
	m.watchReplicas(e.Models)
	for _, g := range []struct {
		name, help string
		value      func(s engine.Stats) float64
	}{
		{"te_queue_size", "Texts that wait or are computed.", func(s engine.Stats) float64 { return float64(s.Texts) }},
		{"llamacpp:requests_processing", "Requests that are being answered.", func(s engine.Stats) float64 { return float64(s.Requests) }},
		{"llamacpp:requests_deferred", "Texts to generate that wait for room.", func(s engine.Stats) float64 { return float64(s.Deferred) }},
		{"avoformer_texts_per_second", "Texts answered a second, a mean in which old ones count less.", func(s engine.Stats) float64 { return s.Rate }},
		{"avoformer_weights_bytes", "Bytes of the weights of open models.", func(s engine.Stats) float64 { return float64(s.Memory) }},
		{"avoformer_memory_limit_bytes", "Bytes of memory that the process may use, 0 if that is not known.", func(engine.Stats) float64 { return float64(e.Memory().Limit) }},
		{"avoformer_cache_limit_bytes", "Most bytes of keys and values of all models, 0 for no limit.", func(engine.Stats) float64 { return float64(e.Memory().Cache) }},
		{"avoformer_cache_bytes", "Bytes of keys and values.", func(s engine.Stats) float64 { return float64(s.Cache) }},
		{"avoformer_cache_kept_texts", "Finished texts whose keys and values are kept.", func(s engine.Stats) float64 { return float64(s.Kept) }},
		{"avoformer_models_open", "Models that are open.", func(s engine.Stats) (n float64) {
			for _, model := range s.Models {
				if model.Open {
					n++
				}
			}
			return n
		}},
	} {
		m.registry.add(&family{name: g.name, help: g.help, kind: "gauge", read: func(add func(float64, ...string)) { add(g.value(e.Stats())) }})
	}
}

// Begin implements engine.Observer.
func (m *Metrics) Begin(r *http.Request, _ *engine.Record) context.Context { return r.Context() }

// End counts a request.
func (m *Metrics) End(_ context.Context, r *engine.Record) {
	route := r.Route
	if route == "" {
		route = "none"
	}
	m.requests.Add(1, r.Model, r.Protocol, route, strconv.Itoa(r.Status))
	m.seconds.Observe(r.Total.Seconds(), route)
	if r.Failure != nil {
		m.failure.Add(1, failure(r.Failure))
	}
	if r.Model == "" {
		return
	}
	method := "single"
	if r.Texts > 1 {
		method = "batch"
	}
	m.count.Add(1, method)
	m.duration.Observe(r.Total.Seconds())
	if r.Failure == nil {
		m.success.Add(1, method)
	}
	if r.Texts > 0 {
		m.compute.Observe(r.Compute.Seconds())
		if r.First == 0 {
			m.queue.Observe(r.Wait.Seconds())
		}
		m.batch.Observe(float64(r.Texts))
		m.length.Observe(math.Round(float64(r.Tokens) / float64(r.Texts)))
	}
	m.tokens.Add(float64(r.Tokens+r.Generated), r.Model)
	m.cut.Add(float64(r.Cut), r.Model)
	m.split.Add(float64(r.Split), r.Model)
	if r.Failure != nil && r.Failure.Kind == engine.TooLong {
		m.tooLong.Add(1, r.Model)
	}
	if r.First > 0 {
		m.prompt.Add(float64(r.Tokens - r.Shared))
		m.predicted.Add(float64(r.Generated))
		m.generationSeconds.Add(max(0, (r.Compute - r.First).Seconds()))
		m.firstTokenDuration.Observe(r.First.Seconds())
	}
}

// failure returns text-embeddings-inference's name for an error.
func failure(e *engine.Error) string {
	for _, x := range []struct {
		kind engine.Kind
		name string
	}{
		{engine.Overloaded, "overloaded"}, {engine.WrongModel, "model_type"}, {engine.TooLarge, "batch_size"}, {engine.Internal, "inference"}, {engine.Cancelled, "dropped"},
		{engine.Empty, "validation"}, {engine.Invalid, "validation"}, {engine.TooLong, "validation"},
	} {
		if errors.Is(e, x.kind) {
			return x.name
		}
	}
	return e.Kind.Error()
}
