package tokenizer

// Tokenizers that a class of transformers builds from the vocabulary of tokenizer.json. The rules
// of the classes are in rules.go and rulespieces.go.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/pyclass"
)

// building is a tokenizer under construction. Its strings are parts of tokenizer.json.
type building struct {
	*settings
	class   string
	model   *object // of the file
	charmap string  // the first Precompiled normalizer of the file, "" if it has none
	hasEnds bool    // the file has a post-processor
	lang    string  // the code of the language in ends

	kind, options            string // the type of the model, and its fields other than vocab and merges
	normalizer, pre, decoder string
	ends                     *ends        // nil: the post-processor of the file
	own                      []AddedToken // the class's additional_special_tokens, nil for the folder's
	again                    repeat
}

// repeat says whether and how a class adds its special tokens a second time.
type repeat int

const (
	once       repeat = iota
	twice             // with their flags
	twicePlain        // without flags
)

// ends are the tokens around a text, and around a pair of texts.
type ends struct {
	single, pair string         // such as "cls:0 A:0 sep:0": A and B are the texts, other names are roles
	roberta      bool           // use RobertaProcessing, with sep and cls
	trim, space  bool           // trim_offsets and add_prefix_space of RobertaProcessing
	fixed        map[string]int // ids of roles, which replace those in the vocabulary
}

// rebuild makes the tokenizer that a class builds from a tokenizer.json.
func (s *settings) rebuild(class string, f *file) (*Tokenizer, error) {
	b, err := s.building(class, f)
	if err != nil {
		return nil, err
	}
	vocab := b.model.fields["vocab"]
	if b.kind == "Unigram" && (len(vocab) == 0 || vocab[0] != '[') {
		return nil, &fault.Error{Kind: fault.ErrConfig, File: "tokenizer_config.json", Field: "tokenizer_class", Value: strconv.Quote(b.class),
			Err: fmt.Errorf("this class needs a Unigram model, and tokenizer.json has none")}
	}
	t, err := b.tokenizer(f)
	if err != nil {
		return nil, fmt.Errorf("tokenizer.json as %s: %w", class, inFile("tokenizer.json", err))
	}
	return t, b.finish(t)
}

// tokenizer returns the tokenizer without added tokens. It has the vocabulary and the merges of the
// file.
func (b *building) tokenizer(f *file) (*Tokenizer, error) {
	vocab, merges := b.model.fields["vocab"], b.model.fields["merges"]
	if len(vocab) > 0 && vocab[0] == '[' && b.kind != "Unigram" {
		b.readsPieces = true
		var ids bytes.Buffer
		numbered(&ids, vocab)
		var err error
		if vocab, err = parseJSON(ids.Bytes()); err != nil {
			return nil, err
		}
	}
	g, err := readFile(b.json(f.root))
	if err != nil {
		return nil, err
	}
	g.model.fields["vocab"] = vocab
	if b.kind == "BPE" {
		if merges.isNull() {
			merges = value("[]")
		}
		g.model.fields["merges"] = merges
	}
	return parseFile(g.root, g.model, &f.source)
}

// inherit completes t, the tokenizer as written. The class has no constructor: it takes the file as
// it is, and inherits the tokens and the ends of another class.
func (s *settings) inherit(class string, f *file, t *Tokenizer) error {
	b, err := s.building(class, f)
	if err != nil {
		return err
	}
	return b.finish(t)
}

// building applies the rule of a class.
func (s *settings) building(class string, f *file) (*building, error) {
	rule, ok := rules[class]
	if !ok {
		return nil, s.notAsWritten(class, "no rule for this class is known here")
	}
	root := f.root
	b := &building{settings: s, class: class, model: f.model.again(), charmap: firstCharmap(root.fields["normalizer"]), hasEnds: !root.fields["post_processor"].isNull()}
	b.defaultRoles()
	rule(b)
	return b, b.fields.err
}

// defaultRoles sets the class's default tokens for roles that the files do not name.
func (b *building) defaultRoles() {
	for _, role := range roles {
		if _, ok := b.special[role]; ok || b.bare[role] {
			continue
		}
		if text, ok := value(pyclass.Tokenizer(b.class).Fields[role]).text(); ok {
			b.special[role], b.Special[role], b.bare[role] = AddedToken{Content: text, Special: true}, text, true
		}
	}
}

// json returns the tokenizer.json of the tokenizer that the class builds, without added tokens,
// vocabulary and merges.
func (b *building) json(root *object) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `{"model":{"type":%q`, b.kind)
	if b.options != "" {
		out.WriteString("," + b.options)
	}
	out.WriteByte('}')
	for name, part := range map[string]string{"normalizer": b.normalizer, "pre_tokenizer": b.pre, "decoder": b.decoder} {
		if part != "" {
			fmt.Fprintf(&out, ",%q:%s", name, part)
		}
	}
	for _, name := range []string{"post_processor", "truncation", "padding"} {
		if v := root.fields[name]; !v.isNull() {
			fmt.Fprintf(&out, ",%q:%s", name, v)
		}
	}
	out.WriteByte('}')
	return out.Bytes()
}

// numbered writes a list of pieces with scores as a vocabulary with ids.
func numbered(out *bytes.Buffer, list value) {
	id := 0
	out.WriteByte('{')
	list.each(func(_, v value) error {
		if len(v) > 0 && v[0] == '[' {
			var piece value
			v.each(func(_, x value) error {
				if piece == nil {
					piece = x
				}
				return nil
			})
			v = piece
		}
		if id > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(out, "%s:%d", v, id)
		id++
		return nil
	})
	out.WriteByte('}')
}

