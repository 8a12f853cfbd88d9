// This file has the kinds of pipelines that are served.

package engine

import (
	"slices"

	"github.com/avoformer/avoformer/text"
)

// routes has a route for each kind that is served.
var routes = map[text.Kind]string{
	text.KindEmbedder:        "/v1/embeddings",
	text.KindReranker:        "/rerank",
	text.KindClassifier:      "/predict",
	text.KindTokenClassifier: "/models/{id...}",
	text.KindGenerator:       "/v1/chat/completions",
	text.KindTranslator:      "/models/{id...}",
	text.KindTranscriber:     "/v1/audio/transcriptions",
	text.KindImageClassifier: "/models/{id...}",
	text.KindImageEmbedder:   "/models/{id...}",
}

// RouteOf returns a route that uses models of a kind, "" if there is none.
func RouteOf(kind text.Kind) string { return routes[kind] }

// served returns the kinds that are served.
func served() []text.Kind {
	return slices.DeleteFunc(text.Kinds(), func(k text.Kind) bool { return routes[k] == "" })
}
