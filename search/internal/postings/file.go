package postings

import (
	"cmp"
	"encoding/binary"
	"io"
	"math"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/search/internal/sums"
)

// Files. All numbers of a fixed size are little-endian, and varint is that of package
// encoding/binary, unsigned:
//
//	8 bytes        a word that names the kind
//	uint32         version, 1
//	n bytes        parameters of the kind
//	uint64         count of documents
//	uint64         terms
//	1 byte         1 where ids follow
//	count int64    ids, if any
//	count varint   different terms of each document
//	then for each term, in ascending order:
//	  the term     as the kind writes it
//	  varint       documents that have it, at least 1
//	  for each:    varint, the position less that of the document before it, less 1; and the weight as the kind writes it
//	uint32         CRC-32C of all before

const version = 1

// Kind describes the files of a kind of index.
type Kind[K cmp.Ordered] struct {
	Name       string // of 8 bytes
	AppendTerm func(b []byte, term K) []byte
	ReadTerm   func(r *Reader) (K, error)
	Integers   bool // weights are positive integers, written as varints
	Parameters int  // size of the parameters in bytes
}

// WriteTo writes the index without removed documents. Changes wait until it has returned.
func (x *Index[K]) WriteTo(w io.Writer, kind Kind[K], parameters []byte) (int64, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	y := x.parts
	if y.gone > 0 {
		y = x.kept()
	}
	s := sums.NewWriter(w)
	b := append([]byte(nil), kind.Name...)
	b = binary.LittleEndian.AppendUint32(b, version)
	b = append(b, parameters...)
	b = binary.LittleEndian.AppendUint64(b, uint64(y.count))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(y.lists)))
	if len(y.ids) > 0 {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	for _, id := range y.ids {
		b = binary.LittleEndian.AppendUint64(b, uint64(id))
	}
	for _, n := range y.terms() {
		b = binary.AppendUvarint(b, uint64(n))
	}
	for _, key := range y.keys() {
		list := y.lists[key]
		b = kind.AppendTerm(b, key)
		b = binary.AppendUvarint(b, uint64(len(list)))
		next := uint32(0)
		for _, p := range list {
			b = binary.AppendUvarint(b, uint64(p.At-next))
			if kind.Integers {
				b = binary.AppendUvarint(b, uint64(p.Weight))
			} else {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(p.Weight))
			}
			next = p.At + 1
		}
		s.Write(b)
		b = b[:0]
	}
	s.Write(b)
	return s.End()
}

// Reader reads the parts of a file.
type Reader struct {
	*sums.Reader
	fixed [17]byte
}

// few reads n bytes, at most 17, to memory that the next call overwrites.
func (r *Reader) few(n int) ([]byte, error) { return r.fixed[:n], r.Read(r.fixed[:n]) }

// Uvarint reads an unsigned varint of at least least and at most most.
func (r *Reader) Uvarint(least, most uint64) (uint64, error) {
	x := uint64(0)
	for shift := 0; shift < 64; shift += 7 {
		b, err := r.few(1)
		if err != nil {
			return 0, err
		}
		x |= uint64(b[0]&0x7f) << shift
		if b[0] < 0x80 {
			if x < least || x > most || shift > 0 && b[0] == 0 || shift == 63 && b[0] > 1 {
				break
			}
			return x, nil
		}
	}
	return 0, check.Errorf(fault.ErrFormat, "number %d, want %d to %d", x, least, most)
}

// Load reads the output of WriteTo into an empty index, and returns the parameters. The index must
// not be used after an error.
func (x *Index[K]) Load(from io.Reader, kind Kind[K]) (parameters []byte, err error) {
	r := &Reader{Reader: sums.NewReader(from)}
	h, err := r.few(12)
	if err != nil {
		return nil, err
	}
	if string(h[:8]) != kind.Name {
		return nil, check.Errorf(fault.ErrFormat, "the file begins with %q, want %q", h[:8], kind.Name)
	}
	if v := binary.LittleEndian.Uint32(h[8:]); v != version {
		return nil, check.Errorf(fault.ErrFormat, "version %d, want %d", v, version)
	}
	if parameters, err = r.Bytes(uint64(kind.Parameters)); err != nil {
		return nil, err
	}
	if h, err = r.few(17); err != nil {
		return nil, err
	}
	count, terms, ids := binary.LittleEndian.Uint64(h), binary.LittleEndian.Uint64(h[8:]), h[16]
	if count > most || ids > 1 || ids == 1 && count == 0 {
		return nil, check.Errorf(fault.ErrFormat, "invalid header %x", h)
	}
	for range uint64(ids) * count {
		if h, err = r.few(8); err != nil {
			return nil, err
		}
		x.ids = append(x.ids, int64(binary.LittleEndian.Uint64(h)))
	}
	var left []uint32
	for range count {
		n, err := r.Uvarint(0, math.MaxUint32)
		if err != nil {
			return nil, err
		}
		left = append(left, uint32(n))
	}
	if err := x.loadLists(r, kind, left, terms); err != nil {
		return nil, err
	}
	return parameters, r.End()
}

// loadLists reads the lists. left has the number of terms of each document.
func (x *parts[K]) loadLists(r *Reader, kind Kind[K], left []uint32, terms uint64) error {
	x.lists, x.count, x.sizes = map[K][]Posting{}, len(left), make([]float32, len(left))
	var before K
	for i := range terms {
		key, err := kind.ReadTerm(r)
		if err != nil {
			return err
		}
		if i > 0 && key <= before {
			return check.Errorf(fault.ErrFormat, "term %v after %v", key, before)
		}
		before = key
		if x.lists[key], err = x.loadList(r, kind.Integers, left); err != nil {
			return err
		}
	}
	for at, n := range left {
		if n != 0 {
			return check.Errorf(fault.ErrFormat, "document %d lacks %d terms", at, n)
		}
		if kind.Integers && x.sizes[at] > MostInteger {
			return check.Errorf(fault.ErrFormat, "document %d has %g words, want at most %d", at, x.sizes[at], MostInteger)
		}
		x.total += float64(x.sizes[at])
	}
	return nil
}

// loadList reads one list, and subtracts its postings from left.
func (x *parts[K]) loadList(r *Reader, integers bool, left []uint32) ([]Posting, error) {
	n, err := r.Uvarint(1, uint64(len(left)))
	if err != nil {
		return nil, err
	}
	list, next := []Posting(nil), 0
	for range n {
		step, err := r.Uvarint(0, uint64(len(left)))
		if err != nil {
			return nil, err
		}
		weight, err := readWeight(r, integers)
		if err != nil {
			return nil, err
		}
		at := next + int(step)
		if at >= len(left) {
			return nil, check.Errorf(fault.ErrFormat, "a term of document %d, want at most document %d", at, len(left)-1)
		}
		left[at]-- // wraps around below 0, which loadLists detects
		next = at + 1
		x.sizes[at] += weight
		list = append(list, Posting{uint32(at), weight})
	}
	return list, nil
}

func readWeight(r *Reader, integers bool) (float32, error) {
	if integers {
		n, err := r.Uvarint(1, MostInteger)
		return float32(n), err
	}
	b, err := r.few(4)
	if err != nil {
		return 0, err
	}
	w := math.Float32frombits(binary.LittleEndian.Uint32(b))
	if w == 0 || !(w <= math.MaxFloat32 && w >= -math.MaxFloat32) {
		return 0, check.Errorf(fault.ErrFormat, "weight %g, want a finite number other than 0", w)
	}
	return w, nil
}

// MostInteger is the largest integer weight: float32 represents all integers up to it exactly.
const MostInteger = 1 << 24
