package weightfile

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// Weights of integers in safetensors files, side by side in words of 32 bits or in bytes. An
// element is (q - zero)*scale in float32, where zero and scale are those of a group of columns of
// its row.

// intForm is where a kind of checkpoint has the parts of a matrix.
type intForm struct {
	words, scales, zeros, groups, shape string   // ends of their names, in place of ".weight"
	more                                []string // of tensors that are not read
	// rows and columns return those of a matrix whose integers are a tensor of a shape.
	rows, columns func(shape []int, bits int) int
	// zeroShape returns the shape of the tensor of zeros.
	zeroShape func(rows, groups, bits int) []int
	// turned returns words that have neighbours of a row, row by row; nil: the file has such words.
	turned func(t *ints, words []byte) []byte
	// zero returns the place of a zero: that of its word, and of its lowest bit in it.
	zero  func(row, group, across, bits int) (at, shift int)
	turn  bool // scales are [groups, rows], not [rows, groups]
	bytes bool // integers are bytes with a sign
	// counted says that the scales are as many as there are groups. Otherwise the scheme says how
	// many columns a group has.
	counted bool
}

func perWord(bits int) int { return 32 / bits }

// intScheme is what quantization_config says of weights of integers.
type intScheme struct {
	form    *intForm
	bits    int
	group   int  // columns that share a scale; 0: all of a row
	addOne  bool // zeros are stored smaller by one
	noZeros bool // there are none: they are 0, or half of the range
}

// ints are the numbers of a matrix of integers.
type ints struct {
	*intScheme
	recent        *recent // of the checkpoint
	stem          string
	of            *files
	rows, columns int
	group, groups int // columns that share a scale, 0: all of a row; and how many such
	format        kernels.Format
	ofColumn      []int32 // the group of each column; nil: in order
}

// sides are the scales and zeros of all groups, row by row.
type sides struct {
	scales []float32 // [rows, groups]
	zeros  []int16   // the same; nil: the middle
}

// joinAll implements scheme.
func (s *intScheme) joinAll(w *files) (all counts, err error) {
	for _, name := range slices.Sorted(maps.Keys(w.of)) {
		stem, ok := strings.CutSuffix(name, s.form.words)
		if !ok || s.form.bytes && (dtypeOf(w.of[name], name) != safetensors.I8 || w.of[stem+s.form.scales] == nil) {
			continue
		}
		t, err := w.newInts(s, stem)
		if err != nil {
			return all, &fault.Error{Kind: fault.ErrFormat, Field: name, Err: err}
		}
		j := &joined{name: stem + ".weight", shape: []int{t.rows, t.columns}, numbers: t}
		parts := []string{stem + s.form.words, stem + s.form.scales}
		for _, end := range slices.Concat([]string{s.form.zeros, s.form.groups, s.form.shape}, s.form.more) {
			if end != "" {
				parts = append(parts, stem+end)
			}
		}
		w.join(j, parts...)
		t.of = &files{of: j.parts}
		if t.format, err = t.bestFormat(); err != nil {
			return all, &fault.Error{Kind: fault.ErrFormat, Field: name, Err: err}
		}
		j.format = t.format
		all.add(j)
	}
	return all, nil
}

