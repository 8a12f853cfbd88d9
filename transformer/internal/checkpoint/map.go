package checkpoint

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// This file has weights without a file: tensors in memory, and random ones.

// Map is weights in memory by their names.
type Map map[string]safetensors.Tensor

// Names lists the tensors in alphabetical order.
func (m Map) Names() []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Tensor returns the elements of the named tensor, not a copy.
func (m Map) Tensor(name string, shape ...int) ([]float32, error) {
	t, ok := m[name]
	if err := fits(name, t.Shape, ok, shape); err != nil {
		return nil, err
	}
	if len(t.Data) != check.Product(shape) {
		return nil, check.Errorf(fault.ErrMisshapen, "%s has %d elements, its shape %v wants %d", name, len(t.Data), shape, check.Product(shape))
	}
	return t.Data, nil
}

// Random returns weights of any name and shape, which depend on the seed, the name and the shape.
func Random(seed uint64) Weights { return random(seed) }

type random uint64

func (random) Names() []string { return nil }

func (r random) Tensor(name string, shape ...int) ([]float32, error) {
	h := uint64(14695981039346656037) // FNV-1a
	for _, c := range []byte(name) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	g := rand.New(rand.NewPCG(uint64(r), h))
	x := make([]float32, check.Product(shape))
	center, scale := 0.0, 1.0
	switch {
	case len(shape) > 1:
		scale = 1 / math.Sqrt(float64(max(check.Product(shape[1:]), 1)))
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
