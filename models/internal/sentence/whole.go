package sentence

import (
	"io/fs"
	"maps"
	"slices"

	"github.com/avoformer/avoformer/models/internal/configuration"
)

// config_sentence_transformers.json: the settings that do not belong to a single module. The
// account of its fields goes by the class that opens the folder.

// wholeFile is the file's name.
const wholeFile = "config_sentence_transformers.json"

// readWhole returns the file with an account of its fields, which settleWhole ends. It has no
// fields if there is no such file.
func readWhole(fsys fs.FS) (configuration.Document, error) {
	doc, err := configuration.ReadJSON(fsys, wholeFile)
	doc.Name = wholeFile
	return doc.Tracked(), ignoreMissing(err)
}

// settleWhole ends the account of the file by a class of sentence-transformers. Versions do not
// matter here, and idle are further fields without effect.
func (s *Embedder) settleWhole(doc configuration.Document, class string, idle ...string) error {
	return doc.SettleBy(class, &s.warnings, append(idle, "model_type", "requirements")...)
}

// readSentence reads the file for vectors of texts.
func (s *Embedder) readSentence(fsys fs.FS) error {
	doc, err := readWhole(fsys)
	if err != nil {
		return err
	}
	if err := s.readPrompts(doc, inEach); err != nil {
		return err
	}
	if err := s.readCut(doc); err != nil {
		return err
	}
	return s.settleWhole(doc, "SentenceTransformer", "similarity_fn_name")
}

// readCut reads to how many elements vectors are cut.
func (s *Embedder) readCut(doc configuration.Document) error {
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

// inEach are the prompts that there always are in the classes that make vectors.
var inEach = []string{"query", "document"}

// readPrompts reads the prompts, and which is the default. always are the names of those that need
// not be in the file.
func (s *Embedder) readPrompts(doc configuration.Document, always []string) error {
	var prompts map[string]any
	doc.Note("prompts")
	doc.Note("default_prompt_name")
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
		if _, ok := prompts[name]; !ok && !slices.Contains(always, name) {
			return doc.Errorf("default_prompt_name", "is not among the prompts")
		}
	}
	s.Prompts = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(prompts)) {
		text, ok := prompts[key].(string)
		switch {
		case ok:
			s.Prompts[key] = text
		case !configuration.Empty(prompts[key]) && (slices.Contains(always, key) || hasDefault && key == name):
			return doc.Errorf("prompts", "%s: want a string", key)
		}
	}
	if hasDefault {
		s.DefaultPrompt = s.Prompts[name]
	}
	return nil
}
