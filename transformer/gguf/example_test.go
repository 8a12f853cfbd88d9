package gguf_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// A file with metadata and a tensor of blocks is written and read.
func Example() {
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	x := make([]float32, 32)
	for i := range x {
		x[i] = float32(i)
	}
	blocks := make([]byte, gguf.Q8_0.Bytes(len(x)))
	kernels.FormatQ8_0.Quantize(blocks, x)

	var data bytes.Buffer
	must(gguf.Write(&data, []gguf.Pair{{Key: "general.architecture", Value: "llama"}}, []gguf.Tensor{{
		Name: "token_embd.weight", Info: gguf.Info{Type: gguf.Q8_0, Shape: []int{1, 32}},
		Data: func(w io.Writer) error { _, err := w.Write(blocks); return err },
	}}))
	dir, err := os.MkdirTemp("", "example")
	must(err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.gguf")
	must(os.WriteFile(path, data.Bytes(), 0o666))

	fmt.Println(gguf.Is(path))
	f, err := gguf.Open(path) // gguf.Parse takes bytes, gguf.NewFile an io.ReaderAt
	must(err)
	defer f.Close()
	architecture, err := f.Text("general.architecture")
	must(err)
	info, _ := f.Info("token_embd.weight")
	y, err := f.Float32("token_embd.weight")
	must(err)
	fmt.Printf("%s, %v %v %.1f\n", architecture, info.Type, info.Shape, y[:4])

	must(gguf.Dequantize(gguf.Q8_0, y, blocks))
	fmt.Printf("%.1f\n", y[:4])
	parsed, err := gguf.Parse(data.Bytes())
	must(err)
	same, err := gguf.NewFile(bytes.NewReader(data.Bytes()), int64(data.Len()))
	must(err)
	fmt.Println(parsed.Names(), same.Keys())
	// Output:
	// true
	// llama, Q8_0 [1 32] [0.0 1.0 2.0 2.9]
	// [0.0 1.0 2.0 2.9]
	// [token_embd.weight] [general.architecture]
}
