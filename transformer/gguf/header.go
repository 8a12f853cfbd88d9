package gguf

// This file reads the part of a file before the data, number by number and string by string.

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"unsafe"

	"github.com/avoformer/avoformer/fault"
)

// maxName is the most bytes of a key or of a tensor's name.
const maxName = 1 << 16

// header reads what comes before the data. Its first error stays; from then on every number is 0
// and every string empty.
type header struct {
	r       *bufio.Reader
	size    int64 // of the file, as it is said to be
	at      int64
	version uint32
	number  [8]byte // for fixed
	err     error
}

func newHeader(r io.ReaderAt, size int64) *header {
	return &header{r: bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 1<<15), size: size}
}

// fail notes an error in the file's contents.
func (h *header) fail(format string, args ...any) {
	if h.err == nil {
		h.err = fmt.Errorf("%w: %s", fault.ErrFormat, fmt.Sprintf(format, args...))
	}
}

// bytes reads n bytes.
func (h *header) bytes(n int64) []byte { return h.append([]byte{}, n) }

// append adds n bytes to b. It asks for memory as they come, since the file may claim more than
// there is. The result is nil after an error.
func (h *header) append(b []byte, n int64) []byte {
	if h.err != nil {
		return nil
	}
	if n > h.size-h.at {
		h.fail("%d bytes wanted at %d of %d", n, h.at, h.size)
		return nil
	}
	if n <= int64(h.r.Buffered()) { // nearly always: strings of a vocabulary are short
		part, _ := h.r.Peek(int(n))
		b = append(b, part...)
		h.r.Discard(len(part))
		h.at += n
		return b
	}
	for n > 0 {
		const atOnce = 1 << 12
		part := int(min(n, atOnce))
		b = slices.Grow(b, part)
		got, err := io.ReadFull(h.r, b[len(b):len(b)+part])
		b, n, h.at = b[:len(b)+got], n-int64(got), h.at+int64(got)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			h.fail("the header ends early, at %d", h.at)
			return nil
		case err != nil:
			h.err = fmt.Errorf("gguf: header: %w", err)
			return nil
		}
	}
	return b
}

// fixed is bytes for at most 8 of them, which are valid up to the next call.
func (h *header) fixed(n int64) []byte { return h.append(h.number[:0:8], n) }

func (h *header) uint32() uint32 {
	if b := h.fixed(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (h *header) uint64() uint64 {
	if b := h.fixed(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// count reads how many there are of something that takes at least each bytes: a 64-bit number, of
// 32 bits in version 1. More than the rest of the file holds is an error.
func (h *header) count(what string, each int64) int64 {
	var n uint64
	if h.version == 1 {
		n = uint64(h.uint32())
	} else {
		n = h.uint64()
	}
	if left := h.size - h.at; n > uint64(left/each) {
		h.fail("%d %s in %d bytes", n, what, left)
		return 0
	}
	return int64(n)
}

func (h *header) text() string { return string(h.bytes(h.count("bytes of text", 1))) }

// name returns a text that is a key or a tensor's name.
func (h *header) name() string {
	n := h.count("bytes of a name", 1)
	if n > maxName {
		h.fail("a name of %d bytes", n)
		return ""
	}
	return string(h.bytes(n))
}

// one reads a number or a bool.
func one[T any](h *header) T {
	var x T
	if b := h.bytes(int64(binary.Size(x))); b != nil {
		binary.Decode(b, binary.LittleEndian, &x)
	}
	return x
}

// list reads numbers, with their count before them.
func list[T any](h *header) []T {
	var x T
	size := int64(binary.Size(x))
	b := h.bytes(size * h.count("numbers", size))
	xs := make([]T, len(b)/int(size))
	if len(xs) > 0 {
		binary.Decode(b, binary.LittleEndian, xs)
	}
	return xs
}

// bools reads bytes that must be 0 or 1.
func (h *header) bools() []bool {
	b := list[uint8](h)
	xs := make([]bool, len(b))
	for i, v := range b {
		if v > 1 {
			h.fail("a bool of %d", v)
		}
		xs[i] = v == 1
	}
	return xs
}

// texts reads strings, with their count before them.
func (h *header) texts() []string {
	least := int64(8)
	if h.version == 1 {
		least = 4
	}
	n := h.count("strings", least)
	all, ends := []byte{}, make([]int, 0, min(n, 1<<10)) // one string, of which each is a part
	for range n {
		if all = h.append(all, h.count("bytes of text", 1)); all == nil {
			return nil
		}
		ends = append(ends, len(all))
	}
	whole, xs, from := unsafe.String(unsafe.SliceData(all), len(all)), make([]string, len(ends)), 0 // nothing changes all from here on
	for i, to := range ends {
		xs[i], from = whole[from:to], to
	}
	return xs
}

// kinds are the types of metadata, by their numbers in the file: how to read one, and a list of
// them. Lists of lists, which the format allows and llama.cpp refuses too, are not supported.
var kinds = [...]struct {
	one, list func(*header) any
}{
	0: {boxed(one[uint8]), boxed(list[uint8])},
	1: {boxed(one[int8]), boxed(list[int8])},
	2: {boxed(one[uint16]), boxed(list[uint16])},
	3: {boxed(one[int16]), boxed(list[int16])},
	4: {boxed(one[uint32]), boxed(list[uint32])},
	5: {boxed(one[int32]), boxed(list[int32])},
	6: {boxed(one[float32]), boxed(list[float32])},
	7: {func(h *header) any {
		b := one[uint8](h)
		if b > 1 {
			h.fail("a bool of %d", b)
		}
		return b == 1
	}, boxed((*header).bools)},
	8:         {boxed((*header).text), boxed((*header).texts)},
	kindArray: {nil, nil},
	10:        {boxed(one[uint64]), boxed(list[uint64])},
	11:        {boxed(one[int64]), boxed(list[int64])},
	12:        {boxed(one[float64]), boxed(list[float64])},
}

const kindArray = 9

func boxed[T any](read func(*header) T) func(*header) any {
	return func(h *header) any { return read(h) }
}

// value reads a value of metadata, with its type before it.
func (h *header) value() any {
	kind, isList := h.uint32(), false
	if kind == kindArray {
		if kind, isList = h.uint32(), true; kind == kindArray && h.err == nil {
			h.err = fmt.Errorf("%w: gguf: metadata that is a list of lists", fault.ErrUnsupported)
		}
	}
	if kind >= uint32(len(kinds)) {
		h.fail("metadata of type %d", kind)
	}
	switch {
	case h.err != nil:
		return nil
	case isList:
		return kinds[kind].list(h)
	}
	return kinds[kind].one(h)
}
