package transformer

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/transformer/safetensors"
)

// Weights is where constructors take a model's tensors from.
type Weights interface {
	// Names lists the tensors that there are, so that those which a model did
	// not ask for can be reported.
	Names() []string
	// Tensor returns the row-major elements of the named tensor. The error
	// matches ErrMissing if there is none, ErrMisshapen if its shape is another.
	Tensor(name string, shape ...int) ([]float32, error)
}

// FromSafetensors is the weights in a safetensors file.
func FromSafetensors(f *safetensors.File) Weights { return fileWeights{f} }

type fileWeights struct{ f *safetensors.File }

func (w fileWeights) Names() []string { return w.f.Names() }

func (w fileWeights) Tensor(name string, shape ...int) ([]float32, error) {
	info, ok := w.f.Info(name)
	switch {
	case !ok:
		return nil, errorf(ErrMissing, "%s", name)
	case !slices.Equal(info.Shape, shape):
		return nil, errorf(ErrMisshapen, "%s has shape %v, want %v", name, info.Shape, shape)
	}
	return w.f.Float32(name)
}

// TensorMap is weights in memory.
type TensorMap map[string]safetensors.Tensor

// Names lists the tensors in alphabetical order.
func (m TensorMap) Names() []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Tensor returns the elements of the named tensor, not a copy.
func (m TensorMap) Tensor(name string, shape ...int) ([]float32, error) {
	t, ok := m[name]
	switch {
	case !ok:
		return nil, errorf(ErrMissing, "%s", name)
	case !slices.Equal(t.Shape, shape):
		return nil, errorf(ErrMisshapen, "%s has shape %v, want %v", name, t.Shape, shape)
	case len(t.Data) != product(shape):
		return nil, errorf(ErrMisshapen, "%s has %d elements, its shape %v wants %d", name, len(t.Data), shape, product(shape))
	}
	return t.Data, nil
}

// Random is a source of made-up weights of any name and shape, for trying out
// and timing models: uniform within 1/sqrt(n) of 0 for rows of length n, as
// torch.nn.Linear starts, and within 0.1 of 1 for one-dimensional tensors that
// are not biases. The same seed and name give the same numbers.
func Random(seed uint64) Weights { return random(seed) }

type random uint64

func (random) Names() []string { return nil }

func (r random) Tensor(name string, shape ...int) ([]float32, error) {
	h := uint64(14695981039346656037) // FNV-1a
	for _, c := range []byte(name) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	g := rand.New(rand.NewPCG(uint64(r), h))
	x := make([]float32, product(shape))
	center, scale := 0.0, 1.0
	switch {
	case len(shape) > 1:
		scale = 1 / math.Sqrt(float64(max(product(shape[1:]), 1)))
	case strings.HasSuffix(name, "bias"):
		scale = 0.1
	default:
		center, scale = 1, 0.1
	}
	for i := range x {
		x[i] = float32(center + scale*(2*g.Float64()-1))
	}
	return x, nil
}

// Hide is w without the tensors whose names match one of the patterns of
// path.Match, for checkpoints that hold more than a model needs.
func Hide(w Weights, patterns ...string) Weights { return hidden{w, patterns} }

type hidden struct {
	Weights
	patterns []string
}

func (h hidden) hides(name string) bool {
	return slices.ContainsFunc(h.patterns, func(p string) bool {
		ok, _ := path.Match(p, name)
		return ok
	})
}

func (h hidden) Names() []string {
	return slices.DeleteFunc(slices.Clone(h.Weights.Names()), h.hides)
}

func (h hidden) Tensor(name string, shape ...int) ([]float32, error) {
	if h.hides(name) {
		return nil, errorf(ErrMissing, "%s", name)
	}
	return h.Weights.Tensor(name, shape...)
}

// A LoadError lists everything that is wrong with the weights of a model. It
// matches ErrMissing, ErrMisshapen and ErrLeftOver where it has such entries.
type LoadError struct {
	Missing   []string // names that the model needs and the weights lack
	Misshapen []string // what shape each has and should have
	LeftOver  []string // names that the model did not ask for
	other     []error  // failures to read
}

func (e *LoadError) Error() string {
	var b strings.Builder
	b.WriteString("transformer: weights do not fit the model")
	list := func(what string, items []string) {
		if len(items) > 0 {
			fmt.Fprintf(&b, "; %d %s: %s", len(items), what, strings.Join(items, ", "))
		}
	}
	list("missing", e.Missing)
	list("misshapen", e.Misshapen)
	list("left over", e.LeftOver)
	for _, err := range e.other {
		fmt.Fprintf(&b, "; %v", err)
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

// loader hands out the weights under a prefix and collects what is wrong, so
// that all of it is reported at once.
type loader struct {
	src    Weights
	prefix string
	state  *loadState
}

type loadState struct {
	used map[string]bool
	err  LoadError
}

func newLoader(src Weights, prefix string) loader {
	return loader{src, prefix, &loadState{used: map[string]bool{}}}
}

// at is the loader of a part of the model.
func (l loader) at(prefix string) loader {
	l.prefix += prefix
	return l
}

// name is the name of the part, without the dot that joins it to its weights.
func (l loader) name() string { return strings.TrimRight(l.prefix, ".") }

// tensor is the named tensor. Where there is none of that shape, it notes why
// and returns nil, and loading goes on to see what else is wrong: without memory
// for what is not there, whose sizes may be those of a hostile configuration.
func (l loader) tensor(name string, shape ...int) []float32 {
	name = l.prefix + name
	l.state.used[name] = true
	x, err := l.src.Tensor(name, shape...)
	switch {
	case err == nil:
		return x
	case errors.Is(err, ErrMissing):
		l.state.err.Missing = append(l.state.err.Missing, name)
	case errors.Is(err, ErrMisshapen):
		text := strings.TrimPrefix(err.Error(), ErrMisshapen.Error()+": ")
		l.state.err.Misshapen = append(l.state.err.Misshapen, text)
	default:
		l.state.err.other = append(l.state.err.other, err)
	}
	return nil
}

// failed reports whether something was wrong, so that there will be no model.
func (l loader) failed() bool { return l.state.err.count() > 0 }

// count is the number of things wrong.
func (e *LoadError) count() int {
	return len(e.Missing) + len(e.Misshapen) + len(e.LeftOver) + len(e.other)
}

// optional is the tensor if wanted, else nil.
func (l loader) optional(wanted bool, name string, shape ...int) []float32 {
	if !wanted {
		return nil
	}
	return l.tensor(name, shape...)
}

// finish is the error that loading ends with: nil if every weight was there in
// the right shape and none under the prefix is left over.
func (l loader) finish() error {
	e := &l.state.err
	for _, name := range l.src.Names() {
		if strings.HasPrefix(name, l.prefix) && !l.state.used[name] {
			e.LeftOver = append(e.LeftOver, name)
		}
	}
	if e.count() == 0 {
		return nil
	}
	slices.Sort(e.LeftOver)
	return e
}

// finish is what a constructor returns: the model, if loading it went well.
func finish[T any](model *T, l loader) (*T, error) {
	if err := l.finish(); err != nil {
		return nil, err
	}
	return model, nil
}

// product is the product of sizes, the largest int if that is too small for it.
func product(sizes []int) int {
	n := 1
	for _, s := range sizes {
		if s > 0 && n > math.MaxInt/s {
			return math.MaxInt
		}
		n *= s
	}
	return n
}
