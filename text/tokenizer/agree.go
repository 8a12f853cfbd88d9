package tokenizer

// Whether tokenizer.json is what transformers makes of a folder.

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
)

// agree returns an error where transformers 5.24 would give other ids than tokenizer.json, which
// Hugging Face's tokenizers read: some of its classes take no more of the file than the vocabulary and
// the merges, and all else from tokenizer_config.json. An unknown class has no rules.
func (s *settings) agree(fsys fs.FS, t *Tokenizer) error {
	class, err := s.class(fsys)
	if err != nil {
		return nil
	}
	switch class {
	case "BertTokenizer", "DistilBertTokenizer", "ConvBertTokenizer", "MobileBertTokenizer", "SqueezeBertTokenizer":
		if err := s.agreeOnEnds(class, t); err != nil {
			return err
		}
		fallthrough
	case "MPNetTokenizer":
		want := s.bertNormalizer()
		have, ok := t.normalizer.(*bertNormalizer)
		if !ok || have.clean != want.clean || have.chinese != want.chinese || have.strip != want.strip || have.lower != want.lower {
			return disagreement("normalizer", class, "do_lower_case, strip_accents and tokenize_chinese_chars")
		}
		if _, ok := t.pre.(bertPreTokenizer); !ok {
			return fmt.Errorf("%w: tokenizer.json has no BertPreTokenizer, which a %s of transformers 5 takes", ErrUnsupported, class)
		}
		model, ok := t.model.(*wordPiece)
		if unknown, given := s.special["unk_token"]; !ok || given && model.unknown != unknown.Content {
			return disagreement("model", class, "unk_token")
		}
	case "RobertaTokenizer", "GPT2Tokenizer", "Qwen2Tokenizer":
		nfc, _ := t.normalizer.(form)
		if qwen := class == "Qwen2Tokenizer"; qwen != (nfc == form{ucd.FormC}) || !qwen && t.normalizer != nil {
			return disagreement("normalizer", class, "tokenizer_class")
		}
		space := s.fields.bool("add_prefix_space", false)
		levels := byteLevels(t.pre)
		if len(levels) == 0 || slices.ContainsFunc(levels, func(b byteLevel) bool { return b.prefixSpace != space }) {
			return disagreement("pre_tokenizer", class, "add_prefix_space")
		}
	}
	return s.fields.err
}

// agreeOnEnds compares the tokens around a text and between two, which BERT's classes have.
func (s *settings) agreeOnEnds(class string, t *Tokenizer) error {
	ends := map[string]string{"cls_token": "[CLS]", "sep_token": "[SEP]"}
	for role := range ends {
		if a, ok := s.special[role]; ok {
			ends[role] = a.Content
		}
	}
	cls, sep := ends["cls_token"], ends["sep_token"]
	t = t.WithPadding(nil).WithTruncation(nil)
	single, err := t.Encode("", Options{Tokens: true})
	if err != nil {
		return err
	}
	pair, err := t.EncodePair("", "", Options{Tokens: true})
	if err != nil {
		return err
	}
	if !slices.Equal(single.Tokens, []string{cls, sep}) || !slices.Equal(pair.Tokens, []string{cls, sep, sep}) {
		return disagreement("post_processor", class, "cls_token and sep_token")
	}
	return nil
}

func disagreement(part, class, fields string) error {
	return fmt.Errorf("%w: the %s of tokenizer.json, in whose place a %s of transformers 5 takes another, by %s of tokenizer_config.json; what both have has to be the same", ErrUnsupported, part, class, fields)
}

// byteLevels are the steps of their kind in a pre-tokenizer.
func byteLevels(p preTokenizer) (all []byteLevel) {
	switch p := p.(type) {
	case byteLevel:
		return []byteLevel{p}
	case preTokenizers:
		for _, x := range p {
			all = append(all, byteLevels(x)...)
		}
	}
	return all
}

// bertNormalizer is what BERT's classes make of the fields of tokenizer_config.json.
func (s *settings) bertNormalizer() *bertNormalizer {
	b := &bertNormalizer{clean: true, chinese: s.fields.bool("tokenize_chinese_chars", true),
		lower: s.fields.bool("do_lower_case", true), table: properties, lowerCase: newLowerCase()}
	b.strip = s.fields.bool("strip_accents", b.lower)
	return b
}
