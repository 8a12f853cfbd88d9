package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A field of config.json that nobody knows is told, once, beside the work.
func TestWarnings(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(testdata+"classify")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config.json")
	config, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(config), "{", `{"clip_qkv": 0.5,`, 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := call(t, "hello\n", "classify", dir)
	if code != 0 || out == "" {
		t.Fatalf("code %d, %q, %q", code, out, stderr)
	}
	if strings.Count(stderr, "warning: config.json: clip_qkv = 0.5") != 1 {
		t.Errorf("stderr %q, want one warning about clip_qkv", stderr)
	}
	if _, out, _ = call(t, "", "info", dir); strings.Count(out, "warning      config.json: clip_qkv = 0.5") != 1 {
		t.Errorf("info prints %q, want one warning about clip_qkv", out)
	}
	if _, _, stderr = call(t, "hello\n", "classify", testdata+"classify"); stderr != "" {
		t.Errorf("stderr %q without such a field", stderr)
	}
}
