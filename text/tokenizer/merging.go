package tokenizer

// This file adds the merges of a file to a model. One goroutine reads their texts in blocks; the
// other goroutines look up the ids of a block.

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

	"github.com/avoformer/avoformer/fault"
)

// mergesAtOnce is how many merges a block has.
const mergesAtOnce = 1 << 10

// merging makes the table of merges of a vocabulary, which must not change meanwhile. Of several
// merges of a pair the last one counts.
type merging struct {
	v       *vocabulary
	prefix  int // bytes that the second token loses
	table   mergeTable
	work    chan *mergeBlock
	pending []*mergeBlock // whose ids are being looked up, in their order
	free    []*mergeBlock
	next    *mergeBlock // that add fills
	parts   bool        // whether parts of the model counts
	err     error       // the first one
}

// mergeBlock has the texts of some merges, each with the first token and then the second, and their
// results.
type mergeBlock struct {
	texts  []byte
	ends   []int32 // of the texts
	ids    [2 * mergesAtOnce]uint32
	merged [mergesAtOnce]uint32
	ranks  [mergesAtOnce]uint32
	parts  bool
	err    error
	done   chan struct{} // receives one value when the ids are there
	finds  finds
}

// newMerging prepares for at most n merges. parts says whether the caller needs g.parts. The caller
// calls done.
func newMerging(v *vocabulary, prefix string, parts bool, n int) *merging {
	g := &merging{v: v, prefix: len(prefix), table: newMergeTable(n), work: make(chan *mergeBlock, 16), parts: parts}
	threads := max(1, min(runtime.GOMAXPROCS(0), 4))
	for range 2 * threads {
		g.free = append(g.free, &mergeBlock{done: make(chan struct{}, 1)})
	}
	if n <= mergesAtOnce/4 {
		threads = 0 // done looks them up
	}
	for range threads {
		go func() {
			for b := range g.work {
				b.find(g.v, g.prefix, parts)
			}
		}()
	}
	if threads == 0 {
		close(g.work)
		g.work = nil
	}
	g.next = g.block()
	return g
}

// block returns a block to fill.
func (g *merging) block() *mergeBlock {
	if len(g.free) == 0 {
		g.take()
	}
	b := g.free[len(g.free)-1]
	g.free = g.free[:len(g.free)-1]
	b.texts, b.ends = b.texts[:0], b.ends[:0]
	return b
}

// mostMerged bounds the bytes of a merge: ends of texts are int32.
const mostMerged = 1 << 30

// add adds a merge of two tokens.
func (g *merging) add(rank int, first, second []byte) {
	if len(first) > mostMerged-len(second) {
		g.err = cmp.Or(g.err, fmt.Errorf("%w: merge %d has %d and %d bytes, want at most %d", fault.ErrFormat, rank, len(first), len(second), mostMerged))
		return
	}
	b := g.next
	b.ranks[len(b.ends)/2] = uint32(rank)
	b.texts = append(b.texts, first...)
	b.ends = append(b.ends, int32(len(b.texts)))
	b.texts = append(b.texts, second...)
	b.ends = append(b.ends, int32(len(b.texts)))
	if len(b.ends) == 2*mergesAtOnce || len(b.texts) > 1<<20 {
		g.send()
		g.next = g.block()
	}
}

// send has the ids of the next block looked up.
func (g *merging) send() {
	g.pending = append(g.pending, g.next)
	if g.work == nil {
		g.next.find(g.v, g.prefix, g.parts)
		return
	}
	g.work <- g.next
}

// take adds the merges of the first pending block to the table.
func (g *merging) take() {
	b := g.pending[0]
	g.pending = append(g.pending[:0], g.pending[1:]...)
	<-b.done
	g.free = append(g.free, b)
	if g.err != nil {
		return
	}
	for i := range len(b.ends) / 2 {
		if b.err != nil && b.merged[i] == noID {
			g.err = b.failed(i)
			return
		}
		g.table.set(b.ids[2*i], b.ids[2*i+1], mergeValue{b.ranks[i], b.merged[i]})
	}
	g.parts = g.parts && b.parts
}

// done waits until all merges are in the table. It returns the error of the first merge that is
// wrong.
func (g *merging) done() error {
	g.send()
	for len(g.pending) > 0 {
		g.take()
	}
	if g.work != nil {
		close(g.work)
	}
	return g.err
}

// pair returns the texts of a merge.
func (b *mergeBlock) pair(i int) (first, second []byte) {
	from := int32(0)
	if i > 0 {
		from = b.ends[2*i-1]
	}
	return b.texts[from:b.ends[2*i]], b.texts[b.ends[2*i]:b.ends[2*i+1]]
}

var errMerge = fmt.Errorf("%w: a merge of tokens that are not in the vocabulary", fault.ErrFormat)

// failed returns the error of a merge whose result is noID.
func (b *mergeBlock) failed(i int) error {
	first, second := b.pair(i)
	rank := b.ranks[i]
	if b.ids[2*i] == noID || b.ids[2*i+1] == noID {
		return fmt.Errorf("%w: merge %d, of %q and %q, is not in the vocabulary", fault.ErrFormat, rank, first, second)
	}
	return fmt.Errorf("%w: merge %d gives %q, which is not in the vocabulary", fault.ErrFormat, rank, slices.Concat(first, second))
}

// find looks up the ids of the block's merges, and whether each makes a token that is one part.
func (b *mergeBlock) find(v *vocabulary, prefix int, parts bool) {
	b.err, b.parts = nil, parts
	b.finds.find(v.ids, b.texts, b.ends, b.ids[:])
	var joined []byte
	last := uint32(0)
	for i := range len(b.ends) / 2 {
		first, second := b.pair(i)
		b.merged[i] = noID
		if len(second) < prefix {
			b.ids[2*i+1] = noID
		}
		if b.ids[2*i] == noID || b.ids[2*i+1] == noID {
			b.err = errMerge
			break
		}
		joined = append(append(joined[:0], first...), second[prefix:]...)
		// In most vocabularies, the results of merges have ids in the order of the ranks.
		id := last + 1
		if token, ok := v.token(id); v.repeats || !ok || token != string(joined) {
			if id, ok = v.ids.find(joined); !ok {
				b.err = errMerge
				break
			}
		}
		last, b.merged[i] = id, id
		b.parts = b.parts && nextPart(joined, 0) == len(joined)
	}
	b.done <- struct{}{}
}

const space = '▁'

// nextPart returns the first place after at where ▁ follows another character, or the end of text.
func nextPart(text []byte, at int) int {
	const underline = string(space)
	behind := false // the character before is not ▁
	for i := at; i < len(text); {
		if text[i] != underline[0] || len(text)-i < len(underline) || string(text[i:i+len(underline)]) != underline {
			behind = true
			i++
			continue
		}
		if behind {
			return i
		}
		i += len(underline)
	}
	return len(text)
}
