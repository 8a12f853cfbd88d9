package search

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/search/internal/sums"
)

// Files of indexes. All numbers are little-endian:
//
//	8 bytes        AVOINDEX
//	uint32         version: 2 where a fingerprint follows, 1 otherwise
//	uint32         dim
//	uint64         count
//	uint32         oversample
//	3 bytes        precision (1 float32, 2 int8, 3 binary), rescore (0 for none), 1 where ids follow
//	1 byte         length of the fingerprint
//	n bytes        the fingerprint, if any
//	count int64    ids, if any
//	count rows     in precision: dim float32; blocks of 34 bytes for each 32, Q8_0 of GGUF; or words of 64 signs
//	count rows     in the precision of rescoring, if any
//	uint32         CRC-32C of all before
//
// Numbers past dim in a last block or word are 0.

const (
	magic      = "AVOINDEX"
	headerSize = 32

	// Versions of files.
	plain         = 1
	fingerprinted = 2
)

// Save writes the index to a temporary file next to the destination and renames it: an interruption
// leaves the previous file unchanged.
func (x *Index) Save(name string) (err error) { return sums.Save(name, x) }

// WriteTo writes the index in the format of a file. Changes wait until it is done.
func (x *Index) WriteTo(w io.Writer) (int64, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := sums.NewWriter(w)
	header := []byte(magic)
	fingerprint := x.options.Fingerprint
	version := uint32(plain)
	if fingerprint != "" {
		version = fingerprinted
	}
	header = binary.LittleEndian.AppendUint32(header, version)
	header = binary.LittleEndian.AppendUint32(header, uint32(x.dim))
	header = binary.LittleEndian.AppendUint64(header, uint64(x.count-x.gone))
	header = binary.LittleEndian.AppendUint32(header, uint32(min(x.options.Oversample, math.MaxInt32)))
	header = append(header, byte(x.options.Precision), byte(x.options.Rescore), 0, byte(len(fingerprint)))
	if x.ids.len() > x.gone {
		header[headerSize-2] = 1
	}
	s.Write(append(header, fingerprint...))
	var id [8]byte
	for i := range x.ids.len() {
		if x.removed.Has(i) {
			continue
		}
		binary.LittleEndian.PutUint64(id[:], uint64(x.ids.row(i)[0]))
		s.Write(id[:])
	}
	x.writeRows(s, x.options.Precision, x.vectors.decode)
	if x.again != nil {
		x.writeRows(s, x.options.Rescore, x.again.decode)
	}
	return s.End()
}

// writeRows writes the vectors in a precision. Values that are already rounded to the precision do
// not change.
func (x *Index) writeRows(s *sums.Writer, p Precision, decode func(dst []float32, i int)) {
	dim := x.dim
	row, v := make([]byte, rowBytes(p, dim)), make([]float32, padded(dim))
	bits := make([]int32, signWords(dim))
	for i := range x.count {
		if x.removed.Has(i) {
			continue
		}
		decode(v[:dim], i)
		switch p {
		case Float32:
			kernels.FormatF32.Quantize(row, v[:dim])
		case Int8:
			kernels.FormatQ8_0.Quantize(row, v)
		case Binary:
			signs(bits, 1, v[:dim])
			for j, w := range bits { // words in the file have 64 bits; the second half of the last one may be 0
				binary.LittleEndian.PutUint32(row[4*j:], uint32(w))
			}
		}
		s.Write(row)
	}
}

// rowBytes returns the size of a vector in a file.
func rowBytes(p Precision, dim int) int {
	switch p {
	case Float32:
		return 4 * dim
	case Int8:
		return padded(dim) / block * blockBytes
	}
	return (dim + 63) / 64 * 8
}

// Load reads a file that Save wrote. threads is Options.Threads of the index. An index with a
// fingerprint cannot be used before [Index.CheckFingerprint].
func Load(name string, threads int) (*Index, error) {
	return sums.Load(name, func(r io.Reader) (*Index, error) { return Read(r, threads) })
}

// Read reads the output of WriteTo, and no byte after it. It allocates memory as data arrives, not
// by the sizes that the header claims.
func Read(r io.Reader, threads int) (*Index, error) {
	if threads < 0 {
		return nil, check.Option("threads", threads, "want at least 0")
	}
	s := &source{sums.NewReader(r)}
	x, count, ids, err := s.header(threads)
	if err != nil {
		return nil, err
	}
	if ids {
		err = s.rows(8, count, func(row []byte) error {
			x.ids.add([]int64{int64(binary.LittleEndian.Uint64(row))})
			return nil
		})
	}
	if err == nil {
		err = s.vectors(x.options.Precision, x.dim, count, x.vectors.add)
	}
	if err == nil && x.again != nil {
		err = s.vectors(x.options.Rescore, x.dim, count, x.again.add)
	}
	if err != nil {
		return nil, err
	}
	if err := s.End(); err != nil {
		return nil, err
	}
	x.count = int(count)
	return x, nil
}

