package lora

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/matrix"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// Adapters: low-rank changes of a model (Hu et al., 2021, "LoRA: Low-Rank Adaptation of Large
// Language Models"), which become part of its weights as these are read, or stay beside them. The
// architectures do not know of them.

// factors is what an adapter adds to one weight.
type factors struct {
	left, right factor // [rows, rank] and [rank, columns]; without right, a vector
	weight      string // by the checkpoint's name
	rank, rows  int
	scale       float64
	magnitude   string // a tensor, or ""
	tied        bool   // a projection that is tied to the weight has it too
}

// A replacement is a tensor of an adapter in place of one of the model.
type replacement struct {
	name  string
	apart bool // what shares the model's tensor keeps that
}

// rows are vectors of an adapter in place of those of a table.
type rows struct {
	name, weight string // of the adapter's tensor and, by the checkpoint's name, the model's
	at           []int
	tied         bool
}

// factor is a tensor, which may be stored transposed.
type factor struct {
	name       string
	transposed bool
}

// adapter is an open one.
type adapter struct {
	path     string
	tensors  transformer.Reader
	close    func()
	factors  []factors
	rows     []rows
	replaced map[string]replacement // by the checkpoint's names
	warnings []string
	name     string // of one that stays beside the weights,
	number   int    // from 1 on; 0: it becomes part of them
}

// Base is the weights that adapters are for.
type Base struct {
	transformer.Weights
	File         string // what errors about them call them; "": the caller adds it
	Path         string // of the model; "" if unknown
	Architecture string // architecture; "" unless a GGUF file
	Name         string // what config.json calls the model; "" mostly
}

// shape is that of a tensor, and false if it is not known.
func (b Base) shape(name string) ([]int, bool) {
	if r, ok := b.Weights.(transformer.Reader); ok {
		return r.Shape(name)
	}
	return nil, false
}

// setRows has l put the adapter's rows into a table.
func (a *adapter) setRows(l *transformer.Loader, r rows) error {
	shape, _ := a.tensors.Shape(r.name)
	values, err := a.tensors.Tensor(r.name, shape...)
	if err != nil {
		return err
	}
	return l.SetRows(r.weight, transformer.Rows{Name: r.name, At: r.at, Values: values, Tied: r.tied})
}

// read reads the matrices of a weight.
func (a *adapter) read(f factors) (transformer.LowRank, error) {
	if f.right.name == "" { // for a vector
		x, err := a.tensors.Tensor(f.left.name, f.rows)
		return transformer.LowRank{Name: f.left.name, Left: x, Right: []float32{1}, Rank: 1, Scale: float32(f.scale)}, err
	}
	d := transformer.LowRank{Name: f.left.name, Rank: f.rank, Scale: float32(f.scale), Beside: a.number, Tied: f.tied}
	if f.magnitude != "" {
		var err error
		if d.Magnitude, err = a.tensors.Tensor(f.magnitude, f.rows); err != nil {
			return d, err
		}
	}
	if stored := a.tensors.Format(f.left.name); stored == a.tensors.Format(f.right.name) && (stored == kernels.FormatBF16 || stored == kernels.FormatF16) {
		d.Format = stored
	}
	for _, m := range []struct {
		factor
		into *[]float32
	}{{f.left, &d.Left}, {f.right, &d.Right}} {
		shape, _ := a.tensors.Shape(m.name)
		x, err := a.tensors.Tensor(m.name, shape...)
		if err != nil {
			return d, err
		}
		if m.transposed {
			*m.into = make([]float32, len(x))
			matrix.Transpose(*m.into, x, shape[1])
			continue
		}
		*m.into = x
	}
	return d, nil
}

// matrices notes the sizes of the two tensors, or returns an error unless they make a matrix for
// their weight.
func (a *adapter) matrices(f *factors, b Base) error {
	var shapes [2][]int
	for i, m := range []factor{f.left, f.right} {
		shape, ok := a.tensors.Shape(m.name)
		if !ok {
			return check.Errorf(fault.ErrMissing, "%s", m.name)
		}
		if len(shape) != 2 || shape[0] < 1 || shape[1] < 1 {
			return check.Errorf(fault.ErrMisshapen, "%s has shape %v, want a matrix", m.name, shape)
		}
		if shapes[i] = shape; m.transposed {
			shapes[i] = []int{shape[1], shape[0]}
		}
	}
	left, right := shapes[0], shapes[1]
	if left[1] != right[0] {
		return check.Errorf(fault.ErrMisshapen, "%s and %s are of the ranks %d and %d", f.left.name, f.right.name, left[1], right[0])
	}
	stored, ok := b.shape(f.weight)
	sizes := []int{left[0], right[1]}
	if ok && !slices.Equal(stored, sizes) && !slices.Equal(stored, []int{sizes[1], sizes[0]}) { // a Loader knows which
		return check.Errorf(fault.ErrMisshapen, "%s and %s make %v, and %s has shape %v", f.left.name, f.right.name, sizes, f.weight, stored)
	}
	f.rank, f.rows = left[1], left[0]
	return nil
}

// isNamed reports whether the model may be the one that an adapter names as its base: one of the
// folders that it is in, or what its configuration says.
func (b Base) isNamed(name string) bool {
	last := func(s string) string {
		return strings.ToLower(s[strings.LastIndexAny(s, `/\`)+1:])
	}
	want := last(strings.TrimRight(name, `/\`))
	if b.Path == "" || last(b.Name) == want {
		return true
	}
	path, err := filepath.Abs(b.Path)
	if err != nil {
		return true
	}
	for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if cached, ok := strings.CutPrefix(part, "models--"); ok {
			part = cached[strings.LastIndex(cached, "--")+len("--"):]
		}
		if strings.ToLower(part) == want {
			return true
		}
	}
	return false
}

// PEFTConfig is the configuration of an adapter that peft wrote.
const PEFTConfig = "adapter_config.json"
