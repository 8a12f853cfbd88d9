package store

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/fingerprint"
	"github.com/avoformer/avoformer/search"
	"github.com/avoformer/avoformer/search/internal/sums"
)

// The log. All numbers of a fixed size are little-endian, and varint is that of package
// encoding/binary, unsigned:
//
//	8 bytes        AVOSTORE
//	uint32         version, 1
//	uint32         dim
//	8 bytes        salt, at random
//	uint64         the least number that a new id may have
//	1 byte         length of the fingerprint
//	n bytes        the fingerprint
//	uint32         CRC-32C of all before
//
// and then a frame for each call:
//
//	uint32         length of the body
//	uint32         CRC-32C of salt, the frame's place in the file (uint64) and these first four bytes
//	uint32         CRC-32C of salt, place and body
//	n bytes        the body: operations
//
// An operation is one of
//
//	1 byte         1, a record
//	varint         its number
//	varint, bytes  its id
//	varint, bytes  its payload
//	dim float32    its vector
//
//	1 byte         2, a removal
//	varint         the number
//
// A frame that fails its checks is the end of the log if no valid frame follows anywhere. Otherwise
// the log is damaged. Because of the salt and the place in checksums, payloads, which strangers may
// choose, cannot look like frames.

const (
	magic      = "AVOSTORE"
	version    = 1
	headerSize = 33 // without the fingerprint and the checksum
	frameSize  = 12 // without the body

	opPut    = 1
	opRemove = 2
)

// mostBody is the largest size of a body in bytes.
const mostBody = 1 << 30

// header is the beginning of a log.
type header struct {
	dim         int
	salt        [8]byte
	next        int64
	fingerprint string
}

func (h *header) bytes() []byte {
	b := []byte(magic)
	b = binary.LittleEndian.AppendUint32(b, version)
	b = binary.LittleEndian.AppendUint32(b, uint32(h.dim))
	b = append(b, h.salt[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.next))
	b = append(append(b, byte(len(h.fingerprint))), h.fingerprint...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, sums.Castagnoli))
}

// log is an open log.
type log struct {
	file  *os.File
	head  header
	begin int   // of the first frame
	size  int64 // the end of the last whole frame
}

