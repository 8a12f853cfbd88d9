// How much memory a model's weights take.

package engine

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// residentBytes estimates the memory of the weights in a folder or a GGUF file: of safetensors by their numbers
// of weights and the format that these are held in, else by the sizes of files.
func residentBytes(dir string, format kernels.Format) (int64, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return 0, err
	}
	if !info.IsDir() {
		return info.Size(), nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "model*.safetensors"))
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for _, name := range files {
		n, err := weightsOf(name)
		if err != nil {
			return 0, err
		}
		total += n * bitsOf(format) / 8
	}
	if len(files) > 0 {
		return total, nil
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".bin") {
			return err
		}
		if info, err := os.Stat(path); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total, err
}

// weightsOf is the number of weights in a file, by its header.
func weightsOf(name string) (int64, error) {
	f, err := safetensors.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	total := int64(0)
	for _, tensor := range f.Names() {
		info, _ := f.Info(tensor)
		n := int64(1)
		for _, d := range info.Shape {
			n *= int64(d)
		}
		total += n
	}
	return total, nil
}

// bitsOf is the memory of a weight.
func bitsOf(f kernels.Format) int64 {
	switch f {
	case kernels.FormatF32:
		return 32
	case kernels.FormatBF16, kernels.FormatF16:
		return 16
	}
	return 9 // int8, and blocks at most
}
