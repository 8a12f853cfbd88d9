package weightfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// Weights that bitsandbytes quantized, as transformers saves them.
//
// Of 4 bits: X, bytes with two codes of neighbours, the first one in the upper half, elements in
// row-major order; X.quant_map, the numbers of the codes; X.absmax, a scale for each block of
// elements; and X.quant_state.bitsandbytes__KIND, the bytes of a JSON object. Where scales are
// nested, X.absmax are codes of X.nested_quant_map with a scale for each nested block,
// X.nested_absmax, and a number is added. The weight is the product, rounded to the type that the
// object names.
//
// Of 8 bits: X, and in place of X's "weight" SCB, the largest of each row, which is 127 of it.

var bitsandbytes = method{[]string{"quant_method", "load_in_4bit", "load_in_8bit", "_load_in_4bit", "_load_in_8bit", "bnb_4bit_quant_type", "bnb_4bit_quant_storage",
	"bnb_4bit_use_double_quant", "bnb_4bit_compute_dtype", "llm_int8_threshold", "llm_int8_skip_modules", "llm_int8_enable_fp32_cpu_offload", "llm_int8_has_fp16_weight"}, bitsandbytesOf}

// bitsandbytesScheme joins weights of both kinds: the tensors say which they are.
type bitsandbytesScheme struct{}

func bitsandbytesOf(d configuration.Document) (scheme, []string, error) {
	of := struct {
		Storage string `json:"bnb_4bit_quant_storage"`
	}{Storage: "uint8"}
	if err := d.Decode(&of); err != nil {
		return nil, nil, err
	}
	if of.Storage != "uint8" {
		return nil, nil, d.Errorf("bnb_4bit_quant_storage", "want uint8")
	}
	return bitsandbytesScheme{}, nil, nil
}

// joinAll implements scheme.
func (bitsandbytesScheme) joinAll(w *files) (all counts, err error) {
	for _, name := range slices.Sorted(maps.Keys(w.of)) {
		var t *joined
		if stem, _, ok := strings.Cut(name, quantState); ok && w.of[stem] != nil {
			t, err = w.codes4(stem, name)
		} else if stem, ok := strings.CutSuffix(name, ".SCB"); ok && w.of[stem+".weight"] != nil {
			t, err = w.rows8(stem)
		}
		if err != nil {
			return all, &fault.Error{Kind: fault.ErrFormat, Field: name, Err: err}
		}
		if t != nil {
			all.add(t)
		}
	}
	return all, nil
}

// rows8 joins a matrix of integers of 8 bits.
func (w *files) rows8(stem string) (*joined, error) {
	name, scales := stem+".weight", stem+".SCB"
	shape, _ := w.of[name].Shape(name)
	if len(shape) != 2 {
		return nil, fmt.Errorf("%s has shape %v, want a matrix", name, shape)
	}
	if err := w.has(name, shape, safetensors.I8); err != nil {
		return nil, err
	}
	if err := w.has(scales, []int{shape[0]}, safetensors.F32, safetensors.F16, safetensors.BF16); err != nil {
		return nil, err
	}
	n := &rows8{of: w.of[name], name: name, columns: shape[1], scales: make([]float32, shape[0])}
	if err := w.of[scales].Read(n.scales, scales, 0); err != nil {
		return nil, err
	}
	t := &joined{name: name, shape: shape, numbers: n}
	w.join(t, name, scales, stem+".weight_format")
	return t, nil
}

// rows8 are the numbers of integers with a scale a row.
type rows8 struct {
	onlyNumbers
	of      transformer.Reader
	name    string
	columns int
	scales  []float32
}

// read implements numbers.
func (t *rows8) read(dst []float32, from int) error {
	if err := t.of.Read(dst, t.name, from); err != nil {
		return err
	}
	for i := range dst {
		dst[i] = dst[i] * t.scales[(from+i)/t.columns] * (1.0 / 127)
	}
	return nil
}

// quantState begins the end of the name of a quant_state.
const quantState = ".quant_state.bitsandbytes__"

