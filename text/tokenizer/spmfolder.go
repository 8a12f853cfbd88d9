package tokenizer

// Folders with a SentencePiece model and without tokenizer.json, as transformers 5.24 reads them.
// The class of the tokenizer determines the result; its rules are in spmclasses.go.

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/pyclass"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/text/tokenizer/internal/onig"
)

// spmFolder is a tokenizer under construction.
type spmFolder struct {
	*spmModel
	*settings
	t         *Tokenizer
	own       []AddedToken // special tokens of the class, other than those with a role
	all       bool         // own and extra tokens are special even if the model disagrees
	byDefault map[string]bool
}

// spmName returns the name of the folder's SentencePiece model, "" if it has none.
func spmName(fsys fs.FS) string {
	for _, name := range []string{"tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "spm.model", "sentencepiece.model"} {
		if exists(fsys, name) {
			return name
		}
	}
	return ""
}

// openSPM reads a SentencePiece model.
func openSPM(fsys fs.FS, s *settings, name string) (*Tokenizer, error) {
	class, err := s.class(fsys)
	if err != nil {
		return nil, err
	}
	if class == "" {
		return nil, fmt.Errorf("%w: only %s: neither tokenizer_class nor model_type says how to read it", fault.ErrConfig, name)
	}
	c, ok := spmClasses[class]
	if !ok {
		return nil, unknownClass(class, name)
	}
	if name != "tokenizer.model" && name != c.file {
		return nil, fmt.Errorf("%w: tokenizer_class %q reads %s, not %s", fault.ErrConfig, class, c.file, name)
	}
	data, err := regular.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	f := &spmFolder{settings: s, t: new(Tokenizer), byDefault: map[string]bool{}}
	if f.spmModel, err = parseSPM(data); err != nil {
		return nil, inFile(name, err)
	}
	if err := f.build(c); err != nil {
		return nil, fmt.Errorf("%s as %s: %w", name, class, err)
	}
	return f.t, nil
}

func (f *spmFolder) build(c spmClass) error {
	for id, p := range f.pieces {
		if p.kind == pieceControl || p.kind == pieceUserDefined {
			f.own = append(f.own, AddedToken{ID: uint32(id), Content: p.text, Special: p.kind == pieceControl})
		}
	}
	for i, role := range roles {
		if _, ok := f.special[role]; !ok && !f.bare[role] && c.roles[i] != "" {
			f.special[role], f.Special[role] = AddedToken{Content: c.roles[i]}, c.roles[i]
			f.bare[role], f.byDefault[role] = true, true
		}
		if a, ok := f.special[role]; ok {
			a.Special = true
			if role == "mask_token" && f.bare[role] && c.mask != nil {
				a.LStrip, a.Normalized = true, c.mask.Normalized
			}
			f.special[role] = a
		}
	}
	around, err := c.build(f)
	if err == nil {
		err = f.fields.err
	}
	if err != nil {
		return err
	}
	if err := f.t.finish(nil); err != nil {
		return err
	}
	if err := f.addTokens(); err != nil {
		return err
	}
	return around()
}

// addTokens adds the tokens that the files number, then the tokens with a role, then all other
// tokens. The last entry of a token determines its flags.
func (f *spmFolder) addTokens() error {
	var named []AddedToken
	for _, role := range roles {
		if a, ok := f.special[role]; ok {
			named = append(named, a)
		}
	}
	for _, t := range f.named {
		named = append(named, t.AddedToken)
	}
	extra := f.own
	if f.noMore {
		extra = f.extra
	}
	isNamed := func(content string) bool {
		return slices.ContainsFunc(named, func(t AddedToken) bool { return t.Content == content })
	}
	list := slices.Concat(f.added, named, extra)
	for i := range list {
		list[i].Special = list[i].Special || isNamed(list[i].Content) || i >= len(f.added) && f.all
	}
	numbered := len(f.added)
	list = slices.Concat(list[:numbered], slices.DeleteFunc(list[numbered:], func(t AddedToken) bool { return f.hasID(t.Content) }))
	if err := f.t.addTokens(list); err != nil {
		return err
	}
	for _, a := range f.added {
		if id, _ := f.t.TokenID(a.Content); a.Content != "" && uint32(id) != a.ID {
			return fmt.Errorf("%w: added token %q has id %d, but becomes %d", fault.ErrFormat, a.Content, a.ID, id)
		}
	}
	return nil
}

// role returns the token with a role. It is an error if there is none.
func (f *spmFolder) role(name string) string {
	text := f.special[name+"_token"].Content
	if text == "" {
		f.fields.fail(fault.ErrConfig, name+"_token", "is null")
	}
	return text
}

