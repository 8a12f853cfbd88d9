package tokenizer

// Post-processors put special tokens around texts.

import (
	"fmt"

	"github.com/avoformer/avoformer/fault"
)

type postProcessor interface {
	// added returns the number of special tokens for one text, or for two.
	added(pair bool) int
	// process takes the encodings of one text or two, or the result of an earlier post-processor.
	// The caller joins the encodings that it returns.
	process(parts []*Encoding, special bool, opts *Options) ([]*Encoding, error)
	// trims reports whether offsets must not include white space.
	trims() bool
}

type postProcessors []postProcessor

func (list postProcessors) added(pair bool) int {
	n := 0
	for _, p := range list {
		n += p.added(pair)
	}
	return n
}

func (list postProcessors) trims() bool {
	for _, p := range list {
		if p.trims() {
			return true
		}
	}
	return false
}

func (list postProcessors) process(parts []*Encoding, special bool, opts *Options) (_ []*Encoding, err error) {
	for _, p := range list {
		if parts, err = p.process(parts, special, opts); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// byteLevelOffsets removes white space from the offsets.
type byteLevelOffsets struct{ trim, prefixSpace bool }

func (p byteLevelOffsets) added(bool) int { return 0 }
func (p byteLevelOffsets) trims() bool    { return p.trim }

func (p byteLevelOffsets) process(parts []*Encoding, _ bool, _ *Options) ([]*Encoding, error) {
	for i, e := range parts {
		if p.trim {
			trimAll(e, p.prefixSpace)
		}
		e.setSequence(i)
	}
	return parts, nil
}

func trimAll(e *Encoding, prefixSpace bool) {
	if len(e.Overflowing) > 0 { // parts may share arrays
		overflowing := e.Overflowing
		for i, o := range overflowing {
			overflowing[i] = o.clone()
			overflowing[i].trimOffsets(prefixSpace)
		}
		sequences := e.sequences
		*e = *e.clone()
		e.Overflowing, e.sequences = overflowing, sequences
	}
	e.trimOffsets(prefixSpace)
}

// special is a special token.
type special struct {
	token string
	id    int
}

func (s special) encoding(typeID int, opts *Options) *Encoding {
	return filled(1, s.id, typeID, s.token, true, opts)
}

// encoding returns the special tokens of a piece as one encoding.
func (p templatePiece) encoding(opts *Options) *Encoding {
	out := new(Encoding)
	for _, s := range p.tokens {
		out.append(s.encoding(p.typeID, opts))
	}
	return out
}

// bertProcessing makes [CLS] A [SEP] or [CLS] A [SEP] B [SEP]. For RoBERTa it makes [CLS] A [SEP]
// [SEP] B [SEP] for pairs, with type 0 everywhere.
type bertProcessing struct {
	cls, sep          special
	roberta           bool
	trim, prefixSpace bool // of RoBERTa
}

func (p *bertProcessing) trims() bool { return p.trim }

func (p *bertProcessing) added(pair bool) int {
	switch {
	case pair && p.roberta:
		return 4
	case pair:
		return 3
	}
	return 2
}

func (p *bertProcessing) process(parts []*Encoding, add bool, opts *Options) ([]*Encoding, error) {
	for i, e := range parts {
		if p.trim {
			trimAll(e, p.prefixSpace)
		}
		if p.roberta {
			e.setTypes(0)
			for _, o := range e.Overflowing {
				if add {
					o.setTypes(0)
				}
			}
		}
		if add {
			over := e.Overflowing
			parts[i] = p.wrap(e, i, opts)
			for _, o := range over {
				parts[i].Overflowing = append(parts[i].Overflowing, p.wrap(o, i, opts))
			}
		}
	}
	return parts, nil
}

// wrap puts special tokens around the i-th part. None of the part's own tokens counts as special,
// not even those of a template before.
func (p *bertProcessing) wrap(e *Encoding, i int, opts *Options) *Encoding {
	e.setSequence(min(i, 1))
	e.Special = make([]bool, len(e.IDs))
	typeID := 0
	if i > 0 && !p.roberta {
		typeID = 1
	}
	out := new(Encoding)
	switch {
	case i == 0:
		out.append(p.cls.encoding(0, opts))
	case p.roberta:
		out.append(p.sep.encoding(0, opts))
	}
	out.append(e)
	out.append(p.sep.encoding(typeID, opts))
	return out
}

// template is a sequence of texts and special tokens.
type template struct {
	single, pair []templatePiece
}

type templatePiece struct {
	text   int // 0 or 1, or -1 for special tokens
	tokens []special
	typeID int
}

func (p *template) trims() bool { return false }

func (p *template) added(pair bool) int {
	pieces, n := p.single, 0
	if pair {
		pieces = p.pair
	}
	for _, piece := range pieces {
		n += len(piece.tokens)
	}
	return n
}

func (p *template) process(parts []*Encoding, add bool, opts *Options) ([]*Encoding, error) {
	pieces := p.single
	switch len(parts) {
	case 1:
	case 2:
		pieces = p.pair
	default:
		return nil, fmt.Errorf("%w: a template after another", fault.ErrConfig)
	}
	var out []*Encoding
	used := [2]bool{}
	for _, piece := range pieces {
		if piece.text < 0 {
			if add {
				out = append(out, piece.encoding(opts))
			}
			continue
		}
		e := parts[piece.text]
		if used[piece.text] {
			over := e.Overflowing
			e = e.clone()
			e.Overflowing = over
		}
		used[piece.text] = true
		e.setTypes(piece.typeID)
		e.setSequence(piece.text)
		out = append(out, e)
	}
	return out, nil
}

// filled returns an encoding of n special tokens. It has the slices that opts asks for.
func filled(n, id, typeID int, token string, attention bool, opts *Options) *Encoding {
	e := &Encoding{IDs: make([]int, n), TypeIDs: make([]int, n), Special: make([]bool, n), Attention: make([]bool, n)}
	for i := range n {
		e.IDs[i], e.TypeIDs[i], e.Special[i], e.Attention[i] = id, typeID, true, attention
	}
	if opts.Tokens {
		e.Tokens = make([]string, n)
		for i := range e.Tokens {
			e.Tokens[i] = token
		}
	}
	if opts.Offsets != NoOffsets {
		e.Offsets, e.Words, e.trims = make([]Offset, n), make([]int, n), make([]trim, n)
		for i := range e.Words {
			e.Words[i] = -1
		}
	}
	return e
}

// beginAndEnd puts bos and eos around each text. Those of the second text have type 1.
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

// around makes a template. Its pieces are tokens, or "A" and "B" for the texts, each with its type.
func around(m model, single, pair []typedPiece) (*template, error) {
	p := new(template)
	for i, pieces := range [][]typedPiece{single, pair} {
		var out []templatePiece
		for _, x := range pieces {
			piece := templatePiece{text: -1, typeID: x.typeID}
			switch x.text {
			case textA:
				piece.text = 0
			case textB:
				piece.text = 1
			default:
				s, err := specialOf(m, x.text)
				if err != nil {
					return nil, err
				}
				piece.tokens = []special{s}
			}
			out = append(out, piece)
		}
		if i == 0 {
			p.single = out
		} else {
			p.pair = out
		}
	}
	return p, nil
}

type typedPiece struct {
	text   string
	typeID int
}

// The names of the texts in a template. No token has such a name.
const (
	textA = "\x00A"
	textB = "\x00B"
)

// specialOf returns a special token of the vocabulary.
func specialOf(m model, token string) (special, error) {
	id, ok := m.id(token)
	if !ok {
		return special{}, fmt.Errorf("%w: the vocabulary lacks %q", fault.ErrFormat, token)
	}
	return special{token, int(id)}, nil
}
