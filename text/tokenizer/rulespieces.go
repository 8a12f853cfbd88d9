package tokenizer

// The rules of classes with a vocabulary of SentencePiece's pieces.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/pyclass"
)

// t5 adds its extra ids to the special tokens.
func (b *building) t5(unknown int) {
	b.unigram(unknown)
	b.normalizer = b.charmap
	b.words("always")
	n := b.number("extra_ids")
	given := 0
	for _, t := range b.additional {
		if strings.Contains(t.Content, "<extra_id_") {
			given++
		}
	}
	b.own = slices.Clone(b.additional)
	switch {
	case given == 0:
		for i := range n {
			b.own = append(b.own, AddedToken{Content: fmt.Sprintf("<extra_id_%d>", i), Special: true})
		}
	case n > 0 && given != n && !b.noMore:
		b.fields.fail(fault.ErrFormat, "extra_ids", "is %d, and additional_special_tokens has %d", n, given)
	}
}

func (b *building) camembert() {
	b.spaceBeforeMask()
	b.unigram(b.unknown(0, false))
	b.normalizer = b.charmap
	b.words(b.scheme())
	b.ends = likeRoberta
	if b.additional == nil {
		b.own = extraTokens([]string{"<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"})
	}
}

// plain removes accents and case, and then applies the character map.
func (b *building) plain(list []string, keepAccents, lower bool) {
	if list = slices.Clone(list); !keepAccents {
		list = append(list, typeOnly("NFKD"), typeOnly("StripAccents"))
	}
	if lower {
		list = append(list, typeOnly("Lowercase"))
	}
	if b.charmap != "" {
		list = append(list, b.charmap)
	}
	b.normalizer = inOrder("normalizers", list...)
}

func (b *building) albert() {
	b.unigram(1)
	b.plain(quoteRules, b.truth("keep_accents"), b.truth("do_lower_case"))
	b.words(b.scheme())
	if !b.hasEnds {
		b.ends = clsSep
	}
}

func (b *building) remBert() {
	b.unigram(2)
	b.plain(append(slices.Clone(quoteRules), manySpaces), b.truth("keep_accents"), b.truth("do_lower_case"))
	b.metaspace(b.scheme())
	if b.again = twice; b.hasEnds {
		b.ends = clsSep
	}
}

func (b *building) xlnet() {
	b.unigram(b.number("unk_id"))
	b.plain(quoteRules, false, b.truth("do_lower_case"))
	b.words("always")
	b.spaceBeforeMask()
	b.ends = &ends{single: "A:0 sep:0 cls:2", pair: "A:0 sep:0 B:1 sep:1 cls:2"}
	if b.additional == nil {
		b.own = extraTokens([]string{"<eop>", "<eod>"})
	}
}

func (b *building) bigBird() {
	b.unigram(b.unknown(100, true))
	b.normalizer = inOrder("normalizers", `{"type":"Strip","strip_left":false,"strip_right":false}`, replaced(`{"Regex":" {2,}"}`, "▁"))
	b.metaspace(b.scheme())
	b.spaceBeforeMask()
	b.ends = clsSep
}

func (b *building) debertaV2() {
	b.unigram(b.unknown(b.number("unk_id"), true))
	list := oneSpaceRules
	if b.truth("do_lower_case") {
		list = append([]string{typeOnly("Lowercase")}, list...)
	}
	b.normalizer = inOrder("normalizers", list...)
	scheme := b.scheme()
	if scheme == "never" {
		scheme = "first"
	}
	b.metaspace(scheme)
	if b.truth("split_by_punct") {
		b.pre = inOrder("pretokenizers", `{"type":"Punctuation","behavior":"Isolated"}`, b.pre)
	}
	b.ends = clsSep
}

func (b *building) pegasus() {
	b.unigram(b.unknown(-1, true))
	if b.charmap != "" {
		b.normalizer = inOrder("normalizers", b.charmap, manySpaces)
	} else {
		b.normalizer = inOrder("normalizers", replaced(`{"Regex":"\\n"}`, " "), manySpaces)
	}
	b.metaspace("always")
	b.ends = &ends{single: "A:0 eos:0", pair: "A:0 B:0 eos:0"}
	sent, given := b.fields.fields["mask_token_sent"]
	b.read["mask_token_sent"] = true
	text, isText := sent.text()
	switch {
	case !given:
		text, isText = "<mask_1>", true
	case !isText && !sent.isNull():
		b.fields.fail(fault.ErrConfig, "mask_token_sent", "is not a string")
	}
	b.own = []AddedToken{}
	if isText && !contains(b.additional, text) {
		b.own = append(b.own, AddedToken{Content: text, Special: true})
	}
	for i := 2; i < b.number("offset"); i++ {
		b.own = append(b.own, AddedToken{Content: fmt.Sprintf("<unk_%d>", i), Special: true})
	}
}

