// Package windows makes windows of tokens from texts, as a model takes them.
package windows

import (
	"errors"
	"fmt"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/tokenizer"
	"github.com/avoformer/avoformer/transformer"
)

// Text is a text, a pair of texts, or tokens instead.
type Text struct {
	First, Second string
	Pair          bool
	IDs           []int // unless nil, the tokens
}

// Long says what to do with texts of more tokens than the model takes.
type Long int

// Cut the end off, make several windows, or return an error.
const (
	Truncate Long = iota
	Split
	Refuse
)

// How describes how texts become windows.
type How struct {
	Tokenizer *tokenizer.Tokenizer // without truncation and padding
	Options   tokenizer.Options
	Limit     int // most tokens of a window; 0: no limit
	Long      Long
	Stride    int                // tokens that a window shares with the one before, with Split
	Strategy  tokenizer.Strategy // which text of a pair is cut
	Runes     int                // unless 0, a text that is cut loses first what is beyond Limit times as many characters
	Left      bool               // cut beginnings off, not ends; if not set, the tokenizer's folder decides
}

// Splitter makes windows of texts.
type Splitter struct {
	tokenizer *tokenizer.Tokenizer
	options   tokenizer.Options
	limit     int
	refuse    bool
	runes     int // most characters of a text; 0: no limit
}

// Splitter returns the splitter for these settings.
func (h How) Splitter() Splitter {
	s := Splitter{tokenizer: h.Tokenizer, options: h.Options, limit: h.Limit, refuse: h.Limit > 0 && h.Long == Refuse}
	if h.Long == Truncate {
		s.runes = h.Limit * h.Runes
	}
	if s.refuse {
		s.tokenizer = Counting(s.tokenizer, h.Limit)
	} else if h.Limit > 0 {
		t := tokenizer.Truncation{MaxLength: h.Limit, Strategy: h.Strategy}
		if h.Long == Split {
			t.Stride, s.options.Overflow = h.Stride, true
		} else {
			t.Left = h.Left || s.tokenizer.Config().TruncateLeft
		}
		s.tokenizer = s.tokenizer.WithTruncation(&t)
	}
	return s
}

// Longest returns how many bytes of a text matter, or 0 for all: text far beyond the limit is not
// tokenised.
func (s *Splitter) Longest() int {
	if s.limit == 0 || s.refuse || s.options.Overflow {
		return 0
	}
	return 8 * s.limit
}

// Split returns the windows of a text. Errors have its number.
func (s *Splitter) Split(number int, text Text) ([]*tokenizer.Encoding, error) {
	if text.IDs != nil {
		return []*tokenizer.Encoding{OfIDs(text.IDs)}, nil
	}
	whole := text.First
	if s.runes > 0 {
		text.First = beginning(whole, s.runes)
	}
	var e *tokenizer.Encoding
	var err error
	if text.Pair {
		e, err = s.tokenizer.EncodePair(text.First, text.Second, s.options)
	} else {
		e, err = s.tokenizer.Encode(text.First, s.options)
	}
	if err != nil {
		if s.refuse && errors.Is(err, fault.ErrTruncation) { // there are too many special tokens
			err = fmt.Errorf("%w: %w", fault.ErrTooLong, err)
		}
		return nil, fmt.Errorf("text %d: %w", number, err)
	}
	if s.refuse && e.Cut > 0 {
		return nil, fmt.Errorf("%w: text %d has %s, at most %d are possible", fault.ErrTooLong, number, Count(e), s.limit)
	}
	if len(text.First) < len(whole) {
		e.Cut, e.CutMore = max(e.Cut, 1), true
	}
	parts := append([]*tokenizer.Encoding{e}, e.Overflowing...)
	if s.tokenizer.Config().NoSegments {
		for _, p := range parts {
			clear(p.TypeIDs)
		}
	}
	return parts, nil
}

// beginning returns the first n characters of a text.
func beginning(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for at := range text {
		if n--; n < 0 {
			return text[:at]
		}
	}
	return text
}

// Counting returns a tokenizer that reports with Cut which texts have more tokens than limit. It
// stops early in texts that are far longer.
func Counting(t *tokenizer.Tokenizer, limit int) *tokenizer.Tokenizer {
	return t.WithTruncation(&tokenizer.Truncation{MaxLength: limit})
}

// Count returns the number of tokens of a text that was cut, in words.
func Count(e *tokenizer.Encoding) string {
	if e.CutMore {
		return fmt.Sprintf("over %d", len(e.IDs)+e.Cut)
	}
	return fmt.Sprint(len(e.IDs) + e.Cut)
}

// OfIDs returns the window of tokens that a caller gives by their IDs.
func OfIDs(ids []int) *tokenizer.Encoding {
	e := &tokenizer.Encoding{IDs: ids, TypeIDs: make([]int, len(ids)), Special: make([]bool, len(ids)), Attention: make([]bool, len(ids))}
	for i := range e.Attention {
		e.Attention[i] = true
	}
	return e
}

// Tokens returns a batch of windows in the form that models take, without padding.
func Tokens(batch []*tokenizer.Encoding) models.Tokens {
	lengths := make([]int, len(batch))
	types, hidden := false, false
	in := models.Tokens{}
	for i, e := range batch {
		lengths[i] = len(e.IDs)
		in.IDs = append(in.IDs, e.IDs...)
		types = types || slices.ContainsFunc(e.TypeIDs, func(t int) bool { return t != 0 })
		hidden = hidden || slices.Contains(e.Attention, false)
	}
	if hidden {
		for _, e := range batch {
			n := slices.Index(e.Attention, false)
			if n < 0 {
				n = len(e.IDs)
			}
			in.Visible = append(in.Visible, n)
		}
	}
	if types {
		for _, e := range batch {
			in.Types = append(in.Types, e.TypeIDs...)
		}
	}
	in.Batch = transformer.Ragged(lengths...)
	return in
}
