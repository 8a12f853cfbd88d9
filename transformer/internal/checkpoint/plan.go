package checkpoint

import (
	"slices"
	"sync"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// This file has the plan of a model: the tensors that its parts want of a checkpoint, and the
// errors of those wishes.

// A Plan is the tensors that the parts of a model want. Each want is compared with what the source
// says about its tensors, and matrices and tables get a slot, which Finish fills. Only vectors are
// read at once.
type Plan struct {
	source  adapted
	names   names
	used    map[string]bool // by the checkpoint's names
	ignored []string        // patterns of path.Match

	wants
	Ready *Ready // where packed weights are kept; nil: nowhere
	limit int64  // of the bytes taken; 0: none
	cut   bool   // the model was not made to its end

	mu  sync.Mutex // of err while jobs run
	err LoadError
}

// buffers are tensors that checkpoints hold and no model needs: constants that training code
// registers as buffers.
var buffers = []string{
	"*position_ids", "*token_type_ids", "*attn.bias", "*attn.masked_bias", "*attention.bias", "*attention.masked_bias", "*inv_freq", "*num_batches_tracked",
}

// NewPlan returns a plan without wants. Names that no part asks for are left over, except known
// buffers.
func NewPlan(w Weights) *Plan {
	return &Plan{source: newAdapted(sourceOf(w)), names: newNames(w.Names()), used: map[string]bool{}, ignored: slices.Clone(buffers)}
}

// Rename makes f(name) the name of a tensor that has been name so far.
func (p *Plan) Rename(f func(name string) string) { p.names.renames = append(p.names.renames, f) }

// Ignore lets tensors be left over whose names match one of the patterns of path.Match.
func (p *Plan) Ignore(patterns ...string) { p.ignored = append(p.ignored, patterns...) }

// Limit makes Tensor fail once the tensors read take more than n bytes; 0: no limit.
func (p *Plan) Limit(n int64) { p.limit = n }

// Cut notes that parts of the model were not made, which did not ask for their tensors.
func (p *Plan) Cut() { p.cut = true }

// Add adds to the tensor that the checkpoint calls name.
func (p *Plan) Add(name string, d LowRank) error {
	err := d.check(p.source.added[name])
	if err == nil {
		p.source.added[name] = append(p.source.added[name], d)
	}
	return err
}

// SetRows replaces rows of the tensor that the checkpoint calls name.
func (p *Plan) SetRows(name string, rows Rows) error {
	err := rows.check()
	if err == nil {
		p.source.rows[name] = append(p.source.rows[name], rows)
	}
	return err
}

// Replace replaces the tensor that the checkpoint calls name, which it may lack.
func (p *Plan) Replace(name string, by Replacement) {
	p.source.replaced[name] = by
	p.names.listed[name] = true
}

// Has reports whether the checkpoint lists the tensor of a name in the model.
func (p *Plan) Has(name string) bool { return p.names.has(name) }

// Shape is that of the tensor, and false if there is none or the weights do not tell.
func (p *Plan) Shape(name string) ([]int, bool) {
	return p.source.source(Want{}).Shape(p.names.of(name))
}

// Want returns the want of a tensor by its name in the model.
func (p *Plan) Want(name string, shape ...int) Want {
	return Want{Name: name, Tensor: p.names.of(name), Shape: shape}
}

// Fail notes that the model cannot be made. It returns whether err is not nil.
func (p *Plan) Fail(err error) bool {
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.err.other = append(p.err.other, err)
	}
	return err != nil
}

// Errors returns the number of errors so far. Each of them means that loading fails.
func (p *Plan) Errors() int { return p.err.count() }

// open returns a tensor, nil if something is wrong with it.
func (p *Plan) open(w Want) Tensor {
	p.used[w.Tensor] = true
	t, errs := p.source.open(w)
	for _, err := range errs {
		p.note(w, err)
	}
	return t
}

// note sorts an error of a tensor.
func (p *Plan) note(w Want, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err.add(w.read(), err)
}

// alone notes an error if an adapter is to stay beside a tensor of which no linear layer is made.
func (p *Plan) alone(tensor string) {
	for _, d := range p.source.beside(tensor) {
		p.Fail(check.Errorf(fault.ErrConfig, "%s adds to %s, which is supported only for linear layers", d.Name, tensor))
	}
}