// mbart puts the code of the language after eos.
func (b *building) mbart() {
	b.unigram(3)
	b.words("always")
	b.spaceBeforeMask()
	codes := extraTokens(mbartLanguages)
	b.own = append(codes, missingFrom(codes, b.additional)...)
	b.language("en_XX")
	b.ends = &ends{single: "A:0 eos:0 lang:0", pair: "A:0 B:0 eos:0 lang:0"}
}

// mbart50 puts the code of the language in front.
func (b *building) mbart50() {
	b.unigram(3)
	list := []string{manySpaces}
	if b.charmap != "" {
		list = []string{b.charmap, manySpaces}
	}
	b.normalizer = inOrder("normalizers", list...)
	b.metaspace("always")
	b.spaceBeforeMask()
	codes := slices.Concat(mbartLanguages, mbart50Languages)
	b.own = append(slices.Clone(b.additional), extraTokens(codes)...)
	hasCode := false
	b.eachPiece(func(text string, _ float64) { hasCode = hasCode || slices.Contains(codes, text) })
	if !hasCode && b.fields.err == nil { // the class would change the ids of the pieces
		b.fields.err = b.notAsWritten(b.class, "its vocabulary has codes of languages, but the file has none")
	}
	if b.language("en_XX"); !slices.Contains(codes, b.lang) {
		b.fields.fail(fault.ErrFormat, "src_lang", "is no language of %s", b.class)
	}
	b.ends = &ends{single: "lang:0 A:0 eos:0", pair: "lang:0 A:0 B:0 eos:0"}
}

// nllb uses BPE. The code of the language is in front, or in the first version of the class after
// eos.
func (b *building) nllb() {
	b.bpe(`"fuse_unk":true,"byte_fallback":false,"unk_token":` + b.quoted("unk"))
	if b.charmap != "" {
		b.normalizer = inOrder("normalizers", b.charmap, manySpaces)
	}
	b.metaspace("always")
	if a, ok := b.special["mask_token"]; ok && b.bare["mask_token"] {
		a.LStrip, a.Normalized = true, true
		b.special["mask_token"] = a
	}
	if b.noMore = true; b.extra == nil {
		if b.extra = b.additional; b.extra == nil {
			b.extra = extraTokens(nllbLanguages)
		}
	}
	b.language("eng_Latn")
	b.ends = &ends{single: "lang:0 A:0 eos:0", pair: "lang:0 A:0 B:0 eos:0"}
	if b.truth("legacy_behaviour") {
		b.ends = &ends{single: "A:0 eos:0 lang:0", pair: "A:0 B:0 eos:0 lang:0"}
	}
}

// language sets the code of the language of the texts.
func (b *building) language(otherwise string) {
	b.lang = otherwise
	if v, ok := b.fields.take("src_lang"); ok {
		if text, isText := v.text(); isText {
			b.lang = text
		} else {
			b.fields.fail(fault.ErrFormat, "src_lang", "is not a string")
		}
	}
}

func (b *building) xglm() {
	b.unigram(3)
	list := []string{manySpaces}
	if b.charmap != "" {
		list = []string{b.charmap, manySpaces}
	}
	b.normalizer = inOrder("normalizers", list...)
	b.metaspace(b.scheme())
	b.ends = &ends{single: "eos:0 A:0", pair: "eos:0 A:0 eos:0 eos:0 B:0"}
	var words []string
	for i := range 7 {
		words = append(words, fmt.Sprintf("<madeupword%d>", i))
	}
	b.own = append(slices.Clone(b.additional), missingFrom(b.additional, extraTokens(words))...)
}

func (b *building) reformer() {
	b.bpe(`"fuse_unk":true,"byte_fallback":false,"unk_token":` + b.quoted("unk"))
	if b.charmap != "" {
		b.normalizer = inOrder("normalizers", b.charmap, manySpaces)
	}
	b.metaspace("always")
	b.again = twice
}

// number returns a field of the class that must be a whole number.
func (b *building) number(name string) int {
	n, _ := value(pyclass.Tokenizer(b.class).Fields[name]).uint32()
	if v, given := b.fields.fields[name]; given && v.isNull() {
		b.fields.fail(fault.ErrConfig, name, "is null, which %s does not take", b.class)
	}
	n2 := b.fields.number(name, int(n))
	if n2 > 1<<16 {
		b.fields.fail(fault.ErrConfig, name, "is %d, at most %d is possible", n2, 1<<16)
		return 0
	}
	return n2
}
