// Package ready writes parts of memory to a file, and maps them from it: read only, and one copy for all processes.
//
// A file begins with a header: a mark, its version, the number of parts, the length of a note for people, the key of what the parts were made from,
// the note, and for each part its offset, its length and its checksum; then the checksum of the header. Parts begin at multiples of 64 bytes, and
// large ones on pages. Numbers of the header are little-endian. Parts are in the machine's order, and the key includes that order. Checksums are
// CRC-32C, which detect damage, not malice.
package ready

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/regular"
)

// Key identifies what parts were made from.
type Key [32]byte

const (
	mark     = "avoformer ready\n"
	version  = 1
	headLen  = len(mark) + 3*4 + len(Key{})
	entryLen = 8 + 8 + 4
	mostNote = 1 << 16
	page     = 1 << 12
	line     = 1 << 6
)

var table = crc32.MakeTable(crc32.Castagnoli)

// place returns the offset of a part of some bytes, at or after another offset.
func place(at int64, length int) int64 {
	unit := int64(line)
	if length >= 16*page {
		unit = page
	}
	return (at + unit - 1) / unit * unit
}

// Write writes a file beside path, and renames it to path. A note for people is at most 64 KiB.
func Write(path string, key Key, note string, parts [][]byte) error {
	note = note[:min(len(note), mostNote)]
	sums := make([]uint32, len(parts))
	each(len(parts), func(i int) { sums[i] = crc32.Checksum(parts[i], table) })
	le := binary.LittleEndian
	head := []byte(mark)
	for _, n := range []int{version, len(parts), len(note)} {
		head = le.AppendUint32(head, uint32(n))
	}
	head = append(append(head, key[:]...), note...)
	at := int64(len(head) + entryLen*len(parts) + 4)
	offsets := make([]int64, len(parts))
	for i, part := range parts {
		offsets[i] = place(at, len(part))
		at = offsets[i] + int64(len(part))
		head = le.AppendUint64(le.AppendUint64(head, uint64(offsets[i])), uint64(len(part)))
		head = le.AppendUint32(head, sums[i])
	}
	head = le.AppendUint32(head, crc32.Checksum(head, table))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return regular.Create(path, func(f *os.File) error {
		if _, err := f.Write(head); err != nil {
			return err
		}
		for i, part := range parts {
			if _, err := f.WriteAt(part, offsets[i]); err != nil {
				return err
			}
		}
		return f.Truncate(at) // where the last parts are empty
	})
}

// ErrOther is that a file was made from something else.
var ErrOther = errors.New("made from something else")

// Open returns the parts of a file with the key, which have the given lengths. They are read-only and stay for the life of the process: a second call
// for the same file returns the same memory. If mapped is false, or the system maps no files, they are a copy. An error matches fs.ErrNotExist if there
// is no file, ErrOther, or fault.ErrFormat if it is damaged.
//
// A program that shortens a file while it is mapped ends the processes that read the lost part, as with every mapped file.
func Open(path string, key Key, lengths []int, mapped bool) ([][]byte, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	h, err := readHeader(f, info.Size())
	if err != nil {
		return nil, err
	}
	if h.key != key {
		return nil, ErrOther
	}
	if len(h.entries) != len(lengths) {
		return nil, damaged("%d parts, want %d", len(h.entries), len(lengths))
	}
	for i, e := range h.entries {
		if e.length != int64(lengths[i]) {
			return nil, damaged("part %d has %d bytes, want %d", i, e.length, lengths[i])
		}
	}
	known.Lock()
	defer known.Unlock()
	at := slices.IndexFunc(known.files, func(k knownFile) bool {
		return os.SameFile(k.info, info) && k.info.Size() == info.Size() && k.info.ModTime().Equal(info.ModTime())
	})
	if at >= 0 && mapped {
		return h.cut(known.files[at].data), nil
	}
	data, shared, err := memory(f, int(info.Size()), mapped)
	if err != nil {
		return nil, err
	}
	parts := h.cut(data)
	var wrong atomic.Int64
	each(len(parts), func(i int) {
		if crc32.Checksum(parts[i], table) != h.entries[i].sum {
			wrong.Store(int64(i) + 1)
		}
	})
	if i := wrong.Load(); i > 0 {
		if shared {
			unmap(data)
		}
		return nil, damaged("part %d has another checksum", i-1)
	}
	if shared {
		known.files = append(known.files, knownFile{info, data})
	}
	return parts, nil
}

