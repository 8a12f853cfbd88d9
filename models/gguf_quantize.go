package models

import (
	"fmt"
	"io"
	"strings"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// This file writes GGUF files with their weights in another format.

// fileTypes are llama.cpp's numbers of files whose weights are mostly of a type.
var fileTypes = map[gguf.Type]uint32{
	gguf.F16: 1, gguf.Q4_0: 2, gguf.Q4_1: 3, gguf.Q8_0: 7, gguf.Q5_0: 8, gguf.Q5_1: 9, gguf.Q4_K: 14, gguf.Q5_K: 16, gguf.Q6_K: 18, gguf.BF16: 32, gguf.MXFP4: 38,
}

// QuantizeGGUF writes the model in the GGUF file at path, or in its parts, with weights in a format:
// those that [Options.Weights] chooses, so that the file opens as the model that Options{Weights: f} makes of path.
// Everything else, the tokenizer among it, stays as it is. A format whose blocks do not divide the rows of a
// weight is an error that matches ErrOption.
func QuantizeGGUF(w io.Writer, path string, f kernels.Format) error {
	file, err := gguf.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	q := quantizer{file: file, format: f}
	for t := range fileTypes {
		if strings.EqualFold(t.String(), f.String()) {
			q.kind = t
		}
	}
	if q.kind == gguf.F32 {
		return check.Errorf(ErrOption, "weights in %v: want a format of fewer bits that GGUF files have", f)
	}
	if err := q.write(w); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// quantizer writes a file again.
type quantizer struct {
	file   *gguf.File
	format kernels.Format
	kind   gguf.Type // of the format
}

func (q *quantizer) write(w io.Writer) error {
	r := &ggufReader{file: q.file, weights: transformer.FromGGUF(q.file), fields: map[string]any{}, read: map[string]bool{}}
	if _, err := r.document(); err != nil {
		return err
	}
	var pairs []gguf.Pair
	for _, key := range q.file.Keys() {
		value, _ := q.file.Value(key)
		switch {
		case key == "general.alignment" || strings.HasPrefix(key, "split."):
			continue
		case key == "general.file_type":
			value = fileTypes[q.kind]
		}
		pairs = append(pairs, gguf.Pair{Key: key, Value: value})
	}
	tied := !r.isEncoder() && r.pool == nil && !r.has("output.weight")
	var tensors []gguf.Tensor
	for _, name := range q.file.Names() {
		t, err := q.tensor(name, r.weights.Format(name), tied)
		if err != nil {
			return err
		}
		tensors = append(tensors, t)
	}
	return gguf.Write(w, pairs, tensors)
}

// tensor is one of the file, as it is or in the new format.
func (q *quantizer) tensor(name string, stored kernels.Format, tied bool) (gguf.Tensor, error) {
	info, _ := q.file.Info(name)
	table := name == "token_embd.weight" && !tied || name == "token_types.weight" || name == "position_embd.weight"
	o := Options{Weights: q.format, asStored: true}
	router := strings.Contains(name, ".ffn_gate_inp") // which llama.cpp leaves alone too
	if len(info.Shape) < 2 || router || o.format(name, stored, table) != q.format || stored == q.format {
		return gguf.Tensor{Name: name, Info: info, Data: func(w io.Writer) error { return q.file.Copy(w, name) }}, nil
	}
	columns, all := info.Shape[len(info.Shape)-1], 1
	for _, n := range info.Shape[:len(info.Shape)-1] {
		all *= n
	}
	elements, bytes := q.format.Block()
	if columns%elements != 0 {
		return gguf.Tensor{}, check.Errorf(ErrOption, "%s has rows of %d elements, which %v does not hold: they are no multiple of %d", name, columns, q.format, elements)
	}
	return gguf.Tensor{Name: name, Info: gguf.Info{Type: q.kind, Shape: info.Shape}, Data: func(w io.Writer) error {
		rows := max(1, 1<<16/max(columns, 1)) // at a time
		x := make([]float32, min(rows, all)*columns)
		raw := make([]byte, len(x)/elements*bytes)
		for from := 0; from < all; from += rows {
			n := min(rows, all-from) * columns
			if err := q.file.ReadFloat32(x[:n], name, from*columns); err != nil {
				return err
			}
			q.format.Quantize(raw[:n/elements*bytes], x[:n])
			if _, err := w.Write(raw[:n/elements*bytes]); err != nil {
				return err
			}
		}
		return nil
	}}, nil
}
