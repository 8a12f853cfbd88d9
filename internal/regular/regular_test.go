package regular_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/internal/regular"
)

// longFile is a file that reports a length without having the bytes.
type longFile struct{ fstest.MapFS }

func (longFile) Stat(string) (fs.FileInfo, error) { return long{}, nil }

type long struct{ fs.FileInfo }

func (long) Mode() fs.FileMode { return 0 }
func (long) Size() int64       { return 1 << 40 }

// lfs is the pointer that Git LFS leaves in place of a file.
const lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 90868376\n"

func TestReadFile(t *testing.T) {
	fsys := fstest.MapFS{
		"file": {Data: []byte("text")}, "pointer": {Data: []byte(lfs)}, "folder": {Mode: fs.ModeDir}, "pipe": {Mode: fs.ModeNamedPipe},
		"device": {Mode: fs.ModeDevice | fs.ModeCharDevice}, "socket": {Mode: fs.ModeSocket},
	}
	for name, want := range map[string]error{
		"file": nil, "folder": regular.ErrKind, "pipe": regular.ErrKind, "device": regular.ErrKind, "socket": regular.ErrKind, "none": fs.ErrNotExist, "pointer": regular.ErrPointer,
	} {
		data, err := regular.ReadFile(fsys, name)
		if !errors.Is(err, want) || err == nil && string(data) != "text" {
			t.Errorf("%s: %q, error %v, want %v", name, data, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("error %q does not name %s", err, name)
		}
		f, err := regular.OpenFS(fsys, name)
		if !errors.Is(err, want) {
			t.Errorf("OpenFS of %s: error %v, want %v", name, err, want)
		}
		if err == nil {
			f.Close()
		}
	}
	if _, err := regular.ReadFile(longFile{fsys}, "file"); !errors.Is(err, regular.ErrSize) {
		t.Errorf("a file of a terabyte: error %v", err)
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	pointer := filepath.Join(dir, "pointer")
	for name, text := range map[string]string{path: "", pointer: lfs} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]error{path: nil, pointer: regular.ErrPointer, dir: regular.ErrKind, os.DevNull: regular.ErrKind, path + "s": fs.ErrNotExist} {
		f, err := regular.Open(name)
		if !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", name, err, want)
		}
		f.Close()
	}
}
