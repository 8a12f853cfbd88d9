// Vectors, cosines, labels and entities.

package huggingface

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/tei"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
)

// features answers with a vector for each text. InferenceClient sends the parameters next to the
// inputs, other clients send them where the parameters of other tasks are.
func (p protocol) features(c *wire.Call, model string, body []byte) error {
	var in struct {
		tei.EmbedRequest
		Parameters json.RawMessage `json:"parameters"`
		Options    json.RawMessage `json:"options"`
	}
	if err := c.Decode(body, &in); err != nil {
		return err
	}
	if !wire.IsNull(in.Parameters) {
		var inside tei.EmbedParameters
		if err := c.Decode(in.Parameters, &inside); err != nil {
			return err
		}
		if inside != (tei.EmbedParameters{}) && in.EmbedParameters != (tei.EmbedParameters{}) {
			return engine.Errorf(engine.Invalid, "parameters are given both next to the inputs and in parameters: want one of them").At("parameters")
		}
		if inside != (tei.EmbedParameters{}) {
			in.EmbedParameters = inside
		}
	}
	in.Model = model
	return tei.Embed(p.engine, c, &in.EmbedRequest)
}

// similarity answers with the cosine of a text with each of several texts.
func (p protocol) similarity(c *wire.Call, model string, body []byte) error {
	var in struct {
		tei.SimilarityRequest
		Options json.RawMessage `json:"options"`
	}
	if err := c.Decode(body, &in); err != nil {
		return err
	}
	in.Model = model
	return tei.Similarity(p.engine, c, &in.SimilarityRequest)
}

// labels answers with a list of labels for each text. InferenceClient expects a list for a single
// text, too.
func (p protocol) labels(c *wire.Call, model string, body []byte) error {
	var in task
	var how labelParameters
	if err := in.read(c, body, &how); err != nil {
		return err
	}
	finish, err := how.finish()
	if err != nil {
		return err
	}
	labels, _, err := p.engine.Classify(c.Context(), model, in.Inputs.List, text.ClassifyOptions{Raw: how.Function != ""})
	if err != nil {
		return err
	}
	for i := range labels {
		labels[i] = finish(labels[i])
	}
	return c.WriteJSON(http.StatusOK, labels)
}

// labelParameters is what becomes of labels with logits, or of what the folder makes of these
// without a function.
type labelParameters struct {
	TopK     *int   `json:"top_k"`
	Function string `json:"function_to_apply"`
}

// finish returns a function that applies the parameters to the labels of one input, which come with
// the best first.
func (how *labelParameters) finish() (func([]text.Label) []text.Label, error) {
	if how.TopK != nil && *how.TopK < 1 {
		return nil, engine.Errorf(engine.Invalid, "top_k %d, want at least 1", *how.TopK).At("top_k")
	}
	apply, known := map[string]func([]text.Label){"": func([]text.Label) {}, "none": func([]text.Label) {}, "softmax": softmax, "sigmoid": sigmoid}[how.Function]
	if !known {
		return nil, engine.Errorf(engine.Invalid, "function_to_apply %.50q, want softmax, sigmoid or none", how.Function).At("function_to_apply")
	}
	return func(labels []text.Label) []text.Label {
		apply(labels)
		if how.TopK != nil {
			labels = labels[:min(*how.TopK, len(labels))]
		}
		return labels
	}, nil
}

// softmax makes probabilities of logits. The first logit is the largest.
func softmax(labels []text.Label) {
	first, sum := float64(labels[0].Score), 0.0
	for _, l := range labels {
		sum += elementary.Exp(float64(l.Score) - first)
	}
	for i, l := range labels {
		labels[i].Score = float32(elementary.Exp(float64(l.Score)-first) / sum)
	}
}

// sigmoid makes a probability of each logit.
func sigmoid(labels []text.Label) {
	for i, l := range labels {
		labels[i].Score = float32(1 / (1 + elementary.Exp(-float64(l.Score))))
	}
}

// entity is a part of a text, with Hugging Face's names. Word is that part of the text as it is
// written.
type entity struct {
	Group string  `json:"entity_group"`
	Score float32 `json:"score"`
	Word  string  `json:"word"`
	Start int     `json:"start"` // characters
	End   int     `json:"end"`
}

// outside is the label of tokens outside entities.
const outside = "O"

// entities answers with the entities of a text, or a list of them for each of several.
func (p protocol) entities(c *wire.Call, model string, body []byte) error {
	var in task
	how := struct {
		Strategy string   `json:"aggregation_strategy"`
		Ignore   []string `json:"ignore_labels"`
	}{Strategy: "simple"}
	if err := in.read(c, body, &how); err != nil {
		return err
	}
	strategy, known := map[string]text.Aggregation{"simple": text.AggregateSimple, "first": text.AggregateFirst, "average": text.AggregateAverage, "max": text.AggregateMax}[how.Strategy]
	switch {
	case how.Strategy == "none":
		return engine.Errorf(engine.Invalid, "aggregation_strategy none is not supported here, want simple, first, average or max").At("aggregation_strategy")
	case !known:
		return engine.Errorf(engine.Invalid, "aggregation_strategy %.50q, want simple, first, average or max", how.Strategy).At("aggregation_strategy")
	case how.Ignore != nil && !slices.Contains(how.Ignore, outside):
		return engine.Errorf(engine.Invalid, "ignore_labels without %q is not supported here", outside).At("ignore_labels")
	}
	texts := in.texts()
	found, _, err := p.engine.Entities(c.Context(), model, texts, text.EntityOptions{Aggregation: strategy})
	if err != nil {
		return err
	}
	out := make([][]entity, len(found))
	for i, list := range found {
		out[i] = []entity{}
		for _, e := range list {
			if !slices.Contains(how.Ignore, e.Label) {
				out[i] = append(out[i], entity{e.Label, e.Score, texts[i][e.Start:e.End], e.StartChar, e.EndChar})
			}
		}
	}
	if in.Inputs.One {
		return c.WriteJSON(http.StatusOK, out[0])
	}
	return c.WriteJSON(http.StatusOK, out)
}
