package llamacpp_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// TestFurtherLayers adds a layer that predicts further tokens to files. Their models have the same
// logits, and a warning.
func TestFurtherLayers(t *testing.T) {
	for _, name := range []string{"qwen35", "gemma4", "lfm2"} { // without lists, with lists, and with lists that say kinds
		t.Run(name, func(t *testing.T) {
			path := modelstest.Testdata("gguf/" + name + "/f32.gguf")
			further := func(n, claimed uint32) string { return withFurther(t, path, n, claimed) }
			logits := func(path string) (*models.Model, []float32) {
				m := tftest.Must(models.Open(path, models.Options{}))(t)
				x := make([]float32, 3*m.LM.Vocab())
				tftest.NoError(t, m.Logits(new(models.Workspace), x, []int{11, 45, 7}, transformer.Ragged(3), nil, nil))
				return m, x
			}
			_, want := logits(path)
			m, got := logits(further(2, 2))
			if !slices.Equal(got, want) {
				t.Error("logits differ from those of the file without such layers")
			}
			if len(m.Warnings) != 1 || !strings.Contains(m.Warnings[0], name+".nextn_predict_layers = 2") {
				t.Errorf("warnings %q", m.Warnings)
			}
			for _, claimed := range []uint32{1000, 1 << 31} {
				if _, err := models.Open(further(2, claimed), models.Options{}); !errors.Is(err, fault.ErrConfig) {
					t.Errorf("%d claimed: %v", claimed, err)
				}
			}
		})
	}
}

// withFurther returns a copy of a file with n more layers, whose tensors are those of the first,
// and of which the metadata claim some number.
func withFurther(t *testing.T, path string, n, claimed uint32) string {
	file := tftest.Must(gguf.Open(path))(t)
	defer file.Close()
	architecture := tftest.Must(file.Text("general.architecture"))(t)
	layers := uint32(tftest.Must(file.Int(architecture + ".block_count"))(t))
	pairs := []gguf.Pair{{Key: architecture + ".nextn_predict_layers", Value: claimed}}
	for _, key := range file.Keys() {
		value, _ := file.Value(key)
		switch list := value.(type) {
		case []int32:
			if strings.HasPrefix(key, architecture) && len(list) == int(layers) {
				value = append(slices.Clone(list), slices.Repeat([]int32{list[0]}, int(n))...)
			}
		case []bool:
			value = append(slices.Clone(list), slices.Repeat([]bool{false}, int(n))...)
		}
		if key == architecture+".block_count" {
			value = layers + n
		}
		if key != "general.alignment" {
			pairs = append(pairs, gguf.Pair{Key: key, Value: value})
		}
	}
	var tensors []gguf.Tensor
	add := func(name, of string) {
		info, _ := file.Info(of)
		tensors = append(tensors, gguf.Tensor{Name: name, Info: info, Data: func(w io.Writer) error { return file.Copy(w, of) }})
	}
	for _, name := range file.Names() {
		add(name, name)
		if part, ok := strings.CutPrefix(name, "blk.0."); ok {
			for i := range n {
				add("blk."+string('0'+rune(layers+i))+"."+part, name)
			}
		}
	}
	var b bytes.Buffer
	tftest.NoError(t, gguf.Write(&b, pairs, tensors))
	copied := filepath.Join(t.TempDir(), "model.gguf")
	tftest.NoError(t, os.WriteFile(copied, b.Bytes(), 0o600))
	return copied
}
