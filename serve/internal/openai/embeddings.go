// This file has the routes, and POST /v1/embeddings.

package openai

import (
	"net/http"
	"strconv"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
)

// Options has the settings that differ between servers.
type Options struct {
	// TokenIDs lets clients send token ids, which must be those of the model's own vocabulary.
	TokenIDs bool
}

type protocol struct {
	engine  *engine.Engine
	options Options
}

// Routes returns the routes of the protocol.
func Routes(e *engine.Engine, o Options) []wire.Route {
	p := protocol{e, o}
	route := func(method, pattern, summary string, handle func(c *wire.Call) error) wire.Route {
		return wire.Route{Method: method, Pattern: pattern, Protocol: "openai", Summary: summary, Handle: handle, Error: Error}
	}
	return []wire.Route{
		route("POST", "/v1/embeddings", "Vectors of texts", p.embeddings).Reads(new(embeddingsRequest)),
		route("POST", "/v1/chat/completions", "An assistant's answer to messages", p.chat).Reads(new(chatRequest)),
		route("POST", "/v1/audio/transcriptions", "The text of speech", p.transcriptions),
		route("POST", "/v1/completions", "What follows texts", p.completions).Reads(new(completionRequest)),
		route("GET", "/v1/models", "The models that are served", p.models),
		route("GET", "/v1/models/{id...}", "One model", p.model),
	}
}

// tokensRefused is the error for a field of token ids. Some clients of OpenAI's models send ids of
// those models' vocabulary by default.
const tokensRefused = "%s is token ids, which are those of another vocabulary unless the client has this model's tokenizer: send texts. " +
	"LangChain's OpenAIEmbeddings does so with check_embedding_ctx_length=False. To accept the model's own token ids, start the server with -token-ids."

// embeddingsRequest is a request for the vectors of texts.
type embeddingsRequest struct {
	Model      string      `json:"model"`
	Input      wire.Inputs `json:"input"`
	Format     string      `json:"encoding_format"`
	Dimensions *int        `json:"dimensions"`
	Output     string      `json:"output_dtype"` // Mistral's and Voyage's name of what the elements are

	engine.Asked             // Cohere's, Jina's and sentence-transformers' words
	Embedding    string      `json:"embedding_type"` // Jina's name of encoding_format and output_dtype
	Normalize    *bool       `json:"normalize"`
	Normalized   *bool       `json:"normalized"` // Jina's name of the one above
	Truncate     *truncation `json:"truncate"`
}

// Neutral returns fields of OpenAI, vLLM and Jina that have no effect on answers.
func (*embeddingsRequest) Neutral() wire.Neutral {
	return wire.Neutral{
		"user": nil, "request_id": nil, "priority": nil, "add_special_tokens": {"true"}, "truncate_prompt_tokens": {"-1"},
		"embedding_types": {`["float"]`}, "late_chunking": {"false"}, "return_multivector": {"false"},
		"keep_alive": nil, "options": {"{}"},
	}
}

// truncation says how long texts are truncated: true or false, or one of Cohere's words.
type truncation struct{ text.InputOptions }

// UnmarshalJSON reads both forms.
func (t *truncation) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case "true", `"END"`:
		t.Long = text.LongTruncate
	case `"START"`:
		t.Long, t.TruncateLeft = text.LongTruncate, true
	case "false", `"NONE"`:
		t.Long = text.LongRefuse
	default:
		return engine.Errorf(engine.Invalid, "truncate %.50s, want true, false, START, END or NONE", data)
	}
	return nil
}

// elements returns the type and the encoding of vectors' elements.
func (in *embeddingsRequest) elements() (e wire.Elements, asBase64 bool, err error) {
	asBase64 = in.Format == "base64"
	switch {
	case in.Embedding == "":
		e, err = wire.ElementsOf("output_dtype", in.Output)
	case in.Output != "" || in.Format != "":
		err = engine.Errorf(engine.Invalid, "embedding_type with encoding_format or output_dtype, want one of them").At("embedding_type")
	case in.Embedding == "base64":
		e, asBase64 = wire.Float, true
	default:
		e, err = wire.ElementsOf("embedding_type", in.Embedding)
	}
	return e, asBase64, err
}

// options returns the options for computing vectors.
func (in *embeddingsRequest) options(ids bool) (o text.EmbedOptions, err error) {
	switch {
	case in.Format != "" && in.Format != "float" && in.Format != "base64":
		return o, engine.Errorf(engine.Invalid, "encoding_format %.50q, want float or base64", in.Format).At("encoding_format")
	case in.Input.IDs && !ids:
		return o, engine.Errorf(engine.Invalid, tokensRefused, "input").At("input")
	case in.Dimensions != nil && *in.Dimensions < 1:
		return o, engine.Errorf(engine.Invalid, "dimensions %d, want at least 1", *in.Dimensions).At("dimensions")
	case in.Normalize != nil && in.Normalized != nil && *in.Normalize != *in.Normalized:
		return o, engine.Errorf(engine.Invalid, "normalize and normalized differ").At("normalized")
	case in.Dimensions != nil:
		o.Dim = *in.Dimensions
	}
	if in.Truncate != nil {
		o.InputOptions = in.Truncate.InputOptions
	}
	o.Scale = text.ScaleUnit // as OpenAI documents its vectors; clients use products as cosines
	if !flag(in.Normalize, true) || !flag(in.Normalized, true) {
		o.Scale = text.ScaleRaw
	}
	return o, nil
}

// embeddings answers POST /v1/embeddings.
func (p protocol) embeddings(c *wire.Call) error {
	var in embeddingsRequest
	if err := c.ReadJSON(&in); err != nil {
		return err
	}
	o, err := in.options(p.options.TokenIDs)
	if err != nil {
		return err
	}
	elements, asBase64, err := in.elements()
	if err != nil {
		return err
	}
	model, err := p.engine.Sole(in.Model, text.KindEmbedder)
	if err != nil {
		return err
	}
	vectors, usage, err := p.engine.Embed(c.Context(), model, in.Input.List, in.Asked, o)
	if err != nil {
		e := engine.AsError(err)
		if e.Param == "" && (e.Kind == engine.Empty || e.Kind == engine.TooLong || e.Kind == engine.Invalid) {
			e.Param = "input"
		}
		return e
	}
	out, err := appendEmbeddings(nil, c.Record.Model, vectors, elements, asBase64, usage)
	if err != nil {
		return err
	}
	return c.Write(http.StatusOK, "application/json", out)
}

// appendEmbeddings appends the answer. It does not use encoding/json, since nearly all of the
// answer is numbers.
func appendEmbeddings(dst []byte, model string, vectors [][]float32, elements wire.Elements, asBase64 bool, usage engine.Usage) ([]byte, error) {
	if len(vectors) > 0 {
		dst = make([]byte, 0, 200+len(vectors)*(60+13*len(vectors[0])))
	}
	dst = append(dst, `{"object":"list","data":[`...)
	var err error
	for i, v := range vectors {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"object":"embedding","index":`...)
		dst = strconv.AppendInt(dst, int64(i), 10)
		dst = append(dst, `,"embedding":`...)
		if dst, err = wire.AppendVector(dst, v, elements, asBase64); err != nil {
			return nil, err
		}
		dst = append(dst, '}')
	}
	dst = append(dst, `],"model":`...)
	dst = wire.AppendString(dst, model)
	dst = append(dst, `,"usage":{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, int64(usage.Tokens), 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(usage.Tokens), 10)
	return append(dst, "}}\n"...), nil
}
