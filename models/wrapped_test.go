package models_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// renamed is weights of which each has another name, none if that is "", and which note what is read.
type renamed struct {
	transformer.Weights
	names map[string]string // from the new ones
	read  map[string]bool
}

func newRenamed(t *testing.T, folder string, name func(string) string) renamed {
	t.Helper()
	file := tftest.Must(safetensors.Open(filepath.Join(own, folder, "model.safetensors")))(t)
	t.Cleanup(func() { file.Close() })
	w := renamed{transformer.FromSafetensors(file), map[string]string{}, map[string]bool{}}
	for _, old := range w.Weights.Names() {
		if n := name(old); n != "" {
			w.names[n] = old
		}
	}
	return w
}

func (w renamed) Names() (names []string) {
	for n := range w.names {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func (w renamed) Tensor(name string, shape ...int) ([]float32, error) {
	w.read[w.names[name]] = true
	return w.Weights.Tensor(w.names[name], shape...)
}

// TestTowers: what only images pass through is not read, whether it is there or not; every other tensor is accounted for.
func TestTowers(t *testing.T) {
	ofImages := func(name string) bool {
		return strings.Contains(name, "vision_tower") || strings.Contains(name, "multi_modal")
	}
	for _, folder := range []string{"gemma3", "gemma3-new", "mistral3", "mistral3-new"} {
		config := tftest.Must(os.ReadFile(filepath.Join(own, folder, "config.json")))(t)
		w := newRenamed(t, folder, func(name string) string { return name })
		m := tftest.Must(models.New(config, w, models.Options{}))(t)
		if m.Image != nil || m.Joint != nil || m.LM == nil || m.Config.ModelType != strings.TrimSuffix(folder, "-new") || !slices.Equal(m.Config.EOSTokens, []int{100}) || m.Config.Vocab != 101 {
			t.Errorf("%s: %+v", folder, m.Config)
		}
		for name := range w.names {
			if w.read[name] == ofImages(name) {
				t.Errorf("%s: %s is read: %v", folder, name, w.read[name])
			}
		}
		without := newRenamed(t, folder, func(name string) string {
			if ofImages(name) {
				return ""
			}
			return name
		})
		if _, err := models.New(config, without, models.Options{}); err != nil {
			t.Errorf("%s without what images pass through: %v", folder, err)
		}
		other := newRenamed(t, folder, func(name string) string { return strings.Replace(name, "vision_tower", "audio_tower", 1) })
		if _, err := models.New(config, other, models.Options{}); !errors.Is(err, fault.ErrLeftOver) {
			t.Errorf("%s with a tower of sound: %v, want ErrLeftOver", folder, err)
		}
	}
}
