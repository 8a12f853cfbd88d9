package tokenizer

// A cache of words. Words recur in texts, and a look-up takes a tenth of the time of merging.

import (
	"hash/maphash"
	"sync/atomic"
)

const (
	cacheSlots  = 1 << 13
	maxCached   = 48 // bytes of a word
	cacheFilter = 3  // words of at most so many bytes are not cached
)

// wordCache keeps the last word of each hash. It needs no lock: entries do not change, and a slot
// holds either a whole entry or nil.
type wordCache struct {
	seed  maphash.Seed
	slots [cacheSlots]atomic.Pointer[cachedWord]
}

type cachedWord struct {
	text   string
	tokens []token // with positions within the word
}

func newWordCache() *wordCache { return &wordCache{seed: maphash.MakeSeed()} }

// word appends the tokens of text[start:end]. It calls f if the word is not in the cache.
func (c *wordCache) word(w *work, start, end int32, f func(w *work, start, end int32) error) error {
	text := w.text[start:end]
	if len(text) > maxCached || len(text) <= cacheFilter {
		return f(w, start, end)
	}
	slot := &c.slots[maphash.Bytes(c.seed, text)%cacheSlots]
	if e := slot.Load(); e != nil && e.text == string(text) {
		for _, t := range e.tokens {
			t.start += start
			t.end += start
			w.tokens = append(w.tokens, t)
		}
		return nil
	}
	before := len(w.tokens)
	if err := f(w, start, end); err != nil {
		return err
	}
	e := &cachedWord{string(text), append([]token(nil), w.tokens[before:]...)}
	for i := range e.tokens {
		e.tokens[i].start -= start
		e.tokens[i].end -= start
	}
	slot.Store(e)
	return nil
}
