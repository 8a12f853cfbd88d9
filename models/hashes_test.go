package models_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
)

// hashFormats are the formats of weights in the table of hashes.
var hashFormats = []kernels.Format{kernels.FormatF32, kernels.FormatBF16, kernels.FormatInt8, kernels.FormatQ8_0, kernels.FormatQ4_K}

// fewFolders are those of emulators: encoders, decoders, an encoder with a decoder, one of images and one of sound.
var fewFolders = []string{"bert", "modernbert", "llama", "gemma2", "t5", "vit", "whisper"}

// hashFolders are the folders of the table, or those of emulators.
func hashFolders(t *testing.T) (folders []string) {
	if testenv.Slow() {
		return fewFolders
	}
	for _, name := range []string{"config.json", "modules.json"} {
		for _, path := range tftest.Must(filepath.Glob(filepath.Join(own, "*", name)))(t) {
			folders = append(folders, filepath.Base(filepath.Dir(path)))
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// hashOf is the hash of all outputs of a folder's model; "" if the format does not fit its sizes.
func hashOf(t *testing.T, dir string, f kernels.Format) string {
	t.Helper()
	m, err := models.Open(dir, models.Options{WeightFormat: f, Exact: true})
	if err != nil && f != kernels.FormatF32 {
		return ""
	}
	tftest.NoError(t, err)
	hash := tftest.NewHash()
	e := openExpected(t, dir)
	e.collect = hash.Add
	e.compute(m)
	return hash.String()
}

// TestHashes: every folder's model gives the bits that the table has, in each format of weights.
func TestHashes(t *testing.T) {
	table := tftest.OpenHashes(t, "testdata/hashes.txt")
	tftest.EachTier(t, func(t *testing.T) {
		t.Run("folders", func(t *testing.T) { // ends after its parallel subtests, before the tier changes
			for _, folder := range hashFolders(t) {
				t.Run(folder, func(t *testing.T) {
					t.Parallel()
					for _, f := range hashFormats {
						table.Check(t, folder, f, hashOf(t, filepath.Join(own, folder), f))
					}
				})
			}
		})
	})
	table.Close(t, !testenv.Slow())
}
