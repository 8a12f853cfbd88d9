package tokenizer

import (
	"errors"
	"maps"
)

// file is a tokenizer.json that is well-formed, and what was made of it. A class builds another
// tokenizer of the same vocabulary.
type file struct {
	root, model *object // model is nil if it is not an object
	source      source
}

// readFile checks the contents of a tokenizer.json.
func readFile(data []byte) (*file, error) {
	v, known, err := spannedJSON(data)
	if err != nil {
		return nil, err
	}
	root, err := parseObjectOf(known, "tokenizer.json", v)
	if err != nil {
		return nil, err
	}
	f := &file{root: root}
	if m := root.fields["model"]; len(m) > 0 && m[0] == '{' {
		f.model, err = parseObjectOf(known, "model", m)
	}
	return f, err
}

// tokenizer returns the tokenizer as it is written.
func (f *file) tokenizer() (*Tokenizer, error) {
	return parseFile(f.root.again(), f.model.again(), &f.source)
}

// again returns the object with all its fields, which the reader of the result removes.
func (o *object) again() *object {
	if o == nil {
		return nil
	}
	c := *o
	c.fields = maps.Clone(o.fields)
	return &c
}

// source is what was made of the texts of a model, each the last one of its kind. Nothing changes
// it afterwards.
type source struct {
	parsed int  // how many texts were read
	fixed  bool // it is of a ready file, and there are no texts

	vocab value
	ids   *vocabulary
	trie  *trie // of ids; nil: not made

	merges value
	prefix string // of the model for which they were read
	table  mergeTable
	apart  bool // each makes a token that is one part
	sought bool // apart was found out

	words *index // of ids by their bytes, for models of bytes that ignore merges

	list   value
	pieces *pieces
}

// errFixed is that a class needs more than the ready file has.
var errFixed = errors.New("a ready file lacks it")

// same reports whether two values are the same place of a text.
func same(a, b value) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }

// vocabulary is parseVocabulary.
func (s *source) vocabulary(what string, in value) (*vocabulary, error) {
	if same(s.vocab, in) {
		return s.ids, nil
	}
	if s.fixed {
		return nil, errFixed
	}
	v, err := parseVocabulary(what, in)
	if s.parsed++; err == nil {
		s.vocab, s.ids, s.trie, s.words = in, v, nil, nil
	}
	return v, err
}

// trieOf returns the trie of the last vocabulary.
func (s *source) trieOf() *trie {
	if s.trie == nil {
		s.trie = s.ids.trie()
	}
	return s.trie
}

// mergesOf is parseMerges for a model of the last vocabulary.
func (s *source) mergesOf(in value, m *bpe) error {
	if same(s.merges, in) && s.prefix == m.prefix && s.ids == m.vocabulary && (s.sought || !m.parts) {
		m.merges, m.parts = s.table, m.parts && s.apart
		return nil
	}
	if s.fixed {
		return errFixed
	}
	s.parsed++
	sought := m.parts
	err := parseMerges(in, m)
	if err == nil {
		s.merges, s.prefix, s.table, s.apart, s.sought = in, m.prefix, m.merges, m.parts, sought
	}
	return err
}

// piecesOf is parseScored.
func (s *source) piecesOf(in value) (*pieces, error) {
	if same(s.list, in) {
		return s.pieces, nil
	}
	if s.fixed {
		return nil, errFixed
	}
	p, err := parseScored(in)
	if s.parsed++; err == nil {
		s.list, s.pieces = in, p
	}
	return p, err
}
