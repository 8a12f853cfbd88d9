package search

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/search/internal/sums"
)

// kinds has options for every kind of file.
var kinds = []Options{{}, {Precision: Int8}, {Precision: Binary}, {Precision: Int8, Rescore: Float32}, {Precision: Binary, Rescore: Int8, Oversample: 7}, {Precision: Binary, Rescore: Float32}, {Fingerprint: "0-f32-1"}}

// written returns the file of an index.
func written(t testing.TB, x *Index) []byte {
	var b bytes.Buffer
	if n, err := x.WriteTo(&b); err != nil || n != int64(b.Len()) {
		t.Fatal(n, b.Len(), err)
	}
	return b.Bytes()
}

// TestSaveLoad verifies that an index that was loaded has the same hits, and is saved as the same
// bytes.
func TestSaveLoad(t *testing.T) {
	for _, dim := range []int{1, 31, 40, 64, 130} {
		for _, o := range kinds {
			for _, n := range []int{0, 1, 400} {
				x, err := New(dim, o)
				if err != nil {
					t.Fatal(err)
				}
				vectors := normal(1, n, dim)
				if n > 3 { // so that scales of 16 bits are subnormal or 0
					for i := range vectors[0] {
						vectors[0][i] *= 1e-4
						vectors[1][i] *= 3e-6
						vectors[2][i] *= 1e-9
					}
				}
				var ids []int64
				if dim%2 == 0 {
					for i := range vectors {
						ids = append(ids, int64(-i))
					}
				}
				if err := x.Add(ids, vectors); err != nil {
					t.Fatal(err)
				}
				file := written(t, x)
				y, err := Read(bytes.NewReader(file), 1)
				if err != nil {
					t.Fatal(err)
				}
				if y.Len() != n || y.Dim() != dim {
					t.Fatalf("%d vectors of %d, want %d of %d", y.Len(), y.Dim(), n, dim)
				}
				want := x.Options()
				want.Threads = 1
				if y.Options() != want {
					t.Errorf("%+v, want %+v", y.Options(), want)
				}
				if err := y.CheckFingerprint(AnyFingerprint); err != nil {
					t.Fatal(err)
				}
				queries := normal(2, 3, dim)
				if got, want := fmt.Sprint(find(t, y, queries, 9)), fmt.Sprint(find(t, x, queries, 9)); got != want {
					t.Errorf("%+v, %d vectors of %d: %s, want %s", o, n, dim, got, want)
				}
				if !bytes.Equal(written(t, y), file) {
					t.Errorf("%+v, %d vectors of %d: saved again, the file differs", o, n, dim)
				}
				if n > 0 { // the index accepts more vectors, with ids or without
					if err := y.Add(ids, vectors); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
}

func small(t testing.TB, o Options) *Index {
	x, err := New(3, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Add([]int64{5, 6}, [][]float32{{1, 2, -3}, {4, 5, -6}}); err != nil {
		t.Fatal(err)
	}
	return x
}

// TestSaveOver verifies that if Save cannot write, the earlier file is unchanged and no new file is
// next to it.
func TestSaveOver(t *testing.T) {
	dir := t.TempDir()
	if err := small(t, Options{}).Save(filepath.Join(dir, "none", "x")); err == nil {
		t.Error("saved in a missing folder")
	}
	name := filepath.Join(dir, "x")
	for range 2 {
		if err := small(t, Options{}).Save(name); err != nil {
			t.Fatal(err)
		}
	}
	if y, err := Load(name, 0); err != nil || !bytes.Equal(written(t, y), written(t, small(t, Options{}))) {
		t.Error(y, err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Error(list, err)
	}
	if _, err := Load(filepath.Join(dir, "y"), 0); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// summed returns a file with a valid checksum.
func summed(file []byte) []byte {
	body := file[:len(file)-4]
	return binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, sums.Castagnoli))
}

// TestDamaged reads files that are cut, lengthened, or have a changed byte, and invalid files whose
// checksum is valid.
func TestDamaged(t *testing.T) {
	for _, o := range kinds {
		file := written(t, small(t, o))
		for n := range file {
			if _, err := Read(bytes.NewReader(file[:n]), 0); !errors.Is(err, fault.ErrFormat) || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%d bytes of %d: %v", n, len(file), err)
			}
		}
		for i := range file {
			bad := bytes.Clone(file)
			bad[i] ^= 0x80
			if _, err := Read(bytes.NewReader(bad), 0); !errors.Is(err, fault.ErrFormat) {
				t.Errorf("byte %d changed: %v", i, err)
			}
		}
		name := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(name, append(bytes.Clone(file), 0), 0o644); err != nil {
			t.Fatal(err)
		}
		var e *fault.Error
		if _, err := Load(name, 0); !errors.Is(err, fault.ErrFormat) || !errors.As(err, &e) || e.File != "x" {
			t.Errorf("a byte after the end: %v", err)
		}
	}
	change := func(o Options, at int, to ...byte) {
		t.Helper()
		bad := written(t, small(t, o))
		copy(bad[at:], to)
		if _, err := Read(bytes.NewReader(summed(bad)), 0); !errors.Is(err, fault.ErrFormat) {
			t.Errorf("%+v, %x from byte %d on: %v", o, to, at, err)
		}
	}
	binary := Options{Precision: Binary}
	change(Options{}, 8, 3)                                        // version
	change(Options{}, 8, 2)                                        // the version with a fingerprint, without one
	change(Options{Fingerprint: "a"}, 8, 1)                        // the one without
	change(Options{Fingerprint: "a"}, 31, 0)                       // no length
	change(Options{Fingerprint: "a"}, 31, 255)                     // past the end
	change(Options{Fingerprint: "a"}, headerSize, 0xff)            // not ASCII
	change(Options{}, 12, 0)                                       // dim
	change(Options{}, 12, 0xff, 0xff, 0xff, 0xff)                  // dim
	change(Options{}, 16, 0xff, 0xff, 0xff, 0xff, 0xff)            // count
	change(Options{}, 16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 255) // count
	change(Options{}, 24, 0)                                       // oversample
	change(Options{}, 24, 0, 0, 0, 0x80)                           // oversample
	change(Options{}, 28, 0)                                       // precision
	change(Options{}, 28, 4)                                       // precision
	change(Options{}, 29, 1)                                       // rescore
	change(Options{}, 30, 2)                                       // ids
	change(Options{}, 31, 1)
	change(Options{}, headerSize+16, 0, 0, 0xc0, 0x7f)          // a NaN
	change(Options{}, headerSize+16, 0, 0, 0x80, 0x7f)          // infinite
	change(Options{Precision: Int8}, headerSize+16, 0, 0x7e)    // a NaN
	change(Options{Precision: Int8}, headerSize+16, 0, 0x7c)    // infinite
	change(Options{Precision: Int8}, headerSize+16, 0, 0x80|60) // below 0
	change(Options{Precision: Int8}, headerSize+16+2+3, 1)      // a fourth number
	change(binary, headerSize+16, 1<<3)                         // a fourth sign
	change(binary, headerSize+16+7, 1<<7)
}

func FuzzRead(f *testing.F) {
	for _, o := range kinds {
		f.Add(written(f, small(f, o)))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) >= headerSize+4 {
			file = summed(bytes.Clone(file))
		}
		x, err := Read(bytes.NewReader(file), 1)
		if err != nil {
			if !errors.Is(err, fault.ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		if x.Dim() > 1000 || x.Len() > 1000 {
			return
		}
		if err := x.CheckFingerprint(AnyFingerprint); err != nil {
			t.Fatal(err)
		}
		if hits, err := x.Search(context.Background(), [][]float32{make([]float32, x.Dim())}, 3); err != nil || len(hits[0]) > 3 {
			t.Fatal(hits, err)
		}
		if _, err := Read(bytes.NewReader(written(t, x)), 1); err != nil {
			t.Fatal("written again:", err)
		}
	})
}
