package models_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
)

// own is the project's model folders. AVOFORMER_HF names others.
const own = "testdata/folders"

// TestFolders loads each folder, computes every output that its expected.safetensors has, and
// compares, on every tier.
func TestFolders(t *testing.T) {
	root, given := os.LookupEnv("AVOFORMER_HF")
	if !given {
		root = own
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	folders, compared := 0, 0
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		if _, err := os.Stat(filepath.Join(dir, "config.json")); err != nil {
			if _, err := os.Stat(filepath.Join(dir, "modules.json")); err != nil {
				continue // an index of the folders, a script
			}
		}
		folders++
		t.Run(e.Name(), func(t *testing.T) {
			tftest.EachTier(t, func(t *testing.T) { compared += modelstest.Compare(t, dir) })
		})
	}
	if folders == 0 {
		t.Fatalf("no model folders under %s", root)
	}
	t.Logf("%d folders, %d outputs compared", folders, compared)
}

// TestSharedModels has many goroutines use the same models at once, each with a workspace of its
// own, and wants the bits that each use has alone. It is for the race detector too.
func TestSharedModels(t *testing.T) {
	uses := map[string]func(ws *tf.Workspace) (result any, err error){}
	for _, name := range []string{"modernbert", "mpnet", "bert-tokens"} {
		m := tftest.Must(models.Open("testdata/folders/"+name, models.Options{}))(t)
		in := models.Tokens{IDs: []int{5, 17, 40, 6, 80, 31, 7}, Batch: tf.Ragged(4, 3)}
		uses[name] = func(ws *tf.Workspace) (any, error) {
			x := make([]float32, 7*m.Encoder.Dim())
			return x, m.Encoder.Encode(ws, x, in)
		}
	}
	tftest.Shared(t, uses)
}

// hashFormats are the formats of weights in the table of hashes.
var hashFormats = []kernels.Format{kernels.FormatF32, kernels.FormatBF16, kernels.FormatInt8, kernels.FormatQ8_0, kernels.FormatQ4_K}

// fewFolders are those of emulators: encoders, decoders, an encoder with a decoder, one of images
// and one of sound.
var fewFolders = []string{"bert", "modernbert", "llama", "gemma2", "t5", "vit", "whisper"}

// hashFolders returns the folders of the table.
func hashFolders(t *testing.T) (folders []string) {
	for _, name := range []string{"config.json", "modules.json"} {
		for _, path := range tftest.Must(filepath.Glob(filepath.Join(own, "*", name)))(t) {
			folders = append(folders, filepath.Base(filepath.Dir(path)))
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// hashOf returns the hash of all outputs of a folder's model; that of no result if the format does
// not fit its sizes.
func hashOf(t *testing.T, dir string, f kernels.Format) tftest.Hash {
	t.Helper()
	m, err := models.Open(dir, models.Options{WeightFormat: f, Exact: true})
	if err != nil && f != kernels.FormatF32 {
		return tftest.Hash{}
	}
	tftest.NoError(t, err)
	hash := tftest.NewHash()
	e := modelstest.OpenExpected(t, dir)
	e.Collect = hash.Add
	e.Compute(m)
	return hash
}

// TestHashes: every folder's model gives the bits that the table has, in each format of weights.
func TestHashes(t *testing.T) {
	table := tftest.OpenHashes(t, "testdata/hashes.txt")
	all := hashFolders(t)
	computed := all
	if testenv.Slow() {
		computed = fewFolders
	}
	tftest.EachTier(t, func(t *testing.T) {
		t.Run("folders", func(t *testing.T) { // ends after its parallel subtests, before the tier changes
			for _, folder := range computed {
				t.Run(folder, func(t *testing.T) {
					t.Parallel()
					for _, f := range hashFormats {
						table.Check(t, folder, f, hashOf(t, filepath.Join(own, folder), f))
					}
				})
			}
		})
	})
	table.Close(t, all)
}
