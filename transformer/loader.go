package transformer

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/avoformer/avoformer/kernels"
)

// A Loader hands out the tensors of a checkpoint to the parts of a model, and
// keeps an account of them, so that everything wrong is reported at once by
// [Loader.Finish]. Its methods return nil for what is not there or does not fit;
// loading goes on to see what else is wrong, without memory for what is missing,
// whose sizes may be those of a hostile configuration.
//
// A Loader stands for a scope: the tensors whose names begin with its prefix.
type Loader struct {
	prefix     string
	transposed bool
	state      *loadState
}

type loadState struct {
	src     Weights
	names   map[string]bool     // of src
	rename  func(string) string // from the model's names to those of src
	used    map[string]bool
	ignored []string // patterns of path.Match
	choose  Chooser  // see Pack
	tables  []*table // embeddings to be filled
	jobs    []job    // what Finish does on all threads

	mu  sync.Mutex // of err while jobs run
	err LoadError
}

// buffers are tensors that checkpoints hold and no model needs: constants that
// training code registers as buffers.
var buffers = []string{
	"*position_ids", "*token_type_ids", "*attn.bias", "*attn.masked_bias", "*attention.bias", "*attention.masked_bias", "*inv_freq", "*num_batches_tracked",
}

// NewLoader is the loader of all tensors of a checkpoint. Names that no part asks
// for are left over, except known buffers: position_ids, attn.bias (GPT-2's causal
// mask), inv_freq and num_batches_tracked.
func NewLoader(w Weights) *Loader {
	s := &loadState{src: w, names: map[string]bool{}, used: map[string]bool{}, ignored: slices.Clone(buffers)}
	for _, n := range w.Names() {
		s.names[n] = true
	}
	return &Loader{state: s}
}

// At is the loader of a part of the model: of the names that begin with prefix,
// which usually ends with a dot. Verbs in it are formatted with args.
func (l *Loader) At(prefix string, args ...any) *Loader {
	if len(args) > 0 {
		prefix = fmt.Sprintf(prefix, args...)
	}
	at := *l
	at.prefix += prefix
	return &at
}

// Under is the loader under the first of the prefixes under which there is the
// tensor name, or under the first of all: checkpoints of the same model have
// their names with and without that of a head's module in front.
func (l *Loader) Under(name string, prefixes ...string) *Loader {
	for _, p := range prefixes {
		if l.At(p).Has(name) {
			return l.At(p)
		}
	}
	return l.At(prefixes[0])
}

// Transposed is l for linear layers whose weights are stored [in, out], as in
// GPT-2's Conv1D.
func (l *Loader) Transposed() *Loader {
	t := *l
	t.transposed = true
	return &t
}

// A Chooser decides in which format a model holds a weight, such as
// "layers.0.mlp.up_proj.weight", that the checkpoint stores in another: of a linear layer, or
// of a table of vectors that no projection shares.
type Chooser func(name string, stored kernels.Format, table bool) kernels.Format

// Pack makes l, and all loaders made from the same checkpoint, hold weights in the formats that
// choose returns. Without, linear layers are kernels.FormatF32, and tables are as stored.
func (l *Loader) Pack(choose Chooser) { l.state.choose = choose }

// packed is the format to hold a weight in.
func (l *Loader) packed(name string, table bool) kernels.Format {
	stored := l.format(name)
	switch {
	case l.state.choose != nil:
		return l.state.choose(l.prefix+name, stored, table)
	case table:
		return stored
	}
	return kernels.FormatF32
}

// Rename makes l and all loaders made from the same checkpoint look up what f
// makes of a name.
func (l *Loader) Rename(f func(name string) string) { l.state.rename = f }

// Ignore lets tensors be left over whose names match one of the patterns of
// path.Match under the prefix.
func (l *Loader) Ignore(patterns ...string) {
	for _, p := range patterns {
		l.state.ignored = append(l.state.ignored, l.prefix+p)
	}
}

// Name is the scope's prefix, without the dot that joins it to its tensors.
func (l *Loader) Name() string { return strings.TrimRight(l.prefix, ".") }

