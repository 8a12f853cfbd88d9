package checkpoint

import (
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/avoformer/avoformer/fault"
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

// row returns the place of one of the part's rows among all of its tensor; a part that is not complete has a Step of 0 for 1.
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

// Holdings lists the weights that Finish reads, and the formats to hold them in.
func (s Scope) Holdings() []Holding {
	all := slices.Clone(s.held)
	for _, t := range s.tables {
		all = append(all, Holding{t.from.Prefix + "weight", t.from.lookup("weight"), t.rows * t.dim, t.format()})
	}
	return all
}

// Matrix is the weight of a linear layer, which exists once Finish has returned, and the products that adapters add to it.
type Matrix struct {
	*kernels.PackedB
	Beside []Beside
	many   *Matrix // the same in another format, for products of ManyRows rows and more; or nil
}

// ManyRows is from how many rows on products are with a second copy of the weights, if there is one: more than texts that
// are generated at a time mostly, and few enough for prompts.
const ManyRows = 64

// For returns the copy for products of some rows.
func (m *Matrix) For(rows int) *kernels.PackedB {
	if m.many != nil && rows >= ManyRows {
		return m.many.PackedB
	}
	return m.PackedB
}

// Is reports whether m is there and has the given sizes.
func (m *Matrix) Is(in, out int) bool {
	return m != nil && m.PackedB != nil && m.K() == in && m.N() == out
}

// Stacked returns the weight, [rows of all parts, in], and the bias of the linear layer whose
// output is that of several side by side; nil if something is wrong.
func (s Scope) Stacked(in int, bias bool, parts []Part) (weight *Matrix, b []float32) {
	out, complete := 0, true
	data := make([][]float32, len(parts))
	for i := range parts {
		p := &parts[i]
		if !p.complete() {
			s.Fail(check.Errorf(fault.ErrConfig, "%s%s: rows %d to %d of %d", s.Prefix, p.Name, p.From, p.From+p.Rows, p.Of))
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
	s.hold(weight, format, in, parts, data)
	weight.Beside = s.beside(in, parts)
	for _, b := range weight.Beside {
		s.memory.taken += int64(b.Left.Bytes() + b.Right.Bytes())
	}
	if s.many != nil && !s.RowByRow {
		if many := s.many(s.Prefix+parts[0].Name+"weight", format, false); many != format {
			weight.many = new(Matrix)
			s.hold(weight.many, many, in, parts, data)
			s.memory.packed[len(s.memory.packed)-1].copy = true
		}
	}
	return weight, b
}

// hold notes what weight holds, and has it made.
func (s Scope) hold(weight *Matrix, format kernels.Format, in int, parts []Part, data [][]float32) {
	for _, p := range parts {
		s.held = append(s.held, Holding{s.Prefix + p.Name + "weight", s.lookup(p.Name + "weight"), p.Rows * in, format})
	}
	s.pack(weight, format, in, parts, data, true)
	s.packs(in, parts, weight)
}

// Alike reports whether the weights with the given prefixes are to be held in the same
// format.
func (s Scope) Alike(names ...string) bool {
	first := s.packed(names[0]+"weight", false)
	return !slices.ContainsFunc(names, func(n string) bool { return s.packed(n+"weight", false) != first })
}

// Packed is weight, [out, in], in the format for the tensor of that name.
func (s Scope) Packed(in, out int, weight []float32) *Matrix {
	s.noneBeside("weight")
	format := s.packed("weight", false)
	s.memory.taken += int64(kernels.PackedBytes(format, out, in)) - int64(4*len(weight)) // in place of what Tensor gave
	return &Matrix{PackedB: kernels.PackBRows(format, out, in, func(j int, dst []float32) { copy(dst, weight[j*in:]) })}
}

// pack has weight made of the rows of the parts, data being what find gave for each, in pieces: from what the
// checkpoint has, if that is what is wanted. Where int8 is balanced, products are more accurate, and single rows less.
func (s Scope) pack(weight *Matrix, format kernels.Format, in int, parts []Part, data [][]float32, balanced bool) {
	out := 0
	for _, p := range parts {
		out += p.Rows
	}
	if s.Transposed {
		s.later(out*in, func(*jobBuffers) {
			next := s.columns(in, parts, data)
			weight.PackedB = kernels.PackBRows(format, out, in, func(_ int, dst []float32) { next(dst) })
		})
		return
	}
	p := packing{s: s, weight: weight, format: format, in: in, out: out, parts: parts, data: data, balanced: balanced && format == kernels.FormatInt8}
	if elements, bytes := format.Block(); elements > 0 && in%elements == 0 && s.holdsAll(parts, format) {
		p.stored, p.row = true, in/elements*bytes
	}
	for at := range pieces(out, in) {
		s.later(at.rows*in, func(buf *jobBuffers) { p.piece(buf, at.from, at.rows) })
	}
}

// piece is some rows of a matrix.
type piece struct{ from, rows int }

// pieces cuts a matrix of rows of some elements for jobs: into pieces that are large enough for reading and packing them,
// and many enough for all threads. They begin at multiples of 64 rows, more than a panel has.
func pieces(rows, elements int) iter.Seq[piece] {
	step := max(1<<20/elements, 1)
	step = (step + 63) / 64 * 64
	return func(yield func(piece) bool) {
		for from := 0; from < rows; from += step {
			if !yield(piece{from, min(step, rows-from)}) {
				return
			}
		}
	}
}

// packing is a matrix that jobs pack.
type packing struct {
	s       Scope
	weight  *Matrix
	format  kernels.Format
	in, out int
	parts   []Part
	data    [][]float32
	stored  bool // the checkpoint has rows of the format, of row bytes
	row     int

	balanced bool

	begin  sync.Once
	packer *kernels.Packer
}

// piece packs some rows, a panel's at a time.
func (p *packing) piece(buf *jobBuffers, from, rows int) {
	p.begin.Do(func() {
		p.packer = kernels.NewPacker(p.format, p.out, p.in)
		if p.balanced {
			p.packer.Balance(p.sample())
		}
		p.weight.PackedB = p.packer.Packed()
	})
	size := 4 * p.in
	if p.stored {
		size = p.row
	}
	unit := p.packer.Rows()
	step := max(1<<17/(unit*size), 1) * unit // what it reads stays in the second-level cache
	for end := from + rows; from < end; from += step {
		n := min(step, end-from)
		if p.stored {
			x := buf.bytes(n * p.row)[:n*p.row]
			if p.s.readBlocks(x, p.in, p.row, from, p.parts) {
				p.packer.PackBlocks(from, x)
				continue
			}
		}
		x := buf.floats(n * p.in)[:n*p.in]
		p.s.readRows(x, p.in, from, p.parts, p.data)
		p.packer.Pack(from, x)
	}
}

// Together is s for linear layers that multiply the same rows, each of which has one of the parts. Weights of int8 are balanced by all
// parts, so that rows become the same integers for each layer.
func (s Scope) Together(parts []Part) Scope {
	for i := range parts {
		parts[i].complete() // or Stacked fails
	}
	s.together = parts
	return s
}

// sampleRows is about how many rows of a part tell how large the weights are for each input.
const sampleRows = 256

// sample is rows by which int8 is balanced. Where several layers are side by side, they are the last one's: values come after queries and
// keys, and what is rounded of them costs ten times as much.
func (p *packing) sample() []float32 {
	last := len(p.parts) - 1
	if p.s.together == nil {
		return p.sampleOf(nil, p.parts[last:], p.data[last:])
	}
	var x []float32
	for i, part := range p.s.together {
		data := p.s.elements(part.Name+"weight", part.shape(p.in, false)...)
		x = p.sampleOf(x, p.s.together[i:i+1], [][]float32{data})
	}
	return x
}

// sampleOf adds rows of a part to x.
func (p *packing) sampleOf(x []float32, part []Part, data [][]float32) []float32 {
	for row := 0; row < part[0].Rows; row += max(1, part[0].Rows/sampleRows) {
		at := len(x)
		x = append(x, make([]float32, p.in)...)
		p.s.readRows(x[at:], p.in, row, part, data)
	}
	return x
}

// A blockReader is a Reader that can return its stored blocks unchanged.
type blockReader interface {
	ReadBlocks(dst []byte, name string, from int) error
}

// holdsAll reports whether the checkpoint has all rows of the parts in a format of 16 bits or of blocks.
func (s Scope) holdsAll(parts []Part, format kernels.Format) bool {
	for _, p := range parts {
		if p.Scale != 0 && p.Scale != 1 || !s.holds(p.Name+"weight", format) {
			return false
		}
	}
	return true
}

// holds reports whether the checkpoint has a tensor, to which nothing was added, in a format of 16 bits or of blocks.
func (s Scope) holds(name string, format kernels.Format) bool {
	src, _ := s.source(name)
	_, ok := src.(blockReader)
	return ok && format != kernels.FormatF32 && s.format(name) == format && !s.changed(name)
}

// eachPart calls f for those of rows [from, from+n) of all parts that a part has: n rows of its tensor from row on, which are
// those from the one numbered at on.
func eachPart(parts []Part, from, n int, f func(part, row, at, n int) bool) bool {
	at := 0
	for i, p := range parts {
		for from < p.Rows && at < n {
			rows := 1
			if p.Step <= 1 {
				rows = min(p.Rows-from, n-at)
			}
			if !f(i, p.row(from), at, rows) {
				return false
			}
			at, from = at+rows, from+rows
		}
		from -= p.Rows
	}
	return true
}

// readBlocks sets dst to the rows from one of them on, of some bytes, as the checkpoint has them. It returns false if it
// has not.
func (s Scope) readBlocks(dst []byte, in, row, from int, parts []Part) bool {
	return eachPart(parts, from, len(dst)/row, func(part, first, at, n int) bool {
		return s.fetchBlocks(dst[at*row:][:n*row], parts[part].Name+"weight", first*in)
	})
}

// fetchBlocks sets dst to the data of a tensor from an element on. It returns false if the checkpoint has it otherwise.
func (s Scope) fetchBlocks(dst []byte, name string, from int) bool {
	src, name := s.source(name)
	err := src.(blockReader).ReadBlocks(dst, name, from)
	if errors.Is(err, errors.ErrUnsupported) {
		return false
	}
	if err != nil {
		s.note(name, err)
		clear(dst)
	}
	return true
}

// readRows sets dst to the rows of the parts from one of them on, data being what find gave for each.
func (s Scope) readRows(dst []float32, in, from int, parts []Part, data [][]float32) {
	eachPart(parts, from, len(dst)/in, func(part, first, at, n int) bool {
		x := dst[at*in:][:n*in]
		if !s.readChanged(x, data[part], parts[part].Name+"weight", first*in) {
			clear(x)
		}
		scale(x, parts[part].Scale)
		return true
	})
}

// columns returns a function that sets dst to one row of the parts after the other, where weights are stored transposed,
// [in, out].
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
			s.scaleRows(whole, parts[0].Name+"weight", 0)
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
