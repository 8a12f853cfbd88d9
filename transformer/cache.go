package transformer

import (
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// A Cache has the histories of the sequences of a batch: the keys and values of the rows that each
// sequence has passed through a stack of layers so far, and those of the memory that it attends to.
// A sequence that passes piece by piece with a cache gives the same results as in one pass. A Cache
// must not be used by two goroutines at a time.
//
// A pass begins with Begin, passes each layer its part, and ends with End. The rows of a pass that
// fails do not count.
type Cache struct {
	pages     *Pages
	histories []*History
	layers    []LayerCache
	apart     []bool // sequences of which each row attends as if it came alone; nil: none
	adapters  int    // that the model has beside its weights
}

// NewCache returns an empty cache for a number of sequences, with pages of its own. The windows are
// those of PagesConfig.
func NewCache(sequences int, windows ...int) *Cache {
	return must(NewPages(PagesConfig{Windows: windows})).Cache(sequences)
}

// NewCacheOf returns a cache of histories of one pool. Passes with the cache continue the
// histories, which remain the caller's.
func NewCacheOf(histories ...*History) *Cache {
	c := new(Cache)
	c.Use(histories)
	return c
}

// Use makes c a cache of other histories. These and the slice remain the caller's. It works with
// the zero Cache too.
func (c *Cache) Use(histories []*History) {
	c.histories, c.pages, c.apart = histories, nil, c.apart[:0]
	if len(histories) > 0 {
		c.pages = histories[0].pages
	}
}

// Apart makes each row of sequence i attend as if it were the only row of its pass, with the same
// bits, until the next Use. It is for proposed tokens, some of which are taken back. It takes
// longer, and requires a causal mask.
func (c *Cache) Apart(i int) {
	if len(c.apart) < len(c.histories) {
		c.apart = append(c.apart, make([]bool, len(c.histories)-len(c.apart))...)
	}
	c.apart[i] = true
}

// History returns the history of sequence i.
func (c *Cache) History(i int) *History { return c.histories[i] }

// Release gives back the pages of all histories.
func (c *Cache) Release() {
	for _, h := range c.histories {
		h.Release()
	}
}

// Sequences returns the number of sequences.
func (c *Cache) Sequences() int { return len(c.histories) }

// Len returns the number of rows of sequence i that have passed through the stack: the position of
// its next row. It is 0 without a cache.
func (c *Cache) Len(i int) int {
	if c == nil {
		return 0
	}
	return c.histories[i].length
}

// check returns an error unless the cache, or none, is for the sequences of batch.
func (c *Cache) check(batch Batch) error {
	if c != nil && batch.Len() != len(c.histories) {
		return check.Errorf(fault.ErrShape, "batch of %d sequences with a cache of %d", batch.Len(), len(c.histories))
	}
	return nil
}

// Begin starts a pass of the rows of batch through a number of layers. Without a cache it does
// nothing. If the rows exceed the limit of the pages, the error matches fault.ErrMemory.
func (c *Cache) Begin(batch Batch, layers int) error {
	if c == nil {
		return nil
	}
	if err := c.check(batch); err != nil || len(c.histories) == 0 {
		return err
	}
	for _, h := range c.histories {
		if h.pages != c.pages {
			return check.Errorf(fault.ErrConfig, "cache of histories of different pages")
		}
		if h.adapter > c.adapters {
			return check.Errorf(fault.ErrConfig, "history with adapter %d, but the model has %d adapters", h.adapter, c.adapters)
		}
	}
	c.pages.mu.Lock()
	defer c.pages.mu.Unlock()
	if err := c.pages.settle(layers); err != nil {
		return err
	}
	for i, h := range c.histories {
		if err := h.prepare(batch.Length(i), i < len(c.apart) && c.apart[i]); err != nil {
			for _, h := range c.histories[:i+1] {
				h.recurrent.trim(c.pages)
				for group := range h.tables {
					h.trim(group)
				}
			}
			return err
		}
	}
	if len(c.layers) != layers {
		c.layers = make([]LayerCache, layers)
		for i := range c.layers {
			c.layers[i] = LayerCache{cache: c, layer: i, cross: &LayerCache{cache: c, layer: i, memory: true}}
		}
	}
	return nil
}

// End counts the rows of batch, after all layers have added theirs.
func (c *Cache) End(batch Batch) {
	if c == nil {
		return
	}
	if len(c.histories) == 0 {
		return
	}
	c.pages.mu.Lock()
	defer c.pages.mu.Unlock()
	for i, h := range c.histories {
		h.recurrent.end(c.pages)
		h.prompt = h.promptWith(batch.Length(i))
		h.length += batch.Length(i)
		h.settled = h.recalls
	}
}

// Positions returns the positions of the rows of batch, which follow those in c and have some soft
// tokens of dim features; nil if there is no image among all of these rows. It is called after
// Begin, and c may be nil. Soft tokens of an image that do not follow its earlier ones, that are in
// two sequences, or that are not in the order of their rows are an error that matches
// fault.ErrShape.
func (c *Cache) Positions(batch Batch, soft []Soft, dim int) ([]Position, error) {
	var all []Position
	for i := range batch.Len() {
		from, to := batch.Start(i), batch.Start(i+1)
		var grids imageGrids
		if c != nil {
			grids = c.histories[i].grids
		}
		for _, s := range soft {
			if s.Across == 0 || s.At < from || s.At >= to {
				continue
			}
			rows := len(s.X) / dim
			if s.Across < 0 || s.Before < 0 || rows == 0 || s.At+rows > to {
				return nil, check.Errorf(fault.ErrShape, "%d soft tokens in %d columns, after %d, at row %d of sequence %d of %d rows", rows, s.Across, s.Before, s.At-from, i, to-from)
			}
			if err := grids.add(c.Len(i)+s.At-from, rows, s); err != nil {
				return nil, err
			}
		}
		if c != nil {
			c.histories[i].grids = grids
		}
		if len(grids) == 0 && all == nil {
			continue
		}
		if all == nil {
			all = make([]Position, 0, batch.Rows())
			for before := range i {
				all = appendPositions(all, nil, c.Len(before), batch.Length(before))
			}
		}
		all = appendPositions(all, grids, c.Len(i), to-from)
	}
	return all, nil
}

// appendPositions appends those of n rows from a row on.
func appendPositions(all []Position, grids imageGrids, row, n int) []Position {
	for j := range n {
		all = append(all, grids.position(row+j))
	}
	return all
}

// Layer returns the part of layer i, nil without a cache.
func (c *Cache) Layer(i int) *LayerCache {
	if c == nil || len(c.layers) == 0 {
		return nil
	}
	return &c.layers[i]
}

// Keys returns a copy of the keys that a layer of the stack has for a sequence, [key heads, Len,
// head dim], after rotary positions. With a window, the first rows may be missing.
func (c *Cache) Keys(layer, sequence int) []float32 {
	return c.layers[layer].copyOf(sequence, func(s pageStore) *kernels.Pages { return s.keys })
}

// Values returns a copy of the values, like Keys.
func (c *Cache) Values(layer, sequence int) []float32 {
	return c.layers[layer].copyOf(sequence, func(s pageStore) *kernels.Pages { return s.values })
}

// Reorder makes sequence i continue from the rows of sequence parents[i]: the step of beam search
// that drops some hypotheses and splits others. It copies no rows.
func (c *Cache) Reorder(parents []int) error {
	if len(parents) != len(c.histories) {
		return check.Errorf(fault.ErrShape, "%d parents for a cache of %d sequences", len(parents), len(c.histories))
	}
	moved := false
	for i, p := range parents {
		if p < 0 || p >= len(c.histories) {
			return check.Errorf(fault.ErrShape, "parent %d in a cache of %d sequences", p, len(c.histories))
		}
		moved = moved || p != i
	}
	if !moved {
		return nil
	}
	next := make([]*History, len(parents))
	for i, p := range parents {
		h, err := c.histories[p].Fork(c.histories[p].length)
		if err != nil {
			return err
		}
		next[i] = h
	}
	c.Release()
	copy(c.histories, next)
	return nil
}

// Remember keeps the tokens of batch after those remembered before: for models whose earlier rows
// change with the length of the sequence.
func (c *Cache) Remember(tokens []int, batch Batch) {
	for i, h := range c.histories { // whose tokens may be shared with sequences that part here
		h.tokens = append(slices.Clip(h.tokens), tokens[batch.Start(i):batch.Start(i+1)]...)
	}
}

// Remembered returns the tokens of sequence i that Remember was given.
func (c *Cache) Remembered(i int) []int { return c.histories[i].tokens }

// Restart makes sequence i empty, except for its remembered tokens. It then expects a prompt of
// some rows.
func (c *Cache) Restart(i, rows int) error {
	h := c.histories[i]
	tokens := h.tokens
	if err := h.Truncate(0); err != nil {
		return err
	}
	h.tokens = tokens
	return h.Expect(rows)
}

// Continue returns a new cache of n sequences that all continue from the rows of one sequence of c:
// continuations of a prompt that is computed only once.
func (c *Cache) Continue(sequence, n int) (*Cache, error) {
	if sequence < 0 || sequence >= len(c.histories) || n < 1 {
		return nil, check.Errorf(fault.ErrShape, "%d continuations of sequence %d in a cache of %d sequences", n, sequence, len(c.histories))
	}
	forks := make([]*History, n)
	for i := range forks {
		f, err := c.histories[sequence].Fork(c.Len(sequence))
		if err != nil {
			return nil, err
		}
		forks[i] = f
	}
	return NewCacheOf(forks...), nil
}

// Cache returns a cache of a number of sequences with new histories.
func (p *Pages) Cache(sequences int) *Cache {
	histories := make([]*History, max(sequences, 0))
	for i := range histories {
		histories[i] = p.New()
	}
	return NewCacheOf(histories...)
}

// Adapt makes the linear layers of a pass apply the adapters of the cache's histories, until
// Unadapt. Each of these layers multiplies the rows of batch. adapters is the number of adapters
// that the model has in addition to its weights.
func (w *Workspace) Adapt(batch Batch, cache *Cache, adapters int) {
	w.Unadapt()
	if cache == nil || cache.check(batch) != nil {
		return
	}
	cache.adapters = adapters
	for i, h := range cache.histories {
		from, to := batch.Start(i), batch.Start(i+1)
		if h.adapter == 0 || from == to {
			continue
		}
		if last := len(w.adapted) - 1; last >= 0 && w.adapted[last].to == from && w.adapted[last].adapter == h.adapter {
			w.adapted[last].to = to
			continue
		}
		w.adapted = append(w.adapted, adaptedRows{from, to, h.adapter})
	}
}
