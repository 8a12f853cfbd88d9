package gguf

// The order of the parts before the data, and the place of each tensor's data.

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/avoformer/avoformer/fault"
)

const (
	magic            = "GGUF"
	alignmentKey     = "general.alignment"
	defaultAlignment = 32
	maxDims          = 4
)

// readHeader fills in f from what comes before the data.
func (f *File) readHeader(h *header) error {
	if b := h.bytes(4); b != nil && string(b) != magic {
		h.fail("it begins with %q, want %q", b, magic)
	}
	h.version = h.uint32()
	switch {
	case h.err == nil && h.version&0xffff == 0:
		h.fail("version %#x: a big-endian file, or none", h.version)
	case h.err == nil && h.version > 3:
		h.fail("version %d, want 1 to 3", h.version)
	}
	f.version = int(h.version)
	tensors, pairs := h.count("tensors", 20), h.count("keys", 9)
	for range pairs {
		if h.err != nil {
			return h.err
		}
		key := h.name()
		if _, twice := f.metadata[key]; twice {
			h.fail("key %q occurs twice", key)
		}
		f.metadata[key] = h.value()
	}
	for range tensors {
		if h.err != nil {
			return h.err
		}
		name := h.name()
		if f.entries[name] != nil {
			h.fail("tensor %q occurs twice", name)
		}
		if e := h.tensor(name); e != nil {
			e.file = f
			f.entries[name] = e
		}
	}
	if h.err != nil {
		return h.err
	}
	return f.place(h)
}

// tensor reads the description of a tensor. A tensor has at most as many bytes as the file.
func (h *header) tensor(name string) *entry {
	dims := h.uint32()
	if dims > maxDims {
		h.fail("tensor %q has %d dimensions, want at most %d", name, dims, maxDims)
		return nil
	}
	shape := make([]uint64, dims)
	for i := range shape {
		if h.version == 1 {
			shape[i] = uint64(h.uint32())
		} else {
			shape[i] = h.uint64()
		}
	}
	slices.Reverse(shape)
	e := &entry{Info: Info{Type: Type(h.uint32())}}
	offset := h.uint64()
	if h.err != nil {
		return nil
	}
	size, err := e.setShape(shape, uint64(h.size))
	switch {
	case err != nil:
		h.fail("tensor %q: %v", name, err)
	case offset > uint64(h.size):
		h.fail("tensor %q: at %d in a file of %d bytes", name, offset, h.size)
	}
	e.begin, e.end = int64(offset), int64(offset+size)
	return e
}

// setShape checks the shape and says how many bytes it takes, at most limit.
func (e *entry) setShape(shape []uint64, limit uint64) (bytes uint64, err error) {
	l, known := layouts[e.Type]
	if !known {
		return 0, fmt.Errorf("unknown %v", e.Type)
	}
	if len(shape) > 0 && shape[len(shape)-1]%uint64(l.block) != 0 || len(shape) == 0 && l.block > 1 {
		return 0, fmt.Errorf("shape %v in blocks of %d elements", shape, l.block)
	}
	elements, empty := uint64(1), slices.Contains(shape, 0)
	for _, d := range shape {
		if d > math.MaxInt {
			return 0, fmt.Errorf("size %d in shape %v", d, shape)
		}
		e.Shape = append(e.Shape, int(d))
		if empty {
			continue
		}
		if d > math.MaxInt/elements {
			return 0, fmt.Errorf("shape %v has too many elements", shape)
		}
		elements *= d
	}
	if empty {
		return 0, nil
	}
	if blocks := elements / uint64(l.block); blocks > limit/uint64(l.bytes) {
		return 0, fmt.Errorf("shape %v of %v needs more than the %d bytes of the file", shape, e.Type, limit)
	}
	return elements / uint64(l.block) * uint64(l.bytes), nil
}

// place says where the data begins, and checks that each tensor lies in it, aligned, and shares its
// bytes with no other.
func (f *File) place(h *header) error {
	alignment := int64(defaultAlignment)
	if _, ok := f.metadata[alignmentKey]; ok {
		var err error
		if alignment, err = f.Int(alignmentKey); err != nil {
			return fmt.Errorf("%w: %v", fault.ErrFormat, err)
		}
		if alignment < 1 || alignment > 1<<30 || alignment&(alignment-1) != 0 {
			return fmt.Errorf("%w: %s is %d, want a power of two", fault.ErrFormat, alignmentKey, alignment)
		}
	}
	f.data = (h.at + alignment - 1) / alignment * alignment
	names := f.Names()
	slices.SortFunc(names, func(a, b string) int {
		x, y := f.entries[a], f.entries[b]
		return cmp.Or(cmp.Compare(x.begin, y.begin), cmp.Compare(x.end, y.end))
	})
	var at int64 // the end of those before
	for _, name := range names {
		e := f.entries[name]
		switch {
		case e.begin%alignment != 0:
			return fmt.Errorf("%w: tensor %q begins at %d of the data, want a multiple of %d", fault.ErrFormat, name, e.begin, alignment)
		case e.end > e.begin && e.end > h.size-f.data:
			return fmt.Errorf("%w: tensor %q is bytes [%d,%d) of %d of data", fault.ErrFormat, name, e.begin, e.end, max(0, h.size-f.data))
		case e.end > e.begin && e.begin < at:
			return fmt.Errorf("%w: tensor %q overlaps another at byte %d of the data", fault.ErrFormat, name, e.begin)
		}
		at = max(at, e.end)
	}
	return nil
}
