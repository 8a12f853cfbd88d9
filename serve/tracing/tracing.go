// Package tracing makes OpenTelemetry spans of the requests to a server of package serve. It is a
// separate module, so that programs without traces do not need OpenTelemetry's packages.
//
//	s, err := serve.New(models, serve.Options{Observer: tracing.New(tracing.Options{})})
//
// A request has a span that follows the conventions for HTTP servers. Its parent is the span that
// the traceparent header names. Its children are "queue" and "compute" for texts that are embedded,
// ranked or labelled, and "prompt" and "generate" for generated texts: up to the first piece, and
// from it.
//
// This package is experimental: see doc/stability.md.
package tracing

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/avoformer/avoformer/serve"
)

// Options says where spans go. The zero value is good for a start.
type Options struct {
	Provider   trace.TracerProvider          // nil: the global one
	Propagator propagation.TextMapPropagator // reads the span that a request belongs to; nil: W3C's traceparent
	// Skip leaves out requests; nil: those for /health and /metrics.
	Skip func(r *http.Request) bool
}

type observer struct {
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
	skip       func(r *http.Request) bool
}

// New returns an observer for serve.Options that makes spans.
func New(o Options) serve.Observer {
	if o.Provider == nil {
		o.Provider = otel.GetTracerProvider()
	}
	if o.Propagator == nil {
		o.Propagator = propagation.TraceContext{}
	}
	if o.Skip == nil {
		o.Skip = func(r *http.Request) bool { return r.URL.Path == "/health" || r.URL.Path == "/metrics" }
	}
	const name = "github.com/avoformer/avoformer/serve/tracing"
	return &observer{o.Provider.Tracer(name, trace.WithSchemaURL(semconv.SchemaURL)), o.Propagator, o.Skip}
}

// skipped is the span of requests that do not get one of their own.
type skipped struct{}

// Begin begins the span of a request.
func (o *observer) Begin(r *http.Request, route string) context.Context {
	if o.skip(r) {
		return context.WithValue(r.Context(), skipped{}, true)
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	method := semconv.HTTPRequestMethodKey.String(r.Method)
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace, http.MethodPatch:
	default: // whatever somebody sends must not become as many names
		method = semconv.HTTPRequestMethodOther
	}
	attributes := []attribute.KeyValue{method, semconv.URLScheme(scheme), semconv.URLPath(r.URL.Path), semconv.NetworkProtocolVersion(strconv.Itoa(r.ProtoMajor) + "." + strconv.Itoa(r.ProtoMinor))}
	name := method.Value.AsString()
	if name == "_OTHER" {
		name = "HTTP"
	}
	if route != "" {
		name += " " + route
		attributes = append(attributes, semconv.HTTPRoute(route))
	}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		attributes = append(attributes, semconv.ClientAddress(host))
	}
	if agent := r.UserAgent(); agent != "" {
		attributes = append(attributes, semconv.UserAgentOriginal(agent))
	}
	ctx := o.propagator.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, _ = o.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attributes...))
	return ctx
}

// End ends the span of the request, and makes the spans of the work for it.
func (o *observer) End(ctx context.Context, out serve.Outcome) {
	if ctx.Value(skipped{}) != nil {
		return
	}
	span := trace.SpanFromContext(ctx)
	defer span.End()
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(semconv.HTTPResponseStatusCode(out.Status), semconv.HTTPResponseBodySize(int(out.Bytes)),
		attribute.String("avoformer.request.id", out.ID), attribute.String("avoformer.protocol", out.Protocol))
	if out.Model != "" {
		span.SetAttributes(semconv.GenAIResponseModel(out.Model), semconv.GenAIUsageInputTokens(out.Tokens), semconv.GenAIUsageOutputTokens(out.Generated),
			semconv.GenAIUsageCacheReadInputTokens(out.Shared), attribute.Int("avoformer.texts", out.Texts), attribute.Int("avoformer.texts.cut", out.Cut), attribute.Int("avoformer.texts.split", out.Split))
	}
	if out.Failure != nil {
		span.SetAttributes(attribute.String("avoformer.error", out.Failure.Error()))
	}
	if out.Status >= 500 { // what the client did wrong is not an error of the server's span
		span.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(out.Status)))
		span.SetStatus(codes.Error, "")
	}
	if out.Started.IsZero() {
		return
	}
	first, second, between := "queue", "compute", out.Wait
	if out.First > 0 {
		first, second, between = "prompt", "generate", out.First
	}
	if between > 0 {
		o.part(ctx, first, out.Started, between)
	}
	o.part(ctx, second, out.Started.Add(between), max(0, out.Compute-between))
}

// part makes a span of something that is over.
func (o *observer) part(ctx context.Context, name string, began time.Time, took time.Duration) {
	_, span := o.tracer.Start(ctx, name, trace.WithTimestamp(began))
	span.End(trace.WithTimestamp(began.Add(took)))
}
