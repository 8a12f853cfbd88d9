package ready

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestFullDisk: writing to a full disk is an error and leaves no new file; the previous file stays.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skip("no file system of its own: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "a.ready")
	if err := Write(path, someKey, "small", someParts); err != nil {
		t.Fatal(err)
	}
	large := [][]byte{bytes.Repeat([]byte{1}, 100<<10), bytes.Repeat([]byte{2}, 200<<10)}
	for _, name := range []string{path, filepath.Join(dir, "b.ready")} {
		if err := Write(name, someKey, "large", large); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("%s: %v, want that there is no room", name, err)
		}
	}
	if parts, err := Open(path, someKey, lengthsOf(someParts), Copy); err != nil || !bytes.Equal(parts[2], someParts[2]) {
		t.Errorf("the file before: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("files %v, %v; want one", entries, err)
	}
}

// TestReadOnly: files of a read-only file system are mapped, and no file is written.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("no file system of its own: ", err)
	}
	t.Cleanup(func() {
		forget()
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil { // mappings stay
			t.Error(err)
		}
	})
	defer func(before time.Duration) { settled = before }(settled)
	settled = 0
	path := filepath.Join(dir, "a.ready")
	if err := Write(path, someKey, "small", someParts); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		forget()
		if parts, err := Open(path, someKey, lengthsOf(someParts), MapOnly); err != nil || !bytes.Equal(parts[2], someParts[2]) {
			t.Errorf("a file that is there: %v", err)
		}
	}
	if err := Write(filepath.Join(dir, "b.ready"), someKey, "small", someParts); !errors.Is(err, unix.EROFS) {
		t.Errorf("another file: %v, want that the file system is read-only", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("files %v, %v; want one", entries, err)
	}
}
