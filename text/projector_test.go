package text

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
)

const projectorFolders = "../models/testdata/gguf-images/" // GGUF files of the models in readingFolders, each with its encoder of images

// TestProjector: GGUF files whose encoder of images is a file next to them answer as the folder
// that they were made of. Files of LFM2-VL do not say how images are cut, and those of Qwen 3.5 of
// how many pixels images are; they are read as published models have it.
func TestProjector(t *testing.T) {
	t.Parallel()
	for name, processor := range map[string]string{
		"gemma3": "", "idefics3": "",
		"lfm2_vl": `{"image_processor_type": "Lfm2VlImageProcessorFast", "encoder_patch_size": 4, "downsample_factor": 2, "resample": 2, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}`,
		"qwen3_5": `{"image_processor_type": "Qwen2VLImageProcessorFast", "patch_size": 4, "merge_size": 2, "size": {"shortest_edge": 4096, "longest_edge": 1048576}, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			tftest.NoError(t, os.CopyFS(folder, os.DirFS(readingFolders+name)))
			if processor != "" {
				tftest.NoError(t, os.WriteFile(filepath.Join(folder, "preprocessor_config.json"), []byte(processor), 0o600))
			}
			of, file := openReading(t, folder, Options{}), openReading(t, projectorFolders+name+"/model.gguf", Options{})
			for _, c := range readingCases(t, readingFolders+name) {
				want, err := answerTo(t, of, c, c.files(t))
				tftest.NoError(t, err)
				if processor == "" && want.Text != c.Text {
					t.Errorf("%v: the folder answers %q, want %q", c.Images, want.Text, c.Text)
				}
				if got, err := answerTo(t, file, c, c.files(t)); err != nil || got.Text != want.Text || got.Usage.Prompt != want.Usage.Prompt {
					t.Errorf("%v: %q after %d tokens, %v, want %q after %d", c.Images, got.Text, got.Usage.Prompt, err, want.Text, want.Usage.Prompt)
				}
			}
			fingerprint := tftest.Must(file.Fingerprint(t.Context()))(t)
			if text := tftest.Must(OpenGenerator(projectorFolders+name+"/model.gguf", Options{}))(t); fingerprint == tftest.Must(text.Fingerprint(t.Context()))(t) {
				t.Error("the fingerprint does not count the encoder of images")
			}
			named := openReading(t, projectorFolders+name+"/model.gguf", Options{Model: models.Options{Projector: projectorFolders + name + "/mmproj-model.gguf"}})
			if got := tftest.Must(named.Fingerprint(t.Context()))(t); got != fingerprint {
				t.Errorf("fingerprint %s of a file that is named, want %s", got, fingerprint)
			}
		})
	}
}

// TestProjectorRefused: files that are not there, or that belong to another model, are errors.
func TestProjectorRefused(t *testing.T) {
	t.Parallel()
	text := func(name string) string { return projectorFolders + name + "/model.gguf" }
	alone := filepath.Join(t.TempDir(), "model.gguf")
	tftest.NoError(t, os.WriteFile(alone, tftest.Must(os.ReadFile(text("gemma3")))(t), 0o600))
	for name, x := range map[string]struct {
		path, projector string
		want            error
	}{
		"none":          {alone, "", fault.ErrOption},
		"missing":       {alone, filepath.Join(filepath.Dir(alone), "mmproj.gguf"), fault.ErrFolder},
		"another model": {text("gemma3"), projectorFolders + "lfm2_vl/mmproj-model.gguf", fault.ErrConfig},
		"a text":        {text("gemma3"), text("gemma3"), fault.ErrConfig},
		"a folder":      {readingFolders + "gemma3", projectorFolders + "gemma3/mmproj-model.gguf", fault.ErrOption},
	} {
		if _, err := OpenGenerator(x.path, Options{Model: models.Options{Images: true, Projector: x.projector}}); !errors.Is(err, x.want) {
			t.Errorf("%s: %v, want %v", name, err, x.want)
		}
	}
	if _, err := OpenGenerator(text("gemma3"), Options{Model: models.Options{Projector: "x"}}); !errors.Is(err, fault.ErrOption) {
		t.Errorf("without Images: %v, want an ErrOption", err)
	}
}