// createLog creates a log without records: it writes a temporary file and renames it.
func createLog(path string, h header) error {
	name, err := writeLog(path, h, func(*log) error { return nil })
	if err != nil {
		return err
	}
	if err := os.Rename(name, path); err != nil {
		os.Remove(name)
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// writeLog creates a log with a new salt in a temporary file next to path, and returns its name.
func writeLog(path string, h header, write func(l *log) error) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return "", err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	rand.Read(h.salt[:])
	l := &log{file: f, head: h}
	b := h.bytes()
	l.begin, l.size = len(b), int64(len(b))
	if _, err := f.Write(b); err != nil {
		return "", err
	}
	if err := write(l); err != nil {
		return "", err
	}
	if err := f.Chmod(0o644); err != nil {
		return "", err
	}
	return f.Name(), f.Sync()
}

// openLog opens a log without reading it.
func openLog(path string) (*log, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, check.InFile(filepath.Base(path), fault.ErrFormat, errors.New("not a regular file"))
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return &log{file: f}, nil
}

// readHeader reads the header of the log.
func (l *log) readHeader() (header, error) {
	r := sums.NewReader(l.file)
	var b [headerSize]byte
	if err := r.Read(b[:]); err != nil {
		return header{}, err
	}
	if string(b[:8]) != magic {
		return header{}, check.Errorf(fault.ErrFormat, "the file begins with %q, want %q", b[:8], magic)
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != version {
		return header{}, check.Errorf(fault.ErrFormat, "version %d, want %d", v, version)
	}
	name := make([]byte, b[headerSize-1])
	if err := r.Read(name); err != nil {
		return header{}, err
	}
	if err := r.End(); err != nil {
		return header{}, err
	}
	h := header{dim: int(binary.LittleEndian.Uint32(b[12:])), next: int64(binary.LittleEndian.Uint64(b[24:])), fingerprint: string(name)}
	copy(h.salt[:], b[16:])
	if h.next < 0 {
		return header{}, check.Errorf(fault.ErrFormat, "next number %d, want at least 0", h.next)
	}
	l.head, l.begin = h, headerSize+len(name)+4
	l.size = int64(l.begin)
	return h, nil
}

// sameFingerprint returns an error unless the fingerprint of a log matches the caller's.
func sameFingerprint(h header, now string) error {
	if now == search.AnyFingerprint {
		return nil
	}
	if differs := fingerprint.Difference(h.fingerprint, now); differs != "" {
		return check.Errorf(fault.ErrOtherResults, "store: %s", differs)
	}
	return nil
}

// sum returns the checksum of a part of the frame at a place.
func (l *log) sum(at int64, part []byte) uint32 {
	var b [16]byte
	copy(b[:], l.head.salt[:])
	binary.LittleEndian.PutUint64(b[8:], uint64(at))
	return crc32.Update(crc32.Checksum(b[:], sums.Castagnoli), sums.Castagnoli, part)
}

// append writes a frame to the end, and returns the place where its body begins. After an error the
// log is unchanged, unless broken is true.
func (l *log) append(body []byte, sync bool) (at int64, broken bool, err error) {
	frame := binary.LittleEndian.AppendUint32(make([]byte, 0, frameSize+len(body)), uint32(len(body)))
	frame = binary.LittleEndian.AppendUint32(frame, l.sum(l.size, frame[:4]))
	frame = binary.LittleEndian.AppendUint32(frame, l.sum(l.size, body))
	_, err = l.file.WriteAt(append(frame, body...), l.size)
	if err == nil && sync {
		err = l.file.Sync()
		broken = err != nil // the state of the disk is unknown
	}
	if err != nil {
		return 0, l.file.Truncate(l.size) != nil || broken, err
	}
	at = l.size + frameSize
	l.size = at + int64(len(body))
	return at, false, nil
}

// readFrames calls do for each frame, with the body and the place where it begins. It cuts off an
// unfinished frame at the end, and returns its size.
func (l *log) readFrames(do func(at int64, body []byte) error) (cut int64, err error) {
	info, err := l.file.Stat()
	if err != nil {
		return 0, err
	}
	end := info.Size()
	r := bufio.NewReaderSize(io.NewSectionReader(l.file, l.size, end-l.size), 1<<20)
	var body []byte
	for l.size < end {
		whole := false
		if body, whole, err = l.frame(r, l.size, end, body); err != nil {
			return 0, err
		}
		if !whole {
			return l.torn(end)
		}
		if err := do(l.size+frameSize, body); err != nil {
			return 0, err
		}
		l.size += frameSize + int64(len(body))
	}
	return 0, nil
}

// frame reads the frame at a place, and reports whether it passes its checks. It reuses memory.
func (l *log) frame(r io.Reader, at, end int64, memory []byte) (body []byte, whole bool, err error) {
	var h [frameSize]byte
	if end-at < frameSize {
		return memory, false, nil
	}
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return nil, false, err
	}
	n := int64(binary.LittleEndian.Uint32(h[:]))
	if n > end-at-frameSize || n > mostBody || l.sum(at, h[:4]) != binary.LittleEndian.Uint32(h[4:]) {
		return memory, false, nil
	}
	if int64(cap(memory)) < n {
		memory = make([]byte, n) // the file has at least n bytes
	}
	memory = memory[:n]
	if _, err := io.ReadFull(r, memory); err != nil {
		return nil, false, err
	}
	return memory, l.sum(at, memory) == binary.LittleEndian.Uint32(h[8:]), nil
}

// torn cuts the log off after the last valid frame, if no valid frame follows later. Valid headers
// that together claim more than the rest of the file are an error, since written frames do not
// overlap. This limits the number of bytes that torn reads.
func (l *log) torn(end int64) (cut int64, err error) {
	r := bufio.NewReaderSize(io.NewSectionReader(l.file, l.size+1, end-l.size-1), 1<<20)
	left := end - l.size
	for at := l.size + 1; at+frameSize <= end; at++ {
		h, err := r.Peek(frameSize)
		if err != nil {
			return 0, err
		}
		n := int64(binary.LittleEndian.Uint32(h))
		if n <= end-at-frameSize && n <= mostBody && l.sum(at, h[:4]) == binary.LittleEndian.Uint32(h[4:]) {
			if left -= frameSize + n; left < 0 {
				return 0, check.Errorf(fault.ErrFormat, "damaged at byte %d", l.size)
			}
			if _, whole, err := l.frame(io.NewSectionReader(l.file, at, end-at), at, end, nil); err != nil {
				return 0, err
			} else if whole {
				return 0, check.Errorf(fault.ErrFormat, "damaged at byte %d; a valid frame follows at byte %d", l.size, at)
			}
		}
		if _, err := r.Discard(1); err != nil {
			return 0, err
		}
	}
	if err := l.file.Truncate(l.size); err != nil {
		return 0, err
	}
	return end - l.size, nil
}

// operation is an operation of a frame.
type operation struct {
	remove bool
	number int64
	id     string
	place  place // within the body
}

// appendPut appends a record to a body, and also returns its operation.
func appendPut(b []byte, number int64, id string, payload, vector []byte) ([]byte, operation) {
	begin := len(b)
	b = binary.AppendUvarint(append(b, opPut), uint64(number))
	b = append(binary.AppendUvarint(b, uint64(len(id))), id...)
	b = binary.AppendUvarint(b, uint64(len(payload)))
	p := place{id: id, at: int64(len(b)), payload: uint32(len(payload))}
	b = append(append(b, payload...), vector...)
	p.sum, p.size = crc32.Checksum(b[p.at:], sums.Castagnoli), uint32(len(b)-begin)
	return b, operation{number: number, id: id, place: p}
}

func appendRemove(b []byte, number int64) []byte {
	return binary.AppendUvarint(append(b, opRemove), uint64(number))
}

// operations calls do for each operation of a body.
func operations(body []byte, dim int, do func(op operation) error) error {
	damaged := check.Errorf(fault.ErrFormat, "an invalid operation")
	at := 0
	number := func(most uint64) (int, bool) {
		n, size := binary.Uvarint(body[at:])
		at += max(size, 0)
		return int(n), size > 0 && n <= most
	}
	for at < len(body) {
		op, begin := operation{remove: body[at] == opRemove}, at
		if body[at] != opPut && !op.remove {
			return damaged
		}
		at++
		n, size := binary.Uvarint(body[at:])
		if size <= 0 || n >= math.MaxInt64 {
			return damaged
		}
		op.number = int64(n)
		at += size
		if !op.remove {
			length, ok := number(uint64(len(body)))
			if !ok || length > len(body)-at {
				return damaged
			}
			op.id = string(body[at : at+length])
			at += length
			payload, ok := number(uint64(len(body)))
			if !ok || payload > len(body)-at || 4*dim > len(body)-at-payload {
				return damaged
			}
			op.place = place{id: op.id, at: int64(at), payload: uint32(payload)}
			begins := at
			at += payload + 4*dim
			op.place.sum, op.place.size = crc32.Checksum(body[begins:at], sums.Castagnoli), uint32(at-begin)
		}
		if err := do(op); err != nil {
			return err
		}
	}
	return nil
}

// raw reads the payload and the vector of a record, in bytes.
func (l *log) raw(p place, dim int) (payload, vector []byte, err error) {
	b := make([]byte, int(p.payload)+4*dim)
	if _, err := l.file.ReadAt(b, p.at); err != nil {
		return nil, nil, err
	}
	if crc32.Checksum(b, sums.Castagnoli) != p.sum {
		return nil, nil, check.InFile(logName, fault.ErrFormat, check.Errorf(fault.ErrFormat, "the record at byte %d has changed", p.at))
	}
	return b[:p.payload:p.payload], b[p.payload:], nil
}

// record reads a record. It does not set the number.
func (l *log) record(p place, dim int) (Record, error) {
	payload, vector, err := l.raw(p, dim)
	if err != nil {
		return Record{}, err
	}
	v := make([]float32, dim)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(vector[4*i:]))
	}
	return Record{ID: p.id, Vector: v, Payload: payload}, nil
}

// removeTemporary removes files that an interrupted compaction left.
func removeTemporary(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), logName+".") && strings.HasSuffix(e.Name(), ".tmp") {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// syncFolder writes new and removed names of a folder to the disk, if the system and the file
// system support that.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
