package tokenizer

// Tokenizers from the pieces of GGUF files, as llama.cpp reads them.

import (
	"fmt"
	"strings"

	"github.com/avoformer/avoformer/fault"
)

// unigram returns a Unigram tokenizer with the given pieces, of which made has the tables or gets
// them.
func (m *spmModel) unigram(pieces []spmPiece, unknown string, made *source) (*Tokenizer, error) {
	tokens, scores := make([]string, 0, len(pieces)), make([]float64, 0, len(pieces))
	id := -1
	for i, p := range pieces {
		if p.text == unknown {
			id = i
		}
		tokens, scores = append(tokens, p.text), append(scores, p.score)
	}
	if made.fixed && made.pieces == nil {
		return nil, errFixed
	} else if !made.fixed {
		made.pieces = newPieces(tokens, scores)
	}
	model, err := made.pieces.unigram(int32(id), m.byteFallback)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{model: model, decoder: metaspaceDecoder{space, true}}
	t.pre = preTokenizers{whitespaceSplit{}, metaspace{space, always, true}}
	if !m.dummyPrefix {
		return nil, fmt.Errorf("%w: Unigram without add_dummy_prefix", fault.ErrConfig)
	}
	if !m.removeSpaces {
		return nil, fmt.Errorf("%w: Unigram without remove_extra_whitespaces", fault.ErrConfig)
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

// spaced writes spaces as ▁. If prefix is set, it also puts ▁ before each part of the text.
func spaced(m *bpe, prefix bool) *Tokenizer {
	underline := string(space)
	t := &Tokenizer{model: m}
	t.decoder = bytePieces(prefix)
	t.normalizer = &replace{literal(" "), underline}
	if prefix {
		t.normalizer = normalizers{prepend(underline), t.normalizer}
	}
	return t
}

// bytePieces decodes pieces, of which some are single bytes. If prefix is set, it removes the space
// at the beginning.
func bytePieces(prefix bool) decoder {
	list := decoders{replaceDecoder{literal(string(space)), " "}, byteFallbackDecoder{}, fuseDecoder{}}
	if prefix {
		list = append(list, stripDecoder{" ", 1, 0})
	}
	return list
}

// shown converts a piece of a GGUF file's WordPiece vocabulary to the spelling of vocab.txt. In
// GGUF files a word begins with ▁ and a continuation has no mark.
func shown(piece string) string {
	if rest, ok := strings.CutPrefix(piece, string(space)); ok {
		return rest
	}
	return "##" + piece
}
