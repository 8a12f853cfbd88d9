package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestQuantize(t *testing.T) {
	const file = "../../models/testdata/gguf/llama/f32.gguf"
	dir := t.TempDir()
	out, importance := filepath.Join(dir, "small.gguf"), filepath.Join(t.TempDir(), "imatrix.dat")
	// The file has one weight, "output.weight", with one call and the importance of its 32 columns.
	older := append([]byte("\x01\x00\x00\x00\x0d\x00\x00\x00output.weight\x01\x00\x00\x00\x20\x00\x00\x00"), bytes.Repeat([]byte("\x00\x00\x80\x3f"), 32)...)
	if err := os.WriteFile(importance, older, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		err  string
	}{
		{[]string{"-weights", "q8_0", "-o", out, file}, exitOK, ""},
		{[]string{"-weights", "q8_0", "-o", out, file}, exitFailed, "-f replaces it"},
		{[]string{"-weights", "q4_0", "-f", "-o", out, file}, exitOK, ""},
		{[]string{"-weights", "q4_k", "-f", "-o", out, file}, exitOK, "in q5_0 instead of q4_k, since 256 does not divide their rows: blk.0."},
		{[]string{"-weights", "q4_0,token_embd.*=q8_0,nothing.*=q8_0", "-f", "-o", out, file}, exitUsage, "nothing.*"},
		{[]string{"-weights", "q4_0,token_embd.*=q8_0,output.*=q5_1", "-f", "-o", out, file}, exitOK, ""},
		{[]string{"-weights", "q4_0,output.*=q5_1", "-imatrix", importance, "-f", "-o", out, file}, exitOK, "without importance, which the file does not have for them: blk.0."},
		{[]string{"-weights", "q4_0", "-imatrix", file, "-f", "-o", out, file}, exitFailed, "importance"},
		{[]string{"-weights", "q4_0", "-imatrix", "none.dat", "-f", "-o", out, file}, exitFailed, "none.dat"},
		{[]string{"-weights", "int8", "-f", "-o", out, file}, exitUsage, "int8"},
		{[]string{"-weights", "q9", "-o", out, file}, exitUsage, "q9"},
		{[]string{"-weights", "q8_0", file}, exitUsage, "-o"},
		{[]string{"-weights", "q8_0", "-o", filepath.Join(dir, "folder.gguf"), filepath.Dir(file)}, exitFailed, "is a folder"},
		{[]string{"-weights", "q8_0", "-o", filepath.Join(dir, "none.gguf"), "none.gguf"}, exitFailed, "none.gguf"},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), append([]string{"quantize"}, c.args...), strings.NewReader(""), &stdout, &stderr); code != c.code || !strings.Contains(stderr.String(), c.err) {
			t.Errorf("%q: exit code %d, %s", c.args, code, &stderr)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files, want one", len(files))
	}
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"info", out}, nil, &stdout, &stderr); code != exitOK || !strings.Contains(stdout.String(), "Q4_0") {
		t.Errorf("info: exit code %d, %s%s", code, &stdout, &stderr)
	}
}