// unigram sets the model to Unigram, even if the pieces were trained for BPE.
func (f *spmFolder) unigram(pieces []spmPiece, unknown int) error {
	return f.unigramOrBytes(pieces, unknown, false)
}

// onlyUnigram is unigram for classes that check the type of the model.
func (f *spmFolder) onlyUnigram(pieces []spmPiece, unknown int) error {
	if f.kind != spmUnigram {
		return fmt.Errorf("%w: SentencePiece model_type %d", fault.ErrConfig, f.kind)
	}
	return f.unigram(pieces, unknown)
}

func (f *spmFolder) unigramOrBytes(pieces []spmPiece, unknown int, byteFallback bool) error {
	tokens, scores := make([]string, len(pieces)), make([]float64, len(pieces))
	for i, p := range pieces {
		tokens[i], scores[i] = p.text, p.score
	}
	if unknown < 0 || unknown >= len(tokens) {
		return fmt.Errorf("%w: the unknown piece is %d of %d", fault.ErrFormat, unknown, len(tokens))
	}
	m, err := newUnigram(tokens, scores, int32(unknown), byteFallback)
	f.t.model = m
	return err
}

// zeroPieces returns pieces with the score 0.
func zeroPieces(texts []string) []spmPiece {
	pieces := make([]spmPiece, len(texts))
	for i, text := range texts {
		pieces[i].text = text
	}
	return pieces
}

// indexOf returns the index of the first piece with this text and the score 0, not before from, or
// -1.
func indexOf(pieces []spmPiece, from int, text string) int {
	for i := from; i < len(pieces); i++ {
		if pieces[i].text == text && pieces[i].score == 0 {
			return i
		}
	}
	return -1
}

// bpe sets the model to BPE: each pair of pieces that makes a piece merges, with the index of that
// piece as its rank.
func (f *spmFolder) bpe(texts []string, unknown string, byteFallback bool) error {
	v := newVocabulary(len(texts))
	for id, text := range texts {
		v.set(text, uint32(id))
	}
	if v.repeats {
		return fmt.Errorf("%w: a piece occurs twice", fault.ErrConfig)
	}
	merges, made := f.merges()
	f.compareOrder(made)
	m, err := mergedBPE(v, merges, bpeConfig{unknown: unknown, fuseUnknown: true, byteFallback: byteFallback})
	f.t.model = m
	return err
}

// compareOrder notes a warning if pieces merge in another order by their ids, as the class merges
// them, than by their scores.
func (f *spmFolder) compareOrder(merged []int) {
	for i, id := range merged[min(1, len(merged)):] {
		if f.pieces[id].score > f.pieces[merged[i]].score {
			f.notes = append(f.notes, fmt.Sprintf("the SentencePiece model: pieces are merged in the order of their ids, here as in transformers %s, while SentencePiece merges by scores: "+
				"%q comes before %q and has the lower score", pyclass.Transformers, f.pieces[merged[i]].text, f.pieces[id].text))
			return
		}
	}
}

// texts returns the texts of the pieces.
func (m *spmModel) texts() []string {
	out := make([]string, len(m.pieces))
	for i, p := range m.pieces {
		out[i] = p.text
	}
	return out
}

// merges lists the pairs of pieces that make a piece, by its id, then by the length of the first
// piece of the pair; and the ids.
func (m *spmModel) merges() (merges [][2]string, made []int) {
	ids := make(map[string]int, len(m.pieces))
	for id, p := range m.pieces {
		ids[p.text] = id
	}
	for id, p := range m.pieces {
		for i := range p.text {
			if i > maxPiece {
				break
			}
			a, okA := ids[p.text[:i]]
			b, okB := ids[p.text[i:]]
			if i > 0 && okA && okB {
				merges, made = append(merges, [2]string{m.pieces[a].text, m.pieces[b].text}), append(made, id)
			}
		}
	}
	return merges, made
}

// precompiled returns the character map, if there is one.
func (m *spmModel) precompiled() (normalizers, error) {
	if len(m.charsmap) == 0 {
		return nil, nil
	}
	c, err := parseCharsmap(m.charsmap)
	if err != nil {
		return nil, err
	}
	return normalizers{c}, nil
}

// regexReplace replaces the matches of a pattern that is known to compile.
func regexReplace(source, content string) normalizer {
	p, err := onig.Compile(source)
	if err != nil {
		panic(err) // a constant of this package
	}
	return &replace{expression{p}, content}
}

// spelled replaces spaces with ▁, cuts before each of them, and sets the decoder that restores the
// spaces.
func (f *spmFolder) spelled(where scheme) preTokenizer {
	f.t.decoder = metaspaceDecoder{space, where != never}
	return metaspace{space, where, true}
}

// words is spelled after white space was dropped.
func (f *spmFolder) words(where scheme) {
	f.t.pre = preTokenizers{whitespaceSplit{}, f.spelled(where)}
}

