package checkpoint

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"unsafe"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/internal/ready"
	"github.com/avoformer/avoformer/kernels"
)

// This file keeps packed weights in a file, so that the next process of the same model maps them.

// ReadyExt is the end of the names of ready files.
const ReadyExt = ".ready"

// Ready says where Finish looks for packed weights, and what it found.
type Ready struct {
	Dir    string // the folder of the files
	Source string // what the tensors are read from: sizes and times of files, and more of what their elements depend on
	Note   string // for people
	Copied bool   // the file is read into memory in place of being mapped

	Path string // of the file, once Finish has returned
	Hit  bool   // whether the weights are those of a file that was there
	Old  error  // why a file that was there did not count
	Err  error  // why there is no file now
}

// packedForm changes where the meaning of a file changes although the numerics, and the layouts of
// package kernels, stay.
const packedForm = 1

// slotPart is a slot's memory.
type slotPart struct {
	name         string // of the weight in the model
	tensors      []Strip
	layout       string
	rows, in     int
	length       int // in bytes
	memory       func() []byte
	take         func(memory []byte)
	balancedWith []Strip
}

// slotParts returns the memory of the slots, in the plan's order.
func (p *Plan) slotParts() (all []slotPart) {
	matrix := func(m *matrix, to *Matrix, f kernels.Format) {
		all = append(all, slotPart{
			name: m.weight().Name, tensors: m.Strips, layout: kernels.PackedLayout(f), rows: m.out, in: m.In, length: kernels.PackedBytes(f, m.out, m.In), balancedWith: m.Together,
			memory: func() []byte { return to.Memory() },
			take:   func(b []byte) { to.PackedB = kernels.PackedIn(f, m.out, m.In, b) },
		})
	}
	for _, v := range p.tables {
		f := p.Formats.table(v)
		part := slotPart{name: v.want.Name, tensors: v.stack().Strips, layout: "table " + kernels.PackedLayout(f), rows: v.rows, in: v.dim}
		switch {
		case v.tied || f != kernels.FormatF32 && f != kernels.FormatF16 && f != kernels.FormatBF16:
			matrix(v.stack(), &v.packed, f)
			continue
		case f == kernels.FormatF32:
			part.length = 4 * v.rows * v.dim
			part.memory = func() []byte { return bytesOf(v.wide) }
			part.take = func(b []byte) { v.wide = elementsOf[float32](b) }
		default:
			part.length = 2 * v.rows * v.dim
			part.memory = func() []byte { return bytesOf(v.half) }
			part.take = func(b []byte) { v.half, v.widen = elementsOf[uint16](b), widenOf(f) }
		}
		all = append(all, part)
	}
	for _, m := range p.matrices {
		first, many := p.Formats.matrix(m)
		matrix(m, m.slot, first)
		if many != first {
			m.slot.many = cmp.Or(m.slot.many, new(Matrix))
			matrix(m, m.slot.many, many)
		}
	}
	return all
}

// widenOf returns the function that widens numbers of a format of 16 bits.
func widenOf(f kernels.Format) func(uint16) float32 {
	if f == kernels.FormatF16 {
		return half.Float16
	}
	return half.BFloat16
}

func bytesOf[T float32 | uint16](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(T(0))))
}

func elementsOf[T float32 | uint16](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(T(0))))
}

// readOrPack fills the slots from a ready file, or packs them and writes it.
func (p *Plan) readOrPack() {
	r := p.Ready
	if r == nil {
		runJobs(p.fill())
		return
	}
	parts := p.slotParts() // which packing forgets
	key, err := p.key(parts)
	if err != nil {
		r.Err = err
		runJobs(p.fill())
		return
	}
	r.Path = filepath.Join(r.Dir, hex.EncodeToString(key[:16])+ReadyExt)
	way := ready.Map
	if r.Copied {
		way = ready.Copy
	}
	if err = p.takeReady(key, parts, way); err == nil {
		r.Hit = true
		return
	}
	if !errors.Is(err, fs.ErrNotExist) {
		r.Old = err
	}
	runJobs(p.fill())
	if p.err.count() > 0 {
		return
	}
	memory := make([][]byte, len(parts))
	for i, part := range parts {
		memory[i] = part.memory()
	}
	if r.Err = ready.Write(r.Path, key, r.Note, memory); r.Err != nil || r.Copied {
		return
	}
	// One copy for this process and the later ones.
	if err := p.takeReady(key, parts, ready.MapOnly); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		r.Err = err
	}
}

