package maxsim

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/search/internal/sums"
)

// Files. All numbers are little-endian:
//
//	8 bytes        AVOMAXSM
//	uint32         version, 1
//	uint32         dim
//	uint64         count of documents
//	1 byte         1 where documents have ids, which are otherwise their positions
//	then for each document:
//	  int64        its id, if it has one
//	  uint32       how many vectors it has
//	  n float32    its vectors, of dim numbers each
//	uint32         CRC-32C of all before

const (
	magic      = "AVOMAXSM"
	version    = 1
	headerSize = 25
)

// Save writes the index to a temporary file next to the destination and renames it: an interruption
// leaves the previous file unchanged.
func (x *Index) Save(name string) error { return sums.Save(name, x) }

// WriteTo writes the index in the format of a file.
func (x *Index) WriteTo(w io.Writer) (int64, error) {
	x.mu.Lock()
	documents, count, named := x.documents, len(x.places), x.named
	x.mu.Unlock()
	s := sums.NewWriter(w)
	b := binary.LittleEndian.AppendUint32([]byte(magic), version)
	b = binary.LittleEndian.AppendUint32(b, uint32(x.dim))
	b = binary.LittleEndian.AppendUint64(b, uint64(count))
	if named = named && count > 0; named {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	for _, d := range documents {
		if d.gone {
			continue
		}
		if named {
			b = binary.LittleEndian.AppendUint64(b, uint64(d.id))
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(len(d.rows)/x.dim))
		for _, a := range d.rows {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(a))
		}
		s.Write(b)
		b = b[:0]
	}
	s.Write(b)
	return s.End()
}

// Load reads a file that Save wrote.
func Load(name string, o Options) (*Index, error) {
	return sums.Load(name, func(r io.Reader) (*Index, error) { return Read(r, o) })
}

// Read reads the output of WriteTo, and no byte after it. It allocates memory as data arrives, not
// by the sizes that the header claims.
func Read(from io.Reader, o Options) (*Index, error) {
	if _, err := New(1, o); err != nil {
		return nil, err
	}
	r := sums.NewReader(from)
	h, err := r.Bytes(headerSize)
	if err != nil {
		return nil, err
	}
	if string(h[:8]) != magic {
		return nil, check.Errorf(fault.ErrFormat, "the file begins with %q, want %q", h[:8], magic)
	}
	if v := binary.LittleEndian.Uint32(h[8:]); v != version {
		return nil, check.Errorf(fault.ErrFormat, "version %d, want %d", v, version)
	}
	dim, count, named := binary.LittleEndian.Uint32(h[12:]), binary.LittleEndian.Uint64(h[16:]), h[24] == 1
	if dim > maxDim || h[24] > 1 || named && count == 0 {
		return nil, check.Errorf(fault.ErrFormat, "invalid header %x", h[8:])
	}
	x, err := New(int(dim), o)
	if err != nil {
		return nil, check.Errorf(fault.ErrFormat, "%v", err)
	}
	x.named = named
	for range count {
		if err := x.read(r); err != nil {
			return nil, err
		}
	}
	return x, r.End()
}

// read reads a document.
func (x *Index) read(r *sums.Reader) error {
	d := document{id: x.next}
	if x.named {
		b, err := r.Bytes(8)
		if err != nil {
			return err
		}
		d.id = int64(binary.LittleEndian.Uint64(b))
	}
	if _, ok := x.places[d.id]; ok {
		return check.Errorf(fault.ErrFormat, "id %d occurs twice", d.id)
	}
	b, err := r.Bytes(4)
	if err != nil {
		return err
	}
	if b, err = r.Bytes(uint64(binary.LittleEndian.Uint32(b)) * uint64(4*x.dim)); err != nil {
		return err
	}
	d.rows = make([]float32, len(b)/4)
	for i := range d.rows {
		d.rows[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		if a := d.rows[i]; !(a <= math.MaxFloat32 && a >= -math.MaxFloat32) {
			return check.Errorf(fault.ErrFormat, "id %d: number %d is %g", d.id, i, a)
		}
	}
	x.next++
	x.places[d.id] = len(x.documents)
	x.documents = append(x.documents, d)
	return nil
}
