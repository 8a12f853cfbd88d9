package weightfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// Weights of compressed-tensors in codes of 4 bits, which are those of MXFP4: X_packed, [rows,
// columns/2], two codes of neighbours in a byte, the first one in the lower half, and X_scale,
// [rows, columns/16] in F8_E4M3 for NVFP4, which X_global_scale divides, or [rows, columns/32]
// powers of 2 for MXFP4. The numbers of NVFP4 are rounded to bfloat16, as compressed-tensors does.

// codesScheme is what a group says of such weights.
type codesScheme struct{ nvidia bool }

// codesGroup returns the scheme of a group with a strategy and a number of columns.
func codesGroup(strategy string, columns int) func(weights configuration.Document) (scheme, error) {
	return func(d configuration.Document) (scheme, error) {
		of := struct {
			Bits      int    `json:"num_bits"`
			Type      string `json:"type"`
			Strategy  string `json:"strategy"`
			Group     int    `json:"group_size"`
			Symmetric bool   `json:"symmetric"`
		}{Bits: 8, Type: "int", Symmetric: true, Group: columns}
		if err := d.Decode(&of); err != nil {
			return nil, err
		}
		switch {
		case of.Bits != 4:
			return nil, d.Errorf("num_bits", "want 4")
		case of.Type != "float":
			return nil, d.Errorf("type", "want float")
		case of.Strategy != strategy:
			return nil, d.Errorf("strategy", "want %s", strategy)
		case of.Group != columns:
			return nil, d.Errorf("group_size", "want %d", columns)
		case !of.Symmetric:
			return nil, d.Errorf("symmetric", "want true")
		case !d.Empty("dynamic"):
			return nil, d.Errorf("dynamic", "want false")
		}
		return codesScheme{nvidia: columns == nvfp4Group}, nil
	}
}

// nvfp4Group is the columns that share a scale.
const nvfp4Group = 16

// joinAll implements scheme.
func (s codesScheme) joinAll(w *files) (all counts, err error) {
	for _, name := range slices.Sorted(maps.Keys(w.of)) {
		stem, ok := strings.CutSuffix(name, "_packed")
		if !ok {
			continue
		}
		shape, _ := w.of[name].Shape(name)
		var t *joined
		switch {
		case len(shape) != 2:
			err = fmt.Errorf("%s has shape %v, want a matrix", name, shape)
		case s.nvidia:
			t, err = w.nvfp4(stem, shape[0], 2*shape[1])
		default:
			t, err = w.mxfp4(stem, shape[0], 2*shape[1])
		}
		if err != nil {
			return all, &fault.Error{Kind: fault.ErrFormat, Field: name, Err: err}
		}
		w.join(t, name, stem+"_scale", stem+"_global_scale", strings.TrimSuffix(stem, "weight")+"input_global_scale")
		all.add(t)
	}
	return all, nil
}

// mxfp4 returns the matrix of a stem.
func (w *files) mxfp4(stem string, rows, columns int) (*joined, error) {
	t := mxfp4Numbers{names: [2]string{stem + "_packed", stem + "_scale"}}
	if columns%mxfp4Block != 0 {
		return nil, fmt.Errorf("%d columns, want a multiple of %d", columns, mxfp4Block)
	}
	if err := w.has(t.names[0], []int{rows, columns / 2}, safetensors.U8); err != nil {
		return nil, err
	}
	if err := w.has(t.names[1], []int{rows, columns / mxfp4Block}, safetensors.U8); err != nil {
		return nil, err
	}
	t.blocks, t.scales = w.of[t.names[0]], w.of[t.names[1]]
	return &joined{name: stem, shape: []int{rows, columns}, format: kernels.FormatMXFP4, numbers: t}, nil
}

// nvfp4 returns the matrix of a stem.
func (w *files) nvfp4(stem string, rows, columns int) (*joined, error) {
	t := &nvfp4Numbers{names: [2]string{stem + "_packed", stem + "_scale"}}
	if columns%nvfp4Group != 0 {
		return nil, fmt.Errorf("%d columns, want a multiple of %d", columns, nvfp4Group)
	}
	if err := w.has(t.names[0], []int{rows, columns / 2}, safetensors.U8); err != nil {
		return nil, err
	}
	if err := w.has(t.names[1], []int{rows, columns / nvfp4Group}, safetensors.F8E4M3); err != nil {
		return nil, err
	}
	all, err := w.floats(stem+"_global_scale", 1)
	if err != nil {
		return nil, err
	}
	t.codes, t.scales, t.all = w.of[t.names[0]], w.of[t.names[1]], all[0]
	return &joined{name: stem, shape: []int{rows, columns}, format: kernels.FormatBF16, numbers: t}, nil
}

// nvfp4Numbers are those of a matrix.
type nvfp4Numbers struct {
	codes, scales transformer.Reader
	names         [2]string // of the two
	all           float32   // which divides scales
}

// e2m1 are the numbers of codes of 4 bits.
var e2m1 = [16]float32{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6}

// read implements numbers.
func (t *nvfp4Numbers) read(dst []float32, from int) error {
	first := from / nvfp4Group
	scales := make([]float32, parts(from+len(dst), nvfp4Group)-first)
	if err := t.scales.Read(scales, t.names[1], first); err != nil {
		return err
	}
	codes, err := readNibbles(t.codes, t.names[0], from, len(dst), 0)
	if err != nil {
		return err
	}
	for i, c := range codes {
		dst[i] = e2m1[c] * float32(scales[(from+i)/nvfp4Group-first]/t.all)
	}
	round(dst, kernels.FormatBF16)
	return nil
}

// readBlocks implements numbers.
func (t *nvfp4Numbers) readBlocks(dst []byte, from int) error {
	return halves(dst, from, kernels.FormatBF16, t.read)
}
