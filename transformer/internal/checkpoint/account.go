// Package checkpoint hands out the tensors of a checkpoint to the parts of a model, reads
// and packs them, and keeps an account of what is missing, misshapen or left over.
package checkpoint

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// A Scope is the tensors of a checkpoint whose names begin with a prefix. For a tensor that is missing
// or does not fit, its methods return nothing. Loading continues and finds further errors. It allocates
// no memory for missing tensors, whose sizes may come from a hostile configuration.
type Scope struct {
	Prefix     string
	Transposed bool   // weights of linear layers are stored [in, out]
	RowByRow   bool   // linear layers are held as they are stored, without a copy for many rows
	Integers   bool   // tensors of integers are numbers too
	read       *Scope // whose tensor weight this one's is; nil: its own
	together   []Part // of linear layers that multiply the same rows; see Together
	original   bool   // tensors are those of the checkpoint, also those that were replaced
	*account
}

// account is what the scopes of a checkpoint share.
type account struct {
	src      Weights
	names    map[string]bool     // of src
	rename   func(string) string // from the model's names to those of src
	used     map[string]bool
	ignored  []string               // patterns of path.Match
	added    map[string][]LowRank   // by the names of src
	rows     map[string][]Rows      // by the names of src
	replaced map[string]Replacement // by the names of src
	choose   func(name string, stored kernels.Format, table bool) kernels.Format
	many     func(name string, stored kernels.Format, table bool) kernels.Format // of second copies; nil: none
	tables   []*unread                                                           // embeddings that Finish fills
	cut      bool                                                                // the model was not made to its end
	jobs     []job                                                               // what Finish does on all threads
	held     []Holding                                                           // of linear layers
	memory   memory

	mu  sync.Mutex // of err while jobs run
	err LoadError
}

// buffers are tensors that checkpoints hold and no model needs: constants that
// training code registers as buffers.
var buffers = []string{
	"*position_ids", "*token_type_ids", "*attn.bias", "*attn.masked_bias", "*attention.bias", "*attention.masked_bias", "*inv_freq", "*num_batches_tracked",
}

// New is all tensors of a checkpoint. Names that no part asks for are left over, except
// known buffers.
func New(w Weights) Scope {
	a := &account{src: w, names: map[string]bool{}, used: map[string]bool{}, ignored: slices.Clone(buffers)}
	for _, n := range w.Names() {
		a.names[n] = true
	}
	return Scope{account: a}
}

// At returns the scope within s of the names that begin with prefix.
func (s Scope) At(prefix string) Scope {
	s.Prefix += prefix
	return s
}

// Pack has all weights of the checkpoint held in the formats that choose returns.
func (s Scope) Pack(choose func(name string, stored kernels.Format, table bool) kernels.Format) {
	s.choose = choose
}

// PackMany has linear layers hold a second copy of weights in the formats that choose returns, for products of ManyRows rows
// and more; where that is the format of the first, there is none.
func (s Scope) PackMany(choose func(name string, held kernels.Format, table bool) kernels.Format) {
	s.many = choose
}

// packed returns the format to hold a weight in. A table of 16 bits to which something was added counts as
// one of float32: its vectors are what a model with the adapter beside it computes.
func (s Scope) packed(name string, table bool) kernels.Format {
	stored := s.format(name)
	if half := stored == kernels.FormatBF16 || stored == kernels.FormatF16; half && table && s.changed(name) {
		stored = kernels.FormatF32
	}
	switch {
	case s.choose != nil:
		return s.choose(s.Prefix+name, stored, table || s.RowByRow)
	case table:
		return stored
	}
	return kernels.FormatF32
}

// Rename has what f makes of a name looked up in the checkpoint.
func (s Scope) Rename(f func(name string) string) { s.rename = f }

// Ignore lets tensors be left over whose names match one of the patterns of
// path.Match under the prefix.
func (s Scope) Ignore(patterns ...string) {
	for _, p := range patterns {
		s.ignored = append(s.ignored, s.Prefix+p)
	}
}

// Cut notes that parts of the model were not made, which did not ask for their tensors.
func (s Scope) Cut() { s.cut = true }

// Name returns the scope's prefix, without the dot that joins it to its tensors.
func (s Scope) Name() string { return strings.TrimRight(s.Prefix, ".") }

// lookup returns the checkpoint's name for one of the model. BERT's first checkpoints
// call weight and bias of a normalization gamma and beta.
func (s Scope) lookup(name string) string {
	name = s.Prefix + name
	if s.rename != nil {
		name = s.rename(name)
	}
	if !s.names[name] {
		for _, old := range [][2]string{{"weight", "gamma"}, {"bias", "beta"}} {
			if stem, ok := strings.CutSuffix(name, old[0]); ok && s.names[stem+old[1]] {
				return stem + old[1]
			}
		}
	}
	return name
}

// Has reports whether the checkpoint lists the named tensor.
func (s Scope) Has(name string) bool { return s.names[s.lookup(name)] }

// Shape is that of the named tensor, and false if there is none or the weights do not
// tell.
func (s Scope) Shape(name string) ([]int, bool) {
	src, name := s.source(name)
	if r, ok := src.(Reader); ok {
		return r.Shape(name)
	}
	return nil, false
}

// Fail notes that the model cannot be made. It returns whether err is not nil.
func (s Scope) Fail(err error) bool {
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.err.other = append(s.err.other, err)
	}
	return err != nil
}

// Errors returns the number of errors so far. Each of them means that loading fails.
func (s Scope) Errors() int { return s.err.count() }

