package models_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

const reading = "testdata/images/gemma4" // a language model that reads images

// TestImages: the reader of images is opened for callers who ask for it, and counts as memory.
func TestImages(t *testing.T) {
	plain := tftest.Must(models.Open(reading, models.Options{}))(t)
	m := tftest.Must(models.Open(reading, models.Options{Images: true}))(t)
	if plain.Images != nil || m.Images == nil || m.Images.Dim() != m.LM.Dim() || m.Footprint.Weights <= plain.Footprint.Weights {
		t.Errorf("images %v and %v, weights of %d and %d bytes", plain.Images, m.Images, plain.Footprint.Weights, m.Footprint.Weights)
	}
	for _, folder := range []string{"llama", "mistral3", "gemma4_text", "gemma4_vision"} {
		if _, err := models.Open(filepath.Join(own, folder), models.Options{Images: true}); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%s with images: %v, want an ErrOption", folder, err)
		}
	}
	for name, x := range map[string]struct {
		change func(config map[string]any)
		field  string
	}{
		"no tower": {func(c map[string]any) { c["vision_config"] = nil }, "vision_config"},
		"no token": {func(c map[string]any) { c["image_token_id"] = nil }, "image_token_id"},
		"both ways": {func(c map[string]any) {
			c["text_config"].(map[string]any)["use_bidirectional_attention"] = "all"
		}, "text_config.use_bidirectional_attention"},
		"head": {func(c map[string]any) { c["vision_config"].(map[string]any)["head_dim"] = 6 }, "vision_config.head_dim"},
		"rope": {func(c map[string]any) {
			c["vision_config"].(map[string]any)["rope_parameters"] = map[string]any{"rope_type": "yarn"}
		}, "vision_config.rope_parameters.rope_type"},
		"patch": {func(c map[string]any) { c["vision_config"].(map[string]any)["patch_size"] = 1 << 20 }, "vision_config.patch_size"},
		"pool":  {func(c map[string]any) { c["vision_config"].(map[string]any)["pooling_kernel_size"] = 1 << 20 }, "vision_config.pooling_kernel_size"},
	} {
		var config map[string]any
		tftest.NoError(t, json.Unmarshal(tftest.Must(os.ReadFile(filepath.Join(reading, "config.json")))(t), &config))
		x.change(config)
		text := tftest.Must(json.Marshal(config))(t)
		if _, err := models.New(text, transformer.Random(1), models.Options{Images: true}); !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%s: %v, want an ErrConfig", name, err)
		} else if of := new(fault.Error); !errors.As(err, &of) || of.Field != x.field {
			t.Errorf("%s: %v, of %q, want an error of %s", name, err, of.Field, x.field)
		}
	}
}

// softTokens are those of the images of a case, in their places.
func softTokens(t *testing.T, e *modelstest.Expected, m *models.Model, ids []int, names ...string) (soft []models.Soft) {
	t.Helper()
	at := 0
	for _, name := range names {
		shape := e.Shape("pixels_" + name) // [1, 3, h, w]
		rows := tftest.Must(m.Images.Rows(shape[2], shape[3]))(t)
		x := make([]float32, rows*m.Images.Dim())
		tftest.NoError(t, m.Images.EncodeImages(new(models.Workspace), x, e.Floats("pixels_"+name), 1, shape[2], shape[3]))
		for ids[at] != m.Images.Token {
			at++
		}
		soft = append(soft, models.Soft{At: at, X: x})
		at += rows
	}
	return soft
}

// readingCases are the images of the prompts in the folder.
var readingCases = [][]string{{"a.png"}, {"b.png"}, {"a.png", "c.png"}}

// TestReading compares logits after images with transformers', of prompts as a whole and in pieces
// that end within an image.
func TestReading(t *testing.T) {
	tftest.EachTier(t, func(t *testing.T) {
		e := modelstest.OpenExpected(t, reading)
		m := tftest.Must(models.Open(reading, models.Options{Images: true}))(t)
		lm, ws := m.LM.(models.SoftReader), new(models.Workspace)
		for i, names := range readingCases {
			ids := e.Ints(fmt.Sprintf("input_ids_%d", i))
			soft := softTokens(t, e, m, ids, names...)
			for _, size := range []int{len(ids), 23} {
				var hidden []float32 // [rows, D]
				cache := m.LM.NewPages(0).Cache(1)
				for at := 0; at < len(ids); at += size {
					end := min(at+size, len(ids))
					x := make([]float32, (end-at)*m.LM.Dim())
					tftest.NoError(t, lm.HiddenSoft(ws, x, ids[at:end], transformer.Ragged(end-at), within(soft, at, end, m.LM.Dim()), cache))
					hidden = append(hidden, x...)
				}
				logits := make([]float32, 20*m.LM.Vocab())
				tftest.NoError(t, m.LM.Logits(ws, logits, hidden[len(hidden)-20*m.LM.Dim():]))
				e.Check(fmt.Sprintf("logits_%d", i), logits)
			}
		}
	})
}