// known are the files that are mapped.
var known struct {
	sync.Mutex
	files []knownFile
}

type knownFile struct {
	info os.FileInfo
	data []byte
}

// memory returns what a file has: mapped, or a copy.
func memory(f *os.File, size int, mapped bool) (data []byte, shared bool, err error) {
	if mapped {
		if data, err := mapFile(f, size); err == nil {
			return data, true, nil
		} else if !errors.Is(err, errors.ErrUnsupported) {
			return nil, false, err
		}
	}
	words := make([]uint64, (size+7)/8) // aligned; the size is that of the file
	data = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), size)
	_, err = f.ReadAt(data, 0)
	if errors.Is(err, io.EOF) {
		err = damaged("it ended while it was read")
	}
	return data, false, err
}

// header is what a file says of itself.
type header struct {
	key     Key
	note    string
	entries []entry
}

type entry struct {
	at, length int64
	sum        uint32
}

// cut returns the parts of a file's memory.
func (h *header) cut(data []byte) [][]byte {
	parts := make([][]byte, len(h.entries))
	for i, e := range h.entries {
		parts[i] = data[e.at : e.at+e.length : e.at+e.length]
	}
	return parts
}

// readHeader reads the header of a file of size bytes. It takes no more memory than the file has.
func readHeader(f io.ReaderAt, size int64) (*header, error) {
	head := make([]byte, headLen)
	if size < int64(headLen) {
		return nil, damaged("%d bytes", size)
	}
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	if !bytes.HasPrefix(head, []byte(mark)) {
		return nil, damaged("it begins with %q", head[:len(mark)])
	}
	numbers := head[len(mark):]
	if v := le.Uint32(numbers); v != version {
		return nil, damaged("version %d, want %d", v, version)
	}
	n, noteLen := int64(le.Uint32(numbers[4:])), int64(le.Uint32(numbers[8:]))
	whole := int64(headLen) + noteLen + n*entryLen + 4
	if noteLen > mostNote || whole > size {
		return nil, damaged("%d parts and a note of %d bytes in a file of %d bytes", n, noteLen, size)
	}
	head = make([]byte, whole)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, err
	}
	if end := head[whole-4:]; crc32.Checksum(head[:whole-4], table) != le.Uint32(end) {
		return nil, damaged("the header has another checksum")
	}
	h := &header{key: Key(head[headLen-len(Key{}):]), note: string(head[headLen:][:noteLen]), entries: make([]entry, n)}
	at := whole
	for i := range h.entries {
		b := head[int64(headLen)+noteLen+int64(i)*entryLen:]
		e := entry{int64(le.Uint64(b)), int64(le.Uint64(b[8:])), le.Uint32(b[16:])}
		if e.length < 0 || e.length > size || e.at != place(at, int(e.length)) || e.at > size-e.length {
			return nil, damaged("part %d has bytes %d to %d of %d", i, e.at, e.at+e.length, size)
		}
		h.entries[i], at = e, e.at+e.length
	}
	return h, nil
}

// Note returns the note of a file.
func Note(path string) (string, error) {
	f, err := regular.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	h, err := readHeader(f, info.Size())
	if err != nil {
		return "", err
	}
	return h.note, nil
}

func damaged(format string, args ...any) error {
	return check.Errorf(fault.ErrFormat, "a ready file: "+format, args...)
}

// each calls do for all numbers below n on all threads.
func each(n int, do func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	all.Wait()
}
