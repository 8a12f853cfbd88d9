// Package ready writes slices of memory, called parts, to a file, and maps them from it. The
// mapping is read-only, and all processes share one copy.
//
// A file begins with a header: a mark, its version, the number of parts, the length of a note for
// people, the key, which identifies the source of the parts, the note, and for each part its
// offset, its length and its checksum; then the checksum of the header. Parts begin at multiples of
// 64 bytes, and large ones on pages. Numbers of the header are little-endian. Parts are in the
// machine's byte order, which the key includes. Checksums are CRC-32C, which detects damage, not
// malice.
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
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/regular"
)

// Key identifies the source from which parts were made.
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

// place returns the offset of a part of length bytes, at or after the offset at.
func place(at int64, length int) int64 {
	unit := int64(line)
	if length >= 16*page {
		unit = page
	}
	return (at + unit - 1) / unit * unit
}

// Write writes a file next to path, and renames it to path. It cuts off a note for people after 64
// KiB.
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

// ErrOther is the error for a file that was made from another source.
var ErrOther = errors.New("made from something else")

// A Way is a way in which the parts of a file are read into memory.
type Way int

const (
	Map     Way = iota // mapped, or a copy where the system maps no files
	MapOnly            // mapped, or errors.ErrUnsupported
	Copy
)

// Release returns the version of this module in the program, for use in keys. Programs that are not
// built from a release get a word such as "(devel)".
var Release = sync.OnceValue(func() string {
	const path = "github.com/avoformer/avoformer"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range slices.Concat(info.Deps, []*debug.Module{&info.Main}) {
		if m.Path == path {
			return m.Version
		}
	}
	return ""
})

// Open returns the parts of a file whose key is key. Parts must have the given lengths, unless
// lengths is nil. Mapped parts are read-only and stay mapped for the life of the process: a second
// call for the same file returns the same memory. The error matches fs.ErrNotExist if there is no
// file, ErrOther if the key differs, and fault.ErrFormat if the file is damaged or a part has
// another length.
//
// A program that shortens a mapped file ends the processes that read the lost part, as with every
// mapped file.
func Open(path string, key Key, lengths []int, way Way) ([][]byte, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	count := len(lengths)
	if lengths == nil {
		count = anyCount
	}
	h, err := readHeader(f, info.Size(), count)
	if err != nil {
		return nil, err
	}
	if h.key != key {
		return nil, ErrOther
	}
	for i, e := range h.entries {
		if lengths != nil && e.length != int64(lengths[i]) {
			return nil, damaged("part %d has %d bytes, want %d", i, e.length, lengths[i])
		}
	}
	known.Lock()
	defer known.Unlock()
	at := slices.IndexFunc(known.files, func(k knownFile) bool {
		return os.SameFile(k.info, info) && k.info.Size() == info.Size() && k.info.ModTime().Equal(info.ModTime())
	})
	if at >= 0 && way != Copy {
		return h.cut(known.files[at].data), nil
	}
	data, shared, err := memory(f, int(info.Size()), way)
	if err != nil {
		return nil, err
	}
	parts := h.cut(data)
	if !shared || !isChecked(path, info) {
		if i := h.wrong(parts); i >= 0 {
			if shared {
				unmap(data)
			}
			return nil, damaged("part %d has another checksum", i)
		}
		setChecked(path, info)
	}
	if shared {
		known.files = append(known.files, knownFile{info, data})
	}
	return parts, nil
}

// known holds the files that are mapped.
var known struct {
	sync.Mutex
	files []knownFile
}

type knownFile struct {
	info os.FileInfo
	data []byte
}

// memory returns the contents of a file: mapped, or a copy.
func memory(f *os.File, size int, way Way) (data []byte, shared bool, err error) {
	if way != Copy {
		if data, err := mapFile(f, size); err == nil {
			return data, true, nil
		} else if way == MapOnly || !errors.Is(err, errors.ErrUnsupported) {
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

// header is the header of a file.
type header struct {
	key     Key
	entries []entry
}

type entry struct {
	at, length int64
	sum        uint32
}

// cut returns the parts in a file's memory.
func (h *header) cut(data []byte) [][]byte {
	parts := make([][]byte, len(h.entries))
	for i, e := range h.entries {
		parts[i] = data[e.at : e.at+e.length : e.at+e.length]
	}
	return parts
}

// wrong returns the index of a part whose checksum differs, or -1.
func (h *header) wrong(parts [][]byte) int {
	var wrong atomic.Int64
	each(len(parts), func(i int) {
		if crc32.Checksum(parts[i], table) != h.entries[i].sum {
			wrong.Store(int64(i) + 1)
		}
	})
	return int(wrong.Load()) - 1
}

const anyCount = -1

// readHeader reads the header of a file of size bytes. The file must have count parts, or any
// number if count is negative.
func readHeader(f io.ReaderAt, size int64, count int) (*header, error) {
	n, note, err := readNote(f, size)
	if err != nil {
		return nil, err
	}
	if count == anyCount && n <= size/entryLen {
		count = int(n)
	}
	whole := int64(headLen) + int64(len(note)) + int64(count)*entryLen + 4
	if n != int64(count) || whole > size || size != int64(int(size)) {
		return nil, damaged("%d parts in %d bytes, want %d parts", n, size, count)
	}
	head := make([]byte, whole)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	if end := head[whole-4:]; crc32.Checksum(head[:whole-4], table) != le.Uint32(end) {
		return nil, damaged("the header has another checksum")
	}
	h := &header{key: Key(head[headLen-len(Key{}):]), entries: make([]entry, n)}
	at := whole
	for i := range h.entries {
		b := head[headLen+len(note)+i*entryLen:]
		e := entry{int64(le.Uint64(b)), int64(le.Uint64(b[8:])), le.Uint32(b[16:])}
		if e.length < 0 || e.length > size || e.at != place(at, int(e.length)) || e.at > size-e.length {
			return nil, damaged("part %d has bytes %d to %d of %d", i, e.at, e.at+e.length, size)
		}
		h.entries[i], at = e, e.at+e.length
	}
	if at != size {
		return nil, damaged("%d bytes, of which parts have %d", size, at)
	}
	return h, nil
}

// readNote reads the number of parts and the note of a file of size bytes.
func readNote(f io.ReaderAt, size int64) (parts int64, note string, err error) {
	head := make([]byte, headLen)
	if size < int64(headLen) {
		return 0, "", damaged("%d bytes", size)
	}
	if _, err := f.ReadAt(head, 0); err != nil {
		return 0, "", err
	}
	le := binary.LittleEndian
	if !bytes.HasPrefix(head, []byte(mark)) {
		return 0, "", damaged("it begins with %q", head[:len(mark)])
	}
	numbers := head[len(mark):]
	if v := le.Uint32(numbers); v != version {
		return 0, "", damaged("version %d, want %d", v, version)
	}
	n := int64(le.Uint32(numbers[8:]))
	if n > min(mostNote, size-int64(headLen)) {
		return 0, "", damaged("a note of %d bytes", n)
	}
	b := make([]byte, n)
	if _, err := f.ReadAt(b, int64(headLen)); err != nil {
		return 0, "", err
	}
	return int64(le.Uint32(numbers[4:])), string(b), nil
}

// Note returns the note of a file, which may be damaged or incomplete.
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
	_, note, err := readNote(f, info.Size())
	return note, err
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
