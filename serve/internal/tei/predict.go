// Labels of texts and pairs, and the ranking of texts.

package tei

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/avoformer/avoformer/serve/internal/cohere"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
)

// sequences are what /predict takes: a text, a pair of texts as a list, or a list of lists of one
// or two texts.
type sequences struct {
	list []text.Input
	one  bool
}

var errSequences = errors.New("inputs: want a string, a pair [string, string], or a list of [string] and [string, string]")

// UnmarshalJSON reads any of the ways.
func (s *sequences) UnmarshalJSON(data []byte) error {
	*s = sequences{}
	var one string
	var pair []string
	var many [][]string
	switch {
	case string(data) == "null", bytes.Equal(data, []byte("[]")):
		return nil
	case json.Unmarshal(data, &one) == nil:
		pair, s.one = []string{one}, true
	case json.Unmarshal(data, &pair) == nil:
		s.one = true
	case json.Unmarshal(data, &many) != nil:
		return engine.Errorf(engine.Invalid, "%v", errSequences)
	}
	if s.one {
		many = [][]string{pair}
	}
	for _, texts := range many {
		switch len(texts) {
		case 1:
			s.list = append(s.list, text.Input{Text: texts[0]})
		case 2:
			s.list = append(s.list, text.Input{Text: texts[0], Second: texts[1], Pair: true})
		default:
			return engine.Errorf(engine.Invalid, "%v", errSequences)
		}
	}
	return nil
}

// predictRequest asks for the labels of texts or pairs.
type predictRequest struct {
	Inputs sequences `json:"inputs"`
	Raw    bool      `json:"raw_scores"`
	common
}

// predict answers POST /predict.
func (p protocol) predict(c *wire.Call) error {
	var in predictRequest
	if err := c.ReadJSON(&in); err != nil {
		return err
	}
	taken, err := in.options()
	if err != nil {
		return err
	}
	labels, _, err := p.engine.Classify(c.Context(), in.Model, in.Inputs.list, text.ClassifyOptions{InputOptions: taken, Raw: in.Raw})
	if err != nil {
		return err
	}
	measured(c)
	if in.Inputs.one {
		return c.WriteJSON(http.StatusOK, labels[0])
	}
	return c.WriteJSON(http.StatusOK, labels)
}

// rankRequest is a request in either of the protocols that ask /rerank: with texts, or with
// documents as Cohere's.
type rankRequest struct {
	cohere.Request
	Texts      []string `json:"texts"`
	Raw        *bool    `json:"raw_scores"`
	ReturnText *bool    `json:"return_text"`
	long
}

// other returns a field that belongs to the other protocol, not to that of the request; "" if there
// is no such field.
func (in *rankRequest) other() string {
	given := []struct {
		name  string
		given bool
	}{{"return_documents", in.Return}, {"rank_fields", len(in.Fields) > 0}, {"instruction", in.Instruction != ""}}
	if in.Documents != nil {
		given = []struct {
			name  string
			given bool
		}{{"texts", in.Texts != nil}, {"raw_scores", in.Raw != nil}, {"return_text", in.ReturnText != nil}, {"truncate", in.Truncate != nil}, {"truncation_direction", in.Direction != ""}}
	}
	for _, x := range given {
		if x.given {
			return x.name
		}
	}
	return ""
}

// rerank answers POST /rerank, which clients of Cohere's protocol ask too: with documents in place
// of texts.
func (p protocol) rerank(c *wire.Call) error {
	var in rankRequest
	if err := c.ReadJSON(&in); err != nil {
		return err
	}
	other := in.other()
	switch {
	case other != "" && in.Documents != nil:
		return engine.Errorf(engine.Invalid, "%s and documents are given, want one of them", other).At(other)
	case other != "":
		return engine.Errorf(engine.Invalid, "%s goes with documents, which are not given", other).At(other)
	case in.Documents != nil:
		return cohere.Rank(p.engine, c, &in.Request)
	case in.Query == nil:
		return engine.Errorf(engine.Invalid, "query is missing").At("query")
	case in.TopN != nil && *in.TopN < 1: // which LiteLLM sends with texts
		return engine.Errorf(engine.Invalid, "top_n %d, want at least 1", *in.TopN).At("top_n")
	}
	taken, err := in.options()
	if err != nil {
		return err
	}
	ranked, _, err := p.engine.Rank(c.Context(), in.Model, *in.Query, in.Texts, text.RerankOptions{InputOptions: taken, Raw: in.Raw != nil && *in.Raw})
	if err != nil {
		return err
	}
	type rank struct {
		Index int     `json:"index"`
		Text  *string `json:"text,omitempty"`
		Score float32 `json:"score"`
	}
	if in.TopN != nil {
		ranked = ranked[:min(*in.TopN, len(ranked))]
	}
	out := make([]rank, len(ranked))
	for i, r := range ranked {
		out[i] = rank{Index: r.Index, Score: r.Score}
		if in.ReturnText != nil && *in.ReturnText {
			out[i].Text = &in.Texts[r.Index]
		}
	}
	measured(c)
	return c.WriteJSON(http.StatusOK, out)
}
