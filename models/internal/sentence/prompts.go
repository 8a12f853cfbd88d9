package sentence

import (
	"io/fs"
	"maps"
	"slices"

	"github.com/avoformer/avoformer/models/internal/configuration"
)

// config_sentence_transformers.json.

// readWhole reads config_sentence_transformers.json, if there is one.
func (s *Embedder) readWhole(fsys fs.FS) error {
	doc, err := configuration.ReadJSON(fsys, wholeFile)
	if ignoreMissing(err) != nil {
		return err
	}
	if err := s.readPrompts(doc); err != nil {
		return err
	}
	if !doc.Has("truncate_dim") {
		return nil
	}
	cut, err := doc.Integer("truncate_dim")
	if err != nil {
		return err
	}
	if cut < 0 {
		cut += s.out // as slices of Python count
	}
	if cut < 1 {
		return doc.Errorf("truncate_dim", "the modules give %d elements, of which none would be left", s.out)
	}
	s.dim = min(cut, s.out)
	return nil
}

// readPrompts reads the prompts, and which is the default.
func (s *Embedder) readPrompts(doc configuration.Document) error {
	var prompts map[string]any
	if doc.Has("prompts") {
		if err := doc.Field("prompts", &prompts); err != nil {
			return err
		}
	}
	var name string
	hasDefault := doc.Has("default_prompt_name")
	if hasDefault {
		if err := doc.Field("default_prompt_name", &name); err != nil {
			return err
		}
		if _, ok := prompts[name]; !ok && name != "query" && name != "document" { // these two there are always
			return doc.Errorf("default_prompt_name", "is not among the prompts")
		}
	}
	s.Prompts = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(prompts)) {
		text, ok := prompts[key].(string)
		switch {
		case ok:
			s.Prompts[key] = text
		case !configuration.Empty(prompts[key]) && (key == "query" || key == "document" || hasDefault && key == name):
			return doc.Errorf("prompts", "%s: want a string", key)
		}
	}
	if hasDefault {
		s.DefaultPrompt = s.Prompts[name]
	}
	return nil
}
