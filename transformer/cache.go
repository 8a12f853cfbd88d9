package transformer

// A Cache holds the keys and values of the rows that a batch of sequences has
// passed through a stack of layers so far, and those of the memory that it
// attends to. Feeding a sequence piece by piece with a cache gives what feeding
// it at once gives. A Cache must not be used by two goroutines at a time.
//
// The keys of a layer are stored as [sequences, capacity, key heads, head dim],
// and so are the values: appending a row copies that row only, and the keys of
// one sequence are rows at a constant distance. The capacity doubles when it is
// exceeded; a cache with a window first forgets the rows that no query will see.
type Cache struct {
	sequences int
	capacity  int          // rows that each sequence has room for
	lens      []int        // rows passed through the stack so far, per sequence
	window    int          // rows that a query sees, itself included; 0: all
	dropped   []int        // rows forgotten, per sequence
	layers    []layerCache // self-attention
	memories  []layerCache // cross-attention
	width     int
}

// layerCache is what the cache holds for one attention.
type layerCache struct {
	key, value []float32
	// For self-attention:
	capacity int
	lens     []int // the cache's
	dropped  []int // the cache's
	// For cross-attention:
	memory bool
	batch  Batch // of the memory's rows
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
	c := NewCache(sequences, 2*window)
	c.window = max(window, 0)
	return c
}

// Sequences is the number of sequences.
func (c *Cache) Sequences() int { return c.sequences }

// Len is the number of rows of sequence i that have passed through the stack.
func (c *Cache) Len(i int) int { return c.lens[i] }

// begin makes room for the rows of batch in a stack of layers. width is that of
// the keys of one row.
func (c *Cache) begin(batch Batch, layers, width int) error {
	if batch.Len() != c.sequences {
		return errorf(ErrShape, "batch of %d sequences with a cache of %d", batch.Len(), c.sequences)
	}
	if c.layers == nil {
		c.width = width
		c.layers = make([]layerCache, layers)
		c.memories = make([]layerCache, layers)
		for i := range c.memories {
			c.memories[i].memory = true
		}
	}
	if len(c.layers) != layers || c.width != width {
		return errorf(ErrShape, "cache of %d layers of width %d used with %d of width %d", len(c.layers), c.width, layers, width)
	}
	if c.window > 0 && c.need(batch) > c.capacity {
		c.forget()
	}
	capacity := c.capacity
	for need := c.need(batch); capacity < need; {
		capacity *= 2
	}
	for i := range c.layers {
		l := &c.layers[i]
		if l.capacity != capacity {
			l.key, l.value = c.grow(l.key, capacity), c.grow(l.value, capacity)
			l.capacity, l.lens, l.dropped = capacity, c.lens, c.dropped
		}
	}
	c.capacity = capacity
	return nil
}

// need is the capacity that the rows of batch need.
func (c *Cache) need(batch Batch) int {
	need := 0
	for i := range c.lens {
		need = max(need, c.held(i)+batch.Length(i))
	}
	return need
}

// held is the number of rows that the cache has of sequence i.
func (c *Cache) held(i int) int { return c.lens[i] - c.dropped[i] }

// forget drops the rows that lie outside the window of all queries to come.
func (c *Cache) forget() {
	for i := range c.lens {
		drop := c.held(i) - (c.window - 1)
		if drop <= 0 {
			continue
		}
		for j := range c.layers {
			l := &c.layers[j]
			for _, x := range [][]float32{l.key, l.value} {
				rows := x[i*c.capacity*c.width:][:c.held(i)*c.width]
				copy(rows, rows[drop*c.width:])
			}
		}
		c.dropped[i] += drop
	}
}

// grow moves the rows of all sequences to a slice with more room.
func (c *Cache) grow(old []float32, capacity int) []float32 {
	grown := make([]float32, c.sequences*capacity*c.width)
	for i := range c.lens {
		if n := c.held(i); n > 0 {
			copy(grown[i*capacity*c.width:], old[i*c.capacity*c.width:][:n*c.width])
		}
	}
	return grown
}

// end counts the rows of batch, after all layers have appended theirs.
func (c *Cache) end(batch Batch) {
	for i := range c.lens {
		c.lens[i] += batch.Length(i)
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

// append stores the keys and values of the new rows, which lie row apart.
func (l *layerCache) append(batch Batch, k, v []float32, row int) {
	width := len(l.key) / max(len(l.lens)*l.capacity, 1)
	for i, n := range l.lens {
		past := n - l.dropped[i]
		for j := range batch.Length(i) {
			from, to := (batch.Start(i)+j)*row, (i*l.capacity+past+j)*width
			copy(l.key[to:to+width], k[from:])
			copy(l.value[to:to+width], v[from:])
		}
	}
}

// Keys returns a copy of the keys that a layer of the stack has of a sequence,
// [Len, key heads*head dim], after rotary positions. With a window, the first
// rows may be gone.
func (c *Cache) Keys(layer, sequence int) []float32 { return c.copyOf(c.layers[layer].key, sequence) }

// Values returns a copy of the values, like Keys.
func (c *Cache) Values(layer, sequence int) []float32 {
	return c.copyOf(c.layers[layer].value, sequence)
}

func (c *Cache) copyOf(x []float32, sequence int) []float32 {
	return append([]float32{}, x[sequence*c.capacity*c.width:][:c.held(sequence)*c.width]...)
}

// Reorder makes sequence i go on from what sequence parents[i] was: the step of
// beam search that drops some hypotheses and splits others.
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
	lens, dropped := make([]int, c.sequences), make([]int, c.sequences)
	for i, p := range parents {
		lens[i], dropped[i] = c.lens[p], c.dropped[p]
	}
	size := c.capacity * c.width
	for i := range c.layers {
		l := &c.layers[i]
		for _, x := range []*[]float32{&l.key, &l.value} {
			to := make([]float32, len(*x))
			for s, p := range parents {
				copy(to[s*size:], (*x)[p*size:][:(lens[s]-dropped[s])*c.width])
			}
			*x = to
		}
	}
	copy(c.lens, lens)
	copy(c.dropped, dropped)
	return nil
}
