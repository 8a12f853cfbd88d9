package transformer

import "github.com/avoformer/avoformer/kernels"

// A Cache holds the keys and values of the rows that a batch of sequences has
// passed through a stack of layers so far, and those of the memory that it
// attends to. Feeding a sequence piece by piece with a cache gives what feeding
// it at once gives. A Cache must not be used by two goroutines at a time.
//
// The keys of a layer are stored as [sequences, key heads, capacity, head dim],
// and so are the values: what a head reads is contiguous, and appending a row
// copies that row only. The capacity doubles when it is exceeded; a cache with a
// window first forgets the rows that no query will see, unless room for two
// windows is enough.
type Cache struct {
	sequences      int
	capacity       int          // rows that each sequence has room for
	lens           []int        // rows passed through the stack so far, per sequence
	window         int          // rows that a query sees, itself included; 0: all
	dropped        []int        // rows forgotten, per sequence
	layers         []layerCache // self-attention
	memories       []layerCache // cross-attention
	heads, headDim int          // of keys
}

// layerCache is what the cache holds for one attention.
type layerCache struct {
	key, value []float32
	// For self-attention:
	cache *Cache
	// For cross-attention:
	memory  bool
	batch   Batch // of the memory's rows
	settled bool  // the pass that brought them went well
}

// NewCache is an empty cache for a number of sequences. room, which may be 0,
// is the number of rows of each to make room for at first.
func NewCache(sequences, room int) *Cache {
	sequences = max(sequences, 0)
	return &Cache{sequences: sequences, capacity: max(room, 16), lens: make([]int, sequences), dropped: make([]int, sequences)}
}

// NewWindowCache is a cache that forgets what a SlidingWindow mask of the given
// size hides from all further queries, so that its memory depends on the window
// and not on the lengths of the sequences. Masks with data do not go with it. A
// window of 0 forgets nothing.
func NewWindowCache(sequences, window int) *Cache {
	c := NewCache(sequences, 0)
	c.window = min(max(window, 0), unbounded)
	return c
}

// Sequences is the number of sequences.
func (c *Cache) Sequences() int { return c.sequences }

// Len is the number of rows of sequence i that have passed through the stack.
func (c *Cache) Len(i int) int { return c.lens[i] }

// held is the number of rows that the cache has of sequence i.
func (c *Cache) held(i int) int { return c.lens[i] - c.dropped[i] }

// need is the capacity that the rows of batch need.
func (c *Cache) need(batch Batch) int {
	need := 0
	for i := range c.lens {
		need = max(need, c.held(i)+batch.Length(i))
	}
	return need
}

// check returns an error unless the cache, or none, is for the sequences of batch.
func (c *Cache) check(batch Batch) error {
	if c != nil && batch.Len() != c.sequences {
		return errorf(ErrShape, "batch of %d sequences with a cache of %d", batch.Len(), c.sequences)
	}
	return nil
}

// begin makes room for the rows of batch in a stack of layers, whose keys have
// the given heads.
func (c *Cache) begin(batch Batch, layers, heads, headDim int) error {
	if err := c.check(batch); err != nil {
		return err
	}
	if c.layers == nil {
		c.heads, c.headDim = heads, headDim
		c.layers, c.memories = make([]layerCache, layers), make([]layerCache, layers)
		for i := range layers {
			c.layers[i].cache, c.memories[i].memory = c, true
		}
		c.resize(c.capacity)
	}
	if len(c.layers) != layers || c.heads != heads || c.headDim != headDim {
		return errorf(ErrShape, "cache of %d layers with %d heads of %d used with %d layers with %d heads of %d",
			len(c.layers), c.heads, c.headDim, layers, heads, headDim)
	}
	for i := range c.memories {
		if m := &c.memories[i]; !m.settled {
			m.key, m.value = nil, nil
		}
	}
	need := c.need(batch)
	if c.window > 0 && need > max(c.capacity, 2*c.window) {
		c.forget()
		need = c.need(batch)
	}
	if need > c.capacity {
		capacity := c.capacity
		for capacity < need {
			capacity *= 2
		}
		if c.window > 0 {
			capacity = min(capacity, max(need, 2*c.window))
		}
		c.resize(capacity)
	}
	return nil
}

// each calls f for the rows of every head, with room for capacity rows, of
// sequence i in all layers.
func (c *Cache) each(i int, f func(rows []float32)) {
	size := c.capacity * c.headDim
	for _, l := range c.layers {
		for h := range c.heads {
			at := (i*c.heads + h) * size
			f(l.key[at : at+size])
			f(l.value[at : at+size])
		}
	}
}

