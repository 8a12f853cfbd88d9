package tokenizer

// The tokenizer inside a GGUF file.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// openGGUF opens a file of a file system. path is for people.
func (o Opening) openGGUF(fsys fs.FS, name, path string) (*Tokenizer, error) {
	file, err := regular.OpenFS(fsys, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	reader, ok := file.(io.ReaderAt)
	if !ok {
		return nil, check.InFile(name, fault.ErrConfig, errors.New("the file system does not implement io.ReaderAt"))
	}
	f, err := gguf.NewFile(reader, info.Size())
	if err != nil {
		return nil, check.InFile(name, fault.ErrFormat, err)
	}
	t, err := o.fromGGUF(f, path)
	if err != nil {
		return nil, check.InFile(name, fault.ErrFormat, err)
	}
	return t, nil
}

// ggufVocab reads the metadata whose keys begin with tokenizer.ggml.
type ggufVocab struct {
	file   *gguf.File
	tokens []string
	types  []int64
	ends   []int   // ids of the tokens that end texts
	made   *source // of the vocabulary, or of a ready file
	err    error
}

// FromGGUF returns the tokenizer that a GGUF file holds. It supports the tokenizer models gpt2,
// llama, gemma4, bert and t5.
func FromGGUF(f *gguf.File) (*Tokenizer, error) { return Opening{}.fromGGUF(f, "") }

// fromGGUF is FromGGUF with these settings. path, that of the file, is for people.
func (o Opening) fromGGUF(f *gguf.File, path string) (*Tokenizer, error) {
	needProperties()
	g := &ggufVocab{file: f, made: new(source)}
	place := o.placeOfGGUF(f, path)
	if made, _ := place.openTables(); made != nil {
		g.made = made
	}
	kind := g.text("model", "")
	g.tokens = get(g, "tokens", f.Texts)
	g.types = get(g, "token_type", f.Ints)
	if g.types == nil {
		g.types = slices.Repeat([]int64{pieceNormal}, len(g.tokens))
	}
	if g.err == nil && (len(g.tokens) == 0 || len(g.types) != len(g.tokens)) {
		g.err = fmt.Errorf("%w: %d tokens and %d types", fault.ErrFormat, len(g.tokens), len(g.types))
	}
	if g.err != nil {
		return nil, g.err
	}
	var err error
	if g.ends, err = f.EndTokens(); err != nil {
		return nil, fmt.Errorf("%w: %w", fault.ErrFormat, err)
	}
	var t *Tokenizer
	switch kind {
	case "gpt2":
		t, err = g.byteLevel()
	case "llama":
		t, err = g.llama()
	case "gemma4":
		t, err = g.gemma4()
	case "bert":
		t, err = g.bert()
	case "t5":
		t, err = g.t5()
	default:
		err = &fault.Error{Kind: fault.ErrConfig, Field: "tokenizer.ggml.model", Value: kind}
	}
	if err = errors.Join(g.err, err); err != nil {
		return nil, err
	}
	if err := t.finish(g.added(t.model)); err != nil {
		return nil, err
	}
	t.config.Special = map[string]string{}
	for role, key := range map[string]string{"bos_token": "bos", "eos_token": "eos", "unk_token": "unknown", "sep_token": "seperator",
		"pad_token": "padding", "cls_token": "cls", "mask_token": "mask"} {
		if s, ok := g.special(key); ok {
			t.config.Special[role] = s
		}
	}
	t.config.ChatTemplate, t.config.Templates, err = ggufTemplates(f)
	if err == nil && !g.made.fixed {
		t.keep(place, place.writeTables(g.made, nil))
	}
	return t, err
}

const ggufPrefix = "tokenizer.ggml."

// get reads a key, or returns the zero value if the file does not have it.
func get[T any](g *ggufVocab, key string, read func(string) (T, error)) T {
	v, err := read(ggufPrefix + key)
	if err != nil && !errors.Is(err, fault.ErrAbsent) && g.err == nil {
		g.err = fmt.Errorf("%w: %w", fault.ErrFormat, err)
	}
	return v
}

func (g *ggufVocab) text(key, otherwise string) string {
	if _, ok := g.file.Value(ggufPrefix + key); !ok {
		return otherwise
	}
	return get(g, key, g.file.Text)
}

func (g *ggufVocab) bool(key string, otherwise bool) bool {
	if _, ok := g.file.Value(ggufPrefix + key); !ok {
		return otherwise
	}
	return get(g, key, g.file.Bool)
}

// special returns the token whose id a key holds.
func (g *ggufVocab) special(key string) (string, bool) {
	id, err := g.file.Int(ggufPrefix + key + "_token_id")
	if err != nil || id < 0 || id >= int64(len(g.tokens)) {
		return "", false
	}
	return g.tokens[id], true
}

// added returns the tokens that are found before the model sees the text.
func (g *ggufVocab) added(m model) []AddedToken {
	var list []AddedToken
	mask, ok := g.special("mask")
	strips := ok && (ggufPres[g.text("pre", "")].ends != byFile || g.text("model", "") == "t5" && g.beginsToo())
	for id, kind := range g.types {
		if kind == pieceNormal && slices.Contains(g.ends, id) {
			kind = pieceControl // even if the file says otherwise
		}
		if kind != pieceControl && kind != pieceUserDefined && kind != pieceUnknown {
			continue
		}
		if _, ok := m.token(uint32(id)); ok {
			list = append(list, AddedToken{ID: uint32(id), Content: g.tokens[id], LStrip: strips && g.tokens[id] == mask, Special: kind != pieceUserDefined})
		}
	}
	return list
}

func (g *ggufVocab) vocabulary(spell func(string) string) *vocabulary {
	if g.made.fixed {
		return g.made.ids
	}
	v := newVocabulary(len(g.tokens))
	g.made.ids = v
	for id, t := range g.tokens {
		if spell != nil && g.types[id] == pieceNormal {
			t = spell(t)
		}
		v.set(t, uint32(id))
	}
	return v
}

// pieces returns the tokens with their scores.
func (g *ggufVocab) pieces() ([]spmPiece, error) {
	scores := get(g, "scores", g.file.Floats)
	if len(scores) != len(g.tokens) {
		return nil, fmt.Errorf("%w: %d tokens and %d scores", fault.ErrFormat, len(g.tokens), len(scores))
	}
	pieces := make([]spmPiece, len(g.tokens))
	for id, t := range g.tokens {
		if x := scores[id]; x != x {
			return nil, fmt.Errorf("%w: token %d has no score", fault.ErrFormat, id)
		}
		pieces[id] = spmPiece{t, scores[id], int(g.types[id])}
	}
	return pieces, nil
}

func (g *ggufVocab) byteLevel() (*Tokenizer, error) {
	pre, err := g.pre()
	if err != nil {
		return nil, err
	}
	m, err := g.bpe(bpeConfig{ignoreMerges: pre.ignoreMerges}, g.merges)
	if err != nil {
		return nil, err
	}
	if g.bool("add_space_prefix", false) {
		return nil, fmt.Errorf("%w: tokenizer.ggml.add_space_prefix with the model gpt2", fault.ErrConfig)
	}
	t := &Tokenizer{model: m, decoder: byteLevelDecoder{}}
	if err := pre.cut(t); err != nil {
		return nil, err
	}
	if pre.ends != byFile {
		t.post, err = g.encoder(t.model, pre.ends)
		return t, err
	}
	return t, g.around(t, pre.begins)
}

// bpe returns a model with the merges that a function returns.
func (g *ggufVocab) bpe(c bpeConfig, merges func() ([][2]string, error)) (*bpe, error) {
	s := g.made
	if s.fixed && (s.ids == nil || s.table.pairs == nil) {
		return nil, errFixed
	}
	m := newBPE(g.vocabulary(nil), c)
	m.from = s
	if s.fixed {
		m.merges, m.parts = s.table, m.parts && s.apart
		m.finish()
		return m, nil
	}
	pairs, err := merges()
	if err != nil {
		return nil, err
	}
	s.sought = m.parts
	if err := m.mergeAll(pairs); err != nil {
		return nil, err
	}
	s.table, s.apart = m.merges, m.parts
	return m, nil
}

// merges returns the pairs of tokens in the order of their ranks.
func (g *ggufVocab) merges() ([][2]string, error) {
	lines := get(g, "merges", g.file.Texts)
	merges := make([][2]string, len(lines))
	for i, line := range lines {
		first, second, ok := strings.Cut(line, " ")
		if !ok || first == "" || second == "" || strings.Contains(second, " ") {
			return nil, fmt.Errorf("%w: tokenizer.ggml.merges[%d] is %q, not two tokens", fault.ErrFormat, i, line)
		}
		merges[i] = [2]string{first, second}
	}
	return merges, nil
}

// encoder returns the post-processor of an encoder's tokenizer.
func (g *ggufVocab) encoder(m model, ends ggufEnds) (postProcessor, error) {
	bos, okBOS := g.special("bos")
	eos, okEOS := g.special("eos")
	if !okBOS || !okEOS || !g.bool("add_bos_token", true) || !g.bool("add_eos_token", true) {
		return nil, fmt.Errorf("%w: texts of an encoder without bos or eos", fault.ErrConfig)
	}
	if ends == modernBERTEnds {
		return around(m, []typedPiece{{bos, 0}, {textA, 0}, {eos, 0}}, []typedPiece{{bos, 0}, {textA, 0}, {eos, 0}, {textB, 0}, {eos, 0}})
	}
	cls, err := specialOf(m, bos)
	sep, errSEP := specialOf(m, eos)
	return &bertProcessing{cls: cls, sep: sep, roberta: true, trim: true}, errors.Join(err, errSEP)
}

// around adds bos and eos as the file's flags say; addBOS is the default for bos.
func (g *ggufVocab) around(t *Tokenizer, addBOS bool) error {
	return g.within(t, g.bool("add_bos_token", addBOS))
}

// within adds bos if addBOS is set, and eos if the file says so.
func (g *ggufVocab) within(t *Tokenizer, addBOS bool) (err error) {
	bos, hasBOS := g.special("bos")
	eos, hasEOS := g.special("eos")
	addBOS = addBOS && hasBOS
	addEOS := g.bool("add_eos_token", false) && hasEOS
	if addBOS || addEOS {
		t.post, err = beginAndEnd(t.model, bos, eos, addBOS, addEOS)
	}
	return err
}

func (g *ggufVocab) llama() (*Tokenizer, error) {
	pieces, err := g.pieces()
	if err != nil {
		return nil, err
	}
	c := bpeConfig{fuseUnknown: true, byteFallback: slices.Contains(g.types, pieceByte)}
	c.unknown, _ = g.special("unknown")
	m, err := g.bpe(c, func() ([][2]string, error) { return pieceMerges(pieces), nil })
	if err != nil {
		return nil, err
	}
	t := spaced(m, g.bool("add_space_prefix", true))
	return t, g.around(t, true)
}

// gemma4 merges whole texts, in which spaces are ▁, by the ranks in the file. Characters that are
// not in the vocabulary become the tokens of their bytes. As in llama.cpp, texts begin with bos
// even if the file says otherwise.
func (g *ggufVocab) gemma4() (*Tokenizer, error) {
	c := bpeConfig{fuseUnknown: true, byteFallback: slices.Contains(g.types, pieceByte)}
	c.unknown, _ = g.special("unknown")
	m, err := g.bpe(c, g.merges)
	if err != nil {
		return nil, err
	}
	t := spaced(m, false)
	return t, g.within(t, true)
}

func (g *ggufVocab) bert() (*Tokenizer, error) {
	unknown, ok := g.special("unknown")
	cls, okCLS := g.special("bos")
	if !okCLS {
		cls, okCLS = g.special("cls")
	}
	sep, okSEP := g.special("seperator")
	if !ok || !okCLS || !okSEP {
		return nil, fmt.Errorf("%w: unknown, cls or separator token", fault.ErrFormat)
	}
	if g.made.fixed && g.made.ids == nil {
		return nil, errFixed
	}
	v := g.vocabulary(shown)
	lower := g.bool("normalizer.lowercase", true)
	b := &bertNormalizer{clean: true, chinese: true, strip: g.bool("normalizer.strip_accents", lower), lower: lower, table: properties, lowerCase: newLowerCase()}
	t := &Tokenizer{normalizer: b, pre: bertPreTokenizer{}, model: newWordPiece(v, g.made.trieOf(), unknown, "##", 100), decoder: wordPieceDecoder{"##", true}}
	var err error
	t.post, err = around(t.model, []typedPiece{{cls, 0}, {textA, 0}, {sep, 0}}, []typedPiece{{cls, 0}, {textA, 0}, {sep, 0}, {textB, 1}, {sep, 1}})
	return t, err
}

func (g *ggufVocab) t5() (*Tokenizer, error) {
	pieces, err := g.pieces()
	if err != nil {
		return nil, err
	}
	unknown, _ := g.special("unknown")
	m := &spmModel{kind: spmUnigram, charsmap: g.charsmap(), dummyPrefix: g.bool("add_space_prefix", true),
		removeSpaces: g.bool("remove_extra_whitespaces", false)}
	t, err := m.unigram(pieces, unknown, g.made)
	if err != nil {
		return nil, err
	}
	eos, ok := g.special("eos")
	if !ok || !g.bool("add_eos_token", true) {
		return nil, fmt.Errorf("%w: the model t5 without eos", fault.ErrConfig)
	}
	if !g.beginsToo() {
		t.post, err = endWith(t.model, eos)
		return t, err
	}
	bos, _ := g.special("bos")
	one := []typedPiece{{bos, 0}, {textA, 0}, {eos, 0}}
	t.post, err = around(t.model, one, append(slices.Clone(one), typedPiece{eos, 0}, typedPiece{textB, 0}, typedPiece{eos, 0}))
	return t, err
}

// beginsToo reports whether texts of the tokenizer model t5 also begin with a token, as in
// XLM-RoBERTa.
func (g *ggufVocab) beginsToo() bool { return g.bool("add_bos_token", false) }

// charsmap returns the character map, which files hold as unsigned or signed bytes.
func (g *ggufVocab) charsmap() []byte {
	v, _ := g.file.Value("tokenizer.ggml.precompiled_charsmap")
	switch v := v.(type) {
	case []uint8:
		return v
	case []int8:
		out := make([]byte, len(v))
		for i, b := range v {
			out[i] = byte(b)
		}
		return out
	}
	return nil
}

// pre returns the pre-tokenizer that the file names.
func (g *ggufVocab) pre() (ggufPre, error) {
	name := g.text("pre", "")
	if name == "" {
		return ggufDefault, nil
	}
	p, ok := ggufPres[name]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(ggufPres)), ", ")
		return p, &fault.Error{Kind: fault.ErrConfig, Field: "tokenizer.ggml.pre", Value: name, Err: errors.New("want one of " + known)}
	}
	return p, nil
}

// cut sets the normalizer and the pre-tokenizer.
func (p *ggufPre) cut(t *Tokenizer) error {
	if p.nfc {
		t.normalizer = form{ucd.FormC}
	}
	var list preTokenizers
	if p.digits {
		list = append(list, splitChars{ucd.Numeric, isolated})
	}
	for _, source := range p.cuts {
		at, err := compile(source)
		if err != nil {
			return fmt.Errorf("tokenizer.ggml.pre: %w", err)
		}
		list = append(list, &splitAt{pattern: at, behavior: isolated})
	}
	t.pre = append(list, byteLevel{spell: true})
	return nil
}