// codes4 joins a matrix of codes of 4 bits, whose quant_state has a name.
func (w *files) codes4(name, state string) (*joined, error) {
	d, err := w.quantState(state)
	if err != nil {
		return nil, err
	}
	of := struct {
		Kind        string   `json:"quant_type"`
		Block       int      `json:"blocksize"`
		Type        string   `json:"dtype"`
		Shape       []int    `json:"shape"`
		NestedBlock int      `json:"nested_blocksize" min:"0"`
		NestedType  string   `json:"nested_dtype"`
		Offset      *float64 `json:"nested_offset"`
	}{NestedType: "float32"}
	if err := d.Decode(&of); err != nil {
		return nil, err
	}
	format, ok := map[string]kernels.Format{"float32": kernels.FormatF32, "bfloat16": kernels.FormatBF16, "float16": kernels.FormatF16}[of.Type]
	switch {
	case of.Kind != "nf4" && of.Kind != "fp4":
		return nil, d.Errorf("quant_type", "want nf4 or fp4")
	case !ok:
		return nil, d.Errorf("dtype", "want float32, bfloat16 or float16")
	case of.NestedType != "float32":
		return nil, d.Errorf("nested_dtype", "want float32")
	case len(of.Shape) != 2 || min(of.Shape[0], of.Shape[1]) < 1 || check.Product(of.Shape)%2 != 0:
		return nil, d.Errorf("shape", "want two numbers whose product is even")
	}
	n := check.Product(of.Shape)
	if err := w.has(name, []int{n / 2, 1}, safetensors.U8); err != nil {
		return nil, err
	}
	t := &codes4{name: name, block: of.Block, format: format}
	if t.numbers, err = w.floats(name+".quant_map", 16); err != nil {
		return nil, err
	}
	scales := []string{name + ".absmax", name + ".nested_absmax", name + ".nested_quant_map"}
	blocks := parts(n, of.Block)
	if of.NestedBlock == 0 {
		err = w.has(scales[0], []int{blocks}, safetensors.F32)
	} else if err = w.has(scales[0], []int{blocks}, safetensors.U8); err == nil {
		err = t.nest(w, scales, parts(blocks, of.NestedBlock), of.NestedBlock, of.Offset)
	}
	if err != nil {
		return nil, err
	}
	t.codes, t.absmax = w.of[name], w.of[scales[0]]
	j := &joined{name: name, shape: of.Shape, format: format, numbers: t}
	w.join(j, append(scales, name, name+".quant_map", state)...)
	return j, nil
}

// quantState reads the object in a quant_state.
func (w *files) quantState(name string) (configuration.Document, error) {
	const most = 1 << 16
	shape, _ := w.of[name].Shape(name)
	if len(shape) != 1 || shape[0] > most {
		return configuration.Document{}, fmt.Errorf("%s has shape %v, want at most %d bytes", name, shape, most)
	}
	if err := w.has(name, shape, safetensors.U8); err != nil {
		return configuration.Document{}, err
	}
	text := make([]byte, shape[0])
	if err := readBlocks(w.of[name], text, name, 0); err != nil {
		return configuration.Document{}, err
	}
	return configuration.Parse(name, text)
}

// floats reads a vector of float32.
func (w *files) floats(name string, n int) ([]float32, error) {
	if err := w.has(name, []int{n}, safetensors.F32); err != nil {
		return nil, err
	}
	x := make([]float32, n)
	return x, w.of[name].Read(x, name, 0)
}

// nested are scales of scales.
type nested struct {
	numbers, scales []float32
	block           int
	offset          float32
}

// nest reads the scales of scales.
func (t *codes4) nest(w *files, names []string, n, block int, offset *float64) (err error) {
	if offset == nil {
		return fmt.Errorf("nested scales without nested_offset")
	}
	t.nested = &nested{block: block, offset: float32(*offset)}
	if t.nested.scales, err = w.floats(names[1], n); err != nil {
		return err
	}
	t.nested.numbers, err = w.floats(names[2], 256)
	return err
}

// codes4 are the numbers of codes with a scale a block.
type codes4 struct {
	codes, absmax transformer.Reader
	name          string
	block         int
	format        kernels.Format
	numbers       []float32
	nested        *nested // nil: scales are float32
}

// read implements numbers.
func (t *codes4) read(dst []float32, from int) error {
	first, end := from/t.block, parts(from+len(dst), t.block)
	scales, err := t.scales(first, end-first)
	if err != nil {
		return err
	}
	codes, err := readNibbles(t.codes, t.name, from, len(dst), 4)
	if err != nil {
		return err
	}
	for i, c := range codes {
		dst[i] = t.numbers[c] * scales[(from+i)/t.block-first]
	}
	round(dst, t.format)
	return nil
}

// scales returns those of blocks.
func (t *codes4) scales(first, n int) ([]float32, error) {
	x, name := make([]float32, n), t.name+".absmax"
	if t.nested == nil {
		return x, t.absmax.Read(x, name, first)
	}
	codes := make([]byte, n)
	if err := readBlocks(t.absmax, codes, name, first); err != nil {
		return nil, err
	}
	for i, c := range codes {
		x[i] = float32(t.nested.numbers[c]*t.nested.scales[(first+i)/t.nested.block]) + t.nested.offset
	}
	return x, nil
}

// readBlocks implements numbers.
func (t *codes4) readBlocks(dst []byte, from int) error { return halves(dst, from, t.format, t.read) }