// within returns the soft tokens in the rows [from, to).
func within(soft []models.Soft, from, to, dim int) (part []models.Soft) {
	for _, s := range soft {
		if first, last := max(s.At, from), min(s.At+len(s.X)/dim, to); first < last {
			part = append(part, models.Soft{At: first - from, X: s.X[(first-s.At)*dim : (last-s.At)*dim], Across: s.Across, Before: first - s.At})
		}
	}
	return part
}

// TestMisplacedSoft: soft tokens outside a batch, or of another width, are an error.
func TestMisplacedSoft(t *testing.T) {
	m := tftest.Must(models.Open(reading, models.Options{Images: true}))(t)
	dim := m.LM.Dim()
	for _, s := range []models.Soft{{At: -1, X: make([]float32, dim)}, {At: 2, X: make([]float32, 2*dim)}, {At: 0, X: make([]float32, dim+1)}, {At: 1 << 30, X: make([]float32, dim)}} {
		if err := m.LM.(models.SoftReader).HiddenSoft(new(models.Workspace), make([]float32, 3*dim), []int{1, 2, 3}, transformer.Ragged(3), []models.Soft{s}, nil); !errors.Is(err, fault.ErrShape) {
			t.Errorf("%d elements at %d: %v, want an ErrShape", len(s.X), s.At, err)
		}
	}
	for _, size := range [][2]int{{0, 0}, {12, 13}, {4, 12}, {12, 12 * 400}} {
		if _, err := m.Images.Rows(size[0], size[1]); !errors.Is(err, fault.ErrShape) {
			t.Errorf("an image of %dx%d: %v, want an ErrShape", size[0], size[1], err)
		}
	}
}

