package modelstest

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
)

// A GGUF builds a GGUF file from metadata, whose integers are uint32, and from tensors in F32.
type GGUF struct {
	keys, infos, data bytes.Buffer
	nKeys, nTensors   uint64
}

func (f *GGUF) text(b *bytes.Buffer, s string) {
	put(b, uint64(len(s)))
	b.WriteString(s)
}

func put(b *bytes.Buffer, xs ...any) {
	for _, x := range xs {
		if err := binary.Write(b, binary.LittleEndian, x); err != nil {
			panic(err)
		}
	}
}

// Key adds a pair of the metadata.
func (f *GGUF) Key(name string, value any) {
	f.nKeys++
	f.text(&f.keys, name)
	switch v := value.(type) {
	case string:
		put(&f.keys, uint32(8))
		f.text(&f.keys, v)
	case int:
		put(&f.keys, uint32(4), uint32(v))
	case float32:
		put(&f.keys, uint32(6), v)
	}
}

// Tensor adds a tensor.
func (f *GGUF) Tensor(name string, x []float32, shape ...int) {
	f.nTensors++
	f.text(&f.infos, name)
	put(&f.infos, uint32(len(shape)))
	for _, n := range slices.Backward(shape) {
		put(&f.infos, uint64(n))
	}
	put(&f.infos, uint32(0), uint64(f.data.Len()))
	put(&f.data, x)
	f.data.Write(make([]byte, -f.data.Len()&31))
}

// Write returns the path of the file.
func (f *GGUF) Write(t *testing.T) string {
	var b bytes.Buffer
	b.WriteString("GGUF")
	put(&b, uint32(3), f.nTensors, f.nKeys)
	b.Write(f.keys.Bytes())
	b.Write(f.infos.Bytes())
	b.Write(make([]byte, -b.Len()&31))
	b.Write(f.data.Bytes())
	path := filepath.Join(t.TempDir(), "model.gguf")
	tftest.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

// Distance returns the norm of x-want divided by the norm of want.
func Distance(x, want []float32) float64 {
	var difference, norm float64
	for i, w := range want {
		difference, norm = difference+square(x[i]-w), norm+square(w)
	}
	return math.Sqrt(difference / norm)
}

func square(x float32) float64 { return float64(x) * float64(x) }
