package tokenizer

// tokenizer_config.json, special_tokens_map.json and the files next to them.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/fault"
)

// Config returns what the folder's files say in addition to the tokenizer itself.
func (t *Tokenizer) Config() Config { return t.config }

// noLimit is the smallest model_max_length that means no limit.
const noLimit = 1e9

// readSettings reads tokenizer_config.json, in which other replaces some fields, and the files next
// to it.
func readSettings(fsys fs.FS, other map[string]json.RawMessage) (*settings, error) {
	s := &settings{special: map[string]AddedToken{}, bare: map[string]bool{}, unsaid: map[string]bool{}, typed: map[string]bool{}, read: map[string]bool{}}
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
	if err := errors.Join(s.readSpecial(o), s.readNamed(o), s.readExtra(o)); err != nil {
		return nil, err
	}
	// Folders with added_tokens_decoder do not need the older files.
	if _, ok := o.fields["added_tokens_decoder"]; !ok {
		older, err := readJSON(fsys, "special_tokens_map.json")
		if err != nil {
			return nil, err
		}
		if older != nil {
			if err := errors.Join(s.readSpecial(older), s.readNamed(older), s.mergeExtra(older)); err != nil {
				return nil, err
			}
		}
	}
	s.unnamed = o.saysEmpty("tokenizer_class")
	s.Class = o.text("tokenizer_class", "")
	limit := "model_max_length"
	if _, ok := o.fields[limit]; !ok {
		limit = "max_len" // the field's former name
	}
	if v, ok := o.take(limit); ok {
		n, isNumber := v.float()
		if !isNumber || n < 1 {
			o.fail(fault.ErrFormat, limit, "malformed")
		} else if n < noLimit {
			s.MaxLength = int(n)
		}
	}
	side, given := o.take("truncation_side")
	if given && string(side) != `"left"` && string(side) != `"right"` {
		o.fail(fault.ErrFormat, "truncation_side", "malformed")
	}
	s.side = string(side)
	if v, ok := o.take("split_special_tokens"); ok && !slices.Contains([]string{"false", "0", "0.0", `""`, "[]", "{}"}, string(v)) {
		o.fail(fault.ErrConfig, "split_special_tokens", "not supported")
	}
	if err := s.readTemplates(fsys); err != nil {
		return nil, err
	}
	if err := s.readAdded(fsys); err != nil {
		return nil, err
	}
	return s, o.err
}

// readSpecial reads the tokens with a role. Null means that the role has no token.
func (s *settings) readSpecial(o *object) error {
	for _, role := range roles {
		v, isThere := o.fields[role]
		if _, ok := o.take(role); !ok {
			if isThere {
				delete(s.special, role)
				delete(s.Special, role)
				s.bare[role] = true
			}
			continue
		}
		t, _, err := configToken(o.what+"."+role, v, true)
		if err != nil {
			return err
		}
		s.special[role], s.Special[role], s.bare[role] = t, t.Content, v[0] == '"'
		s.typed[t.Content] = v[0] == '{' && o == s.fields
	}
	return nil
}

// readNamed reads the tokens with roles that only this folder has. special_tokens_map.json does not
// override a string in tokenizer_config.json.
func (s *settings) readNamed(o *object) error {
	return o.in.each(func(key, v value) error {
		role, _ := key.text()
		if !strings.HasSuffix(role, "_token") || slices.Contains(roles, role) {
			return nil
		}
		i := slices.IndexFunc(s.named, func(n namedToken) bool { return n.role == role })
		isToken := !v.isNull() && (v[0] == '"' || v[0] == '{')
		switch {
		case i >= 0 && s.named[i].stays:
			return nil
		case i >= 0 && !isToken:
			s.named = slices.Delete(s.named, i, i+1)
			delete(s.Special, role)
			return nil
		case !isToken:
			return nil
		}
		return s.name(o, role, v, o == s.fields && v[0] == '"')
	})
}

// name sets the token of a role that only this folder has.
func (s *settings) name(o *object, role string, v value, stays bool) error {
	t, _, err := configToken(o.what+"."+role, v, true)
	if err != nil {
		return err
	}
	s.Special[role] = t.Content
	if i := slices.IndexFunc(s.named, func(n namedToken) bool { return n.role == role }); i >= 0 {
		s.named[i] = namedToken{role, t, stays}
		return nil
	}
	s.named = append(s.named, namedToken{role, t, stays})
	return nil
}