// TestImageFieldsRefused: fields of images that do not go together are errors that name them.
func TestImageFieldsRefused(t *testing.T) {
	for field, change := range map[string]func(config map[string]any){
		"vision_config":                     func(c map[string]any) { delete(c, "vision_config") },
		"scale_factor":                      func(c map[string]any) { c["scale_factor"] = 1 << 30 },
		"vision_config.patch_size":          func(c map[string]any) { c["vision_config"].(map[string]any)["patch_size"] = 0 },
		"vision_config.num_attention_heads": func(c map[string]any) { c["vision_config"].(map[string]any)["num_attention_heads"] = 5 },
	} {
		var config map[string]any
		tftest.NoError(t, json.Unmarshal(tftest.Must(os.ReadFile(filepath.Join(own, "idefics3", "config.json")))(t), &config))
		change(config)
		_, err := models.New(tftest.Must(json.Marshal(config))(t), transformer.Random(1), models.Options{Images: true})
		if of := new(fault.Error); !errors.As(err, &of) || of.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	for field, change := range map[string]func(config map[string]any){
		"vision_config":            func(c map[string]any) { delete(c, "vision_config") },
		"vision_config.model_type": func(c map[string]any) { c["vision_config"].(map[string]any)["model_type"] = "siglip_vision_model" },
		"downsample_factor":        func(c map[string]any) { c["downsample_factor"] = 257 },
		"projector_hidden_act":     func(c map[string]any) { c["projector_hidden_act"] = "no" },
	} {
		var config map[string]any
		tftest.NoError(t, json.Unmarshal(tftest.Must(os.ReadFile(filepath.Join(own, "lfm2_vl", "config.json")))(t), &config))
		change(config)
		_, err := models.New(tftest.Must(json.Marshal(config))(t), transformer.Random(1), models.Options{Images: true})
		if of := new(fault.Error); !errors.As(err, &of) || of.Field != field {
			t.Errorf("lfm2_vl: %s: %v", field, err)
		}
	}
	for field, change := range map[string]func(config map[string]any){
		"vision_config":                func(c map[string]any) { delete(c, "vision_config") },
		"vision_config.model_type":     func(c map[string]any) { c["vision_config"].(map[string]any)["model_type"] = "clip_vision_model" },
		"vision_config.image_size":     func(c map[string]any) { c["vision_config"].(map[string]any)["image_size"] = 7 },
		"mm_tokens_per_image":          func(c map[string]any) { c["mm_tokens_per_image"] = 36 },
		"image_token_index":            func(c map[string]any) { c["image_token_index"] = nil },
		"vision_config.layer_norm_eps": func(c map[string]any) { c["vision_config"].(map[string]any)["layer_norm_eps"] = "no" },
		"use_bidirectional_attention":  nil,
	} {
		var config map[string]any
		tftest.NoError(t, json.Unmarshal(tftest.Must(os.ReadFile(filepath.Join(own, "gemma3-edges", "config.json")))(t), &config))
		if change == nil {
			config["text_config"].(map[string]any)[field], field = true, "text_config."+field
		} else {
			change(config)
		}
		_, err := models.New(tftest.Must(json.Marshal(config))(t), transformer.Random(1), models.Options{Images: true})
		if of := new(fault.Error); !errors.As(err, &of) || of.Field != field {
			t.Errorf("gemma3: %s: %v", field, err)
		}
	}
	for field, change := range map[string]func(config, vision map[string]any){
		"vision_config":                          func(c, _ map[string]any) { delete(c, "vision_config") },
		"video_token_id":                         func(c, _ map[string]any) { c["video_token_id"] = nil },
		"vision_config.model_type":               func(_, v map[string]any) { v["model_type"] = "siglip2_vision_model" },
		"vision_config.out_hidden_size":          func(_, v map[string]any) { v["out_hidden_size"] = 33 },
		"vision_config.num_heads":                func(_, v map[string]any) { v["num_heads"] = 16 },
		"vision_config.spatial_merge_size":       func(_, v map[string]any) { v["spatial_merge_size"] = 1 << 20 },
		"vision_config.deepstack_visual_indexes": func(_, v map[string]any) { v["deepstack_visual_indexes"] = []int{0} },
		"text_config.rope_parameters.mrope_section": func(c, _ map[string]any) {
			c["text_config"].(map[string]any)["rope_parameters"].(map[string]any)["mrope_section"] = []int{4, 4}
		},
		"text_config.rope_parameters.rope_type": func(c, _ map[string]any) {
			c["text_config"].(map[string]any)["rope_parameters"].(map[string]any)["rope_type"] = "dynamic"
			c["text_config"].(map[string]any)["rope_parameters"].(map[string]any)["factor"] = 2
		},
	} {
		var config map[string]any
		tftest.NoError(t, json.Unmarshal(tftest.Must(os.ReadFile(filepath.Join(own, "qwen3_5-images", "config.json")))(t), &config))
		change(config, config["vision_config"].(map[string]any))
		_, err := models.New(tftest.Must(json.Marshal(config))(t), transformer.Random(1), models.Options{Images: true})
		if of := new(fault.Error); !errors.As(err, &of) || of.Field != field {
			t.Errorf("qwen3_5: %s: %v", field, err)
		}
	}
	m := tftest.Must(models.Open(filepath.Join(own, "idefics3"), models.Options{Images: true}))(t)
	for _, size := range [][2]int{{0, 0}, {4, 4}, {24, 20}} { // in patches of 4, of which squares of 2 become rows
		if _, err := m.Images.Rows(size[0], size[1]); !errors.Is(err, fault.ErrShape) {
			t.Errorf("an image of %dx%d: %v, want an ErrShape", size[0], size[1], err)
		}
	}
}

// placed returns the token ids of the folder's text with images, and the soft tokens in their
// places, with columns.
func placed(t *testing.T, e *modelstest.Expected, m *models.Model) (ids []int, soft []models.Soft) {
	t.Helper()
	pixels, shape := e.Floats("pixels"), e.Shape("pixels") // [images, 3, h, w]
	rows := tftest.Must(m.Images.Rows(shape[2], shape[3]))(t)
	ids = e.Ints("image_input_ids")
	for at := 0; at < len(ids); at++ {
		if ids[at] != m.Images.Token {
			continue
		}
		x, size := make([]float32, rows*m.Images.Dim()), len(pixels)/shape[0]
		tftest.NoError(t, m.Images.EncodeImages(new(models.Workspace), x, pixels[len(soft)*size:][:size], 1, shape[2], shape[3]))
		soft = append(soft, models.Soft{At: at, X: x, Across: shape[3] / m.Images.Side})
		at += rows - 1
	}
	return ids, soft
}

// TestPlacesInPieces: images whose positions have axes are in their places however a text is cut,
// after a fork and a truncation, and beside a text without images. The bits are those of one pass.
func TestPlacesInPieces(t *testing.T) {
	for _, name := range []string{"qwen3_5-images", "qwen3_5_moe-images"} {
		e := modelstest.OpenExpected(t, filepath.Join(own, name))
		m := tftest.Must(models.Open(filepath.Join(own, name), models.Options{Images: true}))(t)
		lm, ws, dim := m.LM.(models.SoftReader), new(models.Workspace), m.LM.Dim()
		ids, soft := placed(t, e, m)
		pass := func(c *models.Cache, dst []float32, from, to int) {
			t.Helper()
			tftest.NoError(t, lm.HiddenSoft(ws, dst[from*dim:to*dim], ids[from:to], transformer.Ragged(to-from), within(soft, from, to, dim), c))
		}
		want, got := make([]float32, len(ids)*dim), make([]float32, len(ids)*dim)
		pass(nil, want, 0, len(ids))
		for size := 1; size < len(ids); size++ {
			c := lm.NewPages(0).Cache(1)
			for from := 0; from < len(ids); from += size {
				pass(c, got, from, min(from+size, len(ids)))
			}
			sameBits(t, fmt.Sprintf("%s in pieces of %d", name, size), got, want)
		}
		for cut := 1; cut < len(ids); cut++ {
			h := lm.NewPages(0).New()
			c := transformer.NewCacheOf(h)
			pass(c, got, 0, cut)
			f := tftest.Must(h.Fork(cut))(t)
			pass(c, got, cut, len(ids)) // which its fork does not notice
			clear(got[cut*dim:])
			pass(transformer.NewCacheOf(f), got, cut, len(ids))
			sameBits(t, fmt.Sprintf("%s after a fork at %d", name, cut), got, want)
			tftest.NoError(t, h.Truncate(0))
			pass(c, got, 0, len(ids))
			sameBits(t, fmt.Sprintf("%s again after a truncation from %d", name, cut), got, want)
		}
		plain := []int{5, 6, 7, 8}
		both, alone := make([]float32, (len(plain)+len(ids))*dim), make([]float32, len(plain)*dim)
		tftest.NoError(t, lm.Hidden(ws, alone, plain, transformer.Ragged(len(plain)), nil, nil))
		moved := make([]models.Soft, len(soft))
		for i, s := range soft {
			s.At += len(plain)
			moved[i] = s
		}
		tftest.NoError(t, lm.HiddenSoft(ws, both, append(plain, ids...), transformer.Ragged(len(plain), len(ids)), moved, nil))
		sameBits(t, name+" beside a text", both, append(alone, want...))
		one, two := make([]float32, dim), make([]float32, 2*dim)
		for what, soft := range map[string][]models.Soft{
			"an image that has not begun": {{At: 0, X: one, Across: 1, Before: 1}}, "negative columns": {{At: 0, X: one, Across: -1}},
			"two sequences": {{At: 1, X: two, Across: 2}}, "no vectors": {{At: 0, Across: 2}},
			"another order": {{At: 1, X: one, Across: 1}, {At: 0, X: one, Across: 1}}, "an image in another": {{At: 0, X: two, Across: 2}, {At: 1, X: one, Across: 1}},
		} {
			if err := lm.HiddenSoft(ws, make([]float32, 4*dim), plain, transformer.Ragged(2, 2), soft, nil); !errors.Is(err, fault.ErrShape) {
				t.Errorf("%s: %v, want an ErrShape", what, err)
			}
		}
	}
}

// sameBits fails the test unless got has the bits of want.
func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i, v := range want {
		if math.Float32bits(got[i]) != math.Float32bits(v) {
			t.Fatalf("%s: element %d is %g, want %g", what, i, got[i], v)
		}
	}
}
