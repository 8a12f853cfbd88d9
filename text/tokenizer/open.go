package tokenizer

// Folders in the form of the hub.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/hub"
	"github.com/avoformer/avoformer/internal/regular"
)

// Open reads the tokenizer of a folder: tokenizer.json, or what stood in its place
// before: vocab.txt, vocab.json with merges.txt, a SentencePiece model, Marian's
// pair of them, or a GGUF file. tokenizer_config.json, special_tokens_map.json and
// added_tokens.json are read beside each of them. Instead of a folder, dir may be a
// GGUF file, or a model's folder in the hub's cache, of which refs/main chooses the
// snapshot.
func Open(dir string) (*Tokenizer, error) { return Opening{}.Open(dir) }

// Open returns the function [Open] with these settings.
func (o Opening) Open(dir string) (*Tokenizer, error) {
	dir = hub.Folder(dir)
	open := func() (*Tokenizer, error) { return o.OpenFS(os.DirFS(dir)) }
	if info, err := hub.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, check.Errorf(fault.ErrFolder, "%w", err)
	} else if err == nil && info.Mode().IsRegular() {
		open = func() (*Tokenizer, error) { return openGGUF(os.DirFS(filepath.Dir(dir)), filepath.Base(dir)) }
	}
	t, err := open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return t, nil
}

// OpenFS is [Open] for a file system.
func OpenFS(fsys fs.FS) (*Tokenizer, error) { return OpenWith(fsys, nil) }

// Opening says how to open a folder.
type Opening struct {
	// Fields, each as JSON, take the place of those of tokenizer_config.json.
	Fields map[string]json.RawMessage
	// AsWritten uses tokenizer.json as it is, as Hugging Face's tokenizers do. Without it, a class of
	// transformers that takes no more of the file than its vocabulary builds the rest, by the fields
	// of tokenizer_config.json. Tokens that the files beside it name are added in either case.
	AsWritten bool
}

// OpenWith is OpenFS with fields, each as JSON, in the place of those of tokenizer_config.json.
func OpenWith(fsys fs.FS, fields map[string]json.RawMessage) (*Tokenizer, error) {
	return Opening{Fields: fields}.OpenFS(fsys)
}

// OpenFS returns the function [OpenFS] with these settings.
func (o Opening) OpenFS(fsys fs.FS) (*Tokenizer, error) {
	s, err := readSettings(fsys, o.Fields)
	if err != nil {
		return nil, err
	}
	data, err := regular.ReadFile(fsys, "tokenizer.json")
	var t *Tokenizer
	switch {
	case err == nil:
		t, err = s.openJSON(fsys, data, o.AsWritten)
	case errors.Is(err, fs.ErrNotExist):
		t, err = openOlder(fsys, s)
	default:
		err = check.InFile("tokenizer.json", fault.ErrFolder, err)
	}
	if err != nil {
		return nil, err
	}
	s.configure(t)
	if !o.AsWritten {
		t.warnings, err = s.account(t)
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// openJSON reads tokenizer.json as the folder's class does.
func (s *settings) openJSON(fsys fs.FS, data []byte, written bool) (*Tokenizer, error) {
	v, err := parseJSON(data)
	if err != nil {
		return nil, inFile("tokenizer.json", err)
	}
	root, err := parseObject("tokenizer.json", v)
	if err != nil {
		return nil, inFile("tokenizer.json", err)
	}
	// What the file lists has to be right, whatever a class takes of it.
	t, err := Parse(data)
	if err != nil {
		return nil, err
	}
	s.takeAdded(t.added.list)
	class := genericClass
	if !written {
		if class, err = s.classFor(fsys, data); err != nil {
			return nil, err
		}
	}
	s.used = class
	switch c := tokenizerClasses[class]; {
	case c == nil:
	case c.json == vocabularyAlone:
		if err := s.agree(class, t); err != nil {
			return nil, err
		}
		return s.rebuild(class, root)
	case c.json == asWritten && rules[class] != nil:
		return t, s.inherit(class, root, t)
	}
	s.padRole(t.padding)
	if !s.noMore {
		s.extra = s.additional
	}
	return t, s.addBeside(t)
}

// openOlder reads the files of before tokenizer.json.
func openOlder(fsys fs.FS, s *settings) (*Tokenizer, error) {
	name, open := "", openMarian
	switch {
	case exists(fsys, "source.spm") && exists(fsys, "vocab.json"):
		name = "source.spm"
	case exists(fsys, "vocab.json") && exists(fsys, "merges.txt"):
		name, open = "vocab.json", openMerges
	case exists(fsys, "vocab.txt"):
		name, open = "vocab.txt", openVocabText
	default:
		name = spmName(fsys)
		open = func(fsys fs.FS, s *settings) (*Tokenizer, error) { return openSPM(fsys, s, name) }
	}
	if files, _ := fs.Glob(fsys, "*.gguf"); name == "" && len(files) == 1 {
		return openGGUF(fsys, path.Clean(files[0]))
	}
	if name == "" {
		return nil, check.Errorf(fault.ErrFolder, "no tokenizer: %w", fs.ErrNotExist)
	}
	t, err := open(fsys, s)
	if err != nil {
		return nil, inFile(name, err)
	}
	return t, nil
}

// classFor is class for a folder with tokenizer.json, by the name under which the tables know it. An
// unknown class reads the file as it is.
func (s *settings) classFor(fsys fs.FS, data []byte) (string, error) {
	class, err := s.class(fsys)
	if err != nil { // a model_type that nobody knows
		return genericClass, nil
	}
	if class == "LlamaTokenizer" && s.classNamed && bytes.Contains(data, []byte(`"ByteLevel"`)) {
		return genericClass, nil
	}
	if same, ok := sameClass[class]; ok {
		class = same
	}
	return class, nil
}

// role returns the token with a role, and what it is called if the files do not say.
func (s *settings) role(name, otherwise string) string {
	t, ok := s.special[name]
	if !ok {
		t = AddedToken{Content: otherwise, Special: true}
		if name == "mask_token" {
			t.LStrip = otherwise == "<mask>"
		}
		s.special[name], s.Special[name] = t, otherwise
	}
	return t.Content
}

// build puts a tokenizer together and adds the tokens that the files name.
func (s *settings) build(t *Tokenizer) (*Tokenizer, error) {
	if err := t.finish(nil); err != nil {
		return nil, err
	}
	if !s.noMore {
		s.extra = s.additional
	}
	return t, s.addBeside(t)
}