// readExtra reads extra_special_tokens of tokenizer_config.json, a list or an object with roles,
// and additional_special_tokens, the field's former name.
func (s *settings) readExtra(o *object) error {
	extra, given := o.fields["extra_special_tokens"]
	older, olderGiven := o.fields["additional_special_tokens"]
	if olderGiven && (extra.isNull() || len(extra) == 2) {
		extra, given, olderGiven = older, true, false
	}
	s.noMore = given
	var err error
	switch {
	case extra.isNull():
	case extra[0] == '{':
		s.noMore = false
		err = extra.each(func(key, v value) error {
			role, _ := key.text()
			return s.name(o, role, v, true)
		})
	default:
		s.extra, err = s.tokenList(o, "extra_special_tokens", extra)
	}
	if err == nil && olderGiven && !older.isNull() {
		s.additional, err = s.tokenList(o, "additional_special_tokens", older)
	}
	return err
}

// mergeExtra adds the same fields of special_tokens_map.json.
func (s *settings) mergeExtra(o *object) error {
	if v, ok := o.fields["additional_special_tokens"]; ok {
		s.additional = nil
		if !v.isNull() {
			var err error
			if s.additional, err = s.tokenList(o, "additional_special_tokens", v); err != nil {
				return err
			}
		}
	}
	v, ok := o.fields["extra_special_tokens"]
	if !ok || v.isNull() {
		s.noMore = s.noMore || ok
		return nil
	}
	if v[0] == '{' {
		s.extra, s.noMore = nil, false
		return v.each(func(key, v value) error {
			role, _ := key.text()
			return s.name(o, role, v, true)
		})
	}
	list, err := s.tokenList(o, "extra_special_tokens", v)
	for _, t := range list {
		if !contains(s.extra, t.Content) {
			s.extra = append(s.extra, t)
		}
	}
	s.noMore = true
	return err
}

// tokenList reads a list of tokens.
func (s *settings) tokenList(o *object, field string, v value) ([]AddedToken, error) {
	if v[0] != '[' {
		return nil, fmt.Errorf("%w: %s.%s: %s", fault.ErrFormat, o.what, field, v)
	}
	list := []AddedToken{}
	err := v.each(func(_, v value) error {
		t, _, err := configToken(o.what+"."+field, v, o != s.fields)
		s.typed[t.Content] = v[0] == '{' && o == s.fields
		list = append(list, t)
		return err
	})
	return list, err
}

// configToken reads a token that is a string or an object. isSpecial is the default of the object's
// field special. The second result reports whether the object has the field normalized.
func configToken(what string, v value, isSpecial bool) (AddedToken, bool, error) {
	if text, ok := v.text(); ok {
		return AddedToken{Content: text, Special: true}, false, nil
	}
	o, err := parseObject(what, v)
	if err != nil {
		return AddedToken{}, false, err
	}
	t := AddedToken{Content: o.text("content"), SingleWord: o.bool("single_word", false), LStrip: o.bool("lstrip", false),
		RStrip: o.bool("rstrip", false), Special: o.bool("special", isSpecial)}
	said := !o.fields["normalized"].isNull()
	t.Normalized = o.bool("normalized", !t.Special)
	return t, said, o.err
}

// readAdded reads added_tokens_decoder and added_tokens.json.
func (s *settings) readAdded(fsys fs.FS) error {
	_, s.decoded = s.fields.fields["added_tokens_decoder"]
	if v, ok := s.fields.take("added_tokens_decoder"); ok && v[0] == '{' {
		err := v.each(func(key, v value) error {
			name, _ := key.text()
			id, err := strconv.ParseUint(name, 10, 31)
			if err != nil {
				return fmt.Errorf("%w: added_tokens_decoder: %q is not an id", fault.ErrFormat, name)
			}
			t, said, err := configToken("added_tokens_decoder."+name, v, false)
			t.ID, s.unsaid[t.Content] = uint32(id), !said
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
	if o != nil && !s.decoded {
		for content, v := range o.fields {
			id, ok := v.uint32()
			if !ok || id > maxID {
				return fmt.Errorf("%w: added_tokens.json: %q: %s", fault.ErrFormat, content, v)
			}
			special := !s.typed[content] && (contains(s.extra, content) || contains(slices.Collect(maps.Values(s.special)), content))
			t := AddedToken{ID: id, Content: content, Normalized: !special, Special: special}
			s.added = append(s.added, t)
		}
	}
	s.adopt()
	return nil
}
