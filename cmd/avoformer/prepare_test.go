package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestPrepare: other commands use the packed weights that prepare writes, list shows them, and rm
// removes them.
func TestPrepare(t *testing.T) {
	t.Setenv("HF_HUB_CACHE", t.TempDir())
	t.Setenv("AVOFORMER_READY", "")
	const texts = "hello world\nParis.\n"
	_, want, _ := call(t, texts, "embed", "-weights", "int8", testdata+"embed")
	if code, _, stderr := call(t, "", "prepare", testdata+"embed"); code != exitUsage || !strings.Contains(stderr, "-ready") {
		t.Errorf("without a folder: exit code %d, %q", code, stderr)
	}
	dir := filepath.Join(t.TempDir(), "ready")
	t.Setenv("AVOFORMER_READY", dir)
	var all sync.WaitGroup
	for range 3 { // three processes at the same time
		all.Go(func() {
			out, err := process("prepare", "-weights", "int8", testdata+"embed").CombinedOutput()
			if err != nil || !strings.HasPrefix(string(out), dir) || strings.Count(string(out), "\n") != 1 {
				t.Errorf("prepare: %v, %q", err, out)
			}
		})
	}
	all.Wait()
	if code, got, stderr := call(t, texts, "embed", "-weights", "int8", testdata+"embed"); code != exitOK || stderr != "" || got != want {
		t.Errorf("embed: exit code %d, %q, %q, want %q", code, got, stderr, want)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.ready"))
	if err != nil || len(files) != 2 {
		t.Fatalf("files %q, %v, want one of weights and one of a tokenizer", files, err)
	}
	if _, out, _ := call(t, "", "list"); !strings.HasPrefix(out, files[0]+"\t") || !strings.Contains(out, "packed weights of ") || !strings.Contains(out, "tokenizer of ") {
		t.Errorf("list prints %q", out)
	}
	other := filepath.Join(dir, "other.ready")
	if err := os.WriteFile(other, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{files[0]: exitOK, files[1]: exitOK, other: exitFailed, filepath.Join(dir, "none.ready"): exitFailed} {
		if code, _, _ := call(t, "", "rm", name); code != want {
			t.Errorf("rm %s: exit code %d, want %d", name, code, want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 1 || left[0] != other {
		t.Errorf("%q are left, %v, want %s", left, err, other)
	}
}