// firstCharmap returns the first Precompiled normalizer, also from within a sequence.
func firstCharmap(v value) string {
	if v.isNull() || v[0] != '{' {
		return ""
	}
	o, err := parseObject("normalizer", v)
	if err != nil {
		return ""
	}
	switch kind, _ := o.fields["type"].text(); kind {
	case "Precompiled":
		return string(v)
	case "Sequence":
		found := ""
		if list := o.fields["normalizers"]; len(list) > 0 && list[0] == '[' {
			list.each(func(_, x value) error {
				if o, err := parseObject("normalizer", x); err == nil && found == "" {
					if kind, _ := o.fields["type"].text(); kind == "Precompiled" {
						found = string(x)
					}
				}
				return nil
			})
		}
		return found
	}
	return ""
}

// finish adds the tokens and the post-processor.
func (b *building) finish(t *Tokenizer) error {
	if !b.noMore {
		if b.extra = b.additional; b.own != nil {
			b.extra = b.own
		}
	}
	if err := b.addBeside(t); err != nil {
		return err
	}
	if b.again != once {
		if err := t.addTokens(b.repeated()); err != nil {
			return err
		}
	}
	if b.ends == nil {
		return nil
	}
	p, err := b.ends.processor(b, t)
	if err == nil {
		t.post = p
	}
	return err
}

// repeated returns the special tokens that the class adds a second time.
func (b *building) repeated() []AddedToken {
	list := append(b.withRoles(), b.extra...)
	for i := range list {
		list[i].Special = true
		if b.again == twicePlain {
			list[i] = AddedToken{Content: list[i].Content, Special: true}
		}
	}
	return list
}

// processor makes the post-processor. The tokenizer must already have all tokens.
func (e *ends) processor(b *building, t *Tokenizer) (postProcessor, error) {
	token := func(role string) (special, error) { return e.token(b, t, role) }
	if e.roberta {
		cls, err := token("cls")
		if err != nil {
			return nil, err
		}
		sep, err := token("sep")
		return &bertProcessing{cls: cls, sep: sep, roberta: true, trim: e.trim, prefixSpace: e.space}, err
	}
	p := new(template)
	for _, x := range []struct {
		to   *[]templatePiece
		from string
	}{{&p.single, e.single}, {&p.pair, e.pair}} {
		for word := range strings.FieldsSeq(x.from) {
			role, kind, _ := strings.Cut(word, ":")
			typeID, _ := strconv.Atoi(kind)
			piece := templatePiece{text: slices.Index([]string{"A", "B"}, role), typeID: typeID}
			if piece.text < 0 {
				s, err := token(role)
				if err != nil {
					return nil, err
				}
				piece.tokens = []special{s}
			}
			*x.to = append(*x.to, piece)
		}
	}
	return p, nil
}

// token returns the token of a role in ends. "</s>" is that text with the id of eos.
func (e *ends) token(b *building, t *Tokenizer, role string) (special, error) {
	text := b.text(role)
	switch role {
	case "</s>":
		text = b.text("eos")
	case "lang":
		text = b.lang
	}
	if strings.HasPrefix(role, "<|") {
		text = role
	}
	if _, ok := t.TokenID(text); !ok && text != "" { // transformers also accepts tokens by name
		text = b.text("unk")
	}
	id, ok := t.TokenID(text)
	if !ok || text == "" {
		return special{}, b.isNull(role + "_token")
	}
	if fixed, ok := e.fixed[role]; ok {
		id = fixed
	}
	if role == "</s>" {
		text = role
	}
	return special{text, id}, nil
}

// isNull returns the error for a class that needs a token that is missing.
func (b *building) isNull(role string) error {
	return &fault.Error{Kind: fault.ErrConfig, File: "tokenizer_config.json", Field: role, Err: fmt.Errorf("%s needs this token, and has none", b.class)}
}

// flag returns a field of the class that must be true or false.
func (b *building) flag(name string) bool {
	fallback, _ := value(pyclass.Tokenizer(b.class).Fields[name]).bool()
	v, given := b.fields.fields[name]
	if given && v.isNull() {
		b.fields.fail(fault.ErrConfig, name, "is null, which %s does not take", b.class)
	}
	return b.fields.bool(name, fallback)
}

// truth returns the truth value that Python gives a field of the class.
func (b *building) truth(name string) bool {
	v, given := b.fields.fields[name]
	b.read[name] = true
	if !given {
		v = value(pyclass.Tokenizer(b.class).Fields[name])
	}
	return !slices.Contains([]string{"", "null", "false", "0", "0.0", `""`, "[]", "{}"}, string(v))
}

// text returns the content of the token with a role, "" if there is none.
func (b *building) text(role string) string { return b.special[role+"_token"].Content }

// quoted returns the content of the token with a role as JSON.
func (b *building) quoted(role string) string {
	text := b.text(role)
	if text == "" {
		b.fields.fail(fault.ErrConfig, role+"_token", "is null, and %s needs it", b.class)
	}
	return quoteJSON(text)
}

// quoteJSON returns a string as JSON.
func quoteJSON(s string) string {
	quoted, _ := json.Marshal(s)
	return string(quoted)
}
