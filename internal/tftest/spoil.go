package tftest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Tensor returns the bytes and the type of a tensor in a safetensors file: the tensor with the name
// suffix, or the only one whose name ends with it. Writes to the bytes change the file.
func Tensor(t testing.TB, file []byte, suffix string) (values []byte, kind string) {
	t.Helper()
	n := 8 + int(binary.LittleEndian.Uint64(file))
	var header map[string]struct {
		Type string `json:"dtype"`
		At   [2]int `json:"data_offsets"`
	}
	if err := json.NewDecoder(bytes.NewReader(file[8:n])).Decode(&header); err != nil {
		t.Fatal(err)
	}
	found := 0
	for name, x := range header {
		if name == suffix {
			return file[n+x.At[0] : n+x.At[1]], x.Type
		}
		if strings.HasSuffix(name, "."+suffix) {
			found++
			values, kind = file[n+x.At[0]:n+x.At[1]], x.Type
		}
	}
	if found != 1 {
		t.Fatalf("%d tensors end with %s, want one", found, suffix)
	}
	return values, kind
}

// notFinite holds NaN and +Inf for the types of tensors, low byte first.
var notFinite = map[string]map[bool]string{
	"F32": {true: "\x00\x00\xc0\x7f", false: "\x00\x00\x80\x7f"}, "F16": {true: "\x00\x7e", false: "\x00\x7c"}, "BF16": {true: "\xc0\x7f", false: "\x80\x7f"},
}

// Spoil sets all values of a type to NaN, or to +Inf if nan is false.
func Spoil(values []byte, kind string, nan bool) {
	for v := notFinite[kind][nan]; len(values) > 0; values = values[len(v):] {
		copy(values, v)
	}
}

// SpoiltFolder returns a copy of a folder with NaN in bytes [from, to) of a tensor of its
// model.safetensors. If to is 0, it writes to the tensor's end.
func SpoiltFolder(t testing.TB, folder, suffix string, from, to int) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "model.safetensors")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	values, kind := Tensor(t, data, suffix)
	if to == 0 {
		to = len(values)
	}
	Spoil(values[from:to], kind, true)
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}
