package tokenizer

// tokenizer_config.json, special_tokens_map.json and what stands beside them.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/internal/regular"
)

// Config is what tokenizer_config.json and its companions say beside the tokenizer
// itself.
type Config struct {
	Class        string            // tokenizer_class
	MaxLength    int               // model_max_length, 0 if there is no limit
	TruncateLeft bool              // truncation_side: texts that are too long lose their beginning
	ChatTemplate string            // Jinja; of named ones the one named default
	Templates    map[string]string // the chat templates by name, if they have names
	Special      map[string]string // bos_token, eos_token and so on, and those of the folder's own, such as image_token
}

// Config gives what the files say beside the tokenizer itself.
func (t *Tokenizer) Config() Config { return t.config }

// noLimit is the model_max_length from which on there is none.
const noLimit = 1e9

// settings is a Config with what only loading needs.
type settings struct {
	Config
	fields  *object               // of tokenizer_config.json
	special map[string]AddedToken // by role, such as bos_token
	bare    map[string]bool       // roles whose token the files give as a string, or as null
	named   []namedToken          // with roles of the folder's own
	added   []AddedToken          // with the ids they must get
	more    []AddedToken          // additional special tokens, whose ids are not said
	extra   []AddedToken          // those of tokenizer_config.json alone
	noMore  bool                  // extra is all there are, even if empty
	side    string                // truncation_side in JSON, "" if it is not said
}

// namedToken is a token with a role, such as image_token.
type namedToken struct {
	role string
	AddedToken
}

var roles = []string{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}

// readJSON reads an object, nil if there is no such file.
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

// readSettings reads tokenizer_config.json with other values for some of its fields, and the files
// beside it.
func readSettings(fsys fs.FS, other map[string]json.RawMessage) (*settings, error) {
	s := &settings{special: map[string]AddedToken{}, bare: map[string]bool{}}
	s.Special = map[string]string{}
	o, err := readJSON(fsys, "tokenizer_config.json")
	if err != nil {
		return nil, err
	}
	if o == nil {
		o = &object{what: "tokenizer_config.json", fields: map[string]value{}}
	}
	for name, text := range other {
		if o.fields[name], err = parseJSON(text); err != nil {
			return nil, err
		}
	}
	s.fields = o
	if err := s.readSpecial(o); err != nil {
		return nil, err
	}
	if err := s.readExtra(o); err != nil {
		return nil, err
	}
	// A folder that tells its added tokens has no need of the older files.
	if _, ok := o.fields["added_tokens_decoder"]; !ok {
		older, err := readJSON(fsys, "special_tokens_map.json")
		if err != nil {
			return nil, err
		}
		if older != nil {
			if err := errors.Join(s.readSpecial(older), s.readNames(older)); err != nil {
				return nil, err
			}
		}
	}
	s.Class = o.text("tokenizer_class", "")
	if v, ok := o.take("model_max_length"); ok {
		n, isNumber := v.float()
		if !isNumber || n < 1 {
			o.fail(ErrFormat, "model_max_length", "malformed")
		} else if n < noLimit {
			s.MaxLength = int(n)
		}
	}
	side, given := o.take("truncation_side")
	if given && string(side) != `"left"` && string(side) != `"right"` {
		o.fail(ErrFormat, "truncation_side", "malformed")
	}
	s.side = string(side)
	if v, ok := o.take("split_special_tokens"); ok && !slices.Contains([]string{"false", "0", "0.0", `""`, "[]", "{}"}, string(v)) {
		o.fail(ErrUnsupported, "split_special_tokens", "not supported")
	}
	if err := s.readTemplates(fsys); err != nil {
		return nil, err
	}
	if err := s.readAdded(fsys); err != nil {
		return nil, err
	}
	return s, o.err
}

// readSpecial reads the tokens with a role.
func (s *settings) readSpecial(o *object) error {
	for _, role := range roles {
		v, isThere := o.fields[role]
		if _, ok := o.take(role); !ok {
			s.bare[role] = s.bare[role] || isThere
			continue
		}
		t, err := configToken(o.what+"."+role, v)
		if err != nil {
			return err
		}
		s.special[role], s.Special[role], s.bare[role] = t, t.Content, v[0] == '"'
	}
	if v, ok := o.fields["additional_special_tokens"]; ok && len(v) > 0 && v[0] == '[' {
		return v.each(func(_, v value) error {
			t, err := configToken(o.what+".additional_special_tokens", v)
			s.more = append(s.more, t)
			return err
		})
	}
	return nil
}

