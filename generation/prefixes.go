package generation

import (
	"encoding/binary"
	"slices"

	"github.com/avoformer/avoformer/transformer"
)

// This file keeps histories after their texts have ended, for prompts that begin with the same
// tokens and vectors.

// prefixes finds the history that shares the longest beginning with a prompt, through the hash of
// its tokens up to each multiple of step.
type prefixes struct {
	step   int
	byHash map[uint64]*prefix
	oldest prefix // of a ring in the order of use: oldest.next is the one used least recently
	count  int
}

// prefix is a history and its tokens.
type prefix struct {
	text           passage
	history        *transformer.History
	guess          *transformer.History // of a draft model; may have fewer rows, or be nil
	next, previous *prefix
}

func newPrefixes(step int) *prefixes {
	p := &prefixes{step: step, byHash: map[uint64]*prefix{}}
	p.oldest.next, p.oldest.previous = &p.oldest, &p.oldest
	return p
}

// find returns the prefix with the given adapter that has the longest beginning in common with the
// tokens, and its length; nil if none reaches a step.
func (p *prefixes) find(adapter int, text passage) (best *prefix, rows int) {
	p.hashes(adapter, text, func(hash uint64, n int) {
		x := p.byHash[hash]
		if x == nil || x == best || x.history.Adapter() != adapter {
			return
		}
		if same := x.text.common(text); same >= n && same > rows {
			best, rows = x, same
		}
	})
	if best != nil {
		p.use(best)
	}
	return best, rows
}

// add keeps a history, and that of a draft model. Both then belong to p.
func (p *prefixes) add(text passage, h, guess *transformer.History) *prefix {
	text = text.until(h.Len())
	x := &prefix{text: passage{slices.Clone(text.tokens), text.soft}, history: h, guess: guess}
	x.next, x.previous = x, x
	p.hashes(h.Adapter(), x.text, func(hash uint64, _ int) { p.byHash[hash] = x })
	p.use(x)
	p.count++
	return x
}

// drop releases a prefix.
func (p *prefixes) drop(x *prefix) {
	p.hashes(x.history.Adapter(), x.text, func(hash uint64, _ int) {
		if p.byHash[hash] == x {
			delete(p.byHash, hash)
		}
	})
	x.next.previous, x.previous.next = x.previous, x.next
	x.history.Release()
	x.dropGuess()
	x.history, x.next, x.previous = nil, nil, nil // or a remaining reference to x would keep everything after it
	p.count--
}

// dropGuess releases the history of the draft model, and is false if there is none.
func (x *prefix) dropGuess() bool {
	if x.guess == nil {
		return false
	}
	x.guess.Release()
	x.guess = nil
	return true
}

// dropGuesses releases the histories of the draft model, and is false if there are none.
func (p *prefixes) dropGuesses() (some bool) {
	for x := p.oldest.next; x != &p.oldest; x = x.next {
		some = x.dropGuess() || some
	}
	return some
}

// dropOldest releases the prefix that was used least recently, and is false if there is none.
func (p *prefixes) dropOldest() bool {
	if p.count == 0 {
		return false
	}
	p.drop(p.oldest.next)
	return true
}

// use makes a prefix the one used last.
func (p *prefixes) use(x *prefix) {
	x.next.previous, x.previous.next = x.previous, x.next
	last := p.oldest.previous
	last.next, x.previous = x, last
	x.next, p.oldest.previous = &p.oldest, x
}

// hashes calls f with the hash of an adapter and the first n tokens for each multiple n of step.
func (p *prefixes) hashes(adapter int, text passage, f func(hash uint64, n int)) {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a, of tokens instead of bytes
	hash := uint64(offset) + uint64(adapter)
	soft := text.soft
	for i, t := range text.tokens {
		if len(soft) > 0 && soft[0].at == i {
			hash ^= binary.LittleEndian.Uint64(soft[0].digest[:])
			soft = soft[1:]
		}
		hash = (hash ^ uint64(t)) * prime
		hash ^= hash >> 29
		if n := i + 1; n%p.step == 0 {
			f(hash, n)
		}
	}
}
