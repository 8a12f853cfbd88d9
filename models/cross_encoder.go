package models

import "io/fs"

// A CrossEncoder is what sentence-transformers' files say of a folder that was saved by its class of
// that name.
type CrossEncoder struct {
	MaxLength  int    // as of a [SentenceEmbedder]
	LowerCase  bool   // as of a [SentenceEmbedder]
	Activation string // the class of what becomes of the logits, "" if it is not said
}

// openCrossEncoder reads those files beside a model; nil if the folder was not saved so, or not with
// modules.json: sentence-transformers then asks for none of them.
func openCrossEncoder(fsys fs.FS, encoder sentenceEncoder, modelType string) (*CrossEncoder, error) {
	modules, err := sentenceModules(fsys, "CrossEncoder")
	if err != nil || modules == nil {
		return nil, err
	}
	if len(modules) != 1 || modules[0].kind() != "Transformer" || modules[0].Path != "" {
		return nil, modulesError(ErrConfig, "a CrossEncoder of other modules than a Transformer in the folder itself is not supported")
	}
	s := &SentenceEmbedder{encoder: encoder}
	if err := s.readTransformer(fsys, modelType, classification); err != nil {
		return nil, err
	}
	doc, err := readJSON(fsys, wholeFile)
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
