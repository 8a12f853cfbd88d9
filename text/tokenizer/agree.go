package tokenizer

// Comparing a folder with the tokenizer that a class of transformers would build.

import (
	"fmt"
	"slices"

	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
)

// agree returns an error if a default of the class, which no file of the folder states, would
// override tokenizer.json. A value that a file states is followed, and so is a tokenizer_class.
func (s *settings) agree(class string, t *Tokenizer) error {
	switch class {
	case "BertTokenizer", "DistilBertTokenizer", "MPNetTokenizer":
		return s.agreeOnBert(class, t)
	case "RobertaTokenizer", "GPT2Tokenizer", "Qwen2Tokenizer":
		if nfc, _ := t.normalizer.(form); !s.classNamed {
			if qwen := class == "Qwen2Tokenizer"; qwen != (nfc == form{ucd.FormC}) || !qwen && t.normalizer != nil {
				return s.notAsWritten(class, "its normalizer differs")
			}
		}
		levels := byteLevels(t.pre)
		if len(levels) == 0 && s.classNamed || s.states("add_prefix_space") {
			return nil
		}
		if len(levels) == 0 || slices.ContainsFunc(levels, func(b byteLevel) bool { return b.prefixSpace }) {
			return s.notAsWritten(class, "tokenizer_config.json does not say add_prefix_space, which is false by default and true in tokenizer.json")
		}
	}
	return nil
}

// agreeOnBert compares the flags of a BertNormalizer. If only the model_type names the class, it
// also compares the remaining parts.
func (s *settings) agreeOnBert(class string, t *Tokenizer) error {
	have, ok := t.normalizer.(*bertNormalizer)
	if ok {
		for name, differs := range map[string]bool{
			"do_lower_case":          !have.lower,
			"tokenize_chinese_chars": !have.chinese,
			"strip_accents":          have.strip != have.lower,
		} {
			if differs && !s.states(name) {
				return s.notAsWritten(class, fmt.Sprintf("tokenizer_config.json does not say %s, whose default is not what tokenizer.json says", name))
			}
		}
	}
	if s.classNamed {
		return nil
	}
	if !ok || !have.clean {
		return s.notAsWritten(class, "its normalizer differs")
	}
	if _, ok := t.pre.(bertPreTokenizer); !ok {
		return s.notAsWritten(class, "its pre-tokenizer differs")
	}
	model, ok := t.model.(*wordPiece)
	if unknown, given := s.special["unk_token"]; !ok || given && model.unknown != unknown.Content {
		return s.notAsWritten(class, "its model or unk_token differs")
	}
	if class == "MPNetTokenizer" {
		return nil
	}
	return s.agreeOnEnds(class, t)
}

// agreeOnEnds compares the tokens that BERT's classes put around a text and between two.
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
		return s.notAsWritten(class, "its tokens around a text differ")
	}
	return nil
}

// byteLevels returns the byteLevel steps of a pre-tokenizer.
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
