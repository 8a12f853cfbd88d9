// Package filetest is what the tests of the packages of file formats have in common.
package filetest

import (
	"errors"
	"runtime"
	"testing"

	"github.com/avoformer/avoformer/internal/race"
)

// ErrDisk is the error of a FailingReader.
var ErrDisk = errors.New("disk on fire")

// A FailingReader has data, but fails from byte N on.
type FailingReader struct {
	Data []byte
	N    int64
}

// ReadAt implements io.ReaderAt.
func (f FailingReader) ReadAt(p []byte, off int64) (int, error) {
	if left := f.N - off; left < int64(len(p)) {
		return copy(p, f.Data[off:][:max(left, 0)]), ErrDisk
	}
	return copy(p, f.Data[off:]), nil
}

// Memory bounds what parse allocates for a file of so many bytes, and what is kept with its result.
func Memory[F any](t *testing.T, name string, size int, parse func() (F, error)) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f, err := parse()
	runtime.ReadMemStats(&after)
	total := float64(after.TotalAlloc-before.TotalAlloc) / float64(size)
	runtime.GC()
	runtime.ReadMemStats(&after)
	kept := (float64(after.HeapAlloc) - float64(before.HeapAlloc)) / float64(size)
	runtime.KeepAlive(f)
	t.Logf("%s: %.1f bytes allocated and %.1f kept for each of the file, %v", name, total, kept, err != nil)
	most := 40.0
	if race.Enabled { // slices grow by more then
		most = 60
	}
	if total > most || kept > 10 {
		t.Errorf("%s: %.1f bytes allocated and %.1f kept for each of the file", name, total, kept)
	}
}
