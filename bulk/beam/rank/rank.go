// Package rank scores how well the texts of an Apache Beam pipeline answer a query. Package embed
// documents how models are opened, and the counters.
//
// This package is experimental: see doc/stability.md.
package rank

import (
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/avoformer/avoformer/bulk"
	"github.com/avoformer/avoformer/bulk/beam/bundle"
	"github.com/avoformer/avoformer/text"
)

// Model describes the model to use.
type Model = bundle.Model

// Dead is a text without a score, with the reason.
type Dead = bundle.Dead

// A Score is the result of a text.
type Score struct {
	Score  float32
	Tokens int32 // number of tokens that were computed, including the query's
	Cut    bool  // the text was cut
}

func init() { beam.RegisterType(reflect.TypeFor[Score]()) }

var kind = bundle.Register("rank", bundle.Kind{
	Open: func(dir, query string, o text.Options) (bulk.Task, error) {
		r, err := text.OpenReranker(dir, o)
		if err != nil {
			return bulk.Task{}, err
		}
		return bulk.Rank(r, query), nil
	},
	Value: func(r bulk.Result) any { return Score{r.Values[0].(float32), int32(r.Tokens), r.Cut} },
})

// Texts turns a PCollection<KV<key, text>>, text being string or []byte, into a PCollection<KV<key,
// Score>>, and a PCollection<KV<key, Dead>> of the texts without a score. Scores are those of
// text.Reranker.
func Texts(s beam.Scope, m Model, query string, col beam.PCollection) (scores, dead beam.PCollection) {
	return bundle.Apply[Score](s, kind, query, m, col)
}