// takeReady fills the slots from the file.
func (p *Plan) takeReady(key ready.Key, parts []slotPart, way ready.Way) error {
	lengths := make([]int, len(parts))
	for i, part := range parts {
		lengths[i] = part.length
	}
	memory, err := ready.Open(p.Ready.Path, key, lengths, way)
	if err != nil {
		return err
	}
	for i, part := range parts {
		part.take(memory[i])
	}
	return nil
}

// key identifies what the slots have: their names, sizes and layouts, what the caller says of the
// source, and three rows of each tensor.
func (p *Plan) key(parts []slotPart) (ready.Key, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%d %d %q %q %d\n", packedForm, kernels.Numerics, ready.Release(), p.Ready.Source, len(parts))
	seen := map[string]bool{}
	for _, part := range parts {
		fmt.Fprintf(h, "%q %s %d %d %d\n", part.name, part.layout, part.rows, part.in, part.length)
		for _, s := range part.balancedWith {
			fmt.Fprintf(h, "with %q\n", s.Weight.Tensor)
		}
		for _, s := range part.tensors {
			fmt.Fprintf(h, "%q %v %t %d %d %d %d %x %v\n", s.Weight.Tensor, s.Weight.Shape, s.Weight.Transposed, s.From, s.Rows, s.Step, s.Item, math.Float32bits(s.Scale), s.tensor.Format())
			if seen[s.Weight.Tensor] {
				continue
			}
			seen[s.Weight.Tensor] = true
			if err := p.identify(h, s.Weight); err != nil {
				return ready.Key{}, err
			}
		}
	}
	return ready.Key(h.Sum(nil)), nil
}

// identify writes some of the stored numbers of a tensor, and all that adapters do to it.
func (p *Plan) identify(h hash.Hash, w Want) error {
	t, err := p.source.source(w).Open(w.read(), w.stored())
	if err != nil {
		return err
	}
	for _, d := range p.source.terms(w.Tensor) {
		fmt.Fprintf(h, "term %d %x %t\n", d.Rank, math.Float32bits(d.Scale), d.Tied)
		for _, x := range [][]float32{d.Left, d.Right, d.Magnitude} {
			h.Write(bytesOf(x))
		}
	}
	for _, r := range p.source.rows[w.Tensor] {
		fmt.Fprintf(h, "rows %v %t\n", r.At, r.Tied)
		h.Write(bytesOf(r.Values))
	}
	if f, ok := t.(inFile); ok {
		if s, ok := f.from.(sampler); ok {
			if done, err := s.Sample(h, f.name); done || err != nil {
				return err
			}
		}
	}
	return sample(h, t, w.stored())
}

// A sampler is a Reader that may write some of what is stored for a tensor, where reading a row
// would read all of it. It reports whether it has.
type sampler interface {
	Sample(w io.Writer, name string) (done bool, err error)
}

// sample writes the first, the middle and the last row of a tensor.
func sample(h hash.Hash, t Tensor, shape []int) error {
	in := shape[len(shape)-1]
	rows := 1
	for _, n := range shape[:len(shape)-1] {
		rows *= n
	}
	x := make([]float32, in)
	b := make([]byte, 4*in)
	for _, row := range []int{0, rows / 2, rows - 1} {
		if err := t.Read(x, row*in); err != nil {
			return err
		}
		for i, v := range x {
			binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(v))
		}
		h.Write(b)
	}
	return nil
}
