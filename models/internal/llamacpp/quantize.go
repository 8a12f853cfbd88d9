package llamacpp

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// This file writes GGUF files with their weights in another format.

// fileTypes are llama.cpp's numbers of files whose weights are mostly of a type.
var fileTypes = map[gguf.Type]uint32{
	gguf.F16: 1, gguf.Q4_0: 2, gguf.Q4_1: 3, gguf.Q8_0: 7, gguf.Q5_0: 8, gguf.Q5_1: 9, gguf.Q4_K: 14, gguf.Q5_K: 16, gguf.Q6_K: 18, gguf.BF16: 32, gguf.MXFP4: 38,
	gguf.Q3_K: 11, gguf.IQ4_NL: 25, gguf.IQ4_XS: 30,
}

// fallbacks are the formats for weights whose rows the blocks of a format do not divide: those of
// llama.cpp, and of 16 bits where blocks of 32 do not divide them either.
var fallbacks = map[kernels.Format]kernels.Format{
	kernels.FormatQ4_K: kernels.FormatQ5_0, kernels.FormatQ5_K: kernels.FormatQ5_1, kernels.FormatQ6_K: kernels.FormatQ8_0,
	kernels.FormatQ3_K: kernels.FormatQ4_0, kernels.FormatIQ4_XS: kernels.FormatIQ4_NL,
}

// typeOf returns a format's type of GGUF.
func typeOf(f kernels.Format) (gguf.Type, bool) {
	for t := range fileTypes {
		if strings.EqualFold(t.String(), f.String()) {
			return t, true
		}
	}
	return gguf.F32, f == kernels.FormatF32
}

// Pattern is the format for the weights whose name matches a pattern.
type Pattern struct {
	Names  string
	Format kernels.Format
}

func (p Pattern) matches(name string) bool {
	ok, _ := path.Match(p.Names, name)
	return ok
}

// Quantizer writes a file again.
type Quantizer struct {
	File     *gguf.File
	Known    map[string]Architecture // by llama.cpp's names
	Weights  kernels.Format          // of weights that no pattern matches; FormatF32: as they are
	Patterns []Pattern
	// FormatOf is the format for a weight, or a table, that is stored in another.
	FormatOf   func(name string, stored kernels.Format, table bool) kernels.Format
	Importance *Importance // or nil
	Warn       func(warning string)
	fallback   map[[2]kernels.Format][]string // weights with a format in place of another
	without    []string                       // weights that Importance does not have
}

