// Package bm25 finds, among many texts, those that share the rarest words with a query. It searches
// by words, as package search does by vectors, and has the same ids and hits.
//
//	index, err := bm25.New(bm25.Options{})
//	err = index.Add(nil, texts)                             // ids are 0, 1, 2, ...
//	hits, err := index.Search(ctx, []string{"bread"}, 10)   // for each query the ten best, the best first
//	err = index.Replace([]int64{7}, texts[:1])              // adds it if there is none
//	n := index.Remove(3, 4)
//	err = index.Save("texts.bm25")
//
// The score of a text is a sum over the words of the query. A word that occurs several times in the
// query counts each time. The term of a word is
//
//	log(1 + (N - n + 0.5)/(n + 0.5)) * f/(f + k1*(1 - b + b*length/average))
//
// where the index has N texts, n of them with the word, which occurs f times among the length words
// of this text; average is the mean of all lengths. This is Okapi BM25 (Robertson and Zaragoza,
// 2009, "The Probabilistic Relevance Framework: BM25 and Beyond", 3.8) in the form of Lucene since
// version 8: the logarithm is never negative, and the factor k1+1, which does not change the order,
// is left out. Unlike Lucene, this package does not round lengths.
//
// Searches are exact: they read the complete lists of the query's words. Scores do not depend on
// the order in which texts were added, nor on texts that were removed; of equal scores the smaller
// id comes first. [search.FuseRanks] merges hits with those of an index of vectors.
//
// This package is settling: see doc/stability.md.
package bm25

import (
	"context"
	"encoding/binary"
	"io"
	"math"
	"strings"
	"unicode"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/search"
	"github.com/avoformer/avoformer/search/internal/postings"
	"github.com/avoformer/avoformer/search/internal/sums"
)

// Options say how an index divides texts into words and scores them.
type Options struct {
	// K1 is the weight of further occurrences of a word: 0 is 1.2, and a negative number means that
	// they do not count.
	K1 float64
	// B, at most 1, is the weight of a text's length: 0 is 0.75, and a negative number means that
	// the length does not count.
	B float64
	// Words returns the words of a text or a query; nil is the function of that name. Several
	// goroutines may call it at a time, and it must always return the same for the same text.
	Words func(text string) []string
}

// An Index holds the words of texts with ids, not the texts. It is safe for concurrent use: a
// search sees the contents of the index at its beginning.
type Index struct {
	options Options
	lists   postings.Index[string]
}

// New returns an empty index.
func New(o Options) (*Index, error) {
	if o.K1 == 0 {
		o.K1 = 1.2
	}
	if o.B == 0 {
		o.B = 0.75
	}
	if !(o.K1 <= math.MaxFloat32) || o.K1 < -math.MaxFloat32 {
		return nil, check.Option("K1", o.K1, "want a finite number")
	}
	if !(o.B <= 1) || o.B < -math.MaxFloat32 {
		return nil, check.Option("B", o.B, "want at most 1")
	}
	if o.Words == nil {
		o.Words = Words
	}
	return &Index{options: o}, nil
}

// Words returns the words of a text: the longest runs of letters, the marks above and below them,
// and digits, in lower case. Languages that are written without spaces, such as Chinese and
// Japanese, need another function.
func Words(text string) []string {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	for i, w := range words {
		words[i] = strings.ToLower(w)
	}
	return words
}

// Options returns the options of the index, with defaults in place of zeros.
func (x *Index) Options() Options { return x.options }

// Len returns the number of texts in the index.
func (x *Index) Len() int { return x.lists.Len() }

// Add adds all texts or, with an error, none. ids are their ids; if ids is nil, these are their
// positions, from 0 on. An index has either kind of ids, not both. An id may occur more than once:
// a hit is a text. A text without words is never found, but counts among the texts.
func (x *Index) Add(ids []int64, texts []string) error {
	documents, err := x.documents(texts)
	if err != nil {
		return err
	}
	return x.lists.Add(ids, documents)
}

// Replace replaces all texts with the given ids, in one step. Texts whose ids the index does not
// have are added. With an error, nothing changes.
func (x *Index) Replace(ids []int64, texts []string) error {
	documents, err := x.documents(texts)
	if err != nil {
		return err
	}
	return x.lists.Replace(ids, documents)
}

// Remove removes all texts with one of the ids, and returns their number. Ids that the index does
// not have are not an error. A call reads all ids of the index: remove many ids in one call. If ids
// were positions, they do not change, and Add needs ids from then on, unless the index is empty.
func (x *Index) Remove(ids ...int64) int { return x.lists.Remove(ids) }