// newInts returns the matrix of a stem, whose tensors have the shapes that it needs.
func (w *files) newInts(s *intScheme, stem string) (*ints, error) {
	name := stem + s.form.words
	shape, _ := w.of[name].Shape(name)
	want := safetensors.I32
	if s.form.bytes {
		want = safetensors.I8
	}
	if got := dtypeOf(w.of[name], name); len(shape) != 2 || got != want {
		return nil, fmt.Errorf("%v of shape %v, want a matrix of %v", got, shape, want)
	}
	t := &ints{intScheme: s, recent: &w.recent, stem: stem, rows: s.form.rows(shape, s.bits), columns: s.form.columns(shape, s.bits), groups: 1}
	if s.form.shape != "" {
		if err := t.trim(w, stem+s.form.shape); err != nil {
			return nil, err
		}
	}
	switch {
	case s.form.counted:
		if err := t.count(w, stem+s.form.scales); err != nil {
			return nil, err
		}
	case s.group > 0:
		t.group, t.groups = s.group, parts(t.columns, s.group)
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

// count takes the number of groups from the shape of their scales.
func (t *ints) count(w *files, name string) error {
	r := w.of[name]
	if r == nil {
		return fmt.Errorf("there is no %s", name)
	}
	shape, _ := r.Shape(name)
	if len(shape) != 2 || shape[1] < 1 || t.columns%shape[1] != 0 {
		return fmt.Errorf("%s is of shape %v, want groups of as many of %d columns", name, shape, t.columns)
	}
	t.groups, t.group = shape[1], t.columns/shape[1]
	return nil
}

// trim takes the number of columns, by which the last word of a row may not be full, out of the
// tensor that has the shape.
func (t *ints) trim(w *files, name string) error {
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

// order reads the groups of columns, and drops them if they are in order.
func (t *ints) order(r transformer.Reader, name string) error {
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

// groupAt returns the group of a column.
func (t *ints) groupAt(column int) int {
	if t.ofColumn != nil {
		return int(t.ofColumn[column])
	}
	return t.groupOf(column)
}

// groupOf returns the group of a column where they are in order.
func (t *ints) groupOf(column int) int {
	if t.group == 0 {
		return 0
	}
	return column / t.group
}

// middle is the integer that means 0 where there are no zeros.
func (t *ints) middle() int16 {
	if t.form.bytes {
		return 0
	}
	return 1 << (t.bits - 1)
}

// bestFormat returns the format of blocks that holds the same numbers in the fewest bits, or
// float32.
func (t *ints) bestFormat() (kernels.Format, error) {
	if t.columns%intBlock != 0 || !t.inBlocks() {
		return kernels.FormatF32, nil
	}
	s, err := t.sides()
	if err != nil || len(s.scales) == 0 {
		return kernels.FormatF32, err
	}
	low, high := int16(math.MaxInt16), int16(math.MinInt16) // of zeros
	minima := !t.form.bytes && t.bits <= 4
	for i, scale := range s.scales {
		zero := s.zero(t, i)
		if !holdsFloat16(scale) {
			return kernels.FormatF32, nil
		}
		low, high = min(low, zero), max(high, zero)
		minima = minima && holdsFloat16(minimum(scale, zero))
	}
	least, most := t.middle()-1<<(t.bits-1)-high, t.middle()+(1<<(t.bits-1)-1)-low
	switch {
	case least >= -8 && most <= 7:
		return kernels.FormatQ4_0, nil
	case minima:
		return kernels.FormatQ4_1, nil
	case least >= -16 && most <= 15:
		return kernels.FormatQ5_0, nil
	case least >= -128 && most <= 127:
		return kernels.FormatQ8_0, nil
	}
	return kernels.FormatF32, nil
}

// inBlocks reports whether all columns of a block are of one group.
func (t *ints) inBlocks() bool {
	if t.ofColumn == nil {
		return t.group%intBlock == 0
	}
	for i, g := range t.ofColumn {
		if g != t.ofColumn[i/intBlock*intBlock] {
			return false
		}
	}
	return true
}

// minimum is the number of the integer 0.
func minimum(scale float32, zero int16) float32 { return float32(-zero) * scale }

// holdsFloat16 reports whether binary16 holds a number.
func holdsFloat16(x float32) bool { return half.Float16(half.ToFloat16(x)) == x }

// raw returns all bytes of one of the tensors.
func (t *ints) raw(end string) ([]byte, error) {
	name := t.stem + end
	shape, _ := t.of.Shape(name)
	b := make([]byte, sizes[dtypeOf(t.of.of[name], name)]*check.Product(shape))
	return b, t.of.ReadBlocks(b, name, 0)
}

func word(words []byte, at int) uint32 { return binary.LittleEndian.Uint32(words[4*at:]) }

// across returns the number of words of a row.
func (t *ints) across() int { return parts(t.columns, perWord(t.bits)) }

// integers sets dst to integers of a row from a column on.
func (t *ints) integers(dst []int16, words []byte, row, column int) {
	if t.form.bytes {
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
func (t *ints) sides() (*sides, error) {
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
			if t.form.bytes {
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

// within returns an error unless integers that take a byte have as few bits as they should.
func (t *ints) within(words []byte) error {
	if !t.form.bytes || t.bits == 8 {
		return nil
	}
	for _, b := range words {
		if q := int8(b); q >= 1<<(t.bits-1) || q < -1<<(t.bits-1) {
			return fmt.Errorf("%s has %d, want integers of %d bits", t.stem+t.form.words, q, t.bits)
		}
	}
	return nil
}

// load returns the matrix, which it reads if need be.
func (t *ints) load() (*loaded, error) {
	l, err := t.recent.load(t, func() (any, error) {
		words, err := t.raw(t.form.words)
		if err != nil {
			return nil, err
		}
		if t.form.turned != nil {
			words = t.form.turned(t, words)
		}
		if err := t.within(words); err != nil {
			return nil, err
		}
		s, err := t.sides()
		return &loaded{s, words}, err
	})
	if err != nil {
		return nil, err
	}
	return l.(*loaded), nil
}

// read implements numbers.
func (t *ints) read(dst []float32, from int) error {
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
			g := row*t.groups + t.groupAt(column+i)
			dst[i] = float32(q-l.zero(t, g)) * l.scales[g]
		}
		dst, from = dst[len(part):], from+len(part)
	}
	return nil
}

// zero returns that of a group.
func (s *sides) zero(t *ints, group int) int16 {
	if s.zeros == nil {
		return t.middle()
	}
	return s.zeros[group]
}

// intBlock is the number of elements of the blocks in which integers are held.
const intBlock = 32

// readBlocks implements numbers.
func (t *ints) readBlocks(dst []byte, from int) error {
	l, err := t.load()
	if err != nil {
		return err
	}
	_, bytes := t.format.Block()
	var ints [intBlock]int16
	for ; len(dst) > 0; dst, from = dst[bytes:], from+intBlock {
		row, column := from/t.columns, from%t.columns
		g := row*t.groups + t.groupAt(column)
		scale, zero := l.scales[g], l.zero(t, g)
		t.integers(ints[:], l.words, row, column)
		binary.LittleEndian.PutUint16(dst, half.ToFloat16(scale))
		switch b := dst[2:bytes]; t.format {
		case kernels.FormatQ4_0:
			nibbles(b, &ints, zero-8)
		case kernels.FormatQ4_1:
			binary.LittleEndian.PutUint16(b, half.ToFloat16(minimum(scale, zero)))
			nibbles(b[2:], &ints, 0)
		case kernels.FormatQ5_0:
			var fifths uint32
			for i, q := range ints {
				fifths |= uint32(q-zero+16) >> 4 << i
			}
			binary.LittleEndian.PutUint32(b, fifths)
			nibbles(b[4:], &ints, zero-16)
		default: // Q8_0
			for i, q := range ints {
				b[i] = byte(q - zero)
			}
		}
	}
	return nil
}

// nibbles sets dst to the lower four bits of integers less what is 0.
func nibbles(dst []byte, ints *[intBlock]int16, zero int16) {
	for i := range dst {
		dst[i] = byte(ints[i]-zero)&15 | byte(ints[i+intBlock/2]-zero)<<4
	}
}
