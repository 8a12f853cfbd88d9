package transformer

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// A Workspace is the scratch memory that a goroutine needs to run models. It is reused from pass to
// pass: passes of a size seen before allocate little. The zero Workspace is ready for use. It must
// not be used by two goroutines at a time.
type Workspace struct {
	// Threads is the number of threads of each pass, the calling goroutine included; 0 means 1.
	// Results do not depend on it.
	Threads kernels.Threads

	// Trace, unless nil, is called with the intermediate results of a pass: attention weights, the
	// output of each layer and others. The name begins with that of the part of the model, as in
	// the names of its weights. Values are row-major, belong to the workspace, and are valid only
	// during the call.
	Trace func(name string, values []float32, shape ...int)

	chunks [][]float32 // scratch memory; a stack of allocations
	least  int         // elements of a new chunk
	chunk  int         // the chunk that allocations come from
	used   int         // elements of it that are taken
	// Of the attention that is running:
	terms     []kernels.MaskTerm
	sequences []kernels.AttentionSequence
	// Of the pass that is running:
	adapted []adaptedRows
	row     int // of the pass, at which a layer is that is computed in pieces

	slots []any // by slot
}

// check returns an error without a workspace.
func (w *Workspace) check() error {
	if w == nil {
		return check.Errorf(fault.ErrConfig, "workspace is nil; pass new(Workspace)")
	}
	return nil
}

// A Mark is a height of the stack of allocations.
type Mark struct{ chunk, used int }

// Mark returns the present height, for Release.
func (w *Workspace) Mark() Mark {
	if w == nil { // an error follows; see check
		return Mark{}
	}
	return Mark{w.chunk, w.used}
}

// Release frees what was allocated since m was taken: defer ws.Release(ws.Mark()). Once everything
// is free, a single chunk that suffices for the next pass replaces several chunks.
func (w *Workspace) Release(m Mark) {
	if w == nil {
		return
	}
	w.chunk, w.used = m.chunk, m.used
	if m == (Mark{}) && len(w.chunks) > 1 {
		total := 0
		for _, c := range w.chunks {
			total += len(c)
		}
		w.chunks, w.least = nil, total
	}
}

// Alloc returns a slice of n elements of any value, valid until the release of a mark taken before.
func (w *Workspace) Alloc(n int) []float32 {
	if w == nil {
		return make([]float32, n)
	}
	for ; w.chunk < len(w.chunks); w.chunk, w.used = w.chunk+1, 0 {
		if c := w.chunks[w.chunk]; n <= len(c)-w.used {
			s := c[w.used : w.used+n : w.used+n]
			w.used += n
			return s
		}
	}
	const smallest = 1 << 12
	w.chunks = append(w.chunks, make([]float32, max(n, w.least, smallest)))
	w.used, w.least = n, 0
	return w.chunks[w.chunk][:n:n]
}

// Report passes values to Trace, if there is one, under the name of a part of the model.
func (w *Workspace) Report(part, name string, values []float32, shape ...int) {
	if w == nil || w.Trace == nil {
		return
	}
	switch {
	case part == "":
		part = name
	case name != "":
		part += "." + name
	}
	w.Trace(part, values, shape...)
}

// ReportRows is Report for the rows of a batch, of the given width.
func (w *Workspace) ReportRows(part, name string, rows []float32, batch Batch, width int) {
	if w != nil && w.Trace != nil {
		w.Report(part, name, rows, batch.Shape(width)...)
	}
}

// A slot is scratch memory of its own type that a kind of layer has in every workspace.
type slot[T any] int

var slots int // that newSlot has made

// newSlot makes a slot, for a variable of the package.
func newSlot[T any]() slot[T] {
	slots++
	return slot[T](slots - 1)
}

// of returns the contents of the slot in a workspace.
func (s slot[T]) of(w *Workspace) *T {
	for int(s) >= len(w.slots) {
		w.slots = append(w.slots, nil)
	}
	if w.slots[s] == nil {
		w.slots[s] = new(T)
	}
	return w.slots[s].(*T)
}

// adaptedRows are rows of a pass that have an adapter.
type adaptedRows struct{ from, to, adapter int }

// Unadapt ends what Adapt began.
func (w *Workspace) Unadapt() { w.adapted, w.row = w.adapted[:0], 0 }

// room returns a slice of n elements with arbitrary contents: s if it is large enough.
func room[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