// prefix returns where ▁ is put: before every part of the text, unless add_prefix_space is false.
func (f *spmFolder) prefix() scheme {
	if f.fields.bool("add_prefix_space", true) {
		return always
	}
	return never
}

// template returns a function that sets the post-processor once all tokens have their ids. In
// single and pair, textA and textB are the texts and all other names are tokens.
func (f *spmFolder) template(single, pair []typedPiece) func() error {
	return func() error {
		t := new(template)
		for _, x := range []struct {
			to   *[]templatePiece
			from []typedPiece
		}{{&t.single, single}, {&t.pair, pair}} {
			for _, p := range x.from {
				piece := templatePiece{text: slices.Index([]string{textA, textB}, p.text), typeID: p.typeID}
				if piece.text < 0 {
					id, ok := f.t.TokenID(p.text)
					if !ok && p.text != "" { // the code of a language
						p.text = f.role("unk")
						id, ok = f.t.TokenID(p.text)
					}
					if !ok {
						return fmt.Errorf("%w: the vocabulary lacks %q", fault.ErrFormat, p.text)
					}
					piece.tokens = []special{{p.text, id}}
				}
				*x.to = append(*x.to, piece)
			}
		}
		f.t.post = t
		return nil
	}
}

// beginAndEnd puts bos and eos around each text, as the settings or else the class say. Those of
// the second text have type 1.
func (f *spmFolder) beginAndEnd(addBOS bool) func() error {
	bos, eos := f.special["bos_token"].Content, f.special["eos_token"].Content
	addBOS = f.fields.bool("add_bos_token", addBOS) && bos != ""
	addEOS := f.fields.bool("add_eos_token", false) && eos != ""
	var pieces []typedPiece
	for typeID, text := range []string{textA, textB} {
		if addBOS {
			pieces = append(pieces, typedPiece{bos, typeID})
		}
		pieces = append(pieces, typedPiece{text, typeID})
		if addEOS {
			pieces = append(pieces, typedPiece{eos, typeID})
		}
	}
	return f.template(pieces[:len(pieces)/2], pieces)
}

// clsAndSep puts tokens around texts: [CLS] A [SEP] or [CLS] A [SEP] B [SEP].
func (f *spmFolder) clsAndSep() func() error {
	cls, sep := f.role("cls"), f.role("sep")
	pair := []typedPiece{{cls, 0}, {textA, 0}, {sep, 0}, {textB, 1}, {sep, 1}}
	return f.template(pair[:3], pair)
}

// likeRoberta puts tokens around texts: <s> A </s> or <s> A </s> </s> B </s>.
func (f *spmFolder) likeRoberta() func() error {
	bos, eos := f.role("bos"), f.role("eos")
	pair := []typedPiece{{bos, 0}, {textA, 0}, {eos, 0}, {eos, 0}, {textB, 0}, {eos, 0}}
	return f.template(pair[:3], pair)
}

// prefixed puts the code of the language in front.
func (f *spmFolder) prefixed(code string) func() error {
	eos := f.role("eos")
	return f.template([]typedPiece{{code, 0}, {textA, 0}, {eos, 0}}, []typedPiece{{code, 0}, {textA, 0}, {textB, 0}, {eos, 0}})
}

// suffixed puts the code of the language after </s>.
func (f *spmFolder) suffixed(code string) func() error {
	eos := f.role("eos")
	return f.template([]typedPiece{{textA, 0}, {eos, 0}, {code, 0}}, []typedPiece{{textA, 0}, {textB, 0}, {eos, 0}, {code, 0}})
}

// moved returns the pieces that begin at index from, after new pieces with the score 0.
func (m *spmModel) moved(from int, first ...string) []spmPiece {
	return append(zeroPieces(first), m.pieces[min(from, len(m.pieces)):]...)
}

// extraTokens returns special tokens with these texts.
func extraTokens(texts []string) []AddedToken {
	out := make([]AddedToken, len(texts))
	for i, text := range texts {
		out[i] = AddedToken{Content: text, Special: true}
	}
	return out
}

// byID lists the pieces of a vocabulary in the order of their ids, which must differ.
func byID(ids map[string]int) []string {
	texts := make([]string, 0, len(ids))
	for text := range ids {
		texts = append(texts, text)
	}
	slices.SortFunc(texts, func(a, b string) int { return cmp.Compare(ids[a], ids[b]) })
	return texts
}

// spacesToOne normalizes with the model's character map, and then replaces successive spaces with
// one.
func (f *spmFolder) spacesToOne() error {
	list, err := f.precompiled()
	f.t.normalizer = append(list, regexReplace(" {2,}", " "))
	return err
}
