// Package embed computes vectors of the texts of an Apache Beam pipeline.
//
//	vectors, dead := embed.Texts(s, embed.Model{Dir: "/models/all-MiniLM-L6-v2"}, texts)
//
// Each worker process opens the model once, from a folder that must exist on all workers. Texts are
// computed in batches with a budget of tokens, by the model's own threads, since runners may
// process one bundle at a time. The counters texts, results, dead, tokens, cut and batches are in
// the namespace avoformer.
//
// This package is experimental: see doc/stability.md.
package embed

import (
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/avoformer/avoformer/bulk"
	"github.com/avoformer/avoformer/bulk/beam/bundle"
	"github.com/avoformer/avoformer/text"
)

// Model describes the model to use.
type Model = bundle.Model

// Dead is a text without a vector, with the reason.
type Dead = bundle.Dead

// A Vector is the result of a text.
type Vector struct {
	Values []float32
	Tokens int32 // number of tokens that were computed
	Cut    bool  // the text was cut
}

func init() { beam.RegisterType(reflect.TypeFor[Vector]()) }

var kind = bundle.Register("embed", bundle.Kind{
	Open: func(dir, prompt string, o text.Options) (bulk.Task, error) {
		e, err := text.OpenEmbedder(dir, o)
		if err != nil {
			return bulk.Task{}, err
		}
		return bulk.Embed(e, prompt, bulk.Float32Vectors)
	},
	Value: func(r bulk.Result) any { return Vector{r.Values[0].([]float32), int32(r.Tokens), r.Cut} },
})

// Texts turns a PCollection<KV<key, text>>, text being string or []byte, into a PCollection<KV<key,
// Vector>>, and a PCollection<KV<key, Dead>> of the texts without a vector. Vectors have the same
// bits as those of text.Embedder on the same instruction set.
func Texts(s beam.Scope, m Model, col beam.PCollection) (vectors, dead beam.PCollection) {
	return Prompted(s, m, "", col)
}

// Prompted is Texts with a prompt of the model's folder, given by its name; "" is the folder's
// default.
func Prompted(s beam.Scope, m Model, prompt string, col beam.PCollection) (vectors, dead beam.PCollection) {
	return bundle.Apply[Vector](s, kind, prompt, m, col)
}
