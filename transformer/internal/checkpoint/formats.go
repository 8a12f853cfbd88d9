package checkpoint

import (
	"runtime"

	"github.com/avoformer/avoformer/kernels"
)

// This file computes the formats that a plan's weights are held in, and their bytes, from the plan
// and the options that choose formats.

// A Chooser returns the format in which a model holds the named weight, such as
// "layers.0.mlp.up_proj.weight", which the checkpoint has in the format stored. The weight is that
// of a linear layer, or a table of vectors that no projection shares.
type Chooser = func(name string, stored kernels.Format, table bool) kernels.Format

// Formats choose the formats of weights.
type Formats struct {
	First Chooser // nil: float32 of matrices, and the stored format of tables
	Many  Chooser // of the second copies of matrices, from the format of the first; nil: there are none
}

// layer returns the format of the weight of a linear layer, of which single rows count or not.
func (f Formats) layer(name string, stored kernels.Format, rowByRow bool) kernels.Format {
	if f.First == nil {
		return kernels.FormatF32
	}
	return f.First(name, stored, rowByRow)
}

// matrix returns the format of a matrix and that of its second copy, which are the same if there is
// none.
func (f Formats) matrix(m *matrix) (first, many kernels.Format) {
	name := m.weight().Name
	first = f.layer(name, m.stored, m.RowByRow)
	if f.Many == nil || m.RowByRow {
		return first, first
	}
	return first, f.Many(name, first, false)
}

// table returns the format of a table. One of 16 bits that adapters change counts as one of
// float32: its vectors are what a model with the adapter beside it computes.
func (f Formats) table(v *vectors) kernels.Format {
	stored := v.stored
	if is16 := stored == kernels.FormatBF16 || stored == kernels.FormatF16; is16 && v.changed && !v.tied {
		stored = kernels.FormatF32
	}
	switch {
	case v.tied:
		return f.layer(v.want.Name, stored, v.rowByRow)
	case f.First == nil:
		return stored
	}
	return f.First(v.want.Name, stored, true)
}

// wants are the weights that a model wants.
type wants struct {
	Formats  Formats
	matrices []*matrix
	tables   []*vectors
	taken    int64 // bytes of tensors that were read, and of what was packed of them
}

// A Holding describes the weights of a linear layer, or a table of vectors.
type Holding struct {
	Name     string         // in the model, by which the options choose a format
	Tensor   string         // in the checkpoint
	Elements int            // of the tensor that are held
	Format   kernels.Format // to hold them in
}

// Holdings lists the weights that Finish reads, and the formats to hold them in; tables last.
func (w *wants) Holdings() (all []Holding) {
	for _, m := range w.matrices {
		first, many := w.Formats.matrix(m)
		all = m.holdings(all, first)
		if many != first {
			all = m.holdings(all, many)
		}
	}
	for _, v := range w.tables {
		all = append(all, Holding{v.want.Name, v.want.Tensor, v.rows * v.dim, w.Formats.table(v)})
	}
	return all
}

// holdings adds those of a copy.
func (m *matrix) holdings(all []Holding, f kernels.Format) []Holding {
	for _, s := range m.Strips {
		all = append(all, Holding{s.Weight.Name, s.Weight.Tensor, s.Rows * m.In, f})
	}
	return all
}

// Bytes returns the memory of what the plan wants in some formats: once Finish has returned, and
// the most while it reads. first, unless nil, replaces the chooser of the plan.
func (w *wants) Bytes(first Chooser) (held, peak int64) {
	f := w.Formats
	if first != nil {
		f.First = first
	}
	held = w.taken
	var buffer int64 // the most that a job takes
	for _, m := range w.matrices {
		held += m.bytes(f)
		buffer = max(buffer, m.buffer())
	}
	for _, v := range w.tables {
		if !v.absent {
			held += v.bytes(f.table(v))
		}
	}
	return held, held + int64(runtime.GOMAXPROCS(0))*buffer
}

// bytes returns the memory of a matrix and its second copy.
func (m *matrix) bytes(f Formats) int64 {
	first, many := f.matrix(m)
	n := int64(kernels.PackedBytes(first, m.out, m.In))
	if many != first {
		n += int64(kernels.PackedBytes(many, m.out, m.In))
	}
	return n
}

// buffer returns the scratch memory for packing a matrix.
func (m *matrix) buffer() int64 {
	if !m.transposed {
		return max(1<<17, 4*64*int64(m.In))
	}
	whole := 0
	for _, s := range m.Strips {
		whole = max(whole, s.Of*m.In)
	}
	return 4 * int64(whole)
}

// bytes returns the memory of a table.
func (v *vectors) bytes(f kernels.Format) int64 {
	n := int64(v.rows) * int64(v.dim)
	switch {
	case !v.tied && f == kernels.FormatF32:
		return 4 * n
	case !v.tied && (f == kernels.FormatBF16 || f == kernels.FormatF16):
		return 2 * n
	default:
		return int64(kernels.PackedBytes(f, v.rows, v.dim))
	}
}