// lookup is the checkpoint's name for one of the model. BERT's first checkpoints
// call weight and bias of a normalization gamma and beta.
func (l *Loader) lookup(name string) string {
	name = l.prefix + name
	if l.state.rename != nil {
		name = l.state.rename(name)
	}
	if !l.state.names[name] {
		for _, old := range [][2]string{{"weight", "gamma"}, {"bias", "beta"}} {
			if stem, ok := strings.CutSuffix(name, old[0]); ok && l.state.names[stem+old[1]] {
				return stem + old[1]
			}
		}
	}
	return name
}

// Has reports whether the checkpoint lists the named tensor.
func (l *Loader) Has(name string) bool { return l.state.names[l.lookup(name)] }

// Shape is that of the named tensor, and false if there is none or the weights do not
// tell.
func (l *Loader) Shape(name string) ([]int, bool) {
	if r, ok := l.state.src.(Reader); ok {
		return r.Shape(l.lookup(name))
	}
	return nil, false
}

// Fail notes that the model cannot be made. It returns whether err is not nil.
func (l *Loader) Fail(err error) bool {
	if err != nil {
		l.state.mu.Lock()
		defer l.state.mu.Unlock()
		l.state.err.other = append(l.state.err.other, err)
	}
	return err != nil
}

// Failed reports whether something was wrong, so that there will be no model.
func (l *Loader) Failed() bool { return l.state.err.count() > 0 }

// note sorts an error of reading a tensor.
func (l *Loader) note(name string, err error) {
	l.state.mu.Lock()
	defer l.state.mu.Unlock()
	switch {
	case errors.Is(err, ErrMissing):
		l.state.err.Missing = append(l.state.err.Missing, name)
	case errors.Is(err, ErrMisshapen):
		text := strings.TrimPrefix(err.Error(), ErrMisshapen.Error()+": ")
		l.state.err.Misshapen = append(l.state.err.Misshapen, text)
	default:
		l.state.err.other = append(l.state.err.other, err)
	}
}

// find looks for a tensor of the given shape. data is its elements where the
// weights give them whole; else they are to be read.
func (l *Loader) find(name string, shape ...int) (data []float32, ok bool) {
	name = l.lookup(name)
	l.state.used[name] = true
	r, piecewise := l.state.src.(Reader)
	if !piecewise {
		x, err := l.state.src.Tensor(name, shape...)
		if err != nil {
			l.note(name, err)
		}
		return x, err == nil
	}
	got, ok := r.Shape(name)
	switch {
	case !ok:
		l.note(name, errorf(ErrMissing, "%s", name))
	case !slices.Equal(got, shape):
		ok = false
		l.note(name, errorf(ErrMisshapen, "%s has shape %v, want %v", name, got, shape))
	}
	return nil, ok
}

// read sets dst to elements of a tensor that was found, with what find gave.
func (l *Loader) read(dst, data []float32, name string, from int) bool {
	r, piecewise := l.state.src.(Reader)
	if !piecewise {
		copy(dst, data[from:])
		return true
	}
	name = l.lookup(name)
	if err := r.Read(dst, name, from); err != nil {
		l.note(name, err)
		return false
	}
	return true
}

// format is that of the tensor's elements in the checkpoint, if it tells.
func (l *Loader) format(name string) kernels.Format {
	if f, ok := l.state.src.(interface {
		Format(name string) kernels.Format
	}); ok {
		return f.Format(l.lookup(name))
	}
	return kernels.FormatF32
}

// Tensor is the elements of the named tensor, in row-major order. They belong to
// the caller unless the weights are a TensorMap.
func (l *Loader) Tensor(name string, shape ...int) []float32 {
	x, ok := l.find(name, shape...)
	if !ok || x != nil {
		return x
	}
	x = make([]float32, product(shape))
	if !l.read(x, nil, name, 0) {
		return nil
	}
	return x
}

// Optional is the tensor if wanted, else nil.
func (l *Loader) Optional(wanted bool, name string, shape ...int) []float32 {
	if !wanted {
		return nil
	}
	return l.Tensor(name, shape...)
}