// resize moves all rows to slices with room for capacity rows.
func (c *Cache) resize(capacity int) {
	from, to := c.capacity*c.headDim, capacity*c.headDim
	for i := range c.layers {
		l := &c.layers[i]
		for _, x := range []*[]float32{&l.key, &l.value} {
			old := *x
			*x = make([]float32, c.sequences*c.heads*to)
			for j := range len(old) / max(from, 1) {
				copy((*x)[j*to:(j+1)*to], old[j*from:(j+1)*from])
			}
		}
	}
	c.capacity = capacity
}

// forget drops the rows that lie outside the window of all queries to come.
func (c *Cache) forget() {
	for i := range c.lens {
		held := c.held(i)
		drop := held - (c.window - 1)
		if drop <= 0 {
			continue
		}
		c.each(i, func(rows []float32) { copy(rows, rows[drop*c.headDim:held*c.headDim]) })
		c.dropped[i] += drop
	}
}

// end counts the rows of batch, after all layers have appended theirs.
func (c *Cache) end(batch Batch) {
	for i := range c.lens {
		c.lens[i] += batch.Length(i)
	}
	for i := range c.memories {
		c.memories[i].settled = c.memories[i].key != nil
	}
}

// layer is the part for the self-attention of layer i, nil without a cache.
func (c *Cache) layer(i int) *layerCache {
	if c == nil {
		return nil
	}
	return &c.layers[i]
}

// memory is the part for the cross-attention of layer i, nil without a cache.
func (c *Cache) memory(i int) *layerCache {
	if c == nil {
		return nil
	}
	return &c.memories[i]
}

// append stores the keys and values of the new rows of batch, which lie row
// elements apart.
func (l *layerCache) append(batch Batch, k, v []float32, row int) {
	c := l.cache
	for i := range c.lens {
		for j := range batch.Length(i) {
			from := (batch.Start(i) + j) * row
			for h := range c.heads {
				to := ((i*c.heads+h)*c.capacity + c.held(i) + j) * c.headDim
				copy(l.key[to:to+c.headDim], k[from+h*c.headDim:])
				copy(l.value[to:to+c.headDim], v[from+h*c.headDim:])
			}
		}
	}
}

// strides says where the keys lie, and the values.
func (c *Cache) strides() kernels.Strides {
	head := c.capacity * c.headDim
	return kernels.Strides{Batch: c.heads * head, Head: head, Row: c.headDim}
}

// Keys returns a copy of the keys that a layer of the stack has of a sequence,
// [key heads, Len, head dim], after rotary positions. With a window, the first
// rows may be gone.
func (c *Cache) Keys(layer, sequence int) []float32 { return c.copyOf(c.layers[layer].key, sequence) }

// Values returns a copy of the values, like Keys.
func (c *Cache) Values(layer, sequence int) []float32 {
	return c.copyOf(c.layers[layer].value, sequence)
}

func (c *Cache) copyOf(x []float32, sequence int) []float32 {
	var rows []float32
	for h := range c.heads {
		at := (sequence*c.heads + h) * c.capacity * c.headDim
		rows = append(rows, x[at:at+c.held(sequence)*c.headDim]...)
	}
	return rows
}

// Reorder makes sequence i go on from what sequence parents[i] was: the step of
// beam search that drops some hypotheses and splits others. What cross-attention
// attends to stays: where sequences do not share it, parents have to have the same.
func (c *Cache) Reorder(parents []int) error {
	if len(parents) != c.sequences {
		return errorf(ErrShape, "%d parents for a cache of %d sequences", len(parents), c.sequences)
	}
	moved := false
	for i, p := range parents {
		if p < 0 || p >= c.sequences {
			return errorf(ErrShape, "parent %d in a cache of %d sequences", p, c.sequences)
		}
		moved = moved || p != i
	}
	if !moved {
		return nil
	}
	size := c.heads * c.capacity * c.headDim
	for i := range c.layers {
		l := &c.layers[i]
		for _, x := range []*[]float32{&l.key, &l.value} {
			to := make([]float32, len(*x))
			for s, p := range parents {
				copy(to[s*size:(s+1)*size], (*x)[p*size:])
			}
			*x = to
		}
	}
	for _, x := range []*[]int{&c.lens, &c.dropped} {
		to := make([]int, c.sequences)
		for i, p := range parents {
			to[i] = (*x)[p]
		}
		*x = to
	}
	return nil
}