// documents returns the words of texts.
func (x *Index) documents(texts []string) ([][]postings.Term[string], error) {
	documents := make([][]postings.Term[string], len(texts))
	for i, t := range texts {
		words := x.options.Words(t)
		if len(words) > postings.MostInteger {
			return nil, check.Errorf(fault.ErrInput, "text %d: %d words, want at most %d", i, len(words), postings.MostInteger)
		}
		documents[i] = counted(words)
		for j := range documents[i] { // a word may share the memory of the whole text
			documents[i][j].Key = strings.Clone(documents[i][j].Key)
		}
	}
	return documents, nil
}

// counted returns the different words, in the order of their first occurrence. The weight of each
// is the number of its occurrences.
func counted(words []string) []postings.Term[string] {
	terms, at := []postings.Term[string]{}, make(map[string]int, len(words))
	for _, w := range words {
		i, ok := at[w]
		if !ok {
			i = len(terms)
			at[w] = i
			terms = append(terms, postings.Term[string]{Key: w})
		}
		terms[i].Weight++
	}
	return terms
}

// Search finds for each query the k texts with the largest scores, the best first. It finds only
// texts that have a word of the query. The error is context.Cause(ctx) if ctx is done, or an error
// about k.
func (x *Index) Search(ctx context.Context, queries []string, k int) ([][]search.Hit, error) {
	return x.SearchWhere(ctx, queries, k, nil)
}

// SearchWhere is Search among the texts with an id for which where is true; nil is all.
// [search.WithID] makes such a condition from ids. Texts for which where is false still count among
// the N of the formula.
func (x *Index) SearchWhere(ctx context.Context, queries []string, k int, where func(id int64) bool) ([][]search.Hit, error) {
	if k < 1 {
		return nil, check.Errorf(fault.ErrInput, "k = %d, want at least 1", k)
	}
	hits := make([][]search.Hit, len(queries))
	for i, q := range queries {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		hits[i] = x.find(counted(x.options.Words(q)), k, where)
	}
	return hits, nil
}

// find searches for the words of one query.
func (x *Index) find(words []postings.Term[string], k int, where func(id int64) bool) []search.Hit {
	v := x.lists.View(words)
	k1, b := max(0, x.options.K1), max(0, x.options.B)
	base, slope := k1*(1-b), 0.0
	if v.Total > 0 {
		slope = k1 * b * float64(v.Count) / v.Total
	}
	s := v.Scores()
	for i, list := range v.Lists {
		n := float64(postings.Live(list, v.Removed))
		weight := float64(words[i].Weight) * elementary.Log(1+(float64(v.Count)-n+0.5)/(n+0.5))
		for _, p := range list {
			f := float64(p.Weight)
			// The conversion prevents the compiler from fusing the product and the sum, which would
			// change bits.
			s.Add(p.At, weight*f/(f+(base+float64(slope*float64(v.Sizes[p.At])))))
		}
	}
	return v.Best(s, k, where)
}

// kind is the format of files: words with their length before them, and K1 and B as float64.
var kind = postings.Kind[string]{
	Name: "AVOBM25\n", Integers: true, Parameters: 16,
	AppendTerm: func(b []byte, word string) []byte { return append(binary.AppendUvarint(b, uint64(len(word))), word...) },
	ReadTerm: func(r *postings.Reader) (string, error) {
		n, err := r.Uvarint(0, math.MaxInt32)
		if err != nil {
			return "", err
		}
		word, err := r.Bytes(n)
		return string(word), err
	},
}

// Save writes the index to a temporary file next to the destination and renames it: an interruption
// leaves the previous file unchanged. The file does not identify the function Options.Words.
func (x *Index) Save(name string) error { return sums.Save(name, x) }

// WriteTo writes the index in the format of a file. Changes wait until it has returned.
func (x *Index) WriteTo(w io.Writer) (int64, error) {
	parameters := binary.LittleEndian.AppendUint64(nil, math.Float64bits(x.options.K1))
	return x.lists.WriteTo(w, kind, binary.LittleEndian.AppendUint64(parameters, math.Float64bits(x.options.B)))
}

// Load reads a file that Save wrote. words is Options.Words of the index.
func Load(name string, words func(text string) []string) (*Index, error) {
	return sums.Load(name, func(r io.Reader) (*Index, error) { return Read(r, words) })
}

// Read reads the output of WriteTo, and no byte after it. It allocates memory as data arrives, not
// as the header claims. words is Options.Words of the index.
func Read(r io.Reader, words func(text string) []string) (*Index, error) {
	x := new(Index)
	parameters, err := x.lists.Load(r, kind)
	if err != nil {
		return nil, err
	}
	o := Options{K1: math.Float64frombits(binary.LittleEndian.Uint64(parameters)), B: math.Float64frombits(binary.LittleEndian.Uint64(parameters[8:])), Words: words}
	y, err := New(o)
	if err != nil {
		return nil, check.Errorf(fault.ErrFormat, "%v", err)
	}
	x.options = y.options
	return x, nil
}
