package pytorch

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/avoformer/avoformer/fault"
)

// This file reads the two containers: where the state dict's pickle is, and where storages begin.

// isZip reports whether a file begins as a zip archive.
func isZip(r io.ReaderAt) bool {
	var start [4]byte
	r.ReadAt(start[:], 0)
	return string(start[:]) == "PK\x03\x04"
}

// readZip reads the state dict of a zip archive: NAME/data.pkl is its pickle, and NAME/data/KEY are
// the storages, none of them compressed.
func readZip(r io.ReaderAt, size int64) (any, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", fault.ErrFormat, err)
	}
	members := map[string]*zip.File{}
	prefix := ""
	for _, m := range z.File {
		members[m.Name] = m
		if dir, ok := strings.CutSuffix(m.Name, "/data.pkl"); ok && !strings.Contains(dir, "/") {
			prefix = dir + "/"
		}
	}
	if prefix == "" {
		return nil, fmt.Errorf("%w: a zip archive without data.pkl", fault.ErrFormat)
	}
	if m := members[prefix+"byteorder"]; m != nil {
		_, order, err := stored(r, m, size)
		if err != nil {
			return nil, err
		}
		if text, _ := io.ReadAll(io.LimitReader(order, 16)); string(text) != "little" {
			return nil, fmt.Errorf("%w: byte order %q, want little", fault.ErrUnsupported, text)
		}
	}
	_, program, err := stored(r, members[prefix+"data.pkl"], size)
	if err != nil {
		return nil, err
	}
	storages := map[string]*storage{}
	u := newUnpickler(program, func(id any) (any, error) {
		s, err := identified(id, storages)
		if err != nil || s.begin != 0 {
			return s, err
		}
		m := members[prefix+"data/"+s.key]
		if m == nil {
			return nil, fmt.Errorf("%w: storage %q is missing", fault.ErrFormat, s.key)
		}
		begin, data, err := stored(r, m, size)
		if err != nil {
			return nil, err
		}
		if want := s.len * sizes[s.dtype]; data.Size() != want {
			return nil, fmt.Errorf("%w: storage %q has %d bytes, want %d", fault.ErrFormat, s.key, data.Size(), want)
		}
		s.begin = begin
		return s, nil
	})
	return u.run()
}

// stored returns the position and the data of a member, which are not compressed.
func stored(r io.ReaderAt, m *zip.File, size int64) (begin int64, data *io.SectionReader, err error) {
	if m.Method != zip.Store || m.CompressedSize64 != m.UncompressedSize64 {
		return 0, nil, fmt.Errorf("%w: %s is compressed", fault.ErrUnsupported, m.Name)
	}
	begin, err = m.DataOffset()
	if err != nil {
		return 0, nil, fmt.Errorf("%w: %s: %v", fault.ErrFormat, m.Name, err)
	}
	length := m.UncompressedSize64
	if begin < 0 || begin > size || length > uint64(size-begin) {
		return 0, nil, fmt.Errorf("%w: %s ends after the file", fault.ErrFormat, m.Name)
	}
	return begin, io.NewSectionReader(r, begin, int64(length)), nil
}

// identified returns the storage of a persistent id, ("storage", class, key, place, elements),
// which is made once for a key.
func identified(id any, storages map[string]*storage) (*storage, error) {
	t, ok := id.(tuple)
	if !ok || len(t) < 5 || t[0] != "storage" {
		return nil, fmt.Errorf("%w: a persistent id that is not a storage's", fault.ErrUnsupported)
	}
	class, ok := t[1].(global)
	key, ok2 := t[2].(string)
	n, ok3 := t[4].(int64)
	if !ok || !ok2 || !ok3 || n < 0 || n > 1<<48 {
		return nil, fmt.Errorf("%w: a storage is not made of a class, a key, a place and a number of elements", fault.ErrFormat)
	}
	if len(t) > 5 && t[5] != nil {
		return nil, fmt.Errorf("%w: storage %q is a view of another one", fault.ErrUnsupported, key)
	}
	dtype, ok := dtypes[class]
	if !ok {
		return nil, fmt.Errorf("%w: storage %q is a %s, which is not known", fault.ErrUnsupported, key, class)
	}
	s := storages[key]
	if s == nil {
		s = &storage{key: key, dtype: dtype, len: n}
		storages[key] = s
	}
	if s.dtype != dtype || s.len != n {
		return nil, fmt.Errorf("%w: storage %q is both %d of %s and %d of %s", fault.ErrFormat, key, s.len, s.dtype, n, dtype)
	}
	return s, nil
}

