package tftest

import (
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/avoformer/avoformer/transformer/gguf"
)

// RewriteGGUF returns the path of a copy of a GGUF file with changed metadata. It leaves out a key
// whose value is nil.
func RewriteGGUF(t testing.TB, path string, change map[string]any) string {
	t.Helper()
	f := Must(gguf.Open(path))(t)
	defer f.Close()
	metadata := map[string]any{}
	for _, key := range f.Keys() {
		metadata[key], _ = f.Value(key)
	}
	maps.Copy(metadata, change)
	var pairs []gguf.Pair
	for key, value := range metadata {
		if value != nil {
			pairs = append(pairs, gguf.Pair{Key: key, Value: value})
		}
	}
	var tensors []gguf.Tensor
	for _, name := range f.Names() {
		info, _ := f.Info(name)
		tensors = append(tensors, gguf.Tensor{Name: name, Info: info, Data: func(w io.Writer) error { return f.Copy(w, name) }})
	}
	var b bytes.Buffer
	NoError(t, gguf.Write(&b, pairs, tensors))
	copied := filepath.Join(t.TempDir(), "model.gguf")
	NoError(t, os.WriteFile(copied, b.Bytes(), 0o600))
	return copied
}
