package weightfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// Weights of integers in safetensors files, side by side in words of 32 bits or in bytes. An element is (q - zero)*scale in float32, where zero and scale
// are those of a group of columns of its row.

// intForm is where a kind of checkpoint has the parts of a matrix.
type intForm struct {
	words, scales, zeros, groups string // ends of their names, in place of ".weight"
	more                         []string
	// rows and columns return those of a matrix whose integers are a tensor of a shape.
	rows, columns func(shape []int, bits int) int
	// zeroShape returns the shape of the tensor of zeros.
	zeroShape func(rows, groups, bits int) []int
	// turned returns words that have neighbours of a row, row by row; nil: the file has such words.
	turned func(t *intTensor, words []byte) []byte
	// zero returns the place of a zero: that of its word, and of its lowest bit in it.
	zero func(row, group, across, bits int) (at, shift int)
	turn bool // scales are [groups, rows], not [rows, groups]
}

func perWord(bits int) int { return 32 / bits }

// awqShift is the lowest bit of each of eight neighbours.
var awqShift = [8]int{0, 16, 4, 20, 8, 24, 12, 28}

var (
	// packedForm is that of compressed-tensors, pack-quantized: words have neighbours of a row, and those of zeros neighbours of a column.
	packedForm = &intForm{
		words: ".weight_packed", scales: ".weight_scale", zeros: ".weight_zero_point", groups: ".weight_g_idx", more: []string{".weight_shape"},
		rows: func(shape []int, _ int) int { return shape[0] }, columns: func(shape []int, bits int) int { return shape[1] * perWord(bits) },
		zeroShape: func(rows, groups, bits int) []int { return []int{parts(rows, perWord(bits)), groups} },
		zero: func(row, group, across, bits int) (at, shift int) {
			return row/perWord(bits)*across + group, row % perWord(bits) * bits
		},
	}
	// bytesForm is that of compressed-tensors, int-quantized: bytes with a sign.
	bytesForm = &intForm{
		words: ".weight", scales: ".weight_scale", zeros: ".weight_zero_point", more: []string{".input_scale", ".input_zero_point"},
		rows: func(shape []int, _ int) int { return shape[0] }, columns: func(shape []int, _ int) int { return shape[1] },
		zeroShape: func(rows, groups, _ int) []int { return []int{rows, groups} },
	}
	// gptqForm has neighbours of an output's inputs in a word, and zeros of neighbouring outputs.
	gptqForm = &intForm{
		words: ".qweight", scales: ".scales", zeros: ".qzeros", groups: ".g_idx", turn: true,
		rows: func(shape []int, _ int) int { return shape[1] }, columns: func(shape []int, bits int) int { return shape[0] * perWord(bits) },
		zeroShape: func(rows, groups, bits int) []int { return []int{groups, parts(rows, perWord(bits))} },
		turned: func(t *intTensor, words []byte) []byte {
			out := make([]byte, len(words))
			for i := range t.across() {
				for row := range t.rows {
					binary.LittleEndian.PutUint32(out[4*(row*t.across()+i):], word(words, i*t.rows+row))
				}
			}
			return out
		},
		zero: func(row, group, across, bits int) (at, shift int) {
			return group*across + row/perWord(bits), row % perWord(bits) * bits
		},
	}
	// awqForm has neighbouring outputs in a word, the even ones in its lower half.
	awqForm = &intForm{
		words: ".qweight", scales: ".scales", zeros: ".qzeros", turn: true,
		rows: func(shape []int, _ int) int { return 8 * shape[1] }, columns: func(shape []int, _ int) int { return shape[0] },
		zeroShape: func(rows, groups, _ int) []int { return []int{groups, rows / 8} },
		turned: func(t *intTensor, words []byte) []byte {
			out := make([]byte, 4*t.rows*t.across())
			for column := 0; column < t.columns; column += 8 {
				for group := range t.rows / 8 {
					var of [8]uint32 // a word of each of eight rows
					for k := range min(8, t.columns-column) {
						w := word(words, (column+k)*(t.rows/8)+group)
						for r, shift := range awqShift {
							of[r] |= w >> shift & 15 << (4 * k)
						}
					}
					for r, w := range of {
						binary.LittleEndian.PutUint32(out[4*((8*group+r)*t.across()+column/8):], w)
					}
				}
			}
			return out
		},
		zero: func(row, group, across, _ int) (at, shift int) { return group*across + row/8, awqShift[row%8] },
	}
)

// intScheme is what quantization_config says of weights of integers.
type intScheme struct {
	form    *intForm
	bits    int
	group   int  // columns that share a scale; 0: all of a row
	addOne  bool // zeros are stored smaller by one
	noZeros bool // there are none: they are 0, or half of the range
}

