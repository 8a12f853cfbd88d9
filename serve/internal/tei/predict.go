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

// sequences are what /predict takes: a text, a pair of texts as a list, or a list of lists of one or two texts.
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

// predict answers POST /predict.
func (p protocol) predict(c *wire.Call) error {
	var in struct {
		Inputs sequences `json:"inputs"`
		Raw    bool      `json:"raw_scores"`
		common
	}
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

// rerank answers POST /rerank, which clients of Cohere's protocol ask too: with documents in the place of texts.
func (p protocol) rerank(c *wire.Call) error {
	var in struct {
		cohere.Request
		Texts      []string `json:"texts"`
		Raw        bool     `json:"raw_scores"`
		ReturnText bool     `json:"return_text"`
		long
	}
	if err := c.ReadJSON(&in); err != nil {
		return err
	}
	if in.Documents != nil {
		if in.Texts != nil {
			return engine.Errorf(engine.Invalid, "texts and documents are given, want one of them")
		}
		return cohere.Rank(p.engine, c, &in.Request)
	}
	if in.Query == nil {
		return engine.Errorf(engine.Invalid, "query is missing")
	}
	taken, err := in.options()
	if err != nil {
		return err
	}
	ranked, _, err := p.engine.Rank(c.Context(), in.Model, *in.Query, in.Texts, text.ClassifyOptions{InputOptions: taken, Raw: in.Raw})
	if err != nil {
		return err
	}
	type rank struct {
		Index int     `json:"index"`
		Text  *string `json:"text,omitempty"`
		Score float32 `json:"score"`
	}
	out := make([]rank, len(ranked))
	for i, r := range ranked {
		out[i] = rank{Index: r.Index, Score: r.Score}
		if in.ReturnText {
			out[i].Text = &in.Texts[r.Index]
		}
	}
	measured(c)
	return c.WriteJSON(http.StatusOK, out)
}
