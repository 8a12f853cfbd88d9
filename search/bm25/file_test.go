package bm25

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
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

// summed returns a file with a valid checksum.
func summed(file []byte) []byte {
	body := file[:len(file)-4]
	return binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, sums.Castagnoli))
}

// TestSaveLoad verifies that an index that was loaded is saved as the same bytes, and that a file
// that is cut or has a changed byte is an error.
func TestSaveLoad(t *testing.T) {
	for _, ids := range [][]int64{nil, {9, -1, 8, 8, 3, 4, 5, 6}} {
		x := fill(t, Options{K1: 1.5, B: -1}, ids, texts)
		name := filepath.Join(t.TempDir(), "x")
		if err := x.Save(name); err != nil {
			t.Fatal(err)
		}
		y, err := Load(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		file := written(t, x)
		if !bytes.Equal(written(t, y), file) {
			t.Error("saved again, the file differs")
		}
		if y.Options().K1 != 1.5 || y.Options().B != -1 || y.Len() != len(texts) {
			t.Errorf("%+v", y.Options())
		}
		if err := y.Add(ids, texts); err != nil {
			t.Error(err)
		}
		for i := range file {
			if _, err := Read(bytes.NewReader(file[:i]), nil); !errors.Is(err, fault.ErrFormat) {
				t.Fatalf("cut at %d: %v", i, err)
			}
			changed := bytes.Clone(file)
			changed[i] ^= 1 << (i % 8)
			if _, err := Read(bytes.NewReader(changed), nil); !errors.Is(err, fault.ErrFormat) {
				t.Fatalf("byte %d: %v", i, err)
			}
		}
		if err := os.WriteFile(name, append(file, 0), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(name, nil); !errors.Is(err, fault.ErrFormat) || !strings.Contains(err.Error(), "after the end") {
			t.Error(err)
		}
	}
}

// TestDamaged reads files that no index writes, with valid checksums.
func TestDamaged(t *testing.T) {
	file := written(t, fill(t, Options{}, nil, []string{"a b", "b"}))
	// A file has the name, the version, 16 bytes of parameters, the numbers of texts and words, a
	// byte for ids, and two counts of words; then a: 1 a 1 0 1, and b: 1 b 2 0 1 0 1.
	const counts = 8 + 4 + 16 + 8 + 8 + 1
	if want := "\x02\x01" + "\x01a\x01\x00\x01" + "\x01b\x02\x00\x01\x00\x01"; string(file[counts:len(file)-4]) != want {
		t.Fatalf("%q, want %q", file[counts:], want)
	}
	for name, c := range map[string]struct {
		at   int
		byte byte
	}{
		"version": {8, 2}, "K1 that is not a number": {12 + 6, 0xf8}, "many documents": {28 + 3, 0x80}, "more terms": {36, 3}, "ids": {44, 2},
		"more terms of a document": {counts, 3}, "fewer terms of a document": {counts, 1}, "a second b": {counts + 3, 'b'}, "a after b": {counts + 8, 'A'},
		"no documents with a word": {counts + 4, 0}, "a document too many": {counts + 9, 3}, "a document past the end": {counts + 12, 1},
		"a word that does not occur": {counts + 6, 0},
	} {
		changed := bytes.Clone(file)
		changed[c.at] = c.byte
		if name == "K1 that is not a number" {
			changed[c.at+1] = 0x7f
		}
		if _, err := Read(bytes.NewReader(summed(changed)), nil); !errors.Is(err, fault.ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(written(f, fill(f, Options{}, nil, texts)))
	f.Add(written(f, fill(f, Options{K1: 2, B: -1}, []int64{1, 2, 3, 4, 5, 6, 7, 8}, texts)))
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > 4 {
			file = summed(bytes.Clone(file))
		}
		x, err := Read(bytes.NewReader(file), nil)
		if err != nil {
			if !errors.Is(err, fault.ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		if hits := find(t, x, "the engine", 3); len(hits) > 3 {
			t.Fatal(hits)
		}
		y, err := Read(bytes.NewReader(written(t, x)), nil)
		if err != nil || !bytes.Equal(written(t, y), written(t, x)) {
			t.Fatal("written again:", err)
		}
	})
}