// Tensor reads a tensor. The elements belong to the caller unless the weights are a Map; nil if
// something is wrong.
func (p *Plan) Tensor(w Want) []float32 {
	p.alone(w.Tensor)
	t := p.open(w)
	if t == nil || !p.take(4*check.Product(w.Shape)) {
		return nil
	}
	x, err := readAll(t, check.Product(w.Shape))
	if err != nil {
		p.note(w, err)
		return nil
	}
	return x
}

// readAll returns the n elements of a tensor.
func readAll(t Tensor, n int) ([]float32, error) {
	if m, ok := t.(inMemory); ok {
		return m.elements()
	}
	x := make([]float32, n)
	return x, t.Read(x, 0)
}

// read sets dst to elements of a tensor, or to zeros and notes why.
func (p *Plan) read(w Want, t Tensor, dst []float32, from int) {
	if err := t.Read(dst, from); err != nil {
		p.note(w, err)
		clear(dst)
	}
}

// take counts bytes that a tensor takes, and reports whether they are within the limit.
func (p *Plan) take(bytes int) bool {
	if p.taken += int64(bytes); p.limit > 0 && p.taken > p.limit {
		p.Fail(check.Errorf(fault.ErrMemory, "tensors that are read before all others take %d bytes at least, the limit is %d", p.taken, p.limit))
		return false
	}
	return true
}

// Open opens the tensor of a strip. It returns whether nothing is wrong with it.
func (p *Plan) Open(s *Strip) bool {
	s.tensor = p.open(s.Weight)
	return s.tensor != nil
}

// Matrix returns the slot of a matrix whose strips are open.
func (p *Plan) Matrix(s Stack) *Matrix {
	m := &matrix{Stack: s, slot: new(Matrix), stored: s.Strips[0].tensor.Format(), transposed: s.Strips[0].Weight.Transposed}
	for _, strip := range s.Strips {
		m.out += strip.Rows
	}
	m.slot.Beside = p.source.besides(m)
	for _, b := range m.slot.Beside {
		p.taken += int64(b.Left.Bytes() + b.Right.Bytes())
	}
	p.matrices = append(p.matrices, m)
	return m.slot
}

// Packed is weight, [out, in], in the format for the tensor w.
func (p *Plan) Packed(w Want, rowByRow bool, in, out int, weight []float32) *Matrix {
	p.alone(w.Tensor)
	format := p.Formats.layer(w.Name, p.format(w), rowByRow)
	p.taken += int64(kernels.PackedBytes(format, out, in)) - int64(4*len(weight)) // in place of what Tensor gave
	return &Matrix{PackedB: kernels.PackBRows(format, out, in, func(j int, dst []float32) { copy(dst, weight[j*in:]) })}
}

// Alike reports whether the weights with the given names are to be held in the same format.
func (p *Plan) Alike(rowByRow bool, names ...string) bool {
	var all []kernels.Format
	for _, n := range names {
		all = append(all, p.Formats.layer(n, p.format(p.Want(n)), rowByRow))
	}
	return len(slices.Compact(all)) <= 1
}

// format is that of a tensor in the checkpoint.
func (p *Plan) format(w Want) kernels.Format { return p.source.source(w).Format(w.read()) }

// Table returns the slot of a table of vectors, of the shape [rows, dim]. A tensor that the
// checkpoint lacks is missing unless a projection that is tied to the table has it.
func (p *Plan) Table(w Want, rowByRow bool) *Table {
	p.alone(w.Tensor)
	t := &Table{rows: w.Shape[0], dim: w.Shape[1]}
	v := &vectors{Table: t, want: w, rowByRow: rowByRow, changed: p.source.changed(w.Tensor)}
	if v.absent = w.tied == "" && len(p.names.listed) > 0 && !p.names.listed[w.Tensor]; v.absent {
		p.tables = append(p.tables, v)
	} else if p.openTable(v) {
		p.tables = append(p.tables, v)
	}
	return t
}

// openTable opens the tensor of a table. It returns whether nothing is wrong with it.
func (p *Plan) openTable(v *vectors) bool {
	if v.tensor = p.open(v.want); v.tensor == nil {
		return false
	}
	v.stored = v.tensor.Format()
	return true
}
