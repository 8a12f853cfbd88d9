package weightfile

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/configuration"
)

// TestDequantized: each element of each weight is what the library that quantized it makes of it
// again, and pieces are those of the whole.
func TestDequantized(t *testing.T) {
	sums := tftest.Must(filepath.Glob("../../testdata/folders/*/dequantized.json"))(t)
	elements := 0
	for _, file := range sums {
		fsys := os.DirFS(filepath.Dir(file))
		w := tftest.Must(OpenWeights(fsys, ""))(t)
		defer w.Close()
		if _, _, err := w.JoinQuantized(tftest.Must(configuration.ReadJSON(fsys, "config.json"))(t)); err != nil {
			t.Fatal(err)
		}
		var want map[string]string
		tftest.NoError(t, json.Unmarshal(tftest.Must(os.ReadFile(file))(t), &want))
		for name, sum := range want {
			shape, _ := w.Shape(name)
			all := tftest.Must(w.Tensor(name, shape...))(t)
			elements += len(all)
			data := make([]byte, 0, 4*len(all))
			for _, x := range all {
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x+0)) // -0 becomes 0
			}
			if h := sha256.Sum256(data); hex.EncodeToString(h[:]) != sum {
				t.Errorf("%s: %s has other numbers", filepath.Dir(file), name)
			}
			for _, from := range []int{0, 1, 15, 33, len(all) - 7} {
				part := make([]float32, min(len(all)-from, 79))
				tftest.NoError(t, w.Read(part, name, from))
				if !slices.Equal(part, all[from:][:len(part)]) {
					t.Errorf("%s: %s from element %d differs from the whole", filepath.Dir(file), name, from)
				}
			}
			if f := w.Format(name); f == kernels.FormatBF16 || f == kernels.FormatF16 {
				stored := make([]byte, 2*len(all))
				tftest.NoError(t, w.ReadBlocks(stored, name, 0))
				widen := half.BFloat16
				if f == kernels.FormatF16 {
					widen = half.Float16
				}
				for i, x := range all {
					if got := widen(binary.LittleEndian.Uint16(stored[2*i:])); got != x {
						t.Fatalf("%s: element %d of %s is %v in 16 bits, want %v", filepath.Dir(file), i, name, got, x)
					}
				}
			}
		}
	}
	if len(sums) == 0 {
		t.Error("no folders")
	}
	t.Logf("%d folders, %d elements", len(sums), elements)
}