// note sorts an error of reading a tensor.
func (s Scope) note(name string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case errors.Is(err, fault.ErrMissing):
		s.err.Missing = append(s.err.Missing, name)
	case errors.Is(err, fault.ErrMisshapen):
		text := strings.TrimPrefix(err.Error(), fault.ErrMisshapen.Error()+": ")
		s.err.Misshapen = append(s.err.Misshapen, text)
	default:
		s.err.other = append(s.err.other, err)
	}
}

// find looks for a tensor of the given shape. data is its elements where the
// weights give them whole; else they are to be read.
func (s Scope) find(name string, shape ...int) (data []float32, ok bool) {
	s.used[s.lookup(name)] = true
	if s.read != nil {
		s = *s.read
	}
	src, stored := s.source(name)
	r, piecewise := src.(Reader)
	if !piecewise {
		x, err := src.Tensor(stored, shape...)
		if err != nil {
			s.note(s.lookup(name), err)
		}
		return x, err == nil
	}
	got, ok := r.Shape(stored)
	err := fits(stored, got, ok, shape)
	if err != nil {
		s.note(s.lookup(name), err)
	}
	return nil, err == nil
}

// elements returns the data that find gives for a tensor that is known to be there.
func (s Scope) elements(name string, shape ...int) []float32 {
	src, stored := s.source(name)
	if _, piecewise := src.(Reader); piecewise {
		return nil
	}
	x, _ := src.Tensor(stored, shape...)
	return x
}

// readChanged sets dst to elements of a tensor that was found, with what find gave and what was added.
// Of a matrix to which something was, they are whole rows.
func (s Scope) readChanged(dst, data []float32, name string, from int) bool {
	if !s.fetch(dst, data, name, from) {
		return false
	}
	s.change(dst, name, from)
	return true
}

// An integerReader is a Reader that says which of its tensors have integers.
type integerReader interface {
	Integers(name string) bool
}

// fetch is read without what was added.
func (s Scope) fetch(dst, data []float32, name string, from int) bool {
	src, name := s.source(name)
	r, piecewise := src.(Reader)
	if !piecewise {
		copy(dst, data[from:])
		return true
	}
	if i, ok := r.(integerReader); ok && !s.Integers && i.Integers(name) {
		s.note(name, check.Errorf(fault.ErrConfig, "%s has integers, which without a scale are not weights", name))
		return false
	}
	if err := r.Read(dst, name, from); err != nil {
		s.note(name, err)
		return false
	}
	return true
}

// format is that of the tensor's elements in the checkpoint.
func (s Scope) format(name string) kernels.Format {
	src, name := s.source(name)
	if r, ok := src.(Reader); ok {
		return r.Format(name)
	}
	return kernels.FormatF32
}

// Tensor returns the elements of the named tensor, in row-major order. They belong to
// the caller unless the weights are a Map.
func (s Scope) Tensor(name string, shape ...int) []float32 {
	s.noneBeside(name)
	data, ok := s.find(name, shape...)
	if ok = ok && s.takes(name, shape...); !ok || !s.take(4*check.Product(shape)) {
		return nil
	}
	if data != nil && !s.changed(name) {
		return data
	}
	x := make([]float32, check.Product(shape))
	if !s.readChanged(x, data, name, 0) {
		return nil
	}
	return x
}

// Finish reads and packs the weights of linear layers and embeddings, if all are there, on
// as many threads as there are; layers can be used from then on. Its error is nil if
// every tensor was there in the right shape and none under the prefix is left over, else a
// [*LoadError].
func (s Scope) Finish() error { return s.finish(true) }

// Check is Finish that reads nothing: layers cannot be used.
func (s Scope) Check() error { return s.finish(false) }

func (s Scope) finish(read bool) error {
	for _, t := range s.tables {
		if t.absent {
			t.from.find("weight", t.rows, t.dim) // which notes that there is none
		}
	}
	failed := len(s.err.other)
	if s.err.count() == 0 && read {
		for _, t := range s.tables {
			t.fill()
		}
		runJobs(s.jobs)
	}
	s.tables, s.jobs, s.held, s.memory = nil, nil, nil, memory{}
	for name := range s.names {
		// A part that could not be made did not ask for its tensors.
		if failed == 0 && strings.HasPrefix(name, s.Prefix) && !s.used[name] && !s.ignores(name) {
			s.err.LeftOver = append(s.err.LeftOver, name)
		}
	}
	if failed == 0 {
		s.err.LeftOver = append(s.err.LeftOver, s.unused()...)
	}
	if s.err.count() == 0 {
		return nil
	}
	slices.Sort(s.err.LeftOver)
	s.err.hint = s.hint()
	if s.cut {
		s.err.LeftOver = nil
	}
	return &s.err
}

func (a *account) ignores(name string) bool {
	return slices.ContainsFunc(a.ignored, func(p string) bool {
		ok, _ := path.Match(p, name)
		return ok
	})
}

// hint says under which prefix the missing tensors would be found, if they are
// among those left over.
func (s Scope) hint() string {
	e := &s.err
	for _, missing := range e.Missing {
		for _, left := range e.LeftOver {
			if front, ok := strings.CutSuffix(left, missing); ok && strings.HasSuffix(front, ".") {
				return fmt.Sprintf("prefix %q would fit", s.Prefix+front)
			}
			want := strings.TrimPrefix(missing, s.Prefix)
			if front, ok := strings.CutSuffix(missing, left); ok && s.Prefix != "" && strings.HasPrefix(s.Prefix, front) {
				return fmt.Sprintf("prefix %q would fit", strings.TrimPrefix(s.Prefix, front))
			}
			if front, ok := strings.CutSuffix(left, want); ok && front != s.Prefix && strings.HasSuffix(front, ".") {
				return fmt.Sprintf("prefix %q would fit", front)
			}
		}
	}
	return ""
}
