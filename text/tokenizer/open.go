package tokenizer

// Opening a tokenizer's folder in the form of the hub.

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
	"github.com/avoformer/avoformer/internal/pyclass"
	"github.com/avoformer/avoformer/internal/regular"
)

// Open reads the tokenizer of a folder: tokenizer.json, or one of the forms that it replaced:
// vocab.txt, vocab.json with merges.txt, a SentencePiece model, Marian's two SentencePiece models,
// Mistral's tekken.json, a file of tiktoken such as o200k_base.tiktoken, or a GGUF file. In each
// case it also reads tokenizer_config.json, special_tokens_map.json and added_tokens.json. Instead
// of a folder, dir may be a GGUF file, or a model's folder in the hub's cache, where refs/main
// chooses the snapshot.
func Open(dir string) (*Tokenizer, error) { return Opening{}.Open(dir) }

// Open opens dir like the function [Open], with these settings.
func (o Opening) Open(dir string) (*Tokenizer, error) {
	dir = hub.Folder(dir)
	open := func() (*Tokenizer, error) { return o.OpenFS(os.DirFS(dir)) }
	if info, err := hub.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, check.Errorf(fault.ErrFolder, "%w", err)
	} else if err == nil && info.Mode().IsRegular() {
		open = func() (*Tokenizer, error) { return o.openGGUF(os.DirFS(filepath.Dir(dir)), filepath.Base(dir), dir) }
	}
	t, err := open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return t, nil
}

// OpenFS is [Open] for a file system.
func OpenFS(fsys fs.FS) (*Tokenizer, error) { return OpenWith(fsys, nil) }

// Opening has the settings for opening a folder.
type Opening struct {
	// Fields, each in JSON, override the fields of tokenizer_config.json.
	Fields map[string]json.RawMessage
	// AsWritten uses tokenizer.json as it is, like Hugging Face's tokenizers. By default, if
	// transformers' class uses only the vocabulary of the file, the rest of the tokenizer is built
	// from the fields of tokenizer_config.json. Tokens that other files name are added in either
	// case.
	AsWritten bool
	// Ready, unless empty, is a folder for files with the tables of tokenizers: OpenFS looks there
	// for the one of this tokenizer.json, by its name, size and time and some of its bytes, or of
	// this GGUF file, by all that it says of its tokenizer, and maps it; if there is none, OpenFS
	// reads the tokenizer and writes one. A file that cannot be read is not an error, and one that
	// cannot be written is a warning. Only those whom the program trusts may write there. Other
	// forms of tokenizers have none.
	Ready string
	// ReadyCopy reads files of Ready into memory in place of mapping them.
	ReadyCopy bool
}

// OpenWith is [OpenFS] with fields, each in JSON, that override those of tokenizer_config.json.
func OpenWith(fsys fs.FS, fields map[string]json.RawMessage) (*Tokenizer, error) {
	return Opening{Fields: fields}.OpenFS(fsys)
}

// OpenFS opens a file system like the function [OpenFS], with these settings.
func (o Opening) OpenFS(fsys fs.FS) (*Tokenizer, error) {
	needProperties()
	place := o.place(fsys)
	if f, skeleton := place.open(); f != nil {
		// Whatever is wrong, the whole file says it better.
		if s, err := readSettings(fsys, o.Fields); err == nil {
			t, err := s.openFile(fsys, f, skeleton, o.AsWritten)
			if err == nil && !s.readsPieces {
				return o.complete(t, s)
			}
		}
	}
	s, err := readSettings(fsys, o.Fields)
	if err != nil {
		return nil, err
	}
	data, err := regular.ReadFile(fsys, "tokenizer.json")
	var t *Tokenizer
	var unwritten error
	switch {
	case err == nil:
		var f *file
		if f, err = readFile(data); err != nil {
			err = inFile("tokenizer.json", err)
		} else if t, err = s.openFile(fsys, f, data, o.AsWritten); err == nil && !s.readsPieces {
			unwritten = place.write(f, data)
		}
	case errors.Is(err, fs.ErrNotExist):
		t, err = o.openOlder(fsys, s)
	default:
		err = check.InFile("tokenizer.json", fault.ErrFolder, err)
	}
	if err != nil {
		return nil, err
	}
	if t, err = o.complete(t, s); err == nil {
		t.keep(place, unwritten)
	}
	return t, err
}

