// Vectors of texts and of their tokens, and how alike texts are.

package tei

import (
	"context"
	"net/http"
	"strconv"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
)

// EmbedRequest asks for the vectors of texts.
type EmbedRequest struct {
	Inputs wire.Inputs `json:"inputs"`
	Model  string      `json:"model"`
	EmbedParameters
}

// EmbedParameters is how vectors are made.
type EmbedParameters struct {
	Normalize  *bool `json:"normalize"`
	Dimensions *int  `json:"dimensions"`
	engine.Asked
	long
}

// embed answers POST /embed.
func (p protocol) embed(c *wire.Call) error {
	var in EmbedRequest
	if err := c.ReadJSON(&in); err != nil {
		return err
	}
	return Embed(p.engine, c, &in)
}

// Embed answers a request with a list of vectors.
func Embed(e *engine.Engine, c *wire.Call, in *EmbedRequest) error {
	taken, err := in.options()
	if err != nil {
		return err
	}
	o := text.EmbedOptions{InputOptions: taken, Scale: text.ScaleUnit}
	if in.Normalize != nil && !*in.Normalize {
		o.Scale = text.ScaleRaw
	}
	if in.Dimensions != nil {
		if o.Dim = *in.Dimensions; o.Dim < 1 {
			return engine.Errorf(engine.Invalid, "dimensions %d, want at least 1", o.Dim)
		}
	}
	vectors, _, err := e.Embed(c.Context(), in.Model, in.Inputs.List, in.Asked, o)
	if err != nil {
		return err
	}
	out, err := appendVectors(make([]byte, 0, 16+len(vectors)*(2+13*len(vectors[0]))), vectors)
	if err != nil {
		return err
	}
	measured(c)
	return c.Write(http.StatusOK, "application/json", out)
}

// appendVectors appends a JSON list of vectors.
func appendVectors(dst []byte, vectors [][]float32) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, v := range vectors {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = wire.AppendFloats(dst, v); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// embedAll answers POST /embed_all.
func (p protocol) embedAll(c *wire.Call) error {
	return answerEach(c, p.engine.EmbedTokens, appendVectors)
}

// embedSparse answers POST /embed_sparse.
func (p protocol) embedSparse(c *wire.Call) error {
	return answerEach(c, p.engine.EmbedSparse, appendSparse)
}

// eachRequest asks for a result for each of several texts.
type eachRequest struct {
	Inputs wire.Inputs `json:"inputs"`
	engine.Asked
	common
}

// answerEach answers with a list of what embed makes of each input.
func answerEach[V any](c *wire.Call, embed func(ctx context.Context, model string, inputs []text.Input, asked engine.Asked, o text.InputOptions) ([]V, engine.Usage, error), add func(dst []byte, v V) ([]byte, error)) error {
	var in eachRequest
	if err := c.ReadJSON(&in); err != nil {
		return err
	}
	taken, err := in.options()
	if err != nil {
		return err
	}
	all, _, err := embed(c.Context(), in.Model, in.Inputs.List, in.Asked, taken)
	if err != nil {
		return err
	}
	out := []byte{'['}
	for i, v := range all {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = add(out, v); err != nil {
			return err
		}
	}
	measured(c)
	return c.Write(http.StatusOK, "application/json", append(out, ']'))
}

// appendSparse appends the elements of a sparse vector.
func appendSparse(dst []byte, v text.SparseVector) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, w := range v {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"index":`...)
		dst = strconv.AppendInt(dst, int64(w.Index), 10)
		dst = append(dst, `,"value":`...)
		if dst, err = wire.AppendFloat(dst, w.Value); err != nil {
			return nil, err
		}
		dst = append(dst, '}')
	}
	return append(dst, ']'), nil
}

// SimilarityRequest asks for the similarity of a text to each of several texts.
type SimilarityRequest struct {
	Inputs struct {
		Source    string   `json:"source_sentence"`
		Sentences []string `json:"sentences"`
	} `json:"inputs"`
	Parameters struct {
		engine.Asked
		long
	} `json:"parameters"`
	Model string `json:"model"`
}

// similarity answers POST /similarity.
func (p protocol) similarity(c *wire.Call) error {
	var in SimilarityRequest
	if err := c.ReadJSON(&in); err != nil {
		return err
	}
	return Similarity(p.engine, c, &in)
}

// Similarity answers a request with a list of cosines.
func Similarity(e *engine.Engine, c *wire.Call, in *SimilarityRequest) error {
	if len(in.Inputs.Sentences) == 0 {
		return engine.Errorf(engine.Empty, "inputs.sentences is empty")
	}
	taken, err := in.Parameters.options()
	if err != nil {
		return err
	}
	cosines, _, err := e.Similarity(c.Context(), in.Model, in.Inputs.Source, in.Inputs.Sentences, in.Parameters.Asked, text.EmbedOptions{InputOptions: taken})
	if err != nil {
		return err
	}
	measured(c)
	return c.WriteJSON(http.StatusOK, cosines)
}