// intTensor is a matrix of integers.
type intTensor struct {
	*intScheme
	stem          string
	of            *files
	rows, columns int
	groups        int
	format        kernels.Format
	ofColumn      []int32 // the group of each column; nil: in order
}

// sides are the scales and zeros of all groups, row by row.
type sides struct {
	scales []float32 // [rows, groups]
	zeros  []int16   // the same; nil: the middle
}

// joinInts puts matrices in place of those of integers. It returns how many there are, and how many of them no format of blocks holds.
func (w *files) joinInts(s *intScheme) (all, wide int, err error) {
	for _, name := range slices.Sorted(maps.Keys(w.of)) {
		stem, ok := strings.CutSuffix(name, s.form.words)
		if !ok || s.form == bytesForm && (dtypeOf(w.of[name], name) != safetensors.I8 || w.of[stem+s.form.scales] == nil) {
			continue
		}
		t, err := w.newInts(s, stem)
		if err != nil {
			return 0, 0, &fault.Error{Kind: fault.ErrFormat, Field: name, Err: err}
		}
		t.of = &files{of: map[string]transformer.Reader{}}
		for _, end := range slices.Concat([]string{s.form.words, s.form.scales, s.form.zeros, s.form.groups}, s.form.more) {
			if r := w.of[stem+end]; end != "" && r != nil {
				t.of.of[stem+end] = r
				delete(w.of, stem+end)
			}
		}
		if t.format, err = t.bestFormat(); err != nil {
			return 0, 0, &fault.Error{Kind: fault.ErrFormat, Field: name, Err: err}
		}
		w.of[stem+".weight"] = t
		if all++; t.format == kernels.FormatF32 {
			wide++
		}
	}
	w.names = slices.Sorted(maps.Keys(w.of))
	w.closers = append(w.closers, w.forget)
	return all, wide, nil
}

