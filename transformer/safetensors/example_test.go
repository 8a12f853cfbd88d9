package safetensors_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/avoformer/avoformer/transformer/safetensors"
)

// A file is written, and read from disk, from memory, and from whatever can be read at a place.
func Example() {
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	var data bytes.Buffer
	must(safetensors.Write(&data, map[string]safetensors.Tensor{
		"weight": {Shape: []int{2, 2}, Data: []float32{1, 2, 3, 4}},
		"bias":   {Shape: []int{2}, Data: []float32{0.5, -0.5}},
	}, map[string]string{"format": "pt"}))
	dir, err := os.MkdirTemp("", "example")
	must(err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	must(os.WriteFile(path, data.Bytes(), 0o666))

	f, err := safetensors.Open(path)
	must(err)
	defer f.Close()
	for _, name := range f.Names() {
		info, _ := f.Info(name)
		x, err := f.Float32(name)
		must(err)
		fmt.Println(name, info.DType, info.Shape, x)
	}

	parsed, err := safetensors.Parse(data.Bytes())
	must(err)
	row := make([]float32, 2)
	must(parsed.ReadFloat32(row, "weight", 2)) // from its third element on
	fmt.Println(row, parsed.Metadata())

	_, err = safetensors.NewFile(bytes.NewReader(data.Bytes()), int64(data.Len())-1)
	fmt.Println(err)
	// Output:
	// bias F32 [2] [0.5 -0.5]
	// weight F32 [2 2] [1 2 3 4]
	// [3 4] map[format:pt]
	// malformed file: header: tensor "weight": data_offsets [8,24] in 23 bytes of data
}
