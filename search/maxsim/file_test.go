package maxsim

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/search/internal/sums"
)

func written(t testing.TB, x *Index) []byte {
	var b bytes.Buffer
	if n, err := x.WriteTo(&b); err != nil || n != int64(b.Len()) {
		t.Fatal(n, b.Len(), err)
	}
	return b.Bytes()
}

// few returns a small index with ids or positions.
func few(t testing.TB, ids []int64) *Index {
	r := rand.New(rand.NewPCG(1, 2))
	return fill(t, 3, ids, [][][]float32{random(r, 2, 3), {}, random(r, 1, 3)})
}

// TestSaveLoad verifies that an index that was loaded has the same hits and is saved as the same
// bytes, and that a file that is cut or has a changed byte is an error.
func TestSaveLoad(t *testing.T) {
	removed := few(t, []int64{4, 9, -1})
	removed.Remove(4)
	for name, x := range map[string]*Index{"positions": few(t, nil), "ids": few(t, []int64{4, 9, -1}), "removed": removed, "empty": fill(t, 3, nil, nil)} {
		path := filepath.Join(t.TempDir(), "x")
		if err := x.Save(path); err != nil {
			t.Fatal(err)
		}
		y, err := Load(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		file := written(t, x)
		if !bytes.Equal(written(t, y), file) || y.Len() != x.Len() || y.Dim() != 3 {
			t.Errorf("%s: saved again, the file differs", name)
		}
		query := [][]float32{{1, 2, 3}, {3, -2, 1}}
		want, err := x.Search(context.Background(), query, 5)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := y.Search(context.Background(), query, 5); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
		if name == "positions" {
			if err := y.Add(nil, [][][]float32{{}}); err != nil || y.Remove(3) != 1 {
				t.Errorf("a loaded index does not accept positions: %v", err)
			}
		}
		for i := range file {
			changed := bytes.Clone(file)
			changed[i] ^= 1 << (i % 8)
			for _, damaged := range [][]byte{file[:i], changed} {
				if _, err := Read(bytes.NewReader(damaged), Options{}); !errors.Is(err, fault.ErrFormat) {
					t.Fatalf("%s, byte %d: %v", name, i, err)
				}
			}
		}
	}
	if _, err := Read(bytes.NewReader(nil), Options{Threads: -1}); !errors.Is(err, fault.ErrOption) {
		t.Error(err)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "x"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// summed returns a file with a valid checksum.
func summed(file []byte) []byte {
	body := file[:len(file)-4]
	return binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, sums.Castagnoli))
}

// TestDamaged reads files that no index writes, with valid checksums.
func TestDamaged(t *testing.T) {
	file := written(t, few(t, []int64{4, 9, -1}))
	nan := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN())))
	for name, c := range map[string]struct {
		at    int
		bytes []byte
	}{
		"dim 0": {12, []byte{0}}, "a large dim": {12, []byte{0xff, 0xff, 0xff, 0x7f}}, "many documents": {16, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
		"a document less": {16, []byte{2}}, "no documents": {16, []byte{0}}, "ids or not": {24, []byte{2}}, "many vectors": {33, []byte{0xff, 0xff, 0xff, 0xff}},
		"a NaN": {37, nan}, "an id twice": {37 + 24, []byte{4}},
	} {
		changed := bytes.Clone(file)
		copy(changed[c.at:], c.bytes)
		if _, err := Read(bytes.NewReader(summed(changed)), Options{}); !errors.Is(err, fault.ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(written(f, few(f, nil)))
	f.Add(written(f, few(f, []int64{4, 9, -1})))
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > 4 {
			file = summed(bytes.Clone(file))
		}
		x, err := Read(bytes.NewReader(file), Options{})
		if err != nil {
			if !errors.Is(err, fault.ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		if x.Dim() < 1000 {
			if hits, err := x.Search(context.Background(), [][]float32{make([]float32, x.Dim())}, 3); err != nil || len(hits) > 3 {
				t.Fatal(hits, err)
			}
		}
		if y, err := Read(bytes.NewReader(written(t, x)), Options{}); err != nil || !bytes.Equal(written(t, y), written(t, x)) {
			t.Fatal("written again:", err)
		}
	})
}
