package weightfile

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer/gguf"
)

func TestParts(t *testing.T) {
	for _, c := range [][3]int{{0, 3, 0}, {1, 3, 1}, {3, 3, 1}, {4, 3, 2}, {5, math.MaxInt, 1}, {math.MaxInt, 2, math.MaxInt/2 + 1}, {4, 0, 4}} {
		if got := parts(c[0], c[1]); got != c[2] {
			t.Errorf("parts(%d, %d) = %d, want %d", c[0], c[1], got, c[2])
		}
	}
}

// TestIntsBlocks: blocks have the numbers that the matrix has in float32, from any block on, and
// rows are read in any pieces.
func TestIntsBlocks(t *testing.T) {
	types := map[kernels.Format]gguf.Type{kernels.FormatQ4_0: gguf.Q4_0, kernels.FormatQ4_1: gguf.Q4_1, kernels.FormatQ5_0: gguf.Q5_0, kernels.FormatQ8_0: gguf.Q8_0}
	folders := tftest.Must(filepath.Glob("../../testdata/folders/llama-ints-*"))(t)
	inBlocks := 0
	for _, dir := range folders {
		fsys := os.DirFS(dir)
		w := tftest.Must(OpenWeights(fsys, ""))(t)
		doc := tftest.Must(configuration.ReadJSON(fsys, "config.json"))(t)
		if _, _, err := w.JoinQuantized(doc); err != nil {
			t.Fatal(err)
		}
		for _, name := range w.Names() {
			if !strings.Contains(name, "_proj") {
				continue
			}
			shape, _ := w.Shape(name)
			rows, columns := shape[0], shape[1]
			want := tftest.Must(w.Tensor(name, shape...))(t)
			for _, from := range []int{0, 1, columns - 1, columns + 7, (rows-1)*columns + 3} {
				got := make([]float32, min(columns+5, rows*columns-from))
				tftest.NoError(t, w.Read(got, name, from))
				if !slices.Equal(got, want[from:][:len(got)]) {
					t.Errorf("%s: %s from element %d differs from the whole", dir, name, from)
				}
			}
			f := w.Format(name)
			if f == kernels.FormatF32 {
				continue
			}
			inBlocks++
			elements, bytes := f.Block()
			for _, from := range []int{0, columns, rows*columns - elements} {
				blocks := make([]byte, (rows*columns-from)/elements*bytes)
				tftest.NoError(t, w.ReadBlocks(blocks, name, from))
				got := make([]float32, rows*columns-from)
				tftest.NoError(t, gguf.Dequantize(types[f], got, blocks))
				if !slices.Equal(got, want[from:]) {
					t.Errorf("%s: %s in %v from element %d has other numbers", dir, name, f, from)
				}
			}
		}
		w.Close()
		if len(w.recent.of) > 0 {
			t.Errorf("%s: %d matrices are kept after Close", dir, len(w.recent.of))
		}
	}
	if len(folders) != 9 || inBlocks != 6*14 {
		t.Errorf("%d folders, %d matrices in blocks", len(folders), inBlocks)
	}
}
