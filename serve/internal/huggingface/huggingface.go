// Package huggingface is the protocol of Hugging Face's inference servers, as huggingface_hub's
// InferenceClient asks them: inputs and parameters at one address, and the model says what becomes
// of them.
package huggingface

import (
	"encoding/json"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/tei"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
)

type protocol struct{ engine *engine.Engine }

// Routes are what the protocol answers. Errors are text-embeddings-inference's, which has one of
// the tasks at / too.
func Routes(e *engine.Engine) []wire.Route {
	p := protocol{e}
	route := func(pattern, summary string) wire.Route {
		return wire.Route{Method: "POST", Pattern: pattern, Protocol: "huggingface", Summary: summary, Handle: p.infer, Error: tei.Error}
	}
	return []wire.Route{
		route("/{$}", "What the model is for: vectors, cosines, labels, entities, translations or texts; vectors and labels of images"),
		route("/models/{id...}", "What one of several models is for"),
	}
}

// task is a request to a model: the parsed inputs, and the parameters as they came.
type task struct {
	Inputs     wire.Inputs     `json:"inputs"`
	Parameters json.RawMessage `json:"parameters"`
	Model      string          `json:"model"`
	Stream     bool            `json:"stream"`
	Options    json.RawMessage `json:"options"` // whether to wait and to cache, which changes no answer
	streams    bool            // the answer may be a stream
}

// read reads the task and its parameters.
func (t *task) read(c *wire.Call, body []byte, parameters any) error {
	if err := c.Decode(body, t); err != nil {
		return err
	}
	switch {
	case t.Inputs.IDs:
		return engine.Errorf(engine.Invalid, "inputs: want a string or a list of strings").At("inputs")
	case t.Stream && !t.streams:
		return engine.Errorf(engine.Invalid, "stream is for models that generate text").At("stream")
	case wire.IsNull(t.Parameters):
		return nil
	}
	return c.Decode(t.Parameters, parameters)
}

// texts returns the inputs.
func (t *task) texts() []string {
	out := make([]string, len(t.Inputs.List))
	for i, in := range t.Inputs.List {
		out[i] = in.Text
	}
	return out
}

// infer answers POST / and /models/{id}.
func (p protocol) infer(c *wire.Call) error {
	body, err := c.ReadBody()
	if err != nil {
		return err
	}
	var in struct {
		Inputs json.RawMessage `json:"inputs"`
		Model  string          `json:"model"`
	}
	wrong := wire.Peek(body, &in)
	if wrong != nil && !isFile(body) {
		return wrong
	}
	m, err := p.model(c.Path("id"), in.Model)
	if err != nil {
		return err
	}
	if m.Kind.Info().Images {
		return p.images(c, m, body)
	}
	if wrong != nil {
		return wrong
	}
	switch m.Kind {
	case text.KindEmbedder:
		if len(in.Inputs) > 0 && in.Inputs[0] == '{' {
			return p.similarity(c, m.Name, body)
		}
		return p.features(c, m.Name, body)
	case text.KindClassifier:
		return p.labels(c, m.Name, body)
	case text.KindTokenClassifier:
		return p.entities(c, m.Name, body)
	case text.KindTranslator:
		return p.translate(c, m.Name, body)
	case text.KindGenerator:
		return p.generate(c, m.Name, body)
	}
	return engine.Errorf(engine.WrongModel, "%q is a %s: ask %s", m.Name, m.Kind, engine.RouteOf(m.Kind))
}

// model returns the one that the address or the body names. It need not be named if it is the only
// one.
func (p protocol) model(inPath, inBody string) (m engine.ModelInfo, err error) {
	name := inPath
	switch models := p.engine.Models(); {
	case inPath != "" && inBody != "" && inPath != inBody:
		return m, engine.Errorf(engine.Invalid, "model %.200q, but the address has %.200q", inBody, inPath).At("model")
	case inBody != "":
		name = inBody
	case inPath == "" && len(models) > 1:
		return m, engine.Errorf(engine.Invalid, "several models are served: ask for one at /models/NAME").At("model")
	case inPath == "":
		return models[0], nil
	}
	m, ok := p.engine.Find(name)
	if !ok {
		return m, engine.Errorf(engine.UnknownModel, "no model %.200q is served here", name).At("model")
	}
	return m, nil
}
