package tokenizer

// The settings of a folder that only loading needs.

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyclass"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/internal/regular"
)

// settings is a Config, with the settings that only loading needs.
type settings struct {
	Config
	fields  *object               // of tokenizer_config.json
	special map[string]AddedToken // by role, such as bos_token
	bare    map[string]bool       // roles for which the files have a string or null
	named   []namedToken          // tokens with roles that only this folder has
	added   []AddedToken          // with the ids that they must get
	decoded bool                  // added is added_tokens_decoder, which lists all of them
	unsaid  map[string]bool       // tokens of added without a field normalized
	extra   []AddedToken          // without ids
	read    map[string]bool       // fields of tokenizer_config.json that a class read
	typed   map[string]bool       // tokens that are objects in tokenizer_config.json, which added_tokens.json ignores
	noMore  bool                  // extra is complete, even if empty: classes add no tokens of their own

	readsPieces bool // the class read the text of the vocabulary
	// more special tokens, which some classes use
	additional []AddedToken
	classNamed bool     // the files name a class, other than by the model_type
	unnamed    bool     // the first file with a tokenizer_class has an empty name, of which transformers makes the generic class and not that of the model_type
	used       string   // the class that read tokenizer.json, "" without that file
	side       string   // truncation_side in JSON, "" if missing
	notes      []string // warnings about how the folder's files disagree
}

// states reports whether tokenizer_config.json has a field, even if it is null.
func (s *settings) states(name string) bool {
	_, ok := s.fields.fields[name]
	return ok
}

// namedToken is a token with a role, such as image_token.
type namedToken struct {
	role string
	AddedToken
	stays bool // special_tokens_map.json does not change it
}

var roles = []string{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}

// configure sets the configuration of t, except its tokens.
func (s *settings) configure(t *Tokenizer) {
	t.config = s.Config
	t.config.TruncateLeft = s.side == `"left"` || s.side == "" && t.truncation != nil && t.truncation.Left
}

// noSegments reports whether transformers hands models no type ids: by model_input_names, or by the
// class where the file does not have it.
func (s *settings) noSegments() (bool, error) {
	const field = "model_input_names"
	if _, ok := s.fields.fields[field]; s.used == "" && !ok {
		return false, nil
	}
	c := pyclass.Tokenizer(s.used)
	if c == nil {
		c = pyclass.Tokenizer(genericClass)
	}
	names := c.Fields[field]
	if v, ok := s.fields.fields[field]; ok {
		var list []string
		if err := pyjson.Unmarshal(v, &list); err != nil || v.isNull() {
			return false, &fault.Error{Kind: fault.ErrConfig, File: "tokenizer_config.json", Field: field, Value: check.JSON([]byte(v)), Err: errors.New("want a list of names")}
		}
		names = string(v)
	}
	return !strings.Contains(names, `"token_type_ids"`), nil
}

func (s *settings) unread(class, name string, v value) error {
	return &fault.Error{Kind: fault.ErrConfig, File: "tokenizer_config.json", Field: name, Value: check.JSON([]byte(v)), Err: fmt.Errorf("not supported with %s", class)}
}

func exists(fsys fs.FS, name string) bool {
	_, err := fs.Stat(fsys, name)
	return err == nil
}

// genericClass is the class without rules of its own.
const genericClass = "TokenizersBackend"

// class returns the class of tokenizer that transformers uses for the folder, without the ending of
// its fast version, or "" if the files do not determine one.
func (s *settings) class(fsys fs.FS) (string, error) {
	o, err := readJSON(fsys, "config.json")
	if err != nil {
		return "", err
	}
	if o == nil {
		o = &object{what: "config.json", fields: map[string]value{}}
	}
	modelType, class := o.text("model_type", ""), s.Class
	if class == "" {
		s.unnamed = s.unnamed || o.saysEmpty("tokenizer_class")
		class = o.text("tokenizer_class", "")
	}
	if s.unnamed && o.err == nil {
		return genericClass, nil
	}
	s.classNamed = class != ""
	class = strings.TrimSuffix(class, "Fast")
	if class == "PreTrainedTokenizer" {
		class = genericClass
	}
	registered, known := pyclass.Table("tokenizers by model_type")[modelType]
	switch {
	case o.err != nil:
		return "", o.err
	case class == "" && registered != "" && pyclass.Table("model_types with a tokenizer alone")[modelType] == "":
		return registered, nil
	case class == "" && known:
		return genericClass, nil
	case class == "" && modelType != "":
		return "", &fault.Error{Kind: fault.ErrConfig, File: "config.json", Field: "model_type", Value: strconv.Quote(modelType), Err: errors.New("and no tokenizer_class")}
	case registered == genericClass, registered != "" && pyclass.Table("model_types whose folders name a wrong tokenizer")[modelType] != "":
		return registered, nil
	}
	return class, nil
}

// saysEmpty reports whether a field is there and has no characters.
func (o *object) saysEmpty(name string) bool { return string(o.fields[name]) == `""` }

func unknownClass(class, file string) error {
	return &fault.Error{Kind: fault.ErrConfig, Field: "tokenizer_class", Value: strconv.Quote(class), Err: fmt.Errorf("not supported with %s alone", file)}
}

// hasID reports whether the files state the id of an added token.
func (s *settings) hasID(content string) bool {
	for _, a := range s.added {
		if a.Content == content {
			return true
		}
	}
	return false
}

// readJSON reads an object. It returns nil if there is no such file.
func readJSON(fsys fs.FS, name string) (*object, error) {
	data, err := regular.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v, err := parseJSON(data)
	if err == nil {
		var o *object
		if o, err = parseObject(name, v); err == nil {
			return o, nil
		}
	}
	return nil, inFile(name, err)
}
