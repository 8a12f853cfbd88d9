package tokenizer

// Files from before tokenizer.json, read as transformers reads them.

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
)

// openVocabText reads vocab.txt, for BERT's tokenizer and its variants.
func openVocabText(fsys fs.FS, s *settings) (*Tokenizer, error) {
	class, err := s.class(fsys)
	if err != nil {
		return nil, err
	}
	switch class {
	case "", "BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer", "MPNetTokenizer",
		"LayoutLMTokenizer", "SqueezeBertTokenizer", "ConvBertTokenizer", "RetriBertTokenizer":
	default:
		return nil, unknownClass(class, "vocab.txt")
	}
	data, err := regular.ReadFile(fsys, "vocab.txt")
	if err != nil {
		return nil, err
	}
	v, err := vocabText(data)
	if err != nil {
		return nil, err
	}
	cls, sep := "[CLS]", "[SEP]"
	if class == "MPNetTokenizer" {
		cls, sep = "<s>", "</s>"
		s.role("bos_token", cls)
		s.role("eos_token", sep)
		s.role("pad_token", "<pad>")
		s.role("mask_token", "<mask>")
	}
	unknown := s.role("unk_token", "[UNK]")
	cls, sep = s.role("cls_token", cls), s.role("sep_token", sep)
	s.role("pad_token", "[PAD]")
	s.role("mask_token", "[MASK]")
	t := &Tokenizer{normalizer: s.bertNormalizer(), pre: bertPreTokenizer{}, model: newWordPiece(v, v.trie(), unknown, "##", 100), decoder: wordPieceDecoder{"##", true}}
	pair := []typedPiece{{cls, 0}, {textA, 0}, {sep, 0}, {textB, 1}, {sep, 1}}
	if class == "MPNetTokenizer" {
		pair = []typedPiece{{cls, 0}, {textA, 0}, {sep, 0}, {sep, 0}, {textB, 0}, {sep, 0}}
	}
	if t.post, err = around(t.model, []typedPiece{{cls, 0}, {textA, 0}, {sep, 0}}, pair); err != nil {
		return nil, err
	}
	if s.fields.err != nil {
		return nil, s.fields.err
	}
	return s.build(t)
}

// vocabText reads one token per line. The id of a token is the number of its line.
func vocabText(data []byte) (*vocabulary, error) {
	if !utf8.Valid(data) {
		return nil, check.Errorf(fault.ErrFormat, "not UTF-8")
	}
	v := newVocabulary(len(data) / 8)
	for id := uint32(0); len(data) > 0; id++ {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		line = line[:trimSpaceRight(line)]
		v.set(string(line), id)
	}
	return v, nil
}

// openMerges reads vocab.json and merges.txt: byte-level BPE.
func openMerges(fsys fs.FS, s *settings) (*Tokenizer, error) {
	class, err := s.class(fsys)
	if err != nil {
		return nil, err
	}
	v, err := readVocabJSON(fsys)
	if err != nil {
		return nil, err
	}
	data, err := regular.ReadFile(fsys, "merges.txt")
	if err != nil {
		return nil, err
	}
	merges, err := mergesText(data)
	if err != nil {
		return nil, err
	}
	m, err := mergedBPE(v, merges, bpeConfig{})
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{model: m, decoder: byteLevelDecoder{}}
	space := s.fields.bool("add_prefix_space", false)
	switch class {
	case "GPT2Tokenizer":
		for _, role := range []string{"bos_token", "eos_token", "unk_token"} {
			s.role(role, "<|endoftext|>")
		}
		t.pre = byteLevel{space, true, true}
		t.post = byteLevelOffsets{false, true}
		if s.fields.bool("add_bos_token", false) {
			return nil, fmt.Errorf("%w: GPT2Tokenizer with add_bos_token and merges.txt alone", fault.ErrConfig)
		}
	case "RobertaTokenizer", "BartTokenizer", "LongformerTokenizer", "LEDTokenizer":
		s.role("bos_token", "<s>")
		s.role("eos_token", "</s>")
		s.role("unk_token", "<unk>")
		s.role("pad_token", "<pad>")
		s.role("mask_token", "<mask>")
		p := &bertProcessing{roberta: true, trim: true, prefixSpace: space}
		if p.cls, err = specialOf(m, s.role("cls_token", "<s>")); err != nil {
			return nil, err
		}
		if p.sep, err = specialOf(m, s.role("sep_token", "</s>")); err != nil {
			return nil, err
		}
		t.pre, t.post = byteLevel{space, true, true}, p
	case "Qwen2Tokenizer":
		for _, role := range []string{"eos_token", "unk_token", "pad_token"} {
			s.role(role, "<|endoftext|>")
		}
		t.normalizer = form{ucd.FormC}
		t.pre = preTokenizers{&splitAt{pattern: scanners[qwen2Source], behavior: isolated}, byteLevel{spell: true}}
		t.post = byteLevelOffsets{false, true}
	default:
		return nil, unknownClass(class, "vocab.json and merges.txt")
	}
	if s.fields.err != nil {
		return nil, s.fields.err
	}
	return s.build(t)
}

