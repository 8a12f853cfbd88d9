package checkasm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"unsafe"
)

// canary, plus the number of the buffer, fills memory that belongs to no operand. As a float32 it
// is a NaN, so that an element read by mistake spoils the result. Two buffers differ, so that
// canaries copied from one to the other are found.
const canary = 0xffd5a500

// Buffer is memory whose neighbours on both sides may be neither read nor written. Where the system
// offers no such pages, the neighbours are canaries, which only show what was written.
type Buffer struct {
	data     []byte // between the guards
	margin   int    // bytes of canaries at each end of data, in place of guards
	snapshot []byte
	guard    int // size of a guard page, 0 for none
	id       uint32
	free     func() error
}

// Guarded reports whether buffers have guard pages on this system.
const Guarded = guarded

// NewBuffer makes a buffer for at least size bytes. Close frees it.
func NewBuffer(size int) (*Buffer, error) {
	page := os.Getpagesize()
	size = max((size+page-1)/page, 1) * page
	b, err := newBuffer(size, page)
	if err != nil {
		return nil, err
	}
	b.snapshot = make([]byte, len(b.data))
	return b, nil
}

// Close frees the memory. Slices of it must not be used afterwards.
func (b *Buffer) Close() error {
	if b.free == nil {
		return nil
	}
	return b.free()
}

// Fill fills the buffer with canaries.
func (b *Buffer) Fill() {
	binary.LittleEndian.PutUint32(b.data, canary+b.id)
	for n := 4; n < len(b.data); n *= 2 {
		copy(b.data[n:], b.data[:n])
	}
}

// Placement is the position of a slice in a buffer.
type Placement struct {
	// Front puts the slice after the guard page in front of it. Otherwise the slice ends before the
	// guard page behind it.
	Front bool
	// Distance is the number of bytes between the slice and that page.
	Distance int
}

func (p Placement) String() string {
	if p.Front {
		return fmt.Sprintf("%d bytes after the page in front", p.Distance)
	}
	return fmt.Sprintf("%d bytes before the page behind", p.Distance)
}

// at returns the address of size bytes that are placed by p.
func (b *Buffer) at(p Placement, size int) unsafe.Pointer {
	off := b.margin + p.Distance
	if !p.Front {
		off = len(b.data) - b.margin - p.Distance - size
	}
	if off < b.margin || off+size > len(b.data)-b.margin {
		panic(fmt.Sprintf("checkasm: %d bytes at %v do not fit a buffer of %d", size, p, len(b.data)))
	}
	return unsafe.Add(unsafe.Pointer(unsafe.SliceData(b.data)), off)
}

// Place returns a slice of n elements in b. Its capacity is its length.
func Place[T any](b *Buffer, p Placement, n int) []T {
	var e T
	return unsafe.Slice((*T)(b.at(p, n*int(unsafe.Sizeof(e)))), n)
}

// Snapshot copies the contents for Changed.
func (b *Buffer) Snapshot() { copy(b.snapshot, b.data) }

// Changed reports the bytes outside the given slices of the buffer that differ from the snapshot.
func (b *Buffer) Changed(except ...[]byte) error {
	if string(b.data) == string(b.snapshot) {
		return nil
	}
	for _, e := range except {
		off := int(uintptr(unsafe.Pointer(unsafe.SliceData(e))) - b.base())
		copy(b.snapshot[off:], e)
	}
	first, last, n := -1, 0, 0
	for i := range b.data {
		if b.data[i] != b.snapshot[i] {
			if first < 0 {
				first = i
			}
			last = i
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d bytes changed, the first %d after the page in front, the last %d before the page behind",
		n, first, len(b.data)-1-last)
}

func (b *Buffer) base() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b.data))) }

// Where names the guard page of b on which the fault err lies. It returns "" if the fault lies on
// neither.
func (b *Buffer) Where(err error) string {
	var f *Fault
	if !errors.As(err, &f) || b.guard == 0 {
		return ""
	}
	begin, end := b.base(), b.base()+uintptr(len(b.data))
	switch g := uintptr(b.guard); {
	case f.Addr >= begin-g && f.Addr < begin:
		return fmt.Sprintf("%d bytes before the page in front ends", begin-f.Addr)
	case f.Addr >= end && f.Addr < end+g:
		return fmt.Sprintf("at byte %d of the page behind", f.Addr-end)
	}
	return ""
}

// Fault is a memory access that the machine refused.
type Fault struct {
	Addr uintptr // 0 if the system does not report it
	err  error
}

func (f *Fault) Error() string { return fmt.Sprintf("fault at %#x: %v", f.Addr, f.err) }

func (f *Fault) Unwrap() error { return f.err }

// Try runs f and returns the panic that ends it, or nil. A memory fault does not end the program:
// it is a panic here, a *[Fault].
func Try(f func()) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch p := recover().(type) {
		case nil:
		case interface {
			error
			Addr() uintptr
		}:
			err = &Fault{p.Addr(), p}
		case error:
			err = p
		default:
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	f()
	return nil
}

// Pool keeps the buffers of successive checks.
type Pool struct {
	buffers []*Buffer
	used    int
}

// get returns the next buffer of the call in preparation, of at least size bytes.
func (p *Pool) get(size int) (*Buffer, error) {
	i := p.used
	p.used++
	if i < len(p.buffers) {
		if len(p.buffers[i].data)-2*p.buffers[i].margin >= size {
			return p.buffers[i], nil
		}
		p.buffers[i].Close()
	}
	b, err := NewBuffer(size)
	if err != nil {
		return nil, err
	}
	b.id = uint32(i) + 1
	if i == len(p.buffers) {
		p.buffers = append(p.buffers, b)
	}
	p.buffers[i] = b
	return b, nil
}

// Close frees the buffers.
func (p *Pool) Close() error {
	var errs []error
	for _, b := range p.buffers {
		errs = append(errs, b.Close())
	}
	p.buffers = nil
	return errors.Join(errs...)
}
