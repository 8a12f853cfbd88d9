// Package tokenizer turns text into exactly the ids of Hugging Face's tokenizers. If a file uses
// something that this package does not support, loading fails with an error that names it.
//
//	t, err := tokenizer.Open("all-MiniLM-L6-v2") // a folder with tokenizer.json
//	e, err := t.Encode("Hello, world!", tokenizer.Options{})
//	text := t.Decode(e.IDs, true)
//
// A [Tokenizer] does not change and is safe for concurrent use. It handles every text without a
// panic: bytes that are not UTF-8 become U+FFFD, and the work is at most O(n log n) in the length
// of the text.
//
// This package is stable: see doc/stability.md.
package tokenizer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
)

// Tokenizer is a tokenizer as described by its files.
type Tokenizer struct {
	normalizer normalizer
	pre        preTokenizer
	model      model
	post       postProcessor
	decoder    decoder
	added      addedTokens
	truncation *Truncation
	padding    *Padding
	config     Config
	warnings   []string
	seams      *seams
	places     bool // pre needs to know where in the original text a piece begins
}

// maxText bounds the length of a text, so that positions fit in 32 bits.
const maxText = 1 << 26

// Parse reads the contents of a tokenizer.json.
func Parse(data []byte) (*Tokenizer, error) {
	needProperties()
	f, err := readFile(data)
	if err != nil {
		return nil, inFile("tokenizer.json", err)
	}
	t, err := f.tokenizer()
	if err != nil {
		return nil, inFile("tokenizer.json", err)
	}
	return t, nil
}

// parseFile reads the fields of a tokenizer.json, and those of its model. It uses, and adds to,
// what is known of the model's source.
func parseFile(o, model *object, from *source) (*Tokenizer, error) {
	var err error
	if version := o.text("version", "1.0"); version != "1.0" {
		return nil, &fault.Error{Kind: fault.ErrConfig, Field: "version", Value: version}
	}
	t := new(Tokenizer)
	m, _ := o.take("model")
	if model == nil {
		if model, err = parseObject("model", m); err != nil {
			return nil, err
		}
	}
	if t.model, err = parseModel(model, from); err != nil {
		return nil, err
	}
	if v, ok := o.take("normalizer"); ok {
		if t.normalizer, err = parseNormalizer("normalizer", v); err != nil {
			return nil, err
		}
	}
	if v, ok := o.take("pre_tokenizer"); ok {
		if t.pre, err = parsePreTokenizer("pre_tokenizer", v); err != nil {
			return nil, err
		}
	}
	if v, ok := o.take("post_processor"); ok {
		if t.post, err = parsePostProcessor("post_processor", v); err != nil {
			return nil, err
		}
	}
	if v, ok := o.take("decoder"); ok {
		if t.decoder, err = parseDecoder("decoder", v); err != nil {
			return nil, err
		}
		if n := growth(t.decoder); n > maxGrowth {
			return nil, fmt.Errorf("%w: decoder: a text becomes %.0f times as long, at most %d is possible", fault.ErrConfig, n, maxGrowth)
		}
	}
	v, _ := o.take("truncation")
	if t.truncation, err = parseTruncation(v); err != nil {
		return nil, err
	}
	v, _ = o.take("padding")
	if t.padding, err = parsePadding(v); err != nil {
		return nil, err
	}
	v, _ = o.take("added_tokens")
	added, err := parseAdded(v)
	if err != nil {
		return nil, err
	}
	if err := o.done(); err != nil {
		return nil, err
	}
	return t, t.finish(added)
}

// finish adds the tokens and connects the parts.
func (t *Tokenizer) finish(added []AddedToken) error {
	t.added = newAddedTokens()
	if err := t.addTokens(added); err != nil {
		return err
	}
	t.places = needsPlaces(t.pre)
	if m, ok := t.model.(*bpe); ok {
		t.pre = onBytes(t.pre, m)
		m.from = nil // it holds the text of tokenizer.json
	}
	return nil
}

// addTokens adds tokens, and clears the cache of seams.
func (t *Tokenizer) addTokens(list []AddedToken) error {
	t.seams = new(seams)
	return t.added.add(list, t.model, func(s string) (string, error) { return normalizeString(t.normalizer, s) })
}

// needsPlaces reports whether p depends on the beginning of the original text.
func needsPlaces(p preTokenizer) bool {
	switch p := p.(type) {
	case metaspace:
		return p.scheme == first
	case preTokenizers:
		for _, x := range p {
			if needsPlaces(x) {
				return true
			}
		}
	}
	return false
}

// onBytes removes the spelling of bytes from the end of p if the model can take raw bytes.
func onBytes(p preTokenizer, m *bpe) preTokenizer {
	switch p := p.(type) {
	case byteLevel:
		if p.spell && m.useBytes() {
			p.spell = false
			return p
		}
	case preTokenizers:
		if len(p) > 0 {
			p[len(p)-1] = onBytes(p[len(p)-1], m)
		}
	}
	return p
}

