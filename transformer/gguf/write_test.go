package gguf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// written returns a file with metadata and tensors of f.
func written(t *testing.T, f *File, keys, names []string, more ...Pair) []byte {
	t.Helper()
	pairs := slices.Clone(more)
	for _, key := range keys {
		value, _ := f.Value(key)
		pairs = append(pairs, Pair{key, value})
	}
	var tensors []Tensor
	for _, name := range names {
		info, _ := f.Info(name)
		tensors = append(tensors, Tensor{name, info, func(w io.Writer) error { return f.Copy(w, name) }})
	}
	var b bytes.Buffer
	if err := Write(&b, pairs, tensors); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// same compares the tensors of two files.
func same(t *testing.T, got, want *File) {
	t.Helper()
	if !slices.Equal(got.Names(), want.Names()) {
		t.Errorf("tensors %q, want %q", got.Names(), want.Names())
	}
	for _, name := range want.Names() {
		info, _ := got.Info(name)
		wantInfo, _ := want.Info(name)
		if !reflect.DeepEqual(info, wantInfo) {
			t.Errorf("%s is %v, want %v", name, info, wantInfo)
		}
		x, err := got.Bytes(name)
		y, _ := want.Bytes(name)
		if err != nil || !bytes.Equal(x, y) {
			t.Errorf("%s: %d bytes, %v, not the %d that were written", name, len(x), err, len(y))
		}
	}
}

// TestWrite writes what the gguf package of Python wrote: all types of metadata and of tensors.
func TestWrite(t *testing.T) {
	want := open(t)
	got, err := Parse(written(t, want, want.Keys(), want.Names()))
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, want)
	if !reflect.DeepEqual(got.metadata, want.metadata) {
		t.Errorf("metadata %v, want %v", got.metadata, want.metadata)
	}
}

func TestWriteErrors(t *testing.T) {
	data := func(n int) func(w io.Writer) error {
		return func(w io.Writer) error { _, err := w.Write(make([]byte, n)); return err }
	}
	one := Tensor{"x", Info{F32, []int{2}}, data(8)}
	for name, c := range map[string]struct {
		pairs   []Pair
		tensors []Tensor
	}{
		"a key twice":         {[]Pair{{"a", true}, {"a", true}}, nil},
		"an alignment":        {[]Pair{{alignmentKey, uint32(64)}}, nil},
		"nothing":             {[]Pair{{"a", nil}}, nil},
		"an int":              {[]Pair{{"a", 1}}, nil},
		"lists of lists":      {[]Pair{{"a", [][]int32{{1}}}}, nil},
		"a tensor twice":      {nil, []Tensor{one, one}},
		"a negative size":     {nil, []Tensor{{"x", Info{F32, []int{-2}}, data(8)}}},
		"5 dimensions":        {nil, []Tensor{{"x", Info{F32, []int{1, 1, 1, 1, 2}}, data(8)}}},
		"part of a block":     {nil, []Tensor{{"x", Info{Q8_0, []int{2, 16}}, data(34)}}},
		"an unknown type":     {nil, []Tensor{{"x", Info{99, []int{2}}, data(8)}}},
		"fewer bytes":         {nil, []Tensor{{"x", Info{F32, []int{2}}, data(7)}}},
		"more bytes":          {nil, []Tensor{{"x", Info{F32, []int{2}}, data(9)}}},
		"a name that is long": {nil, []Tensor{{strings.Repeat("x", maxName+1), Info{F32, []int{2}}, data(8)}}},
	} {
		if err := Write(io.Discard, c.pairs, c.tensors); !errors.Is(err, fault.ErrInput) {
			t.Errorf("%s: error %v, want fault.ErrInput", name, err)
		}
	}
	if err := open(t).Copy(io.Discard, "none"); !errors.Is(err, fault.ErrAbsent) {
		t.Errorf("Copy of an absent tensor: %v, want fault.ErrAbsent", err)
	}
	failed := errors.New("failed")
	fails := Tensor{"x", Info{F32, []int{2}}, func(io.Writer) error { return failed }}
	if err := Write(io.Discard, nil, []Tensor{fails}); !errors.Is(err, failed) {
		t.Errorf("error %v, want that of the data", err)
	}
}

// TestSplit opens a file that was split in three. The last part has no tensors.
func TestSplit(t *testing.T) {
	want := open(t)
	names := want.Names()
	parts := [][]string{names[:7], names[7:], nil}
	dir := t.TempDir()
	at := func(i, n int) string { return filepath.Join(dir, fmt.Sprintf("x-%05d-of-%05d.gguf", i+1, n)) }
	put := func(path string, i, count int, names []string, more ...Pair) {
		t.Helper()
		pairs := append(more, Pair{"split.no", uint16(i)}, Pair{"split.count", uint16(count)}, Pair{"split.tensors.count", int32(len(want.Names()))})
		if err := os.WriteFile(path, written(t, want, nil, names, pairs...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	whole := func() {
		for i, names := range parts {
			put(at(i, 3), i, 3, names, Pair{"n", uint32(i)})
		}
	}
	whole()
	f, err := Open(at(0, 3))
	if err != nil {
		t.Fatal(err)
	}
	same(t, f, want)
	if n, err := f.Int("n"); n != 0 || err != nil {
		t.Errorf("metadata of part %d, %v, want those of the first", n, err)
	}
	last := make([]float32, 1)
	if err := f.ReadFloat32(last, names[len(names)-1], 3); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		spoil func()
		open  string
		text  string
	}{
		"the second part":       {func() {}, at(1, 3), at(0, 3)},
		"another name":          {func() { put(filepath.Join(dir, "y.gguf"), 0, 3, nil) }, filepath.Join(dir, "y.gguf"), "x-00001-of-00003.gguf"},
		"another count":         {func() { put(at(0, 2), 0, 3, nil) }, at(0, 2), "part 1 of 3"},
		"a part that is absent": {func() { os.Remove(at(2, 3)) }, at(0, 3), "part 3 of 3"},
		"parts that are one":    {func() { put(at(1, 3), 2, 3, parts[1]) }, at(0, 3), at(1, 3)},
		"a part of another":     {func() { put(at(1, 3), 1, 4, parts[1]) }, at(0, 3), "part 2 of 4"},
		"a tensor twice":        {func() { put(at(2, 3), 2, 3, names[:1]) }, at(0, 3), names[0]},
		"a tensor too few":      {func() { put(at(1, 3), 1, 3, parts[1][1:]) }, at(0, 3), "tensors"},
		"no part":               {func() { os.WriteFile(at(1, 3), []byte("GGUF"), 0o600) }, at(0, 3), at(1, 3)},
	} {
		whole()
		c.spoil()
		if f, err := Open(c.open); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error %v, want one that names %s", name, err, c.text)
			if err == nil {
				f.Close()
			}
		}
	}
}
