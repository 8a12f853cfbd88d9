package transformer

import (
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// A History holds the rows that a sequence has passed through a stack of layers: a table of the
// pages with the keys and values of these rows, and of the memory that the sequence attends to. A
// fork shares pages with its origin, and a shared page is copied before either writes to it.
//
// A History must not be used by two goroutines at a time. Histories that share pages may be, each
// by its own goroutine.
type History struct {
	pages  *Pages
	length int         // rows passed through the stack
	prompt int         // rows that came first, together; 0: those of the first pass
	tables []pageTable // by group
	memory []int32     // pages of what cross-attention attends to
	recall int         // rows of the memory
	// recalls is set once there is a memory, and settled once the pass that brought the memory has
	// succeeded.
	recalls, settled bool
	tokens           []int // that a model asked to remember
	adapter          int
	recurrent        recurrent
	grids            imageGrids // among the rows; the next pass drops what is after them
}

// pageTable is the pages of a sequence, in order.
type pageTable struct {
	pages   []int32
	dropped int // rows that were before them
}

// Len returns the number of rows that passed through the stack: the position of the next one. It is
// 0 for a nil History.
func (h *History) Len() int {
	if h == nil {
		return 0
	}
	return h.length
}

// Remembers reports whether the history has the memory that its sequence attends to. Passes need
// not get the memory again.
func (h *History) Remembers() bool { return h != nil && h.settled }

// Adapt sets the adapter of h to the given number, one of the adapters that stay beside the
// weights; 0: no adapter. A fork has the same adapter; Release removes it. If h has rows already,
// or the number is negative, the error matches fault.ErrShape.
func (h *History) Adapt(adapter int) error {
	if h.length > 0 || adapter < 0 {
		return check.Errorf(fault.ErrShape, "adapter %d for a history of %d rows", adapter, h.length)
	}
	h.adapter = adapter
	return nil
}

// Adapter returns the number of the adapter of h.
func (h *History) Adapter() int { return h.adapter }

// Expect says that the first rows, the prompt, are so many, in however many passes they come.
// Without it they are those of the first pass. Where frequencies of rotary positions depend on the
// length of a sequence, the rows of the prompt have those for the whole prompt, and each later row
// has those for the rows up to itself. If h has rows already, or the number is negative, the error
// matches fault.ErrShape.
func (h *History) Expect(rows int) error {
	if h.length > 0 || rows < 0 {
		return check.Errorf(fault.ErrShape, "a prompt of %d rows for a history of %d rows", rows, h.length)
	}
	h.prompt = rows
	return nil
}

// promptWith returns the rows of the prompt, of which a pass of some rows may be the first.
func (h *History) promptWith(rows int) int {
	if h.length == 0 && h.prompt == 0 {
		return rows
	}
	return h.prompt
}

// Fork returns a history that continues from the first rows of h, whose pages it shares.
func (h *History) Fork(rows int) (*History, error) {
	h.pages.mu.Lock()
	defer h.pages.mu.Unlock()
	if err := h.reaches(rows); err != nil {
		return nil, err
	}
	f := &History{pages: h.pages, length: rows, prompt: h.prompt, adapter: h.adapter, tokens: h.tokens[:min(rows, len(h.tokens))], recurrent: h.recurrent.fork(rows, h.length), grids: h.grids}
	if h.settled {
		f.memory, f.recall, f.recalls, f.settled = slices.Clone(h.memory), h.recall, true, true
		h.pages.memory.share(f.memory)
	}
	for i, t := range h.tables {
		shared := pageTable{slices.Clone(t.pages[:h.pages.pagesOf(rows-t.dropped)]), t.dropped}
		h.pages.groups[i].share(shared.pages)
		f.tables = append(f.tables, shared)
	}
	return f, nil
}

// Truncate forgets the rows from row on, as if they had never passed: proposed tokens that were not
// accepted, or an answer that is generated again. Layers with windows need some of the rows before
// row: the rows of one page can always be taken back. With recurrent layers, the rows of the last
// pass can be taken back if [Cache.Apart] named the sequence, or all rows together.
func (h *History) Truncate(rows int) error {
	h.pages.mu.Lock()
	defer h.pages.mu.Unlock()
	if err := h.reaches(rows); err != nil {
		return err
	}
	for i := range h.tables {
		t := &h.tables[i]
		keep := h.pages.pagesOf(rows - t.dropped)
		h.pages.groups[i].give(t.pages[keep:])
		t.pages = t.pages[:keep]
	}
	if rows < h.length {
		before := h.recurrent.fork(rows, h.length)
		h.recurrent.forget(h.pages)
		h.recurrent = before
	}
	h.length, h.tokens = rows, h.tokens[:min(rows, len(h.tokens))]
	return nil
}

// reaches returns an error unless h can be cut after its first rows.
func (h *History) reaches(rows int) error {
	if rows < 0 || rows > h.length {
		return check.Errorf(fault.ErrShape, "%d rows of a history of %d", rows, h.length)
	}
	for i, t := range h.tables {
		if w := h.pages.groups[i].window; t.dropped > 0 && t.dropped > max(0, rows-(w-1)) {
			return check.Errorf(fault.ErrShape, "%d rows of a history that has dropped those before %d, with a window of %d", rows, t.dropped, w)
		}
	}
	if !h.recurrent.holds(h.pages, rows, h.length) {
		return check.Errorf(fault.ErrShape, "%d rows of a history of %d whose layers have only the state after all rows", rows, h.length)
	}
	return nil
}

// Release gives back all pages. The history then has no rows, and can be used again.
func (h *History) Release() {
	h.pages.mu.Lock()
	defer h.pages.mu.Unlock()
	for i := range h.tables {
		h.pages.groups[i].give(h.tables[i].pages)
		h.tables[i] = pageTable{pages: h.tables[i].pages[:0]}
	}
	h.forgetMemory()
	h.recurrent.forget(h.pages)
	h.length, h.prompt, h.tokens, h.adapter, h.grids = 0, 0, nil, 0, nil
}

func (h *History) forgetMemory() {
	h.pages.memory.give(h.memory)
	h.memory, h.recall, h.recalls, h.settled = h.memory[:0], 0, false, false
}

// held returns the number of rows whose keys a group holds.
func (h *History) held(group int) int { return h.length - h.tables[group].dropped }

// prepare makes room for n more rows, and drops pages that no later query sees. apart is set if the
// rows may be taken back. The caller holds the lock.
func (h *History) prepare(n int, apart bool) error {
	p := h.pages
	for len(h.tables) < len(p.groups) {
		h.tables = append(h.tables, pageTable{})
	}
	if !h.settled {
		h.forgetMemory() // of a pass that failed
	}
	h.recurrent.trim(p)
	h.grids = h.grids.until(h.length)
	if n == 0 {
		return nil
	}
	if p.states.bytes > 0 {
		if err := h.recurrent.prepare(p, h.length, apart); err != nil {
			return err
		}
	}
	for i := range h.tables {
		t, g := &h.tables[i], &p.groups[i]
		if g.window > 0 {
			// One page more than the window stays, for Truncate.
			unseen := (h.length - (g.window - 1) - p.Rows - t.dropped) / p.Rows
			if unseen = min(unseen, len(t.pages)); unseen > 0 {
				g.give(t.pages[:unseen])
				t.pages = append(t.pages[:0], t.pages[unseen:]...)
				t.dropped += unseen * p.Rows
			}
		}
		h.trim(i)
		held := h.held(i)
		if rows := held % p.Rows; rows > 0 {
			if err := p.own(i, t.pages, rows); err != nil {
				return err
			}
		}
		if err := p.take(g, &t.pages, p.pagesOf(held+n)-len(t.pages)); err != nil {
			return err
		}
	}
	return nil
}

// trim gives back the pages of a pass that failed.
func (h *History) trim(group int) {
	t := &h.tables[group]
	keep := min(h.pages.pagesOf(h.held(group)), len(t.pages))
	h.pages.groups[group].give(t.pages[keep:])
	t.pages = t.pages[:keep]
}

// remember makes room for a memory of some rows, which the history shares with another one if that
// is not nil.
func (h *History) remember(rows int, with *History) error {
	p := h.pages
	p.mu.Lock()
	defer p.mu.Unlock()
	h.recall, h.recalls = rows, true
	if with != nil {
		p.memory.share(with.memory)
		h.memory = append(h.memory, with.memory...)
		return nil
	}
	return p.take(&p.memory, &h.memory, p.pagesOf(rows))
}

// New returns a history without rows.
func (p *Pages) New() *History { return &History{pages: p} }