// magic is the pickle with which files begin that are older than the zip archives: PROTO 2, LONG1
// of 10 bytes, STOP.
var magic = []byte{0x80, 2, 0x8a, 10, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, '.'}

// readLegacy reads the state dict of a file of pickles: the magic number, the version, the machine
// that wrote it, the state dict, and the keys of the storages, which follow in this order, each
// after the number of its elements.
func readLegacy(r io.ReaderAt, size int64) (any, error) {
	start := make([]byte, len(magic))
	if n, err := r.ReadAt(start, 0); n < len(start) && err != io.EOF {
		return nil, fmt.Errorf("pytorch: %w", err)
	}
	if !bytes.Equal(start, magic) {
		return nil, fmt.Errorf("%w: neither a zip archive nor the magic number of torch.save", fault.ErrFormat)
	}
	storages := map[string]*storage{}
	begin := int64(len(magic))
	u := newUnpickler(io.NewSectionReader(r, begin, size-begin), func(id any) (any, error) { return identified(id, storages) })
	version, err := u.run()
	if err != nil {
		return nil, err
	}
	if version != int64(1001) {
		return nil, fmt.Errorf("%w: version %v, want 1001", fault.ErrUnsupported, version)
	}
	system, err := u.run()
	if err != nil {
		return nil, err
	}
	if !littleEndianSystem(system) {
		return nil, fmt.Errorf("%w: it was written by a big-endian machine", fault.ErrUnsupported)
	}
	state, err := u.run()
	if err != nil {
		return nil, err
	}
	keys, err := u.run()
	if err != nil {
		return nil, err
	}
	order, ok := keys.(*list)
	if !ok {
		return nil, fmt.Errorf("%w: the storages' keys are not a list", fault.ErrFormat)
	}
	return state, locate(r, order.items, storages, begin+u.read, size)
}

// littleEndianSystem reports what a file says of the machine that wrote it.
func littleEndianSystem(system any) bool {
	d, ok := system.(*dict)
	if !ok {
		return false
	}
	for i := 0; i < len(d.pairs); i += 2 {
		if d.pairs[i] == "little_endian" {
			return d.pairs[i+1] == true
		}
	}
	return false
}

// locate sets where storages begin that follow from byte at on.
func locate(r io.ReaderAt, keys []any, storages map[string]*storage, at, size int64) error {
	for _, k := range keys {
		key, _ := k.(string)
		s := storages[key]
		if s == nil || s.begin != 0 {
			return fmt.Errorf("%w: storage %q is listed, and used by no tensor or listed twice", fault.ErrFormat, key)
		}
		var count [8]byte
		if n, err := r.ReadAt(count[:], at); n < len(count) {
			if err != io.EOF {
				return fmt.Errorf("pytorch: %w", err)
			}
			return fmt.Errorf("%w: storage %q: the data end early", fault.ErrFormat, key)
		}
		if n := binary.LittleEndian.Uint64(count[:]); n != uint64(s.len) {
			return fmt.Errorf("%w: storage %q has %d elements, want %d", fault.ErrFormat, key, n, s.len)
		}
		s.begin = at + int64(len(count))
		if at = s.begin + s.len*sizes[s.dtype]; at > size {
			return fmt.Errorf("%w: storage %q ends after the file", fault.ErrFormat, key)
		}
	}
	for key, s := range storages {
		if s.begin == 0 {
			return fmt.Errorf("%w: storage %q is missing", fault.ErrFormat, key)
		}
	}
	return nil
}