// Finish reads and packs the weights of linear layers and embeddings, if all are there, on
// as many threads as there are; layers can be used from then on. Its error is nil if
// every tensor was there in the right shape and none under the prefix is left over, else a
// [*LoadError].
func (l *Loader) Finish() error {
	s := l.state
	if s.err.count() == 0 {
		for _, t := range s.tables {
			t.fill()
		}
		runJobs(s.jobs)
	}
	s.tables, s.jobs = nil, nil
	for name := range s.names {
		if strings.HasPrefix(name, l.prefix) && !s.used[name] && !s.ignores(name) {
			s.err.LeftOver = append(s.err.LeftOver, name)
		}
	}
	if s.err.count() == 0 {
		return nil
	}
	slices.Sort(s.err.LeftOver)
	s.err.hint = l.hint()
	return &s.err
}

func (s *loadState) ignores(name string) bool {
	return slices.ContainsFunc(s.ignored, func(p string) bool {
		ok, _ := path.Match(p, name)
		return ok
	})
}

// hint says under which prefix the missing tensors would be found, if they are
// among those left over.
func (l *Loader) hint() string {
	e := &l.state.err
	for _, missing := range e.Missing {
		for _, left := range e.LeftOver {
			if front, ok := strings.CutSuffix(left, missing); ok && strings.HasSuffix(front, ".") {
				return fmt.Sprintf("prefix %q would fit", l.prefix+front)
			}
			want := strings.TrimPrefix(missing, l.prefix)
			if front, ok := strings.CutSuffix(missing, left); ok && l.prefix != "" && strings.HasPrefix(l.prefix, front) {
				return fmt.Sprintf("prefix %q would fit", strings.TrimPrefix(l.prefix, front))
			}
			if front, ok := strings.CutSuffix(left, want); ok && front != l.prefix && strings.HasSuffix(front, ".") {
				return fmt.Sprintf("prefix %q would fit", front)
			}
		}
	}
	return ""
}

// finish is what a constructor returns: the model, if loading it went well.
func finish[T any](model *T, l *Loader) (*T, error) {
	if err := l.Finish(); err != nil {
		return nil, err
	}
	return model, nil
}

// A LoadError lists everything that is wrong with the weights of a model. It
// matches ErrMissing, ErrMisshapen and ErrLeftOver where it has such entries.
type LoadError struct {
	Missing   []string // names that the model needs and the weights lack
	Misshapen []string // what shape each has and should have
	LeftOver  []string // names that the model did not ask for
	other     []error  // failures to read, and configurations that make no sense
	hint      string
}

// Error names at most five of each kind, and counts the rest.
func (e *LoadError) Error() string {
	const most = 5
	var b strings.Builder
	b.WriteString("transformer: weights do not fit the model")
	list := func(what string, items []string) {
		if len(items) == 0 {
			return
		}
		fmt.Fprintf(&b, "; %d %s: %s", len(items), what, strings.Join(items[:min(len(items), most)], ", "))
		if len(items) > most {
			fmt.Fprintf(&b, " and %d more", len(items)-most)
		}
	}
	list("missing", e.Missing)
	list("misshapen", e.Misshapen)
	list("left over", e.LeftOver)
	for i, err := range e.other {
		if i == most {
			fmt.Fprintf(&b, "; and %d more errors", len(e.other)-most)
			break
		}
		fmt.Fprintf(&b, "; %v", err)
	}
	if e.hint != "" {
		fmt.Fprintf(&b, "; %s", e.hint)
	}
	return b.String()
}

// Unwrap lists the errors that e matches.
func (e *LoadError) Unwrap() []error {
	errs := slices.Clone(e.other)
	if len(e.Missing) > 0 {
		errs = append(errs, ErrMissing)
	}
	if len(e.Misshapen) > 0 {
		errs = append(errs, ErrMisshapen)
	}
	if len(e.LeftOver) > 0 {
		errs = append(errs, ErrLeftOver)
	}
	return errs
}

// count is the number of things wrong.
func (e *LoadError) count() int {
	return len(e.Missing) + len(e.Misshapen) + len(e.LeftOver) + len(e.other)
}
