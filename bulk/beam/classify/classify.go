// Package classify labels the texts of an Apache Beam pipeline. Package embed documents how models
// are opened, and the counters.
//
// This package is experimental: see doc/stability.md.
package classify

import (
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/avoformer/avoformer/bulk"
	"github.com/avoformer/avoformer/bulk/beam/bundle"
	"github.com/avoformer/avoformer/text"
)

// Model describes the model to use.
type Model = bundle.Model

// Dead is a text without labels, with the reason.
type Dead = bundle.Dead

// A Label is the result of a text.
type Label struct {
	Label  string // the best label
	Score  float32
	Labels string // all labels with their scores, the best first, as JSON
	Tokens int32  // number of tokens that were computed
	Cut    bool   // the text was cut
}

func init() { beam.RegisterType(reflect.TypeFor[Label]()) }

var kind = bundle.Register("classify", bundle.Kind{
	Open: func(dir, _ string, o text.Options) (bulk.Task, error) {
		c, err := text.OpenClassifier(dir, o)
		if err != nil {
			return bulk.Task{}, err
		}
		return bulk.Classify(c), nil
	},
	Value: func(r bulk.Result) any {
		return Label{r.Values[0].(string), r.Values[1].(float32), r.Values[2].(string), int32(r.Tokens), r.Cut}
	},
})

// Texts turns a PCollection<KV<key, text>>, text being string or []byte, into a PCollection<KV<key,
// Label>>, and a PCollection<KV<key, Dead>> of the texts without a label. Labels are those of
// text.Classifier.
func Texts(s beam.Scope, m Model, col beam.PCollection) (labels, dead beam.PCollection) {
	return bundle.Apply[Label](s, kind, "", m, col)
}
