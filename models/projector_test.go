package models_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// projectorFolders have GGUF files of models that read images, each with its encoder of images.
var projectorFolders = []string{"testdata/gguf-images/gemma3", "testdata/gguf-images/idefics3", "testdata/gguf-images/lfm2_vl", "testdata/gguf-images/qwen3_5"}

// openProjector opens the model in a folder with another encoder of images. If that succeeds, the
// model reads an image.
func openProjector(t testing.TB, folder, projector string) error {
	t.Helper()
	m, err := models.Open(filepath.Join(folder, "model.gguf"), models.Options{Images: true, Projector: projector, MemoryLimit: 1 << 28})
	if err != nil {
		return err
	}
	rows, err := m.Images.Rows(24, 24)
	if err != nil || rows > 1<<10 {
		return err
	}
	return m.Images.EncodeImages(new(models.Workspace), make([]float32, rows*m.Images.Dim()), make([]float32, 3*24*24), 1, 24, 24)
}

// refused notes an error without a kind.
func refused(t testing.TB, what string, err error) {
	t.Helper()
	for _, kind := range []error{fault.ErrConfig, fault.ErrFormat, fault.ErrShape, fault.ErrWeights, fault.ErrMissing, fault.ErrMisshapen, fault.ErrAbsent, fault.ErrMemory, fault.ErrFolder} {
		if errors.Is(err, kind) {
			return
		}
	}
	if err != nil {
		t.Errorf("%s: %v, which matches no kind", what, err)
	}
}

// TestProjectorMetadata leaves out each key of an encoder of images, and gives it values of other
// types and sizes.
func TestProjectorMetadata(t *testing.T) {
	t.Parallel()
	needed := map[string][]string{
		"gemma3": {"vision.image_size"}, "idefics3": {"vision.image_size", "vision.preproc_image_size"}, "lfm2_vl": nil, "qwen3_5": {"vision.image_size"},
	}
	for _, folder := range projectorFolders {
		path := filepath.Join(folder, "mmproj-model.gguf")
		f := tftest.Must(gguf.Open(path))(t)
		keys := f.Keys()
		tftest.NoError(t, f.Close())
		tftest.NoError(t, openProjector(t, folder, path))
		for _, key := range keys {
			for _, value := range []any{nil, int32(0), int32(-1), uint64(1 << 62), int32(7), 0.0, "x", true, false, []float32{1}, []float32{0, 0, 0}, []int32{}} {
				err := openProjector(t, folder, tftest.RewriteGGUF(t, path, map[string]any{key: value}))
				refused(t, fmt.Sprintf("%s: %s = %v", folder, key, value), err)
				wanted := append([]string{"projector_type", "vision.patch_size", "vision.embedding_length", "vision.block_count", "vision.attention.head_count", "vision.attention.layer_norm_epsilon", "vision.projection_dim", "vision.image_mean", "vision.image_std", "use_gelu"}, needed[filepath.Base(folder)]...)
				if name, _ := strings.CutPrefix(key, "clip."); value == nil && slices.Contains(wanted, name) && err == nil {
					t.Errorf("%s opens without %s", folder, key)
				}
			}
		}
		for _, key := range []string{"clip.use_silu", "clip.has_audio_encoder", "clip.vision.feature_layer", "clip.vision.n_wa_pattern"} { // that llama.cpp acts on
			if err := openProjector(t, folder, tftest.RewriteGGUF(t, path, map[string]any{key: true})); !errors.Is(err, fault.ErrConfig) {
				t.Errorf("%s with %s: %v, want an ErrConfig", folder, key, err)
			}
		}
	}
}

// TestQwenProjector: layers whose rows layers of the text add are refused, and so is another epsilon
// than that of the tower.
func TestQwenProjector(t *testing.T) {
	t.Parallel()
	const folder = "testdata/gguf-images/qwen3_5"
	for key, value := range map[string]any{"clip.vision.is_deepstack_layers": []bool{false, true}, "clip.vision.attention.layer_norm_epsilon": 1e-5, "clip.vision.spatial_merge_size": int32(1 << 10)} {
		err := openProjector(t, folder, tftest.RewriteGGUF(t, filepath.Join(folder, "mmproj-model.gguf"), map[string]any{key: value}))
		if !errors.Is(err, fault.ErrConfig) || !strings.Contains(err.Error(), key) {
			t.Errorf("%s = %v: %v, want an ErrConfig of it", key, value, err)
		}
	}
}

// TestProjectorNames: the matrices of feed-forward networks may have each other's names, as in
// older files.
func TestProjectorNames(t *testing.T) {
	t.Parallel()
	folder := projectorFolders[0]
	data := tftest.Must(os.ReadFile(filepath.Join(folder, "mmproj-model.gguf")))(t)
	other := data
	for _, x := range [][2]string{{".ffn_up.", ".ffn_xx."}, {".ffn_down.", ".ffn_up."}, {".ffn_xx.", ".ffn_down."}} {
		other = renameGGUF(t, other, x[0], x[1])
	}
	path := filepath.Join(t.TempDir(), "mmproj.gguf")
	tftest.NoError(t, os.WriteFile(path, other, 0o600))
	encode := func(projector string) []float32 {
		m := tftest.Must(models.Open(filepath.Join(folder, "model.gguf"), models.Options{Images: true, Projector: projector}))(t)
		x := make([]float32, 9*m.Images.Dim())
		tftest.NoError(t, m.Images.EncodeImages(new(models.Workspace), x, tftest.Normal(3, 3*24*24), 1, 24, 24))
		return x
	}
	if bytes.Equal(data, other) || !slices.Equal(encode(path), encode("")) {
		t.Error("an image becomes other vectors")
	}
}

// renameGGUF returns a file with other names of tensors.
func renameGGUF(t *testing.T, data []byte, old, name string) []byte {
	t.Helper()
	f := tftest.Must(gguf.Parse(data))(t)
	var pairs []gguf.Pair
	for _, key := range f.Keys() {
		value, _ := f.Value(key)
		pairs = append(pairs, gguf.Pair{Key: key, Value: value})
	}
	var tensors []gguf.Tensor
	for _, own := range f.Names() {
		info, _ := f.Info(own)
		tensors = append(tensors, gguf.Tensor{Name: string(bytes.ReplaceAll([]byte(own), []byte(old), []byte(name))), Info: info, Data: func(w io.Writer) error { return f.Copy(w, own) }})
	}
	var b bytes.Buffer
	tftest.NoError(t, gguf.Write(&b, pairs, tensors))
	return b.Bytes()
}

// FuzzProjector changes some bytes of the file of an encoder of images.
func FuzzProjector(f *testing.F) {
	for i := range projectorFolders {
		f.Add(uint8(i), uint64(i), uint8(1+i))
	}
	f.Fuzz(func(t *testing.T, which uint8, seed uint64, changes uint8) {
		folder := projectorFolders[int(which)%len(projectorFolders)]
		data := tftest.Must(os.ReadFile(filepath.Join(folder, "mmproj-model.gguf")))(t)
		r := rand.New(rand.NewPCG(seed, 0))
		for range changes {
			data[r.IntN(1<<12)] = byte(r.Uint32()) // the structures are at the front
		}
		path := filepath.Join(t.TempDir(), "mmproj.gguf")
		tftest.NoError(t, os.WriteFile(path, data[:len(data)-int(seed%2)*r.IntN(len(data))], 0o600))
		refused(t, folder, openProjector(t, folder, path))
	})
}