// readExtra reads what tokenizer_config.json has beside the usual roles: tokens with roles
// of its own, and extra_special_tokens, or additional ones, as they were called before.
func (s *settings) readExtra(o *object) error {
	inner := o.fields["extra_special_tokens"]
	if older, ok := o.fields["additional_special_tokens"]; ok && (inner.isNull() || len(inner) == 2) {
		inner, s.noMore = older, true
	}
	name := func(key, v value) error {
		role, _ := key.text()
		t, err := configToken(o.what+"."+role, v)
		s.named, s.Special[role] = append(s.named, namedToken{role, t}), t.Content
		return err
	}
	err := o.in.each(func(key, v value) error {
		role, _ := key.text()
		if v[0] != '"' || !strings.HasSuffix(role, "_token") || slices.Contains(roles, role) {
			return nil
		}
		return name(key, v)
	})
	switch {
	case err != nil || inner.isNull():
		return err
	case inner[0] == '{':
		return inner.each(name)
	case inner[0] != '[':
		return fmt.Errorf("%w: %s.extra_special_tokens: %s", ErrFormat, o.what, inner)
	}
	s.noMore = true
	return inner.each(func(_, v value) error {
		t, err := configToken(o.what+".extra_special_tokens", v)
		s.extra = append(s.extra, t)
		return err
	})
}

// readNames reads the names that special_tokens_map.json gives to tokens of the folder's own.
func (s *settings) readNames(o *object) error {
	return o.in.each(func(key, v value) error {
		role, _ := key.text()
		if !strings.HasSuffix(role, "_token") || slices.Contains(roles, role) || v.isNull() {
			return nil
		}
		t, err := configToken(o.what+"."+role, v)
		s.Special[role] = t.Content
		return err
	})
}

// configToken reads a token that is a string or an object.
func configToken(what string, v value) (AddedToken, error) {
	if text, ok := v.text(); ok {
		return AddedToken{Content: text, Special: true}, nil
	}
	o, err := parseObject(what, v)
	if err != nil {
		return AddedToken{}, err
	}
	t := AddedToken{Content: o.text("content"), SingleWord: o.bool("single_word", false), LStrip: o.bool("lstrip", false),
		RStrip: o.bool("rstrip", false), Normalized: o.bool("normalized", false), Special: o.bool("special", true)}
	return t, o.err
}

// readAdded reads added_tokens_decoder and added_tokens.json.
func (s *settings) readAdded(fsys fs.FS) error {
	_, decoded := s.fields.fields["added_tokens_decoder"]
	if v, ok := s.fields.take("added_tokens_decoder"); ok && v[0] == '{' {
		err := v.each(func(key, v value) error {
			name, _ := key.text()
			id, err := strconv.ParseUint(name, 10, 31)
			if err != nil {
				return fmt.Errorf("%w: added_tokens_decoder: %q is no id", ErrFormat, name)
			}
			t, err := configToken("added_tokens_decoder."+name, v)
			t.ID = uint32(id)
			s.added = append(s.added, t)
			return err
		})
		if err != nil {
			return err
		}
	}
	o, err := readJSON(fsys, "added_tokens.json")
	if err != nil {
		return err
	}
	if o != nil && !decoded {
		for content, v := range o.fields {
			id, ok := v.uint32()
			if !ok || id > maxID {
				return fmt.Errorf("%w: added_tokens.json: %q: %s", ErrFormat, content, v)
			}
			special := slices.ContainsFunc(slices.Concat(slices.Collect(maps.Values(s.special)), s.more, s.extra),
				func(t AddedToken) bool { return t.Content == content })
			t := AddedToken{ID: id, Content: content, Normalized: !special, Special: special}
			s.added = append(s.added, t)
		}
	}
	slices.SortStableFunc(s.added, func(a, b AddedToken) int { return int(a.ID) - int(b.ID) })
	for _, a := range s.added {
		for role, t := range s.special {
			if t.Content == a.Content {
				s.special[role], s.bare[role] = a, false
			}
		}
	}
	return nil
}

// complete adds to t the tokens of the settings that t lacks. Those with an id must
// get it.
func (s *settings) complete(t *Tokenizer) error {
	t.config = s.Config
	t.config.TruncateLeft = s.side == `"left"` || s.side == "" && t.truncation != nil && t.truncation.Left
	var missing []AddedToken
	for _, a := range s.added {
		if _, ok := t.added.byContent[a.Content]; !ok {
			missing = append(missing, a)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if err := t.addTokens(missing); err != nil {
		return err
	}
	for _, a := range missing {
		if id, _ := t.TokenID(a.Content); a.Content != "" && uint32(id) != a.ID {
			return fmt.Errorf("%w: added token %q has id %d, but the next free one is %d", ErrFormat, a.Content, a.ID, id)
		}
	}
	return nil
}
