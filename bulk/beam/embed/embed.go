// Package embed makes vectors of the texts of an Apache Beam pipeline.
//
//	vectors, dead := embed.Texts(s, embed.Model{Dir: "/models/all-MiniLM-L6-v2"}, texts)
//
// The model is opened once in each process of workers, from a folder that they all have. Texts are
// computed in batches of a budget of tokens, by threads of their own, since runners may hand out
// one bundle at a time. The counters texts, results, dead, tokens, cut and batches are in the
// namespace avoformer.
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

// Model says which model is used, and how.
type Model = bundle.Model

// Dead is a text without a vector, and why.
type Dead = bundle.Dead

// A Vector is what a text became.
type Vector struct {
	Values []float32
	Tokens int32 // that were computed
	Cut    bool  // something of the text was cut off
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

// Prompted is Texts with the prompt of a name that the model's folder has; "" is its default.
func Prompted(s beam.Scope, m Model, prompt string, col beam.PCollection) (vectors, dead beam.PCollection) {
	return bundle.Apply[Vector](s, kind, prompt, m, col)
}
