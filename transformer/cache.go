package transformer

import (
	"slices"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// A Cache holds the keys and values of the rows that a batch of sequences has
// passed through a stack of layers so far, and those of the memory that it
// attends to. Feeding a sequence piece by piece with a cache gives what feeding
// it at once gives. A Cache must not be used by two goroutines at a time.
//
// A pass begins with Begin, hands each layer its part, and ends with End. What a
// pass that fails has added does not count.
type Cache struct {
	sequences int
	room      int   // rows of each sequence to make room for at first
	lens      []int // rows passed through the stack so far, per sequence
	windows   []int // of the layers, or one of all
	layers    []LayerCache
	tokens    [][]int        // of each sequence, where a model asked to remember them
	format    kernels.Format // of keys and values
}

// NewCache is an empty cache for a number of sequences. room, which may be 0,
// is the number of rows of each to make room for at first.
func NewCache(sequences, room int) *Cache {
	sequences = max(sequences, 0)
	return &Cache{sequences: sequences, room: max(room, 16), lens: make([]int, sequences)}
}

// NewWindowCache is a cache that forgets what a SlidingWindow mask of the given
// size hides from all further queries, so that its memory depends on the window
// and not on the lengths of the sequences. Masks with data do not go with it. A
// window of 0 forgets nothing. There is one window for all layers, or one for each.
func NewWindowCache(sequences int, windows ...int) *Cache {
	c := NewCache(sequences, 0)
	for _, w := range windows {
		c.windows = append(c.windows, min(max(w, 0), unbounded))
	}
	return c
}

// Hold makes c, in which there is nothing yet, hold keys and values of self-attention in a
// format: float32, which is the default; of 16 bits, FormatBF16 or FormatF16; or FormatInt8, with a
// scale for each row of a head. Those of a memory stay float32.
func (c *Cache) Hold(f kernels.Format) error {
	if f > kernels.FormatInt8 {
		return check.Errorf(ErrConfig, "cache in format %v, want f32, bf16, f16 or int8", f)
	}
	if c.layers != nil {
		return check.Errorf(ErrConfig, "cache that is in use already")
	}
	c.format = f
	return nil
}

// Sequences is the number of sequences.
func (c *Cache) Sequences() int { return c.sequences }

// Len is the number of rows of sequence i that have passed through the stack: the
// position of its next row. It is 0 without a cache.
func (c *Cache) Len(i int) int {
	if c == nil {
		return 0
	}
	return c.lens[i]
}

// check returns an error unless the cache, or none, is for the sequences of batch.
func (c *Cache) check(batch Batch) error {
	if c != nil && batch.Len() != c.sequences {
		return check.Errorf(ErrShape, "batch of %d sequences with a cache of %d", batch.Len(), c.sequences)
	}
	return nil
}

// Begin starts a pass of the rows of batch through a number of layers. It does
// nothing without a cache.
func (c *Cache) Begin(batch Batch, layers int) error {
	if c == nil {
		return nil
	}
	if err := c.check(batch); err != nil {
		return err
	}
	if c.layers == nil {
		if n := len(c.windows); n > 1 && n != layers {
			return check.Errorf(ErrShape, "cache with %d windows used with %d layers", n, layers)
		}
		c.layers = make([]LayerCache, layers)
		for i := range layers {
			c.layers[i] = LayerCache{cache: c, dropped: make([]int, c.sequences), cross: &LayerCache{memory: true}}
			if n := len(c.windows); n > 0 {
				c.layers[i].window = c.windows[min(i, n-1)]
			}
		}
	}
	if len(c.layers) != layers {
		return check.Errorf(ErrShape, "cache of %d layers used with %d", len(c.layers), layers)
	}
	for i := range c.layers {
		if m := c.layers[i].cross; !m.settled {
			m.keys, m.values = nil, nil
		}
	}
	return nil
}

// End counts the rows of batch, after all layers have added theirs.
func (c *Cache) End(batch Batch) {
	if c == nil {
		return
	}
	for i := range c.lens {
		c.lens[i] += batch.Length(i)
	}
	for i := range c.layers {
		m := c.layers[i].cross
		m.settled = m.keys != nil
	}
}

// Layer is the part of layer i, nil without a cache.
func (c *Cache) Layer(i int) *LayerCache {
	if c == nil {
		return nil
	}
	return &c.layers[i]
}

// Keys returns a copy of the keys that a layer of the stack has of a sequence,
// [key heads, Len, head dim], after rotary positions. With a window, the first
// rows may be gone.
func (c *Cache) Keys(layer, sequence int) []float32 {
	l := &c.layers[layer]
	return l.copyOf(l.key, sequence)
}

// Values returns a copy of the values, like Keys.
func (c *Cache) Values(layer, sequence int) []float32 {
	l := &c.layers[layer]
	return l.copyOf(l.value, sequence)
}

// Reorder makes sequence i go on from what sequence parents[i] was: the step of
// beam search that drops some hypotheses and splits others. What cross-attention
// attends to stays: where sequences do not share it, parents have to have the same.
func (c *Cache) Reorder(parents []int) error {
	if len(parents) != c.sequences {
		return check.Errorf(ErrShape, "%d parents for a cache of %d sequences", len(parents), c.sequences)
	}
	moved := false
	for i, p := range parents {
		if p < 0 || p >= c.sequences {
			return check.Errorf(ErrShape, "parent %d in a cache of %d sequences", p, c.sequences)
		}
		moved = moved || p != i
	}
	if !moved {
		return nil
	}
	for i := range c.layers {
		c.layers[i].reorder(parents)
	}
	c.lens = pick(c.lens, parents)
	c.tokens = pick(c.tokens, parents)
	return nil
}

// Remember keeps the tokens of batch behind those remembered before: for models whose
// earlier rows change with the length of the sequence.
func (c *Cache) Remember(tokens []int, batch Batch) {
	if c.tokens == nil {
		c.tokens = make([][]int, c.sequences)
	}
	for i, old := range c.tokens { // which may be shared with sequences that part here
		c.tokens[i] = append(slices.Clip(old), tokens[batch.Start(i):batch.Start(i+1)]...)
	}
}

// Remembered is the tokens of sequence i that Remember was given.
func (c *Cache) Remembered(i int) []int {
	if c.tokens == nil {
		return nil
	}
	return c.tokens[i]
}

// Restart makes sequence i empty, but for what is remembered.
func (c *Cache) Restart(i int) {
	c.lens[i] = 0
	for l := range c.layers {
		c.layers[l].dropped[i] = 0
	}
}

// Continue is a new cache of n sequences that all go on from what a sequence of c
// is: continuations of one prompt, which is computed once. Of cross-attention,
// what c attends to must be shared by its sequences.
func (c *Cache) Continue(sequence, n int) (*Cache, error) {
	if sequence < 0 || sequence >= c.sequences || n < 1 {
		return nil, check.Errorf(ErrShape, "%d continuations of sequence %d in a cache of %d sequences", n, sequence, c.sequences)
	}
	parents := make([]int, n)
	for i := range parents {
		parents[i] = sequence
	}
	d := &Cache{sequences: n, room: c.room, lens: pick(c.lens, parents), tokens: pick(c.tokens, parents), windows: c.windows, format: c.format}
	for i := range c.layers {
		l := c.layers[i]
		l.cache = d
		l.reorder(parents)
		if m := *l.cross; m.settled && m.batch.Len() != 1 && c.sequences != 1 {
			return nil, check.Errorf(ErrShape, "continuations with a memory of each sequence")
		} else {
			l.cross = &m
		}
		d.layers = append(d.layers, l)
	}
	return d, nil
}

// pick is the elements of x at the given indices; nil of nil.
func pick[T any](x []T, at []int) []T {
	if x == nil {
		return nil
	}
	y := make([]T, len(at))
	for i, p := range at {
		y[i] = x[p]
	}
	return y
}

// LayerCache is what a cache holds for one layer: the keys and values of the earlier
// rows, for self-attention, and its Memory for cross-attention.
//
// The keys are stored as [sequences, key heads, capacity, head dim], and so are
// the values: what a head reads is contiguous, and appending a row copies that row
// only. The capacity doubles when it is exceeded; with a window, rows that no query
// will see are forgotten first, unless room for two windows is enough.
type LayerCache struct {
	// For self-attention:
	key, value     *kernels.Rows
	cache          *Cache
	window         int   // rows that a query sees, itself included; 0: all
	dropped        []int // rows forgotten, per sequence
	capacity       int   // rows that each sequence has room for
	heads, headDim int   // of keys; 0 before the first row
	// For cross-attention:
	memory       bool
	keys, values []float32 // of the memory's rows, as projected
	batch        Batch     // of these rows
	settled      bool      // the pass that brought them went well

	cross *LayerCache // the memory's part of a layer
}

// Memory is the part for cross-attention, nil without a cache.
func (l *LayerCache) Memory() *LayerCache {
	if l == nil {
		return nil
	}
	return l.cross
}

// Past is the number of rows of sequence i that have passed: the position of its
// next row. It is 0 without a cache.
func (l *LayerCache) Past(i int) int {
	if l == nil || l.cache == nil {
		return 0
	}
	return l.cache.lens[i]
}

// held is the number of rows that the cache has of sequence i.
func (l *LayerCache) held(i int) int { return l.cache.lens[i] - l.dropped[i] }

// need is the capacity that the rows of batch need.
func (l *LayerCache) need(batch Batch) int {
	need := 0
	for i := range l.dropped {
		need = max(need, l.held(i)+batch.Length(i))
	}
	return need
}

// makeRoom prepares for the rows of batch, whose keys have the given heads.
func (l *LayerCache) makeRoom(batch Batch, heads, headDim int) error {
	if l.heads == 0 {
		l.heads, l.headDim = heads, headDim
		l.resize(l.cache.room)
	}
	if l.heads != heads || l.headDim != headDim {
		return check.Errorf(ErrShape, "cache of a layer with %d heads of %d used with %d heads of %d", l.heads, l.headDim, heads, headDim)
	}
	need := l.need(batch)
	if l.window > 0 && need > max(l.capacity, 2*l.window) {
		l.forget()
		need = l.need(batch)
	}
	if need > l.capacity {
		capacity := l.capacity
		for capacity < need {
			capacity *= 2
		}
		if l.window > 0 {
			capacity = min(capacity, max(need, 2*l.window))
		}
		l.resize(capacity)
	}
	return nil
}

// resize moves all rows to slices with room for capacity rows.
func (l *LayerCache) resize(capacity int) {
	from, to := l.capacity*l.headDim, capacity*l.headDim
	for _, x := range []**kernels.Rows{&l.key, &l.value} {
		old := *x
		*x = kernels.NewRows(l.cache.format, len(l.dropped)*l.heads*capacity, l.headDim)
		for j := range len(l.dropped) * l.heads {
			if l.capacity > 0 {
				(*x).Copy(j*to, old, j*from, l.capacity)
			}
		}
	}
	l.capacity = capacity
}

// forget drops the rows that lie outside the window of all queries to come.
func (l *LayerCache) forget() {
	size := l.capacity * l.headDim
	for i := range l.dropped {
		held := l.held(i)
		drop := held - (l.window - 1)
		if drop <= 0 {
			continue
		}
		for h := range l.heads {
			at := (i*l.heads + h) * size
			for _, x := range []*kernels.Rows{l.key, l.value} {
				x.Copy(at, x, at+drop*l.headDim, held-drop)
			}
		}
		l.dropped[i] += drop
	}
}

// append stores the keys and values of the new rows of batch, which lie row
// elements apart.
func (l *LayerCache) append(batch Batch, k, v []float32, row int) {
	for i := range l.dropped {
		for j := range batch.Length(i) {
			from := (batch.Start(i) + j) * row
			for h := range l.heads {
				to := ((i*l.heads+h)*l.capacity + l.held(i) + j) * l.headDim
				l.key.Set(to, k[from+h*l.headDim:][:l.headDim])
				l.value.Set(to, v[from+h*l.headDim:][:l.headDim])
			}
		}
	}
}

// strides says where the keys lie, and the values.
func (l *LayerCache) strides() kernels.Strides {
	head := l.capacity * l.headDim
	return kernels.Strides{Batch: l.heads * head, Head: head, Row: l.headDim}
}

func (l *LayerCache) copyOf(x *kernels.Rows, sequence int) []float32 {
	size := l.held(sequence) * l.headDim
	rows := make([]float32, l.heads*size)
	for h := range l.heads {
		readRows(x, rows[h*size:(h+1)*size], (sequence*l.heads+h)*l.capacity*l.headDim)
	}
	return rows
}

// reorder makes sequence i what sequence parents[i] was.
func (l *LayerCache) reorder(parents []int) {
	rows := l.heads * l.capacity
	for _, x := range []**kernels.Rows{&l.key, &l.value} {
		to := kernels.NewRows(l.cache.format, len(parents)*rows, l.headDim)
		for s, p := range parents {
			if rows > 0 {
				to.Copy(s*rows*l.headDim, *x, p*rows*l.headDim, rows)
			}
		}
		*x = to
	}
	l.dropped = pick(l.dropped, parents)
}
