package checkpoint

import (
	"slices"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// This file loads linear layers: from a checkpoint's rows to packed weights, without a
// copy of the whole matrix in between.

// A Part is that of package transformer.
type Part struct {
	Name             string
	Rows             int
	From, Of         int
	NoBias           bool
	Scale, BiasScale float32
	Stack, Item      int
	Step             int
}

// row is the place of one of the part's rows among all of its tensor; a part that is not complete has a Step of 0 for 1.
func (p *Part) row(i int) int { return p.Item*p.Of + p.From + i*max(p.Step, 1) }

// complete fills in what 0 stands for. It returns whether the rows are there.
func (p *Part) complete() bool {
	if p.Step == 0 {
		p.Step = 1
	}
	if p.Of == 0 {
		p.Of = p.Rows
	}
	return p.Rows >= 1 && p.From >= 0 && p.Step >= 1 && p.From < p.Of && p.Rows-1 <= (p.Of-1-p.From)/p.Step && p.Item >= 0 && p.Item < max(p.Stack, 1)
}

// shape is that of the part's tensor.
func (p *Part) shape(in int, transposed bool) []int {
	shape := []int{p.Of, in}
	if transposed {
		shape = []int{in, p.Of}
	}
	if p.Stack > 0 {
		shape = append([]int{p.Stack}, shape...)
	}
	return shape
}

// A Holding is that of package transformer.
type Holding struct {
	Name, Tensor string
	Elements     int
	Format       kernels.Format
}

// Holdings lists what Finish is to read, and the formats to hold it in.
func (s Scope) Holdings() []Holding {
	all := slices.Clone(s.held)
	for _, t := range s.tables {
		all = append(all, Holding{t.from.Prefix + "weight", t.from.lookup("weight"), t.rows * t.dim, t.format()})
	}
	return all
}

// Matrix is the weight of a linear layer, which is there once Finish has returned.
type Matrix struct{ *kernels.PackedB }

// Is reports whether m is there and has the given sizes.
func (m *Matrix) Is(in, out int) bool {
	return m != nil && m.PackedB != nil && m.K() == in && m.N() == out
}

// Stacked is the weight, [rows of all parts, in], and the bias of the linear layer whose
// output is that of several side by side; nil if something is wrong.
func (s Scope) Stacked(in int, bias bool, parts []Part) (weight *Matrix, b []float32) {
	out, complete := 0, true
	data := make([][]float32, len(parts))
	for i := range parts {
		p := &parts[i]
		if !p.complete() {
			s.Fail(check.Errorf(check.ErrConfig, "%s%s: rows %d to %d of %d", s.Prefix, p.Name, p.From, p.From+p.Rows, p.Of))
			return nil, nil
		}
		var ok bool
		data[i], ok = s.find(p.Name+"weight", p.shape(in, s.Transposed)...)
		complete = complete && ok && s.takes(p.Name+"weight", p.shape(in, false)...)
		out += p.Rows
		if !bias {
			continue
		}
		var x []float32
		if !p.NoBias {
			x = s.Tensor(p.Name+"bias", p.Of)
			complete = complete && x != nil
		}
		if complete {
			if p.NoBias {
				x = make([]float32, p.Of)
			}
			b = append(b, x[p.From:p.From+p.Rows]...)
			scale(b[len(b)-p.Rows:], p.BiasScale)
		}
	}
	if !complete || s.Errors() > 0 {
		return nil, nil
	}
	weight = new(Matrix)
	format := s.packed(parts[0].Name+"weight", false)
	for _, p := range parts {
		s.held = append(s.held, Holding{s.Prefix + p.Name + "weight", s.lookup(p.Name + "weight"), p.Rows * in, format})
	}
	s.later(out*in, func(buf *jobBuffers) { weight.PackedB = s.pack(buf, format, in, parts, data) })
	return weight, b
}

// Alike reports whether the weights with the given prefixes are to be held in the same
// format.
func (s Scope) Alike(names ...string) bool {
	first := s.packed(names[0]+"weight", false)
	return !slices.ContainsFunc(names, func(n string) bool { return s.packed(n+"weight", false) != first })
}

// Packed is weight, [out, in], in the format for the tensor of that name.
func (s Scope) Packed(in, out int, weight []float32) *Matrix {
	return &Matrix{s.alike(kernels.PackBRows(s.packed("weight", false), out, in, func(j int, dst []float32) { copy(dst, weight[j*in:]) }))}
}

// pack packs the rows of the parts, data being what find gave for each: from the blocks that the
// checkpoint has, if those are what is wanted.
func (s Scope) pack(buf *jobBuffers, format kernels.Format, in int, parts []Part, data [][]float32) *kernels.PackedB {
	out := 0
	for _, p := range parts {
		out += p.Rows
	}
	if blocks := s.blocks(buf, format, in, parts); blocks != nil {
		return s.alike(kernels.PackBBlocks(format, out, in, func(_ int, dst []byte) { blocks(dst) }))
	}
	next := s.rows(buf, in, parts, data)
	if s.Transposed {
		next = s.columns(in, parts, data)
	}
	return s.alike(kernels.PackBRows(format, out, in, func(_ int, dst []float32) { next(dst) }))
}

// alike is b as its products are wanted.
func (s Scope) alike(b *kernels.PackedB) *kernels.PackedB {
	if s.exact || s.RowByRow {
		return b.Exact()
	}
	return b
}

// blocks is a function that sets dst to one row of the parts after the other, in the blocks in which
// the checkpoint has them; nil if it has not.
func (s Scope) blocks(buf *jobBuffers, format kernels.Format, in int, parts []Part) func(dst []byte) {
	r, ok := s.src.(interface {
		ReadBlocks(dst []byte, name string, from int) error
	})
	elements, bytes := format.Block()
	if !ok || s.Transposed || elements < 2 || in%elements != 0 {
		return nil
	}
	for _, p := range parts {
		if s.format(p.Name+"weight") != format || len(s.additions(p.Name+"weight")) > 0 || p.Scale != 0 && p.Scale != 1 {
			return nil
		}
	}
	return ahead(parts, in/elements*bytes, buf.bytes(max(1<<17, in/elements*bytes)), func(dst []byte, part, row int) {
		name := s.lookup(parts[part].Name + "weight")
		if err := r.ReadBlocks(dst, name, row*in); err != nil {
			s.note(name, err)
			clear(dst)
		}
	})
}

// rows is a function that sets dst to one row of the parts after the other. data is
// what find gave for each.
func (s Scope) rows(buf *jobBuffers, in int, parts []Part, data [][]float32) func(dst []float32) {
	return ahead(parts, in, buf.floats(max(1<<15/in, 1)*in), func(dst []float32, part, row int) {
		if !s.read(dst, data[part], parts[part].Name+"weight", row*in) {
			clear(dst)
		}
		scale(dst, parts[part].Scale)
	})
}

// ahead is a function that sets dst to one row, of some elements, of the parts after the other. It
// has read set buf, which has room for one, to several at a time, from a row of a part's tensor on.
func ahead[T any](parts []Part, row int, buf []T, read func(dst []T, part, row int)) func(dst []T) {
	var rows []T
	part, next := 0, 0
	return func(dst []T) {
		if len(rows) == 0 {
			for next == parts[part].Rows {
				part, next = part+1, 0
			}
			n := min(len(buf)/row, parts[part].Rows-next)
			if parts[part].Step > 1 {
				n = 1
			}
			rows = buf[:n*row]
			read(rows, part, parts[part].row(next))
			next += n
		}
		rows = rows[copy(dst, rows):]
	}
}

// columns is rows for weights that are stored transposed, [in, out].
func (s Scope) columns(in int, parts []Part, data [][]float32) func(dst []float32) {
	var whole []float32
	row := 0
	return func(dst []float32) {
		if whole == nil || row == parts[0].Rows {
			if whole != nil {
				parts, data, row = parts[1:], data[1:], 0
			}
			whole = make([]float32, parts[0].Of*in) // [Of, in]
			s.transpose(whole, in, parts[0], data[0])
			scale(whole, parts[0].Scale)
		}
		from := (parts[0].From + row*parts[0].Step) * in
		copy(dst, whole[from:from+in])
		row++
	}
}

// transpose sets dst, [Of, in], to a part's matrix, [in, Of].
func (s Scope) transpose(dst []float32, in int, p Part, data []float32) {
	const together = 16 // rows of the tensor, which a cache line of dst has place for
	rows := make([]float32, together*p.Of)
	for i := 0; i < in; i += together {
		n := min(together, in-i)
		from := (p.Item*in + i) * p.Of
		if !s.fetch(rows[:n*p.Of], data, p.Name+"weight", from) {
			return
		}
		s.addTransposed(rows[:n*p.Of], p.Name+"weight", from)
		for o := range p.Of {
			for r := range n {
				dst[o*in+i+r] = rows[r*p.Of+o]
			}
		}
	}
}

// scale multiplies x by a factor, 0 standing for 1.
func scale(x []float32, by float32) {
	if by != 0 && by != 1 {
		kernels.Scale(x, x, by)
	}
}