func readVocabJSON(fsys fs.FS) (*vocabulary, error) {
	data, err := regular.ReadFile(fsys, "vocab.json")
	if err != nil {
		return nil, err
	}
	root, err := parseJSON(data)
	if err != nil {
		return nil, fmt.Errorf("vocab.json: %w", err)
	}
	return parseVocabulary("vocab.json", root)
}

// mergesText reads one merge per line.
func mergesText(data []byte) ([][2]string, error) {
	if !utf8.Valid(data) {
		return nil, check.InFile("merges.txt", fault.ErrFormat, errors.New("not UTF-8"))
	}
	var merges [][2]string
	for n, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" || strings.HasPrefix(line, "#version") {
			continue
		}
		a, b, ok := strings.Cut(line, " ")
		if !ok || strings.Contains(b, " ") {
			return nil, &fault.Error{Kind: fault.ErrFormat, File: "merges.txt", Field: fmt.Sprintf("line %d", n+1), Value: check.Short(strconv.Quote(string(line))), Err: errors.New("not two tokens")}
		}
		merges = append(merges, [2]string{a, b})
	}
	return merges, nil
}

// openMarian reads the pieces from source.spm and their ids from vocab.json.
func openMarian(fsys fs.FS, s *settings) (*Tokenizer, error) {
	if s.fields.bool("separate_vocabs", false) {
		return nil, fmt.Errorf("%w: separate_vocabs", fault.ErrConfig)
	}
	v, err := readVocabJSON(fsys)
	if err != nil {
		return nil, err
	}
	data, err := regular.ReadFile(fsys, "source.spm")
	if err != nil {
		return nil, err
	}
	spm, err := parseSPM(data)
	if err == nil {
		err = spm.check(spmUnigram)
	}
	if err != nil {
		return nil, fmt.Errorf("source.spm: %w", err)
	}
	eos, unknown := s.role("eos_token", "</s>"), s.role("unk_token", "<unk>")
	s.role("pad_token", "<pad>")
	tokens, scores := make([]string, len(v.places)), make([]float64, len(v.places))
	if len(v.sparse) > 0 || v.size() != len(tokens) {
		return nil, check.Errorf(fault.ErrFormat, "ids are not 0 to %d", v.size()-1)
	}
	for id := range tokens {
		tokens[id], _ = v.token(uint32(id))
	}
	for i := range scores {
		scores[i] = math.NaN() // no text contains this token
	}
	for _, x := range []string{eos, unknown, s.Special["pad_token"]} {
		if id, ok := v.id(x); ok {
			scores[id] = 0
		}
	}
	for _, p := range spm.pieces {
		if id, ok := v.id(p.text); ok && p.kind == pieceNormal {
			scores[id] = p.score
		}
	}
	id, err := specialOf(v, unknown)
	if err != nil {
		return nil, err
	}
	m, err := newUnigram(tokens, scores, int32(id.id), false)
	if err != nil {
		return nil, err
	}
	two, _ := compile(" {2,}")
	t := &Tokenizer{model: m, decoder: metaspaceDecoder{space, true}, pre: metaspace{space, always, true}}
	t.normalizer = normalizers{strip{false, true}, &replace{two, string(space)}}
	if len(spm.charsmap) > 0 {
		c, err := parseCharsmap(spm.charsmap)
		if err != nil {
			return nil, err
		}
		t.normalizer = append(normalizers{c}, t.normalizer.(normalizers)...)
	}
	if t.post, err = endWith(m, eos); err != nil {
		return nil, err
	}
	return s.build(t)
}

// tokenize makes vocabulary a model, for uses that only need its ids.
func (v *vocabulary) tokenize(*work, int32, int32) error { return errNoUnknown }

// endWith returns the template A </s>, or A </s> B </s> for pairs.
func endWith(m model, eos string) (*template, error) {
	return around(m, []typedPiece{{textA, 0}, {eos, 0}}, []typedPiece{{textA, 0}, {eos, 0}, {textB, 0}, {eos, 0}})
}

// bertNormalizer returns the normalizer that BERT's classes make from tokenizer_config.json.
func (s *settings) bertNormalizer() *bertNormalizer {
	b := &bertNormalizer{clean: true, chinese: s.fields.bool("tokenize_chinese_chars", true),
		lower: s.fields.bool("do_lower_case", true), table: properties, lowerCase: newLowerCase()}
	b.strip = s.fields.bool("strip_accents", b.lower)
	return b
}
