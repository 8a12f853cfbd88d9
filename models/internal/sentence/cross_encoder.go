package sentence

import (
	"io/fs"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/models/internal/configuration"
)

// A CrossEncoder is what sentence-transformers' files say of a folder that was saved by its class of
// that name.
type CrossEncoder struct {
	MaxLength  int    // as of a [SentenceEmbedder]
	LowerCase  bool   // as of a [SentenceEmbedder]
	Activation string // the class of the activation of the logits, "" if the files name none
}

// OpenCrossEncoder reads those files next to a model. It returns nil if the folder was saved without
// them, or without modules.json: sentence-transformers then reads none of them.
func OpenCrossEncoder(fsys fs.FS, encoder Encoder, modelType string) (*CrossEncoder, error) {
	modules, err := modulesFor(fsys, "CrossEncoder")
	if err != nil || modules == nil {
		return nil, err
	}
	if len(modules) != 1 || modules[0].kind() != "Transformer" || modules[0].Path != "" {
		return nil, modulesError(fault.ErrConfig, "a CrossEncoder is supported only with one module, a Transformer in the folder itself")
	}
	s := &Embedder{encoder: encoder}
	if err := s.readTransformer(fsys, modelType, classification); err != nil {
		return nil, err
	}
	doc, err := configuration.ReadJSON(fsys, wholeFile)
	if err != nil {
		return nil, err
	}
	if err := s.readPrompts(doc); err != nil {
		return nil, err
	}
	if s.DefaultPrompt != "" {
		return nil, doc.Errorf("default_prompt_name", "prompts of a CrossEncoder are not supported")
	}
	c := &CrossEncoder{MaxLength: s.MaxLength, LowerCase: s.LowerCase}
	if doc.Has("activation_fn") {
		err = doc.Field("activation_fn", &c.Activation)
	}
	return c, err
}
