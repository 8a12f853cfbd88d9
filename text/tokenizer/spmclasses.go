package tokenizer

// The classes of tokenizers made from SentencePiece models: which pieces they add or move, how they
// normalize and cut texts, and which tokens they put around a text.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
)

// spmClass describes a class of tokenizers.
type spmClass struct {
	file  string      // the name of its SentencePiece model
	roles [7]string   // its tokens, in the order of the variable roles
	mask  *AddedToken // the flags of a mask_token that is given as a string; it takes the white space before it
	// build sets the model, the normalizer, the pre-tokenizer and the decoder. It returns a
	// function that sets the post-processor, to be called once all tokens have their ids.
	build func(f *spmFolder) (func() error, error)
}

var spaceBefore = &AddedToken{}

var spmClasses = map[string]spmClass{
	"LlamaTokenizer":      {"tokenizer.model", [7]string{"<s>", "</s>", "<unk>"}, nil, (*spmFolder).llama},
	"CodeLlamaTokenizer":  {"tokenizer.model", [7]string{"<s>", "</s>", "<unk>"}, nil, (*spmFolder).codeLlama},
	"GemmaTokenizer":      {"tokenizer.model", [7]string{"<bos>", "<eos>", "<unk>", "", "<pad>", "", "<mask>"}, nil, (*spmFolder).gemma},
	"T5Tokenizer":         {"spiece.model", [7]string{"", "</s>", "<unk>", "", "<pad>"}, nil, (*spmFolder).t5},
	"CamembertTokenizer":  {"sentencepiece.bpe.model", fairseqRoles, spaceBefore, (*spmFolder).camembert},
	"XLMRobertaTokenizer": {"sentencepiece.bpe.model", fairseqRoles, nil, (*spmFolder).xlmRoberta},
	"MBartTokenizer":      {"sentencepiece.bpe.model", fairseqRoles, spaceBefore, (*spmFolder).mbart},
	"MBart50Tokenizer":    {"sentencepiece.bpe.model", [7]string{"", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"}, spaceBefore, (*spmFolder).mbart50},
	"NllbTokenizer":       {"sentencepiece.bpe.model", fairseqRoles, &AddedToken{Normalized: true}, (*spmFolder).nllb},
	"BarthezTokenizer":    {"sentencepiece.bpe.model", fairseqRoles, spaceBefore, (*spmFolder).barthez},
	"XLNetTokenizer":      {"spiece.model", [7]string{"<s>", "</s>", "<unk>", "<sep>", "<pad>", "<cls>", "<mask>"}, spaceBefore, (*spmFolder).xlnet},
	"AlbertTokenizer":     {"spiece.model", [7]string{"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"}, nil, (*spmFolder).albert},
	"RemBertTokenizer":    {"sentencepiece.model", [7]string{"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"}, nil, (*spmFolder).remBert},
	"BigBirdTokenizer":    {"spiece.model", [7]string{"<s>", "</s>", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"}, spaceBefore, (*spmFolder).bigBird},
	"DebertaV2Tokenizer":  {"spm.model", [7]string{"[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"}, nil, (*spmFolder).debertaV2},
	"PegasusTokenizer":    {"spiece.model", [7]string{"", "</s>", "<unk>", "", "<pad>", "", "<mask_2>"}, nil, (*spmFolder).pegasus},
	"ReformerTokenizer":   {"spiece.model", [7]string{"", "</s>", "<unk>"}, nil, (*spmFolder).reformer},
	genericClass:          {"tokenizer.model", [7]string{}, nil, (*spmFolder).generic},
}

var fairseqRoles = [7]string{"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"}

// llama is BPE that falls back to bytes. It puts ▁ at the beginning of the text.
func (f *spmFolder) llama() (func() error, error) {
	prefix, where := f.fields.bool("add_prefix_space", true), first
	switch legacy := f.fields.bool("legacy", false); {
	case !prefix:
		where = never
	case legacy:
		where = always
	}
	f.t.pre, f.t.decoder = metaspace{space, where, false}, bytePieces(prefix)
	return f.beginAndEnd(false), f.bpe(f.texts(), "", true)
}

// codeLlama is llama with the tokens for infilling.
func (f *spmFolder) codeLlama() (func() error, error) {
	var infilling []namedToken
	for _, x := range [][2]string{{"prefix_token", "▁<PRE>"}, {"middle_token", "▁<MID>"}, {"suffix_token", "▁<SUF>"},
		{"eot_token", "▁<EOT>"}, {"fill_token", "<FILL_ME>"}} {
		role, text := x[0], x[1]
		t := AddedToken{Content: text, Special: true}
		i := slices.IndexFunc(f.named, func(t namedToken) bool { return t.role == role })
		v, given := f.fields.fields[role]
		if i < 0 && given && v.isNull() {
			continue
		}
		f.own = append(f.own, t)
		if i >= 0 {
			t = f.named[i].AddedToken
			f.named = slices.Delete(f.named, i, i+1)
		}
		infilling = append(infilling, namedToken{role, t, true})
	}
	f.named = append(infilling, f.named...)
	where := first
	if !f.fields.bool("add_prefix_space", true) {
		where = never
	}
	f.t.pre, f.t.decoder = metaspace{space, where, false}, bytePieces(true)
	return f.beginAndEnd(true), f.bpe(f.texts(), f.role("unk"), true)
}

// gemma is llama without ▁ at the beginning.
func (f *spmFolder) gemma() (func() error, error) {
	f.t.normalizer, f.t.decoder = &replace{literal(" "), string(space)}, bytePieces(false)
	return f.beginAndEnd(false), f.bpe(f.texts(), f.role("unk"), true)
}

// t5 puts its extra ids after the pieces, the last one first.
func (f *spmFolder) t5() (func() error, error) {
	n := f.fields.number("extra_ids", 100)
	if n > 1<<16 {
		return nil, fmt.Errorf("%w: extra_ids is %d", fault.ErrConfig, n)
	}
	pieces := f.moved(0)
	extra := make([]string, n)
	for i := range extra {
		extra[i] = fmt.Sprintf("<extra_id_%d>", i)
	}
	for _, text := range slices.Backward(extra) {
		pieces = append(pieces, spmPiece{text: text})
	}
	inModel := 0
	for _, t := range f.own {
		if strings.Contains(t.Content, "<extra_id_") {
			inModel++
		}
	}
	switch {
	case inModel == 0:
		f.own = append(f.own, extraTokens(extra)...)
	case n > 0 && inModel != n:
		return nil, fmt.Errorf("%w: extra_ids is %d, and the model has %d", fault.ErrConfig, n, inModel)
	}
	var err error
	if f.t.normalizer, err = f.precompiled(); err != nil {
		return nil, err
	}
	f.words(always)
	eos := f.role("eos")
	pair := []typedPiece{{textA, 0}, {eos, 0}, {textB, 0}, {eos, 0}}
	return f.template(pair[:2], pair), f.unigram(pieces, 2)
}

// oneSpace returns the normalizers that Barthez and DeBERTa-v2 use instead of the character map.
func oneSpace() normalizers {
	return normalizers{regexReplace(`\s{2,}|[\n\r\t]`, " "), form{ucd.FormC}, strip{false, true}}
}

func (f *spmFolder) barthez() (func() error, error) {
	f.t.normalizer = oneSpace()
	f.t.pre = f.spelled(f.prefix())
	return f.beginAndEnd(false), f.onlyUnigram(f.pieces, 3)
}

func (f *spmFolder) debertaV2() (func() error, error) {
	f.t.normalizer = oneSpace()
	if f.fields.bool("do_lower_case", false) {
		f.t.normalizer = append(normalizers{newLowerCase()}, oneSpace()...)
	}
	where := f.prefix()
	if where == never {
		where = first
	}
	f.t.pre = f.spelled(where)
	if f.fields.bool("split_by_punct", false) {
		f.t.pre = preTokenizers{splitChars{ucd.Punct, isolated}, f.t.pre}
	}
	unknown := indexOf(f.pieces, 0, f.role("unk"))
	if unknown < 0 {
		unknown = f.specials[spmUnknown].id
	}
	return f.clsAndSep(), f.unigram(f.pieces, unknown)
}

// quotes returns the first normalizers of ALBERT, XLNet and RemBERT.
func quotes() normalizers {
	return normalizers{&replace{literal("``"), `"`}, &replace{literal("''"), `"`}}
}

// plain removes accents and case, and then applies the model's character map.
func (f *spmFolder) plain(list normalizers, keepAccents, lower bool) error {
	if !keepAccents {
		list = append(list, form{ucd.FormKD}, dropped{ucd.Combining, properties})
	}
	if lower {
		list = append(list, newLowerCase())
	}
	mapped, err := f.precompiled()
	f.t.normalizer = append(list, mapped...)
	return err
}

func (f *spmFolder) albert() (func() error, error) {
	for _, role := range []string{"cls", "sep"} {
		if token := f.role(role); !slices.Contains(f.texts(), token) {
			return nil, fmt.Errorf("%w: the model lacks %s_token %q", fault.ErrFormat, role, token)
		}
	}
	if err := f.plain(quotes(), f.fields.bool("keep_accents", false), f.fields.bool("do_lower_case", true)); err != nil {
		return nil, err
	}
	f.words(f.prefix())
	around := f.clsAndSep()
	for _, name := range []string{"add_bos_token", "add_eos_token"} {
		if _, given := f.fields.fields[name]; given { // these settings override the class
			around = f.beginAndEnd(false)
		}
	}
	return around, f.unigram(f.pieces, 1)
}

// xlnet puts its tokens after the text. <cls> has type 2.
func (f *spmFolder) xlnet() (func() error, error) {
	if err := f.plain(quotes(), false, f.fields.bool("do_lower_case", false)); err != nil {
		return nil, err
	}
	f.words(always)
	cls, sep := f.role("cls"), f.role("sep")
	return f.template([]typedPiece{{textA, 0}, {sep, 0}, {cls, 2}}, []typedPiece{{textA, 0}, {sep, 0}, {textB, 1}, {sep, 1}, {cls, 2}}),
		f.unigram(f.pieces, f.specials[spmUnknown].id)
}

// remBert puts no tokens around a text. It makes all pieces that are found first special.
func (f *spmFolder) remBert() (func() error, error) {
	list := append(quotes(), regexReplace(" {2,}", " "))
	if err := f.plain(list, f.fields.bool("keep_accents", true), f.fields.bool("do_lower_case", false)); err != nil {
		return nil, err
	}
	f.t.pre, f.all = f.spelled(f.prefix()), true
	return f.beginAndEnd(false), f.unigram(f.pieces, 2)
}

func (f *spmFolder) bigBird() (func() error, error) {
	f.t.normalizer = regexReplace(" {2,}", string(space))
	f.t.pre = f.spelled(f.prefix())
	unknown := indexOf(f.pieces, 0, f.role("unk"))
	if unknown < 0 {
		unknown = 100
	}
	return f.clsAndSep(), f.unigram(f.pieces, unknown)
}

// pegasus puts its tokens before the pieces, with some placeholders among them.
func (f *spmFolder) pegasus() (func() error, error) {
	_, given := f.fields.fields["mask_token_sent"]
	sent, isThere := f.fields.take("mask_token_sent")
	offset := f.fields.number("offset", 103)
	if text, ok := sent.text(); offset > 1<<16 || isThere && (!ok || text == "") {
		return nil, fmt.Errorf("%w: offset %d, mask_token_sent %s", fault.ErrConfig, offset, sent)
	}
	// The model's pieces and the class have each other's default.
	masks := [2][]string{{"<mask_1>", "<mask_2>"}, {"<mask_1>"}}
	if !f.byDefault["mask_token"] {
		masks[0][0] = f.special["mask_token"].Content
	}
	if given {
		text, _ := sent.text()
		masks[0][1], masks[1][0] = text, text
	}
	masks[0] = slices.Compact(masks[0])
	var unknowns []string
	for i := 2; i < offset; i++ {
		unknowns = append(unknowns, fmt.Sprintf("<unk_%d>", i))
	}
	nothing := zeroPieces(unknowns)
	for i := range nothing {
		nothing[i].score = -100
	}
	missing := func(text string) bool { return text == "" }
	head := slices.DeleteFunc(slices.Concat([]string{f.role("pad"), f.role("eos")}, masks[0]), missing)
	pieces := slices.Concat(zeroPieces(head), nothing, f.moved(2))
	f.own = extraTokens(slices.DeleteFunc(slices.Concat(masks[1], unknowns), missing))
	unknown := indexOf(pieces, 1, f.role("unk"))
	if unknown < 0 {
		return nil, fmt.Errorf("%w: no piece %q with the score 0 after the first two", fault.ErrFormat, f.role("unk"))
	}
	if err := f.spacesToOne(); err != nil {
		return nil, err
	}
	if len(f.charsmap) == 0 {
		f.t.normalizer = normalizers{&replace{literal("\n"), " "}, f.t.normalizer}
	}
	f.t.pre = f.spelled(always)
	eos := f.role("eos")
	return f.template([]typedPiece{{textA, 0}, {eos, 0}}, []typedPiece{{textA, 0}, {textB, 0}, {eos, 0}}), f.unigram(pieces, unknown)
}

func (f *spmFolder) reformer() (func() error, error) {
	if len(f.charsmap) > 0 {
		if err := f.spacesToOne(); err != nil {
			return nil, err
		}
	}
	f.t.pre, f.all = f.spelled(always), true
	return f.beginAndEnd(false), f.bpe(f.texts(), f.role("unk"), false)
}