// complete adds what the files beside a tokenizer say.
func (o Opening) complete(t *Tokenizer, s *settings) (*Tokenizer, error) {
	s.configure(t)
	t.warnings = s.notes
	if !o.AsWritten {
		var err error
		if t.config.NoSegments, err = s.noSegments(); err != nil {
			return nil, err
		}
		warnings, err := s.account(t)
		if err != nil {
			return nil, err
		}
		t.warnings = append(t.warnings, warnings...)
	}
	return t, nil
}

// openFile reads a tokenizer.json, whose text is data, the way the folder's class does.
func (s *settings) openFile(fsys fs.FS, f *file, data []byte, written bool) (*Tokenizer, error) {
	// The whole file must be valid, even if the class uses only part of it.
	t, err := f.tokenizer()
	if err != nil {
		return nil, inFile("tokenizer.json", err)
	}
	s.takeAdded(t.added.list)
	class := genericClass
	if !written {
		if class, err = s.classFor(fsys, data); err != nil {
			return nil, err
		}
	}
	s.used = class
	switch c := pyclass.Tokenizer(class); {
	case c == nil:
	case c.Reads == pyclass.VocabularyOnly:
		if err := s.agree(class, t); err != nil {
			return nil, err
		}
		built, err := s.rebuild(class, f)
		if err == nil {
			s.compare(class, t, built)
		}
		return built, err
	case c.Reads == pyclass.AsWritten && rules[class] != nil:
		post := t.post
		if err := s.inherit(class, f, t); err != nil {
			return nil, err
		}
		written := *t
		written.post = post
		s.compare(class, &written, t)
		return t, nil
	}
	s.padRole(t.padding)
	if !s.noMore {
		s.extra = s.additional
	}
	return t, s.addBeside(t)
}

// openOlder reads the files from before tokenizer.json.
func (o Opening) openOlder(fsys fs.FS, s *settings) (*Tokenizer, error) {
	name, open := "", openMarian
	switch {
	case exists(fsys, "source.spm") && exists(fsys, "vocab.json"):
		name = "source.spm"
	case exists(fsys, "vocab.json") && exists(fsys, "merges.txt"):
		name, open = "vocab.json", openMerges
	case exists(fsys, "vocab.txt"):
		name, open = "vocab.txt", openVocabText
	case exists(fsys, tekkenName):
		name = tekkenName
		open = func(fsys fs.FS, s *settings) (*Tokenizer, error) { return s.complete(openTekken(fsys)) }
	case spmName(fsys) == "" && tiktokenName(fsys) != "":
		name = tiktokenName(fsys)
		open = func(fsys fs.FS, s *settings) (*Tokenizer, error) { return s.complete(openTiktoken(fsys, name)) }
	default:
		name = spmName(fsys)
		open = func(fsys fs.FS, s *settings) (*Tokenizer, error) { return openSPM(fsys, s, name) }
	}
	if files, _ := fs.Glob(fsys, "*.gguf"); name == "" && len(files) == 1 {
		return o.openGGUF(fsys, path.Clean(files[0]), files[0])
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

// complete adds what other files say to a tokenizer whose file has tokens with roles.
func (s *settings) complete(t *Tokenizer, roles map[string]string, err error) (*Tokenizer, error) {
	if err != nil {
		return nil, err
	}
	for role, text := range roles {
		s.role(role, text)
	}
	return t, s.addBeside(t)
}

// classFor returns the class of a folder with tokenizer.json, by its name in the tables. An unknown
// class reads the file as it is.
func (s *settings) classFor(fsys fs.FS, data []byte) (string, error) {
	class, err := s.class(fsys)
	if err != nil { // the model_type is unknown
		return genericClass, nil
	}
	if class == "LlamaTokenizer" && s.classNamed && bytes.Contains(data, []byte(`"ByteLevel"`)) {
		return genericClass, nil
	}
	if same, ok := pyclass.Table("tokenizers of the same class")[class]; ok {
		class = same
	}
	return class, nil
}

// role returns the token with a role, or otherwise if the files do not name it.
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

// build adds the tokens that the files name to t, and completes it.
func (s *settings) build(t *Tokenizer) (*Tokenizer, error) {
	if err := t.finish(nil); err != nil {
		return nil, err
	}
	if !s.noMore {
		s.extra = s.additional
	}
	return t, s.addBeside(t)
}
