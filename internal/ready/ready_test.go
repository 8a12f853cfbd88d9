package ready

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

var (
	someKey   = Key{1, 2, 3}
	someParts = [][]byte{[]byte("first"), nil, bytes.Repeat([]byte("a long part. "), 5100), {7}}
)

func lengthsOf(parts [][]byte) (n []int) {
	for _, p := range parts {
		n = append(n, len(p))
	}
	return n
}

func written(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "new", "a.ready")
	if err := Write(path, someKey, "a note", someParts); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRoundTrip(t *testing.T) {
	path := written(t)
	for _, way := range []Way{Map, Copy, Map} {
		parts, err := Open(path, someKey, lengthsOf(someParts), way)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range parts {
			if !bytes.Equal(p, someParts[i]) {
				t.Errorf("part %d: %.20q, want %.20q", i, p, someParts[i])
			}
		}
	}
	if note, err := Note(path); note != "a note" || err != nil {
		t.Errorf("note %q, %v", note, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); len(entries) != 1 || err != nil {
		t.Errorf("files %v, %v; want one", entries, err)
	}
	if err := Write(path, Key{9}, "another", someParts); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, someKey, lengthsOf(someParts), Map); !errors.Is(err, ErrOther) {
		t.Errorf("a file with another key: %v", err)
	}
	if parts, err := Open(path, Key{9}, lengthsOf(someParts), Map); err != nil || string(parts[0]) != "first" {
		t.Errorf("a file in place of one that is mapped: %q, %v", parts, err)
	}
	if _, err := Open(path+"x", someKey, nil, Map); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestSharedMapping: two calls for a file return the same memory.
func TestSharedMapping(t *testing.T) {
	path := written(t)
	a, err := Open(path, someKey, lengthsOf(someParts), Map)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(path, someKey, lengthsOf(someParts), Map)
	if err != nil {
		t.Fatal(err)
	}
	if &a[2][0] != &b[2][0] {
		t.Error("one file has two mappings")
	}
}

// TestDamaged: a change of any byte of a file, or a cut anywhere, is an error, except for bytes
// that are never read.
func TestDamaged(t *testing.T) {
	path := written(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	used := make([]bool, len(whole)) // false for padding
	h, err := readHeader(bytes.NewReader(whole), int64(len(whole)), len(someParts))
	if err != nil {
		t.Fatal(err)
	}
	for i := range headLen + len("a note") + len(h.entries)*entryLen + 4 {
		used[i] = true
	}
	for _, e := range h.entries {
		for i := e.at; i < e.at+e.length; i++ {
			used[i] = true
		}
	}
	open := func(data []byte) error {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		parts, err := Open(path, someKey, lengthsOf(someParts), Copy)
		for i, p := range parts {
			if !bytes.Equal(p, someParts[i]) {
				t.Errorf("part %d is wrong without an error", i)
			}
		}
		return err
	}
	step := 1
	if testing.Short() {
		step = 37
	}
	for i := 0; i < len(whole); i += step {
		if i > 400 && i%997 != 0 {
			continue
		}
		data := bytes.Clone(whole)
		data[i] ^= 1 << (i % 8)
		if err := open(data); used[i] && !errors.Is(err, fault.ErrFormat) && !errors.Is(err, ErrOther) {
			t.Errorf("byte %d changed: %v", i, err)
		}
		if err := open(whole[:i]); !errors.Is(err, fault.ErrFormat) {
			t.Errorf("cut to %d bytes: %v", i, err)
		}
	}
	if err := open(append(bytes.Clone(whole), 0)); !errors.Is(err, fault.ErrFormat) {
		t.Errorf("a byte more: %v", err)
	}
	if err := open(whole); err != nil {
		t.Error(err)
	}
	if _, err := Open(path, someKey, []int{5, 0, 3, 1}, Copy); !errors.Is(err, fault.ErrFormat) || !strings.Contains(err.Error(), "part 2") {
		t.Errorf("another length: %v", err)
	}
	if _, err := Open(path, someKey, []int{5}, Copy); !errors.Is(err, fault.ErrFormat) {
		t.Errorf("fewer parts: %v", err)
	}
}

// FuzzHeader: for any header, Open allocates no more memory than the file's size, and the parts are
// within the file.
func FuzzHeader(f *testing.F) {
	whole, err := os.ReadFile(written(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole[:600])
	f.Add(whole[:headLen])
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := readHeader(bytes.NewReader(data), int64(len(data)), len(someParts))
		if err != nil {
			return
		}
		h.cut(data)
	})
}
