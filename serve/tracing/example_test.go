package tracing_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/avoformer/avoformer/serve"
	"github.com/avoformer/avoformer/serve/tracing"
)

// The spans of a request, here kept in memory instead of going to a collector.
func ExampleNew() {
	spans := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))
	s, err := serve.New([]serve.Model{{Dir: "../../text/examples/models/embed"}}, serve.Options{Observer: tracing.New(tracing.Options{Provider: provider})})
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Wait(context.Background()); err != nil {
		log.Fatal(err)
	}
	h := httptest.NewServer(s)
	r, err := http.Post(h.URL+"/v1/embeddings", "application/json", strings.NewReader(`{"model": "embed", "input": "bread"}`))
	if err != nil {
		log.Fatal(err)
	}
	r.Body.Close()
	h.Close()
	var names []string
	for _, span := range spans.Ended() {
		names = append(names, span.Name())
	}
	slices.Sort(names)
	fmt.Println(strings.Join(names, ", "))
	// Output: POST /v1/embeddings, compute, queue
}
