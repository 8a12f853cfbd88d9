package transformer

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// LayerCache is the part of a cache for one layer: the keys and values of the earlier rows, for
// self-attention, and its Memory, for cross-attention.
type LayerCache struct {
	cache  *Cache
	layer  int
	memory bool
	store  pageStore   // in the pass that runs
	cross  *LayerCache // the memory's part of a layer
}

// Memory returns the part for cross-attention, nil without a cache.
func (l *LayerCache) Memory() *LayerCache {
	if l == nil {
		return nil
	}
	return l.cross
}

// Past returns the number of rows of sequence i that have passed: the position of its next row. It
// is 0 without a cache.
func (l *LayerCache) Past(i int) int {
	if l == nil {
		return 0
	}
	return l.cache.Len(i)
}

// prompt returns the rows of the prompt of sequence i, of which a pass of some rows may be the
// first.
func (l *LayerCache) prompt(i, rows int) int {
	if l == nil {
		return rows
	}
	return l.cache.histories[i].promptWith(rows)
}

// apart reports whether each row of sequence i attends as if it were the only row of its pass.
func (l *LayerCache) apart(i int) bool { return i < len(l.cache.apart) && l.cache.apart[i] }

// remembers reports whether every sequence has a memory.
func (l *LayerCache) remembers() bool {
	for _, h := range l.cache.histories {
		if !h.settled {
			return false
		}
	}
	return true
}

// remembered reports whether the layer holds a memory.
func (l *LayerCache) remembered() bool { return l != nil && l.memory }

// table returns the pages of sequence i, and the number of their rows that precede the rows of the
// pass. Where pages were dropped, positions count from the first row that is left: masks and
// relative positions depend only on differences.
func (l *LayerCache) table(i int) (pages []int32, past int) {
	h := l.cache.histories[i]
	if l.memory {
		return h.memory, h.recall
	}
	group := l.cache.pages.layer[l.layer].group
	return h.tables[group].pages, h.held(group)
}

// open prepares the rows of the layer, whose keys have the given heads.
func (l *LayerCache) open(heads, headDim int) (err error) {
	of := storedSelf
	if l.memory {
		of = storedMemory
	}
	l.store, err = l.cache.pages.store(l.layer, of, heads, headDim)
	return err
}

// inputs sets the last rows of dst, [n, width], to the stored inputs of sequence i of a
// convolution, as many as there are.
func (l *LayerCache) inputs(dst []float32, i, n, width int) (err error) {
	if l == nil {
		return nil
	}
	if l.store, err = l.cache.pages.store(l.layer, storedInputs, 1, width); err != nil {
		return err
	}
	pages, past := l.table(i)
	if past < min(n, l.Past(i)) {
		return check.Errorf(fault.ErrShape, "convolution of %d rows with a window that holds %d of %d", n+1, past, l.Past(i))
	}
	for j := max(0, n-past); j < n; j++ {
		row := past - n + j
		l.store.keys.Row(dst[j*width:][:width], int(pages[row/l.cache.pages.Rows]), row%l.cache.pages.Rows)
	}
	return nil
}

// addInputs stores the inputs of the new rows of batch, [rows, width].
func (l *LayerCache) addInputs(batch Batch, x []float32, width int) {
	if l == nil {
		return
	}
	for i := range batch.Len() {
		pages, past := l.table(i)
		for j := range batch.Length(i) {
			row := past + j
			l.store.keys.Set(int(pages[row/l.cache.pages.Rows]), row%l.cache.pages.Rows, x[(batch.Start(i)+j)*width:][:width])
		}
	}
}

// set sets a row of a sequence, of all heads.
func (l *LayerCache) set(pages []int32, row int, k, v []float32) {
	size := l.cache.pages.Rows
	page, at := int(pages[row/size]), row%size
	l.store.keys.Set(page, at, k)
	l.store.values.Set(page, at, v)
}

// remember stores the keys and values of the memory for the sequences that have none: those of the
// rows of batch, which has as many sequences, or one that all share.
func (l *LayerCache) remember(batch Batch, k, v []float32) error {
	histories := l.cache.histories
	if batch.Len() != 1 && batch.Len() != len(histories) {
		return check.Errorf(fault.ErrShape, "attention: %d sequences of queries, %d of keys", len(histories), batch.Len())
	}
	width := l.store.keys.Heads() * l.store.keys.Dim()
	var first *History // of those that share one memory
	for i, h := range histories {
		if h.settled {
			continue
		}
		from := min(i, batch.Len()-1)
		shared := batch.Len() == 1 && len(histories) > 1
		if !h.recalls { // the first layer
			if err := h.remember(batch.Length(from), first); err != nil {
				return err
			}
			if err := l.open(l.store.keys.Heads(), l.store.keys.Dim()); err != nil {
				return err
			}
		}
		if first == nil {
			for j := range batch.Length(from) {
				row := (batch.Start(from) + j) * width
				l.set(h.memory, j, k[row:][:width], v[row:][:width])
			}
		}
		if shared {
			first = h
		}
	}
	return nil
}

// widened returns the rows of the sequences of a call as float32, [sequences, heads, rows, dim].
func (l *LayerCache) widened(ws *Workspace, x *kernels.Pages, sequences []kernels.AttentionSequence, rows int) []float32 {
	heads, dim, size := x.Heads(), x.Dim(), x.Rows()
	wide, row := ws.Alloc(len(sequences)*heads*rows*dim), ws.Alloc(heads*dim)
	for i, s := range sequences {
		for j := range rows {
			x.Row(row, int(s.Pages[j/size]), j%size)
			for h := range heads {
				copy(wide[((i*heads+h)*rows+j)*dim:][:dim], row[h*dim:])
			}
		}
	}
	return wide
}

// copyOf returns the keys or values of a sequence, [heads, rows, dim].
func (l *LayerCache) copyOf(sequence int, of func(pageStore) *kernels.Pages) []float32 {
	pages, rows := l.table(sequence)
	if of(l.store) == nil { // a convolution's values
		return nil
	}
	return l.widened(nil, of(l.store), []kernels.AttentionSequence{{Pages: pages}}, rows)
}