// Write writes the file at path, whose name errors have.
func (q *Quantizer) Write(w io.Writer, path string) error {
	for _, f := range append([]Pattern{{Format: q.Weights}}, q.Patterns...) {
		if _, ok := typeOf(f.Format); !ok {
			return check.Errorf(fault.ErrOption, "weights in %v: want a format that GGUF files have", f.Format)
		}
	}
	if err := q.writeFile(w); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (q *Quantizer) writeFile(w io.Writer) error {
	r := newReader(q.File, q.Known)
	if _, err := r.document(); err != nil {
		return err
	}
	for _, f := range q.Patterns {
		if !slices.ContainsFunc(q.File.Names(), f.matches) {
			return check.Option("Pattern", f.Names, "the file has no weight of such a name")
		}
	}
	var pairs []gguf.Pair
	if q.Importance != nil {
		if err := q.Importance.check(q.File.Info); err != nil {
			return err
		}
		pairs = q.Importance.pairs()
	}
	for _, key := range q.File.Keys() {
		value, _ := q.File.Value(key)
		switch {
		case key == "general.alignment" || q.Importance != nil && strings.HasPrefix(key, importanceKeys) || strings.HasPrefix(key, "split."):
			continue
		case key == "general.file_type" && q.Weights != kernels.FormatF32:
			kind, _ := typeOf(q.Weights)
			value = fileTypes[kind]
		}
		pairs = append(pairs, gguf.Pair{Key: key, Value: value})
	}
	tied := !r.own.Encoder && r.Pool == nil && !r.Has("output.weight")
	q.fallback, q.without = map[[2]kernels.Format][]string{}, nil
	var tensors []gguf.Tensor
	for _, name := range q.File.Names() {
		tensors = append(tensors, q.tensor(name, r.weights.Format(name), tied))
	}
	q.warnOfFallbacks()
	if len(q.without) > 0 {
		q.Warn("without importance, which the file does not have for them: " + someOf(q.without))
	}
	return gguf.Write(w, pairs, tensors)
}

// warnOfFallbacks reports fallbacks, in a line for each format.
func (q *Quantizer) warnOfFallbacks() {
	for _, f := range slices.SortedFunc(maps.Keys(q.fallback), func(a, b [2]kernels.Format) int { return slices.Compare(a[:], b[:]) }) {
		names := q.fallback[f]
		elements, _ := f[0].Block()
		q.Warn(fmt.Sprintf("in %v instead of %v, since %d does not divide their rows: %s", f[1], f[0], elements, someOf(names)))
	}
}

// someOf returns the first name, and how many more there are.
func someOf(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}

// format returns the format that a tensor of two dimensions gets.
func (q *Quantizer) format(name string, columns int, stored kernels.Format, tied bool) kernels.Format {
	table := name == "token_embd.weight" && !tied || name == "token_types.weight" || name == "position_embd.weight"
	// llama.cpp does not quantize these either: routers, and the small matrices of Gemma 3n's
	// streams.
	left := slices.ContainsFunc([]string{".ffn_gate_inp", "altup_", ".laurel_"}, func(part string) bool { return strings.Contains(name, part) })
	if left && !slices.ContainsFunc(q.Patterns, func(f Pattern) bool { return f.matches(name) }) {
		return stored
	}
	wanted := q.FormatOf(name, stored, table)
	if wanted == stored {
		return stored
	}
	f := wanted
	for elements, _ := f.Block(); columns%elements != 0; elements, _ = f.Block() {
		next, ok := fallbacks[f]
		if !ok {
			next = kernels.FormatF16
		}
		f = next
	}
	if f != wanted {
		q.fallback[[2]kernels.Format{wanted, f}] = append(q.fallback[[2]kernels.Format{wanted, f}], name)
	}
	return f
}

// tensor is one of the file, as it is or in the new format.
func (q *Quantizer) tensor(name string, stored kernels.Format, tied bool) gguf.Tensor {
	info, _ := q.File.Info(name)
	as := stored
	if len(info.Shape) > 1 && info.Len() > 0 {
		as = q.format(name, info.Shape[len(info.Shape)-1], stored, tied)
	}
	if as == stored {
		return gguf.Tensor{Name: name, Info: info, Data: func(w io.Writer) error { return q.File.Copy(w, name) }}
	}
	if elements, _ := as.Block(); q.Importance != nil && elements > 1 && !q.Importance.has(name) {
		q.without = append(q.without, name)
	}
	kind, _ := typeOf(as)
	return gguf.Tensor{Name: name, Info: gguf.Info{Type: kind, Shape: info.Shape}, Data: func(w io.Writer) error {
		return q.convert(w, name, info, as)
	}}
}

// convert writes the blocks or numbers of a tensor. Threads make blocks while those before are
// written.
func (q *Quantizer) convert(w io.Writer, name string, info gguf.Info, as kernels.Format) error {
	var err error
	c := converter{file: q.File, name: name, as: as}
	if q.Importance != nil {
		if c.importance, err = q.Importance.of(name); err != nil {
			return err
		}
	}
	var matrices int
	c.columns, matrices = columnsOf(info)
	all := info.Len() / c.columns
	c.rowsOf = all / matrices
	c.rows = max(1, 1<<14/c.columns)
	elements, bytes := as.Block()
	c.rowBytes = c.columns / elements * bytes
	parts := min(32*runtime.GOMAXPROCS(0), (all+c.rows-1)/c.rows) // at a time
	var buffers [2][]byte
	for i := range buffers {
		buffers[i] = make([]byte, min(parts*c.rows, all)*c.rowBytes)
	}
	written := make(chan error, 1)
	written <- nil
	for c.from < all {
		n := min(parts*c.rows, all-c.from)
		c.dst = buffers[0][:n*c.rowBytes]
		kernels.Threads(runtime.GOMAXPROCS(0)).Run((n+c.rows-1)/c.rows, n*c.columns*5, &c)
		if err := errors.Join(<-written, c.err); err != nil {
			return err
		}
		go func(b []byte) {
			_, err := w.Write(b)
			written <- err
		}(c.dst)
		buffers[0], buffers[1] = buffers[1], buffers[0]
		c.from += n
	}
	return <-written
}

// converter converts rows of a tensor.
type converter struct {
	file       *gguf.File
	name       string
	as         kernels.Format
	importance []float32 // of the columns of all matrices, or nil
	columns    int
	rowsOf     int // rows of a matrix
	rowBytes   int // of blocks

	from, rows int    // the first row; rows of a part
	dst        []byte // blocks of the parts
	once       sync.Once
	err        error // the first one
}

// numbers has memory for parts.
var numbers = sync.Pool{New: func() any { return new([]float32) }}

// Do converts parts.
func (c *converter) Do(from, to int) {
	n := min(c.rows*c.columns, len(c.dst)/c.rowBytes*c.columns)
	buffer := numbers.Get().(*[]float32)
	defer numbers.Put(buffer)
	*buffer = slices.Grow((*buffer)[:0], n)
	x := (*buffer)[:n]
	for part := from; part < to; part++ {
		dst := c.dst[part*c.rows*c.rowBytes:]
		dst = dst[:min(len(dst), c.rows*c.rowBytes)]
		row := c.from + part*c.rows
		x := x[:len(dst)/c.rowBytes*c.columns]
		if err := c.file.ReadFloat32(x, c.name, row*c.columns); err != nil {
			c.once.Do(func() { c.err = err })
			return
		}
		if c.importance == nil {
			c.as.Quantize(dst, x)
			continue
		}
		for ; len(x) > 0; row++ {
			c.as.QuantizeBy(dst[:c.rowBytes], x[:c.columns], c.importance[row/c.rowsOf*c.columns:][:c.columns])
			dst, x = dst[c.rowBytes:], x[c.columns:]
		}
	}
}
