package tokenizer

// Truncation and padding.

import (
	"fmt"
	"math"

	"github.com/avoformer/avoformer/fault"
)

// Strategy says which text of a pair is truncated.
type Strategy int

// The strategies.
const (
	LongestFirst Strategy = iota
	OnlyFirst
	OnlySecond
)

// Truncation limits the number of tokens, special ones included.
type Truncation struct {
	MaxLength int
	Stride    int // tokens that each overflowing part repeats
	Strategy  Strategy
	Left      bool // cut off the beginning
}

// Padding fills encodings up to a length.
type Padding struct {
	Length     int // 0: the length of the longest encoding in the batch
	MultipleOf int // if not 0, the length is rounded up to a multiple
	Left       bool
	ID         int
	TypeID     int
	Token      string
}

func copyOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// truncate shortens first, and second if it is not nil, to limit tokens in total.
func (c *Truncation) truncate(first, second *Encoding, limit int, over bool) (*Encoding, *Encoding, error) {
	total := len(first.IDs)
	if second != nil {
		total += len(second.IDs)
	}
	if total <= limit {
		return first, second, nil
	}
	n1, n2 := len(first.IDs), 0
	if second != nil {
		n2 = len(second.IDs)
	}
	excess := total - limit
	switch {
	case limit == 0:
		n1, n2 = 0, 0
	case c.Strategy == LongestFirst && second == nil:
		n1 = limit
	case c.Strategy == LongestFirst:
		n1, n2 = share(n1, n2, limit)
	case c.Strategy == OnlyFirst && n1 > excess:
		n1 -= excess
	case c.Strategy == OnlySecond && second != nil && n2 > excess:
		n2 -= excess
	case c.Strategy == OnlySecond && second == nil:
		return nil, nil, fmt.Errorf("%w: the second text is to be truncated, but there is only one", fault.ErrTruncation)
	default:
		return nil, nil, fmt.Errorf("%w: the text to be truncated is too short for %d tokens in all", fault.ErrTruncation, limit)
	}
	var err error
	if first, err = c.shorten(first, n1, over); err != nil || second == nil {
		return first, second, err
	}
	second, err = c.shorten(second, n2, over)
	return first, second, err
}

// share divides limit between two lengths. The longer one is shortened first.
func share(n1, n2, limit int) (int, int) {
	short := min(n1, n2)
	long := max(short, limit-short)
	if short+long > limit {
		short = limit / 2
		long = short + limit%2
	}
	if n1 > n2 {
		return long, short
	}
	return short, long
}

// shorten cuts e into parts of n tokens that overlap by the stride.
func (c *Truncation) shorten(e *Encoding, n int, over bool) (*Encoding, error) {
	total := len(e.IDs)
	switch {
	case n >= total:
		return e, nil
	case n == 0:
		out := e.slice(0, 0)
		if over {
			out.Overflowing = []*Encoding{e}
		} else {
			out.Cut, out.CutMore = total, e.CutMore
		}
		return out, nil
	case c.Stride >= n:
		return nil, fmt.Errorf("%w: a stride of %d with %d tokens left", fault.ErrTruncation, c.Stride, n)
	}
	var parts []*Encoding
	for at := 0; ; at += n - c.Stride {
		start, end := at, min(at+n, total)
		if c.Left {
			start, end = max(total-at-n, 0), total-at
		}
		parts = append(parts, e.slice(start, end))
		if !over || c.Left && start == 0 || !c.Left && end == total {
			break
		}
	}
	out := parts[0]
	if out.Overflowing = parts[1:]; !over {
		out.Cut, out.CutMore = total-n, e.CutMore
	}
	return out, nil
}

// Bounds on the tokens that padding may add, to one encoding and to all encodings of a call.
const (
	maxPadding      = 1 << 22
	maxPaddingOfAll = 1 << 26
)

// pad fills all encodings and their overflowing parts.
func (c *Padding) pad(all []*Encoding, opts *Options) error {
	length := c.Length
	if length == 0 {
		for _, e := range all {
			length = max(length, len(e.IDs))
		}
	}
	if c.MultipleOf > 0 && length%c.MultipleOf > 0 {
		if c.MultipleOf > math.MaxInt-length {
			return fmt.Errorf("%w: a multiple of %d tokens", fault.ErrPadding, c.MultipleOf)
		}
		length += c.MultipleOf - length%c.MultipleOf
	}
	sum := 0
	for _, e := range all {
		for _, o := range append(e.Overflowing[:len(e.Overflowing):len(e.Overflowing)], e) {
			add := max(0, length-len(o.IDs))
			if sum += min(add, maxPaddingOfAll+1); add > maxPadding || sum > maxPaddingOfAll {
				return fmt.Errorf("%w: padding %d tokens to %d: at most %d can be added to an encoding, and %d in a call",
					fault.ErrPadding, len(o.IDs), length, maxPadding, maxPaddingOfAll)
			}
		}
	}
	for i, e := range all {
		all[i] = c.fill(e, length, opts)
	}
	return nil
}

func (c *Padding) fill(e *Encoding, length int, opts *Options) *Encoding {
	for i, o := range e.Overflowing {
		e.Overflowing[i] = c.fill(o, length, opts)
	}
	if len(e.IDs) >= length {
		return e
	}
	fill := filled(length-len(e.IDs), c.ID, c.TypeID, c.Token, false, opts)
	if !c.Left {
		e.append(fill)
		return e
	}
	fill.append(e)
	fill.Overflowing = e.Overflowing
	return fill
}
