package gguf

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/avoformer/avoformer/fault"
)

// This file writes GGUF files.

// A Pair is metadata to be written. Value is of one of the types that [File.Value] gives.
type Pair struct {
	Key   string
	Value any
}

// A Tensor is one to be written.
type Tensor struct {
	Name string
	Info
	// Data writes the raw little-endian data, row by row: as many bytes as Info says.
	Data func(w io.Writer) error
}

// Write writes a file of version 3 with metadata and tensors in the given order.
func Write(w io.Writer, metadata []Pair, tensors []Tensor) error {
	head := bytes.NewBufferString(magic)
	number(head, uint32(3))
	number(head, uint64(len(tensors)))
	number(head, uint64(len(metadata)))
	seen := map[string]bool{}
	for _, p := range metadata {
		if seen[p.Key] || len(p.Key) > maxName || p.Key == alignmentKey {
			return fmt.Errorf("%w: key %.100q occurs twice, is too long, or is one that Write chooses", fault.ErrInput, p.Key)
		}
		seen[p.Key] = true
		text(head, p.Key)
		if err := pairValue(head, p.Value); err != nil {
			return fmt.Errorf("%w: %s: %v", fault.ErrInput, p.Key, err)
		}
	}
	clear(seen)
	var at uint64
	sizes := make([]uint64, len(tensors))
	for i, t := range tensors {
		var e entry
		e.Type = t.Type
		shape := make([]uint64, len(t.Shape))
		for i, d := range t.Shape {
			shape[i] = uint64(d)
		}
		size, err := e.setShape(shape, 1<<62)
		switch {
		case err != nil:
		case seen[t.Name] || len(t.Name) > maxName:
			err = errors.New("it occurs twice, or its name is too long")
		case len(shape) > maxDims:
			err = fmt.Errorf("shape %v has more than %d dimensions", t.Shape, maxDims)
		}
		if err != nil {
			return fmt.Errorf("%w: tensor %.100q: %v", fault.ErrInput, t.Name, err)
		}
		seen[t.Name], sizes[i] = true, size
		text(head, t.Name)
		number(head, uint32(len(shape)))
		slices.Reverse(shape)
		for _, d := range shape {
			number(head, d)
		}
		number(head, uint32(t.Type))
		number(head, at)
		at = aligned(at + size)
	}
	head.Write(make([]byte, aligned(uint64(head.Len()))-uint64(head.Len())))
	return writeAll(w, head.Bytes(), tensors, sizes)
}

// aligned returns the first place from at on where a tensor may begin.
func aligned(at uint64) uint64 {
	return (at + defaultAlignment - 1) / defaultAlignment * defaultAlignment
}

// writeAll writes what comes before the data, and the data.
func writeAll(w io.Writer, head []byte, tensors []Tensor, sizes []uint64) error {
	b := bufio.NewWriterSize(w, 1<<17)
	if _, err := b.Write(head); err != nil {
		return err
	}
	for i, t := range tensors {
		c := counter{w: b}
		if err := t.Data(&c); err != nil {
			return err
		}
		if c.n != sizes[i] {
			return fmt.Errorf("%w: tensor %q has %d bytes, %v of %v wants %d", fault.ErrInput, t.Name, c.n, t.Type, t.Shape, sizes[i])
		}
		b.Write(make([]byte, aligned(c.n)-c.n)) // a Writer keeps its first error
	}
	return b.Flush()
}

// A counter counts the bytes that are written.
type counter struct {
	w io.Writer
	n uint64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += uint64(n)
	return n, err
}

// number writes numbers or bools of a fixed size.
func number(b *bytes.Buffer, v any) {
	if err := binary.Write(b, binary.LittleEndian, v); err != nil {
		panic(err) // the callers' types have sizes
	}
}

func text(b *bytes.Buffer, s string) {
	number(b, uint64(len(s)))
	b.WriteString(s)
}

// kindNumbers are the types of metadata by those of Go; see kinds.
var kindNumbers = map[reflect.Kind]uint32{
	reflect.Uint8: 0, reflect.Int8: 1, reflect.Uint16: 2, reflect.Int16: 3, reflect.Uint32: 4, reflect.Int32: 5,
	reflect.Float32: 6, reflect.Bool: 7, reflect.String: 8, reflect.Uint64: 10, reflect.Int64: 11, reflect.Float64: 12,
}

// pairValue writes a value, with its type before it.
func pairValue(b *bytes.Buffer, value any) error {
	t, v, list := reflect.TypeOf(value), reflect.ValueOf(value), false
	if t != nil && t.Kind() == reflect.Slice {
		t, list = t.Elem(), true
	}
	if t == nil {
		return errors.New("it is nil")
	}
	kind, ok := kindNumbers[t.Kind()]
	if !ok {
		return fmt.Errorf("it is %T, which files do not have", value)
	}
	if list {
		number(b, uint32(kindArray))
	}
	number(b, kind)
	if list {
		number(b, uint64(v.Len()))
	}
	switch value := value.(type) {
	case string:
		text(b, value)
	case []string:
		for _, s := range value {
			text(b, s)
		}
	default:
		number(b, value)
	}
	return nil
}
