package checkpoint_test

import (
	"math"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer/gguf"
	"github.com/avoformer/avoformer/transformer/internal/checkpoint"
)

// TestBlocksOfGGUF wants the numbers of a file's blocks from matrices that hold them as they are, as Python's gguf package reads them, and
// that those types have the format of their name.
func TestBlocksOfGGUF(t *testing.T) {
	f := tftest.Must(gguf.Open("../../gguf/testdata/formats.gguf"))(t)
	defer f.Close()
	r := checkpoint.FromGGUF(f)
	held := 0
	for _, name := range r.Names() {
		format := r.Format(name)
		elements, bytes := format.Block()
		if elements == 1 || strings.HasSuffix(name, "/f32") {
			continue
		}
		held++
		if !strings.EqualFold(format.String(), name) {
			t.Errorf("%s is held as %v", name, format)
			continue
		}
		shape, _ := r.Shape(name)
		rows, k := shape[0], shape[1]
		b := kernels.PackBBlocks(format, rows, k, func(j int, dst []byte) {
			tftest.NoError(t, f.ReadBlocks(dst, name, j*k))
			if len(dst) != k/elements*bytes {
				t.Errorf("%s: a row of %d bytes", name, len(dst))
			}
		})
		want, got := tftest.Must(r.Tensor(name+"/f32", shape...))(t), make([]float32, k)
		for j := range rows {
			b.Column(got, j)
			for p, x := range got {
				if math.Float32bits(x) != math.Float32bits(want[j*k+p]) && x != want[j*k+p] { // zeros may have another sign
					t.Fatalf("%s: element %d of row %d is %v, want %v", name, p, j, x, want[j*k+p])
				}
			}
		}
	}
	if held != 12 {
		t.Errorf("%d types are held in blocks, want 12", held)
	}
}
