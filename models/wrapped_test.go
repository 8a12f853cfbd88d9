package models_test

import (
	"encoding/json"
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

// renamed is weights of which each has another name, none if that is "", and which note what is
// read.
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

// TestTowers: what only images and sound pass through is not read, whether it is there or not;
// every other tensor is accounted for.
func TestTowers(t *testing.T) {
	ofImages := func(name string) bool {
		return slices.ContainsFunc([]string{"vision_tower", "multi_modal", "vision_model", "connector", "audio_tower", "embed_vision", "embed_audio", ".visual."}, func(part string) bool { return strings.Contains(name, part) })
	}
	for _, folder := range []string{"gemma3", "gemma3-new", "mistral3", "mistral3-new", "gemma3n", "gemma4", "embedding_gemma2", "qwen3_5", "qwen3_5_moe", "idefics3", "smolvlm", "lfm2_vl"} {
		config := tftest.Must(os.ReadFile(filepath.Join(own, folder, "config.json")))(t)
		w := newRenamed(t, folder, func(name string) string { return name })
		m := tftest.Must(models.New(config, w, models.Options{}))(t)
		if m.Image != nil || m.Joint != nil || (m.LM == nil) == (m.Encoder == nil) || m.Config.ModelType != strings.TrimSuffix(folder, "-new") || !slices.Equal(m.Config.EOSTokens, []int{100}) || m.Config.Vocab != 101 {
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
		other := newRenamed(t, folder, func(name string) string {
			return strings.NewReplacer("vision_tower", "scent_tower", "vision_model", "scent_model", ".visual.", ".scents.").Replace(name)
		})
		if _, err := models.New(config, other, models.Options{}); !errors.Is(err, fault.ErrLeftOver) {
			t.Errorf("%s with a tower of scents: %v, want ErrLeftOver", folder, err)
		}
	}
}

// TestPlaceholders: a token that stands for an image or sound enters a text as padding.
func TestPlaceholders(t *testing.T) {
	m := tftest.Must(models.Open(filepath.Join(own, "gemma4"), models.Options{}))(t)
	logits := func(token int) []float32 {
		tokens := []int{11, token, 45}
		x := make([]float32, len(tokens)*m.LM.Vocab())
		tftest.NoError(t, m.Logits(new(models.Workspace), x, tokens, transformer.Ragged(len(tokens)), nil, nil))
		return x
	}
	if want := logits(0); !slices.Equal(logits(98), want) || slices.Equal(logits(96), want) {
		t.Error("token 98, which stands for sound, is not the padding")
	}
}

// TestIgnoredKeys: keys and values of layers that take those of an earlier layer may be in the
// checkpoint.
func TestIgnoredKeys(t *testing.T) {
	config := tftest.Must(os.ReadFile(filepath.Join(own, "gemma4_text-shared", "config.json")))(t)
	w := newRenamed(t, "gemma4_text-shared", func(name string) string { return name })
	for _, part := range []string{"k_proj", "v_proj", "k_norm"} {
		w.names["model.layers.3.self_attn."+part+".weight"] = "model.layers.1.self_attn." + part + ".weight"
	}
	if _, err := models.New(config, w, models.Options{}); err != nil {
		t.Error(err)
	}
	w.names["model.layers.3.self_attn.z_proj.weight"] = "model.layers.1.self_attn.k_proj.weight"
	if _, err := models.New(config, w, models.Options{}); !errors.Is(err, fault.ErrLeftOver) {
		t.Errorf("another tensor: %v, want ErrLeftOver", err)
	}
}

// TestThetaOfKinds: rope_theta is the base of positions whose object in rope_parameters does not
// say it.
func TestThetaOfKinds(t *testing.T) {
	logits := func(full, theta string) []float32 {
		rope := `{"sliding_attention":{"rope_type":"default","rope_theta":55},"full_attention":{"rope_type":"default"` + full + `}}`
		config := tftest.Must(os.ReadFile(filepath.Join(own, "gemma4_text", "config.json")))(t)
		var fields map[string]json.RawMessage
		tftest.NoError(t, json.Unmarshal(config, &fields))
		if fields["rope_parameters"] = json.RawMessage(rope); theta != "" {
			fields["rope_theta"] = json.RawMessage(theta)
		}
		m := tftest.Must(models.New(tftest.Must(json.Marshal(fields))(t), newRenamed(t, "gemma4_text", func(name string) string { return name }), models.Options{}))(t)
		x := make([]float32, 3*m.LM.Vocab())
		tftest.NoError(t, m.Logits(new(models.Workspace), x, []int{11, 45, 7}, transformer.Ragged(3), nil, nil))
		return x
	}
	want := logits(`,"rope_theta":123`, "")
	if !slices.Equal(logits("", "123"), want) || slices.Equal(logits("", ""), want) || !slices.Equal(logits(`,"rope_theta":123`, "9"), want) {
		t.Error("rope_theta is not the base that holds where rope_parameters does not say one")
	}
}