// newInts returns the matrix of a stem, whose tensors have the shapes that it needs.
func (w *files) newInts(s *intScheme, stem string) (*intTensor, error) {
	name := stem + s.form.words
	shape, _ := w.of[name].Shape(name)
	want := safetensors.I32
	if s.form == bytesForm {
		want = safetensors.I8
	}
	if got := dtypeOf(w.of[name], name); len(shape) != 2 || got != want {
		return nil, fmt.Errorf("%v of shape %v, want a matrix of %v", got, shape, want)
	}
	t := &intTensor{intScheme: s, stem: stem, rows: s.form.rows(shape, s.bits), columns: s.form.columns(shape, s.bits), groups: 1}
	if s.form == packedForm {
		if err := t.trim(w, stem+".weight_shape"); err != nil {
			return nil, err
		}
	}
	if s.group > 0 {
		t.groups = parts(t.columns, s.group)
	}
	scales := []int{t.rows, t.groups}
	if s.form.turn {
		scales = []int{t.groups, t.rows}
	}
	if err := w.has(stem+s.form.scales, scales, safetensors.F16, safetensors.BF16, safetensors.F32); err != nil {
		return nil, err
	}
	if !s.noZeros {
		if err := w.has(stem+s.form.zeros, s.form.zeroShape(t.rows, t.groups, s.bits), want); err != nil {
			return nil, err
		}
	}
	if groups := stem + s.form.groups; s.form.groups != "" && w.of[groups] != nil {
		if err := w.has(groups, []int{t.columns}, safetensors.I32); err != nil {
			return nil, err
		}
		if err := t.order(w.of[groups], groups); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// trim takes the number of columns, by which the last word of a row may not be full, out of the tensor that has the shape.
func (t *intTensor) trim(w *files, name string) error {
	if err := w.has(name, []int{2}, safetensors.I64); err != nil {
		return err
	}
	raw := make([]byte, 16)
	if err := readBlocks(w.of[name], raw, name, 0); err != nil {
		return err
	}
	rows, columns := binary.LittleEndian.Uint64(raw), binary.LittleEndian.Uint64(raw[8:])
	if rows != uint64(t.rows) || columns > uint64(t.columns) || columns+uint64(perWord(t.bits)) <= uint64(t.columns) {
		return fmt.Errorf("%s is %d, %d for %d rows of up to %d integers", name, rows, columns, t.rows, t.columns)
	}
	t.columns = int(columns)
	return nil
}

// has returns an error unless there is a tensor of a shape and one of some types.
func (w *files) has(name string, shape []int, types ...safetensors.DType) error {
	r := w.of[name]
	if r == nil {
		return fmt.Errorf("there is no %s", name)
	}
	if got, _ := r.Shape(name); !slices.Equal(got, shape) || !slices.Contains(types, dtypeOf(r, name)) {
		return fmt.Errorf("%s is %v of shape %v, want %v of shape %v", name, dtypeOf(r, name), got, types, shape)
	}
	return nil
}

// order reads the groups of columns, and drops them if they are in order.
func (t *intTensor) order(r transformer.Reader, name string) error {
	raw := make([]byte, 4*t.columns)
	if err := readBlocks(r, raw, name, 0); err != nil {
		return err
	}
	t.ofColumn = make([]int32, t.columns)
	inOrder := true
	for i := range t.ofColumn {
		g := int32(binary.LittleEndian.Uint32(raw[4*i:]))
		if g < 0 || int(g) >= t.groups {
			return fmt.Errorf("%s: column %d is of group %d of %d", name, i, g, t.groups)
		}
		t.ofColumn[i] = g
		inOrder = inOrder && int(g) == t.groupOf(i)
	}
	if inOrder {
		t.ofColumn = nil
	}
	return nil
}

// groupOf returns the group of a column where they are in order.
func (t *intTensor) groupOf(column int) int {
	if t.group == 0 {
		return 0
	}
	return column / t.group
}

// middle is the integer that means 0 where there are no zeros.
func (t *intTensor) middle() int16 {
	if t.form == bytesForm {
		return 0
	}
	return 1 << (t.bits - 1)
}

// bestFormat returns the format of blocks that holds the same numbers, or float32.
func (t *intTensor) bestFormat() (kernels.Format, error) {
	const block = 32
	f := kernels.FormatQ4_0
	if t.bits == 8 {
		f = kernels.FormatQ8_0
	}
	if t.bits != 4 && t.bits != 8 || t.ofColumn != nil || t.columns%block != 0 || t.group%block != 0 {
		return kernels.FormatF32, nil
	}
	s, err := t.sides()
	if err != nil {
		return kernels.FormatF32, err
	}
	for i, scale := range s.scales {
		if s.zeros != nil && s.zeros[i] != t.middle() || half.Float16(half.ToFloat16(scale)) != scale {
			return kernels.FormatF32, nil
		}
	}
	return f, nil
}

// raw returns all bytes of one of the tensors.
func (t *intTensor) raw(end string) ([]byte, error) {
	name := t.stem + end
	shape, _ := t.of.Shape(name)
	size := 4
	if dtypeOf(t.of.of[name], name) == safetensors.I8 {
		size = 1
	}
	b := make([]byte, size*check.Product(shape))
	return b, t.of.ReadBlocks(b, name, 0)
}

func word(words []byte, at int) uint32 { return binary.LittleEndian.Uint32(words[4*at:]) }

// across returns the number of words of a row.
func (t *intTensor) across() int { return parts(t.columns, perWord(t.bits)) }

// integers sets dst to integers of a row from a column on.
func (t *intTensor) integers(dst []int16, words []byte, row, column int) {
	if t.form == bytesForm {
		for i, v := range words[row*t.columns+column:][:len(dst)] {
			dst[i] = int16(int8(v))
		}
		return
	}
	per, mask := perWord(t.bits), uint32(1)<<t.bits-1
	at, skip := row*t.across()+column/per, column%per
	for ; len(dst) > 0; at, skip = at+1, 0 {
		w := word(words, at) >> (skip * t.bits)
		n := min(per-skip, len(dst))
		for i := range dst[:n] {
			dst[i] = int16(w & mask)
			w >>= t.bits
		}
		dst = dst[n:]
	}
}

// sides reads scales and zeros.
func (t *intTensor) sides() (*sides, error) {
	s := &sides{scales: make([]float32, t.rows*t.groups)}
	name := t.stem + t.form.scales
	if err := t.of.Read(s.scales, name, 0); err != nil {
		return nil, err
	}
	if t.form.turn {
		turned := make([]float32, len(s.scales))
		for row := range t.rows {
			for g := range t.groups {
				turned[row*t.groups+g] = s.scales[g*t.rows+row]
			}
		}
		s.scales = turned
	}
	if t.noZeros {
		return s, nil
	}
	words, err := t.raw(t.form.zeros)
	if err != nil {
		return nil, err
	}
	across := t.form.zeroShape(t.rows, t.groups, t.bits)[1]
	s.zeros = make([]int16, t.rows*t.groups)
	for row := range t.rows {
		for g := range t.groups {
			i := row*t.groups + g
			if t.form == bytesForm {
				s.zeros[i] = int16(int8(words[i]))
				continue
			}
			at, shift := t.form.zero(row, g, across, t.bits)
			zero := int16(word(words, at) >> shift & (1<<t.bits - 1))
			if t.addOne {
				if zero++; zero == 1<<t.bits {
					return nil, fmt.Errorf("the zero of row %d, group %d, is %d, want at most %d", row, g, zero, zero-1)
				}
			}
			s.zeros[i] = zero
		}
	}
	return s, nil
}

// loaded is what was read of a matrix.
type loaded struct {
	*sides
	words []byte
}

// recent are the matrices that are read now. All pieces of one are read one after the other, by several threads.
var recent struct {
	sync.Mutex
	of []recentInts
}

type recentInts struct {
	t    *intTensor
	load func() (loaded, error)
}

// load reads a matrix, or returns what was read of it.
func (t *intTensor) load() (loaded, error) {
	const most = 8
	recent.Lock()
	at := slices.IndexFunc(recent.of, func(r recentInts) bool { return r.t == t })
	if at < 0 {
		recent.of = append(recent.of, recentInts{t, sync.OnceValues(func() (loaded, error) {
			words, err := t.raw(t.form.words)
			if err != nil {
				return loaded{}, err
			}
			if t.form.turned != nil {
				words = t.form.turned(t, words)
			}
			s, err := t.sides()
			return loaded{s, words}, err
		})})
		if len(recent.of) > most {
			recent.of = slices.Delete(recent.of, 0, 1)
		}
		at = len(recent.of) - 1
	}
	load := recent.of[at].load
	recent.Unlock()
	return load()
}

// forget drops what was read of the matrices of files.
func (w *files) forget() {
	recent.Lock()
	defer recent.Unlock()
	recent.of = slices.DeleteFunc(recent.of, func(r recentInts) bool { return w.of[r.t.stem+".weight"] == transformer.Reader(r.t) })
}

// sample writes elements from the beginning, the middle and the end of each tensor that is stored.
func (t *intTensor) sample(to io.Writer) error {
	for _, name := range slices.Sorted(maps.Keys(t.of.of)) {
		shape, _ := t.of.Shape(name)
		size := map[safetensors.DType]int{safetensors.I8: 1, safetensors.F16: 2, safetensors.BF16: 2, safetensors.I32: 4, safetensors.F32: 4, safetensors.I64: 8}[dtypeOf(t.of.of[name], name)]
		all, size := check.Product(shape), max(size, 1)
		n := min(all, 1024)
		b := make([]byte, n*size)
		for _, from := range []int{0, (all - n) / 2, all - n} {
			if err := t.of.ReadBlocks(b, name, from); err != nil {
				return err
			}
			if _, err := to.Write(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// Names implements transformer.Weights.
func (t *intTensor) Names() []string { return []string{t.stem + ".weight"} }

// Shape implements transformer.Reader.
func (t *intTensor) Shape(string) ([]int, bool) { return []int{t.rows, t.columns}, true }

// Format implements transformer.Reader.
func (t *intTensor) Format(string) kernels.Format { return t.format }

// Tensor implements transformer.Weights.
func (t *intTensor) Tensor(name string, shape ...int) ([]float32, error) {
	if !slices.Equal(shape, []int{t.rows, t.columns}) {
		return nil, check.Errorf(fault.ErrMisshapen, "%s has shape %v, want %v", name, []int{t.rows, t.columns}, shape)
	}
	x := make([]float32, t.rows*t.columns)
	return x, t.Read(x, name, 0)
}

// Read implements transformer.Reader.
func (t *intTensor) Read(dst []float32, _ string, from int) error {
	l, err := t.load()
	if err != nil {
		return err
	}
	var ints [256]int16
	for len(dst) > 0 {
		row, column := from/t.columns, from%t.columns
		part := ints[:min(len(ints), len(dst), t.columns-column)]
		t.integers(part, l.words, row, column)
		for i, q := range part {
			group := t.groupOf(column + i)
			if t.ofColumn != nil {
				group = int(t.ofColumn[column+i])
			}
			dst[i] = float32(q-l.zero(t, row, group)) * l.scales[row*t.groups+group]
		}
		dst, from = dst[len(part):], from+len(part)
	}
	return nil
}

// zero returns that of a group of columns in a row.
func (l *loaded) zero(t *intTensor, row, group int) int16 {
	if l.zeros == nil {
		return t.middle()
	}
	return l.zeros[row*t.groups+group]
}

// ReadBlocks sets dst to blocks of GGUF from the given element on, which begins a block.
func (t *intTensor) ReadBlocks(dst []byte, _ string, from int) error {
	l, err := t.load()
	if err != nil {
		return err
	}
	elements, bytes := t.format.Block()
	var ints [32]int16
	for ; len(dst) > 0; dst, from = dst[bytes:], from+elements {
		row, column := from/t.columns, from%t.columns
		binary.LittleEndian.PutUint16(dst, half.ToFloat16(l.scales[row*t.groups+t.groupOf(column)]))
		t.integers(ints[:], l.words, row, column)
		b := dst[2:bytes]
		for i := range b {
			if t.format == kernels.FormatQ8_0 {
				b[i] = byte(int8(ints[i] - t.middle()))
			} else {
				b[i] = byte(ints[i]) | byte(ints[i+len(ints)/2])<<4
			}
		}
	}
	return nil
}
