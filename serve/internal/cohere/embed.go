// POST /v1/embed and /v2/embed.

package cohere

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
)

// embedRequest is a request for the vectors of texts.
type embedRequest struct {
	Model     string   `json:"model"`
	Texts     []string `json:"texts"`
	Inputs    []input  `json:"inputs"` // in place of Texts, of version 2
	InputType string   `json:"input_type"`
	Types     []string `json:"embedding_types"`
	Truncate  string   `json:"truncate"`
	Dimension *int     `json:"output_dimension"`
	// These fields would change the vectors and are not supported.
	Images    json.RawMessage `json:"images"`
	MaxTokens *int            `json:"max_tokens"`
}

// Neutral returns the fields that have no effect on vectors.
func (*embedRequest) Neutral() wire.Neutral { return wire.Neutral{"priority": nil} }

// input is a text in parts.
type input struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
}

// inputs returns the texts.
func (in *embedRequest) inputs() ([]string, error) {
	if len(in.Inputs) == 0 {
		return in.Texts, nil
	}
	if len(in.Texts) > 0 {
		return nil, engine.Errorf(engine.Invalid, "texts and inputs are given, want one of them").At("inputs")
	}
	out := make([]string, len(in.Inputs))
	for i, one := range in.Inputs {
		var parts []string
		for _, part := range one.Content {
			if part.Type != "text" {
				return nil, engine.Errorf(engine.Invalid, "inputs: a part of type %.50q, want text", part.Type).At("inputs")
			}
			parts = append(parts, part.Text)
		}
		out[i] = strings.Join(parts, "\n")
	}
	return out, nil
}

// vectorType is one of embedding_types.
type vectorType struct {
	name     string
	elements wire.Elements
	asBase64 bool
}

// types returns the requested types of vectors; by default floats.
func (in *embedRequest) types() (out []vectorType, err error) {
	for _, name := range in.Types {
		t := vectorType{name: name, elements: wire.Float, asBase64: name == "base64"}
		if !t.asBase64 {
			if t.elements, err = wire.ElementsOf("embedding_types", name); err != nil {
				return nil, err
			}
		}
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	if out == nil {
		out = []vectorType{{name: "float", elements: wire.Float}}
	}
	return out, nil
}

// options returns the options for computing vectors. Their length is 1, as in Cohere's answers.
func (in *embedRequest) options() (o text.EmbedOptions, err error) {
	o.Scale = text.ScaleUnit
	switch strings.ToUpper(in.Truncate) {
	case "", "END":
		o.Long = text.LongTruncate
	case "START":
		o.Long, o.TruncateLeft = text.LongTruncate, true
	case "NONE":
		o.Long = text.LongRefuse
	default:
		return o, engine.Errorf(engine.Invalid, "truncate %.50q, want NONE, START or END", in.Truncate).At("truncate")
	}
	switch {
	case !wire.IsNull(in.Images) && string(in.Images) != "[]":
		return o, engine.Errorf(engine.Invalid, "images are not supported here").At("images")
	case in.MaxTokens != nil:
		return o, engine.Errorf(engine.Invalid, "max_tokens is not supported: what is too long is cut at the model's limit").At("max_tokens")
	case in.Dimension != nil && *in.Dimension < 1:
		return o, engine.Errorf(engine.Invalid, "output_dimension %d, want at least 1", *in.Dimension).At("output_dimension")
	case in.Dimension != nil:
		o.Dim = *in.Dimension
	}
	return o, nil
}

// embed answers POST /v1/embed and /v2/embed.
func embed(e *engine.Engine, c *wire.Call) error {
	var in embedRequest
	if err := c.ReadJSON(&in); err != nil {
		return err
	}
	texts, err := in.inputs()
	if err != nil {
		return err
	}
	types, err := in.types()
	if err != nil {
		return err
	}
	o, err := in.options()
	if err != nil {
		return err
	}
	vectors, usage, err := e.Embed(c.Context(), in.Model, text.Texts(texts...), engine.Asked{InputType: in.InputType}, o)
	if err != nil {
		if e := engine.AsError(err); e.Param == "dimensions" {
			return e.At("output_dimension")
		}
		return err
	}
	lists := map[string]json.RawMessage{}
	for _, t := range types {
		list := []byte{'['}
		for i, v := range vectors {
			if i > 0 {
				list = append(list, ',')
			}
			if list, err = wire.AppendVector(list, v, t.elements, t.asBase64); err != nil {
				return err
			}
		}
		lists[t.name] = append(list, ']')
	}
	version, kind := "2", "embeddings_by_type"
	var answer any = lists
	if c.Record.Route == "/v1/embed" {
		version = "1"
		if len(in.Types) == 0 {
			kind, answer = "embeddings_floats", lists["float"]
		}
	}
	return c.WriteJSON(http.StatusOK, map[string]any{
		"id": c.Record.ID, "response_type": kind, "embeddings": answer, "texts": texts, "meta": meta(version, map[string]int{"input_tokens": usage.Tokens}, usage),
	})
}

// meta returns the counts of a request.
func meta(version string, billed map[string]int, usage engine.Usage) map[string]any {
	return map[string]any{
		"api_version": map[string]any{"version": version}, "billed_units": billed,
		"tokens": map[string]any{"input_tokens": usage.Tokens, "output_tokens": 0},
	}
}
