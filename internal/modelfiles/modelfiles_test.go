package modelfiles

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/avoformer/avoformer/fault"
)

// TestDigest: the digest is the one of sha256sum, for any order of the files.
func TestDigest(t *testing.T) {
	fsys := fstest.MapFS{
		"config.json":       {Data: []byte("{}")},
		"model.safetensors": {Data: []byte("weights")},
		"1_Pooling":         {Mode: os.ModeDir},
		"README.md":         {Data: []byte("is not read")},
		"pytorch_model.bin": {Data: []byte("the same weights, which are not read")},
	}
	files, err := Folder(fsys)
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	want := fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%x  config.json\n%x  model.safetensors\n", sha256.Sum256([]byte("{}")), sha256.Sum256([]byte("weights")))))
	for _, sorted := range []bool{true, false} {
		if got, err := Digest(t.Context(), files); got != want || err != nil {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
		if slices.IsSortedFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) }) != sorted {
			t.Error("the order of the caller's files has changed")
		}
		files[0], files[1] = files[1], files[0]
	}
	if n := Size(files); n != 9 {
		t.Errorf("%d bytes, want 9", n)
	}
}

// TestDigestNames: another name of a file with the same bytes changes the digest, and the names of
// adapters' files differ from those of the model's files.
func TestDigestNames(t *testing.T) {
	seen := map[string]string{}
	for _, names := range [][]string{{"adapter_config.json", "adapter_model.bin"}, {"adapter_config.json", "adapter_model.safetensors"}} {
		dir := t.TempDir()
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(name[:8]), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for _, dirs := range [][]string{{dir}, {dir, dir}} {
			files, err := Adapters(dirs...)
			if err != nil {
				t.Fatal(err)
			}
			sum, err := Digest(t.Context(), files)
			if before, ok := seen[sum]; ok || err != nil {
				t.Errorf("%q has the digest of %s, %v", files, before, err)
			}
			seen[sum] = fmt.Sprint(dirs)
		}
	}
}

// TestDigestChanged: a file that has changed or has been removed since it was listed is an error.
func TestDigestChanged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.json")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	at := func(when time.Time) {
		if err := os.Chtimes(path, time.Time{}, when); err != nil {
			t.Fatal(err)
		}
	}
	write("{}")
	files, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Digest(ctx, files); err != context.Canceled {
		t.Errorf("%v, want an interrupt's error", err)
	}
	for what, change := range map[string]func(){
		"size": func() { write("{ }"); at(files[0].Info.ModTime()) },
		"time": func() { write("{}"); at(files[0].Info.ModTime().Add(time.Second)) },
		"gone": func() { os.Remove(path) },
	} {
		change()
		if _, err := Digest(t.Context(), files); !errors.Is(err, fault.ErrFolder) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
