package classic_test

import (
	"encoding/json"
	"strings"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// What a golden file holds, in the forms that cases want.

func (g *golden) json(key string, to any) {
	g.Helper()
	if err := json.Unmarshal([]byte(g.f.Metadata()[key]), to); err != nil {
		g.Fatalf("metadata %s: %v", key, err)
	}
}

// num and nums are numbers of the configuration; 0 stands for null.
func (g *golden) num(key string) int { return int(g.real(key)) }

func (g *golden) real(key string) float64 {
	g.Helper()
	v, ok := g.config[key]
	if !ok {
		g.Fatalf("config has no %s", key)
	}
	x, _ := v.(float64)
	return x
}

func (g *golden) nums(key string) []int {
	g.Helper()
	list, ok := g.config[key].([]any)
	if !ok {
		g.Fatalf("config %s is not a list", key)
	}
	var all []int
	for _, v := range list {
		all = append(all, int(v.(float64)))
	}
	return all
}

func (g *golden) flag(key string) bool { b, _ := g.config[key].(bool); return b }

// activation is that which a configuration names.
func (g *golden) activation(name any) kernels.Activation {
	switch name {
	case "relu":
		return kernels.ActReLU
	case "gelu", "erf", "gelu (erf)":
		return kernels.ActGELU
	case "tanh", "gelu_new":
		return kernels.ActGELUTanh
	}
	g.Fatalf("activation %v", name)
	return 0
}

func (g *golden) tensor(name string) []float32 {
	g.Helper()
	x, err := g.f.Float32(name)
	g.ok(err)
	return x
}

func (g *golden) ints(name string) []int {
	g.Helper()
	x, err := g.f.Int64(name)
	g.ok(err)
	all := make([]int, len(x))
	for i, v := range x {
		all[i] = int(v)
	}
	return all
}

func (g *golden) bools(name string) []bool {
	g.Helper()
	all := make([]bool, 0)
	for _, v := range g.ints(name) {
		all = append(all, v != 0)
	}
	return all
}

// shape4 returns the shape of a tensor, with sizes of 1 in front up to four.
func (g *golden) shape4(name string) [4]int {
	g.Helper()
	s := g.shape(name)
	shape := [4]int{1, 1, 1, 1}
	copy(shape[4-len(s):], s)
	return shape
}

func (g *golden) shape(name string) []int {
	g.Helper()
	info, ok := g.f.Info(name)
	if !ok {
		g.Fatalf("no tensor %s", name)
	}
	return info.Shape
}

// weights returns the file's tensors under prefix, by the names after it.
func (g *golden) weights(prefix string) transformer.Weights { return goldenWeights{g.f, prefix} }

type goldenWeights struct {
	f      *safetensors.File
	prefix string
}

func (w goldenWeights) Names() []string {
	var names []string
	for _, n := range w.f.Names() {
		if rest, ok := strings.CutPrefix(n, w.prefix); ok {
			names = append(names, rest)
		}
	}
	return names
}

func (w goldenWeights) Tensor(name string, shape ...int) ([]float32, error) {
	return transformer.FromSafetensors(w.f).Tensor(w.prefix+name, shape...)
}

// keepMask and blockMask are masks of named tensors, where non-zero means visible and hidden.
func (g *golden) keepMask(name string) *transformer.Mask {
	s := g.shape4(name)
	return transformer.KeepMask(g.bools(name), s[0], s[1], s[2], s[3])
}

func (g *golden) blockMask(name string) *transformer.Mask {
	s := g.shape4(name)
	return transformer.BlockMask(g.bools(name), s[0], s[1], s[2], s[3])
}

func (g *golden) additiveMask(name string) *transformer.Mask {
	s := g.shape4(name)
	return transformer.AdditiveMask(g.tensor(name), s[0], s[1], s[2], s[3])
}

// paddingMask returns a [batch, keys] mask of keys to be ignored.
func (g *golden) paddingMask(name string) *transformer.Mask {
	s := g.shape(name)
	return transformer.BlockMask(g.bools(name), s[0], 1, 1, s[1])
}