// tokenize fills w with the tokens of text.
func (t *Tokenizer) tokenize(w *work, text string, opts *Options) error {
	if len(text) > maxText {
		return fmt.Errorf("%w: %d bytes, at most %d are possible", fault.ErrText, len(text), maxText)
	}
	w.literal = w.literal[:0]
	if opts.Literal != nil {
		text = w.withoutMarks(text)
	}
	w.reset(text, opts.Offsets != NoOffsets || t.places || len(w.literal) > 0)
	w.control = opts.Literal
	a := &t.added
	if len(a.raw.starts) > 0 {
		w.splitEach(func(s split) { w.cutAdded(s, &a.raw, a) })
	}
	if t.normalizer != nil {
		t.normalizer.normalize(w)
	}
	if t.normalizer != nil || len(a.normalized.starts) > 0 {
		w.splitEach(func(s split) { w.cutAdded(s, &a.normalized, a) })
	}
	if t.pre != nil {
		t.pre.cut(w)
	}
	if w.tooLong {
		return w.lengthError()
	}
	for i, s := range w.splits {
		if s.added >= 0 {
			w.tokens = append(w.tokens, token{id: a.list[s.added].ID, start: s.start, end: s.end, split: int32(i), surface: true})
			continue
		}
		n := len(w.tokens)
		if err := t.model.tokenize(w, s.start, s.end); err != nil {
			return fmt.Errorf("%w: %w", fault.ErrText, err)
		}
		for ; n < len(w.tokens); n++ {
			w.tokens[n].split = int32(i)
		}
	}
	return nil
}

// Decode returns the text of ids. It leaves out ids that no token has and, if skipSpecial is set,
// special tokens.
func (t *Tokenizer) Decode(ids []int, skipSpecial bool) string {
	tokens := make([]string, 0, len(ids))
	for _, id := range ids {
		s, ok := t.Token(id)
		if ok && !(skipSpecial && t.added.special[s]) {
			tokens = append(tokens, s)
		}
	}
	if t.decoder == nil {
		return strings.Join(tokens, " ")
	}
	return strings.Join(t.decoder.decode(tokens), "")
}

// Token returns the string of a token. For an added token that is looked for in the normalized
// text, it is the normalized form.
func (t *Tokenizer) Token(id int) (string, bool) {
	if id < 0 || id > maxID {
		return "", false
	}
	if i, ok := t.added.byID[uint32(id)]; ok {
		return t.added.shown[i], true
	}
	return t.model.token(uint32(id))
}

// TokenID returns the id of a token.
func (t *Tokenizer) TokenID(token string) (int, bool) {
	if i, ok := t.added.byContent[token]; ok {
		return int(t.added.list[i].ID), true
	}
	id, ok := t.model.id(token)
	return int(id), ok
}

// Size returns the number of tokens, including added tokens. If the vocabulary has holes, ids may
// exceed it.
func (t *Tokenizer) Size() int {
	n := t.model.size()
	for content := range t.added.byContent {
		if _, ok := t.model.id(content); !ok {
			n++
		}
	}
	return n
}

// UnknownID returns the token of what the vocabulary has no token for, as the model of
// tokenizer.json names it; false if there is none.
func (t *Tokenizer) UnknownID() (id int, ok bool) {
	name := ""
	switch m := t.model.(type) {
	case *unigram:
		return int(m.unknown), m.unknown >= 0
	case *bpe:
		name = m.unknown
	case *wordPiece:
		name = m.unknown
	case *wordLevel:
		name = m.unknown
	}
	id, ok = t.TokenID(name)
	return id, ok && name != ""
}

// IsSpecial reports whether a token has a role, such as eos_token, or is a special added token.
func (t *Tokenizer) IsSpecial(id int) bool {
	if i, ok := t.added.byID[uint32(id)]; ok && t.added.list[i].Special {
		return true
	}
	token, known := t.Token(id)
	for _, s := range t.config.Special {
		if known && s == token {
			return true
		}
	}
	return false
}

// AddedTokens returns a copy of the tokens that are found before the model sees the text.
func (t *Tokenizer) AddedTokens() []AddedToken { return append([]AddedToken(nil), t.added.list...) }

// WithLowercase returns the same tokenizer with a first step that puts texts in lower case, unless
// it already does so. Added tokens that are looked for in the text as it is are not affected.
func (t *Tokenizer) WithLowercase() (*Tokenizer, error) {
	list, isList := t.normalizer.(normalizers)
	if !isList && t.normalizer != nil {
		list = normalizers{t.normalizer}
	}
	if slices.ContainsFunc(list, func(n normalizer) bool { _, ok := n.(lowerCase); return ok }) {
		return t, nil
	}
	u := *t
	u.normalizer = append(normalizers{newLowerCase()}, list...)
	u.added = newAddedTokens()
	return &u, u.addTokens(t.added.list)
}

// Config is the contents of tokenizer_config.json and related files that are not part of the
// tokenizer itself.
type Config struct {
	Class        string            // tokenizer_class
	MaxLength    int               // model_max_length, 0 if there is no limit
	TruncateLeft bool              // truncation_side: a text that is too long loses its beginning
	NoSegments   bool              // model_input_names lacks token_type_ids: models get no type ids, whatever encodings have
	ChatTemplate string            // Jinja; if templates have names, the one named default
	Templates    map[string]string // the chat templates by name, if they have names
	Special      map[string]string // tokens by role: bos_token, eos_token and so on, and roles that only this folder has, such as image_token
}

// Truncation returns the truncation of encodings, nil if there is none.
func (t *Tokenizer) Truncation() *Truncation { return copyOf(t.truncation) }

// Padding returns the padding of encodings, nil if there is none.
func (t *Tokenizer) Padding() *Padding { return copyOf(t.padding) }

// WithTruncation returns the same tokenizer with another truncation, or without one if c is nil.
func (t *Tokenizer) WithTruncation(c *Truncation) *Tokenizer {
	u := *t
	u.truncation = copyOf(c)
	return &u
}

// WithPadding returns the same tokenizer with another padding, or without one if c is nil.
func (t *Tokenizer) WithPadding(c *Padding) *Tokenizer {
	u := *t
	u.padding = copyOf(c)
	return &u
}