// source reads the parts of a file.
type source struct{ *sums.Reader }

// header reads the header. It returns an empty index and the number of vectors that follow, and
// reports whether these have ids.
func (s *source) header(threads int) (x *Index, count uint64, ids bool, err error) {
	var h [headerSize]byte
	if err := s.Read(h[:]); err != nil {
		return nil, 0, false, err
	}
	if string(h[:8]) != magic {
		return nil, 0, false, check.Errorf(fault.ErrFormat, "the file begins with %q, want %q", h[:8], magic)
	}
	u32 := binary.LittleEndian.Uint32
	version := u32(h[8:])
	if version != plain && version != fingerprinted {
		return nil, 0, false, check.Errorf(fault.ErrFormat, "version %d, want %d or %d", version, plain, fingerprinted)
	}
	dim, oversample := u32(h[12:]), u32(h[24:])
	count = binary.LittleEndian.Uint64(h[16:])
	if dim > maxDim || oversample < 1 || oversample > math.MaxInt32 || h[28] == 0 || h[30] > 1 || (h[31] != 0) != (version == fingerprinted) {
		return nil, 0, false, check.Errorf(fault.ErrFormat, "invalid header %x", h[8:])
	}
	if dim > 0 && count > uint64(math.MaxInt/(8*int(dim))) {
		return nil, 0, false, check.Errorf(fault.ErrFormat, "count = %d is too large", count)
	}
	fingerprint := make([]byte, h[31])
	if err := s.Read(fingerprint); err != nil {
		return nil, 0, false, err
	}
	x, err = New(int(dim), Options{Precision: Precision(h[28]), Rescore: Precision(h[29]), Oversample: int(oversample), Threads: threads, Fingerprint: string(fingerprint)})
	if err != nil {
		return nil, 0, false, check.Errorf(fault.ErrFormat, "%v", err)
	}
	x.unmatched.Store(len(fingerprint) > 0)
	return x, count, h[30] == 1 && count > 0, nil
}

// rows reads count rows of size bytes.
func (s *source) rows(size int, count uint64, add func(row []byte) error) error {
	at := max(1, 1<<18/size)
	buffer := make([]byte, size*int(min(uint64(at), count)))
	for count > 0 {
		n := int(min(uint64(at), count))
		if err := s.Read(buffer[:n*size]); err != nil {
			return err
		}
		for i := range n {
			if err := add(buffer[i*size:][:size]); err != nil {
				return err
			}
		}
		count -= uint64(n)
	}
	return nil
}

// vectors reads rows in a precision, and rejects values that no index writes.
func (s *source) vectors(p Precision, dim int, count uint64, add func(v []float32)) error {
	v := make([]float32, padded(dim))
	position := 0
	return s.rows(rowBytes(p, dim), count, func(row []byte) error {
		var err error
		switch p {
		case Float32:
			err = readFloats(v[:dim], row)
		case Int8:
			err = readBlocks(v, row, dim)
		case Binary:
			err = readSigns(v, row, dim)
		}
		if err != nil {
			return check.Errorf(fault.ErrFormat, "%v vector %d: %w", p, position, err)
		}
		position++
		add(v[:dim])
		return nil
	})
}

func readFloats(v []float32, row []byte) error {
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(row[4*i:]))
		if !(v[i] <= math.MaxFloat32 && v[i] >= -math.MaxFloat32) {
			return fmt.Errorf("number %d is %g", i, v[i])
		}
	}
	return nil
}

func readBlocks(v []float32, row []byte, dim int) error {
	for b := 0; b < len(row); b += blockBytes {
		if scale := half.Float16(binary.LittleEndian.Uint16(row[b:])); !(scale >= 0 && scale <= 65504) {
			return fmt.Errorf("a scale of %g", scale)
		}
	}
	decodeBlocks(v, row)
	return zeros(v[dim:])
}

func readSigns(v []float32, row []byte, dim int) error {
	for i := range len(row) * 8 {
		bit := row[i/8] >> (i % 8) & 1
		if i >= dim {
			if bit != 0 {
				return fmt.Errorf("sign %d is set, want 0 beyond the %d signs of the vector", i, dim)
			}
			continue
		}
		v[i] = float32(int(bit)*2 - 1)
	}
	return nil
}

// zeros returns an error unless all numbers past the dimension are 0.
func zeros(past []float32) error {
	for _, a := range past {
		if a != 0 {
			return fmt.Errorf("%g after the last number, want 0", a)
		}
	}
	return nil
}
