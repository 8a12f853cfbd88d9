// This file has the pieces of an answer: text, and the tokens, times and counts that come with it.

package text

import (
	"cmp"
	"iter"
	"strings"
	"time"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/text/answer"
	"github.com/avoformer/avoformer/text/internal/stream"
)

// Piece is the next part of a text that is being generated.
type Piece struct {
	Text string // that is certain
	// Tokens are those that came since the last piece, the one that ended the text left out. Where
	// the text may still become another, as within a character, it comes with a later piece.
	Tokens []generation.Choice
	// Finish says why the text ended: it is FinishNone but in the last piece, in which there may be
	// no text.
	Finish generation.Finish
	Stop   string       // in the last piece: which of the stop strings ended the text; "": none
	Usage  answer.Usage // what was counted, in the last piece, and in one that comes with an error
}

// Collect joins what Generate, Chat, Stream or Transcribe yields: all of its text and tokens, and
// what the last piece says.
func Collect(pieces iter.Seq2[Piece, error]) (Piece, error) {
	var all Piece
	var b strings.Builder
	for piece, err := range pieces {
		if err != nil {
			all.Text = b.String()
			return all, err
		}
		b.WriteString(piece.Text)
		all.Tokens = append(all.Tokens, piece.Tokens...)
		all.Finish, all.Stop, all.Usage = piece.Finish, piece.Stop, piece.Usage
	}
	all.Text = b.String()
	return all, nil
}

// pieceMaker makes pieces of tokens.
type pieceMaker struct {
	stream *stream.Stream
	tokens []generation.Choice // that no piece has had
	usage  answer.Usage
	began  time.Time // the call, then the first token
}

// make yields the pieces of tokens, up to the end of the text or an error.
func (p *pieceMaker) make(tokens iter.Seq2[generation.Next, error], yield func(Piece, error) bool) {
	for next, err := range tokens {
		if err = cmp.Or(err, next.Err); err != nil {
			p.usage.Shared = next.Shared
			yield(Piece{Usage: p.counted()}, err)
			return
		}
		if piece, some := p.add(next); some && (!yield(piece, nil) || piece.Finish != generation.FinishNone) {
			return
		}
	}
}

// add returns the piece that a token completes, or the last one; false if there is none.
func (p *pieceMaker) add(next generation.Next) (piece Piece, some bool) {
	stopped := false
	if p.usage.First == 0 {
		now := time.Now()
		p.usage.First, p.began = max(now.Sub(p.began), 1), now
	}
	if next.Finish == generation.FinishNone {
		p.usage.Tokens++
		p.tokens = append(p.tokens, next.Choice)
		if piece.Text, stopped = p.stream.Add(next.Token); piece.Text == "" && !stopped {
			return piece, false
		}
	} else {
		piece.Text, piece.Finish = p.stream.Rest(), next.Finish
	}
	if stopped {
		piece.Finish = generation.FinishStop
	}
	if piece.Finish != generation.FinishNone {
		p.usage.Shared = next.Shared
		piece.Usage, piece.Stop = p.counted(), p.stream.Stopped()
	}
	piece.Tokens, p.tokens = p.tokens, nil
	return piece, true
}

// counted returns the usage at this time.
func (p *pieceMaker) counted() answer.Usage {
	if p.usage.First > 0 {
		p.usage.Rest = time.Since(p.began)
	}
	return p.usage
}
