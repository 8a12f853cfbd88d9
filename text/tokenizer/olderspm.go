package tokenizer

// SentencePiece models by the class of their tokenizer.

import (
	"fmt"
	"strings"
)

// unigram makes a tokenizer of Unigram's pieces, which stand behind the pieces
// before and ahead of those after.
func (m *spmModel) unigram(pieces []spmPiece, unknown string, after ...string) (*Tokenizer, error) {
	if err := m.check(spmUnigram); err != nil {
		return nil, err
	}
	tokens, scores := make([]string, 0, len(pieces)), make([]float64, 0, len(pieces))
	id := -1
	for i, p := range pieces {
		if p.text == unknown {
			id = i
		}
		tokens, scores = append(tokens, p.text), append(scores, p.score)
	}
	for _, x := range after {
		tokens, scores = append(tokens, x), append(scores, 0)
	}
	model, err := newUnigram(tokens, scores, int32(id), m.byteFallback)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{model: model, decoder: metaspaceDecoder{space, true}}
	t.pre = preTokenizers{whitespaceSplit{}, metaspace{space, always, true}}
	if !m.dummyPrefix {
		return nil, fmt.Errorf("%w: Unigram without add_dummy_prefix", ErrUnsupported)
	}
	if !m.removeSpaces {
		return nil, fmt.Errorf("%w: Unigram without remove_extra_whitespaces", ErrUnsupported)
	}
	if len(m.charsmap) > 0 {
		c, err := parseCharsmap(m.charsmap)
		if err != nil {
			return nil, err
		}
		t.normalizer = c
	}
	return t, nil
}

// t5 has its extra ids behind the pieces, the last one first.
func (m *spmModel) t5(s *settings) (*Tokenizer, error) {
	eos, unknown := s.role("eos_token", "</s>"), s.role("unk_token", "<unk>")
	s.role("pad_token", "<pad>")
	var extra []string
	for i := s.fields.number("extra_ids", 100) - 1; i >= 0 && len(extra) < 1<<16; i-- {
		extra = append(extra, fmt.Sprintf("<extra_id_%d>", i))
	}
	t, err := m.unigram(m.pieces, unknown, extra...)
	if err != nil {
		return nil, err
	}
	for _, x := range extra {
		s.more = append(s.more, AddedToken{Content: x, Special: true})
	}
	t.post, err = endWith(t.model, eos)
	return t, err
}

// xlmRoberta has four pieces of its own in the place of the first three.
func (m *spmModel) xlmRoberta(s *settings) (*Tokenizer, error) {
	cls, sep := s.role("cls_token", "<s>"), s.role("sep_token", "</s>")
	unknown, mask := s.role("unk_token", "<unk>"), s.role("mask_token", "<mask>")
	pieces := []spmPiece{{text: s.role("bos_token", "<s>")}, {text: s.role("pad_token", "<pad>")}, {text: s.role("eos_token", "</s>")}, {text: unknown}}
	if len(m.pieces) < 3 {
		return nil, fmt.Errorf("%w: %d pieces", ErrFormat, len(m.pieces))
	}
	t, err := m.unigram(append(pieces, m.pieces[3:]...), unknown, mask)
	if err != nil {
		return nil, err
	}
	t.post, err = around(t.model, []typedPiece{{cls, 0}, {textA, 0}, {sep, 0}},
		[]typedPiece{{cls, 0}, {textA, 0}, {sep, 0}, {sep, 0}, {textB, 0}, {sep, 0}})
	return t, err
}

// llama is BPE over characters that falls back to bytes.
func (m *spmModel) llama(s *settings, class string) (*Tokenizer, error) {
	gemma := class == "GemmaTokenizer"
	if len(m.charsmap) > 0 {
		return nil, fmt.Errorf("%w: %s with a character map", ErrUnsupported, class)
	}
	bos, eos := "<s>", "</s>"
	if gemma {
		bos, eos = "<bos>", "<eos>"
		s.role("pad_token", "<pad>")
	}
	bos, eos = s.role("bos_token", bos), s.role("eos_token", eos)
	s.role("unk_token", "<unk>")
	model, err := m.bpe()
	if err != nil {
		return nil, err
	}
	legacy := s.fields.bool("legacy", true)
	if legacy && m.dummyPrefix == gemma {
		return nil, fmt.Errorf("%w: %s with add_dummy_prefix %t", ErrUnsupported, class, m.dummyPrefix)
	}
	t := spaced(model, m.dummyPrefix, !legacy && !gemma)
	for id, p := range m.pieces {
		if p.kind == pieceUserDefined || p.kind == pieceControl || p.kind == pieceUnknown {
			if !s.hasID(p.text) {
				s.added = append(s.added, AddedToken{ID: uint32(id), Content: p.text, Special: p.kind != pieceUserDefined})
			}
		}
	}
	t.post, err = beginAndEnd(model, bos, eos, s.fields.bool("add_bos_token", true), s.fields.bool("add_eos_token", false))
	return t, err
}

// spaced spells spaces as ▁ and puts one in front: before each part of the text,
// or only where the text begins.
func spaced(m *bpe, prefix, onlyFirst bool) *Tokenizer {
	underline := string(space)
	t := &Tokenizer{model: m}
	list := decoders{replaceDecoder{literal(underline), " "}, byteFallbackDecoder{}, fuseDecoder{}}
	if prefix {
		list = append(list, stripDecoder{" ", 1, 0})
	}
	t.decoder = list
	switch {
	case onlyFirst && prefix:
		t.pre = metaspace{space, first, false}
	case prefix:
		t.normalizer = normalizers{prepend(underline), &replace{literal(" "), underline}}
	default:
		t.normalizer = &replace{literal(" "), underline}
	}
	return t
}

// beginAndEnd puts bos and eos around each text; the second one's are of type 1.
func beginAndEnd(m model, bos, eos string, addBOS, addEOS bool) (postProcessor, error) {
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
	return around(m, pieces[:len(pieces)/2], pieces)
}

// shown turns a piece's spelling of GGUF's WordPiece vocabularies into that of
// vocab.txt: there a word begins with ▁ and a continuation with nothing.
func shown(piece string) string {
	if rest, ok := strings.CutPrefix(piece, string(space)); ok {
		return rest
	}
	return "##" + piece
}
