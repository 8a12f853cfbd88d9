// What preprocessor_config.json lists.

package vision

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
)

// ErrConfig is what errors match about values of a preprocessor_config.json that are unknown or that
// contradict each other.
var ErrConfig = check.ErrConfig

// Processor turns images into a model's pixel_values.
type Processor struct {
	resize        bool
	width, height int // to resize to, or
	shortest      int // the shorter side
	filter        Filter
	crop          bool
	cropW, cropH  int
	rescale       bool
	factor        float64
	normalize     bool
	mean, std     []float64
	patch         int // side of a patch, of which images have at most patches; 0: images have one size
	patches       int
}

// config is the file. Pointers tell what is absent.
type config struct {
	Type      string          `json:"image_processor_type"`
	Extractor string          `json:"feature_extractor_type"`
	Resize    *bool           `json:"do_resize"`
	Size      json.RawMessage `json:"size"`
	Resample  *int            `json:"resample"`
	Crop      *bool           `json:"do_center_crop"`
	CropSize  json.RawMessage `json:"crop_size"`
	Rescale   *bool           `json:"do_rescale"`
	Factor    *float64        `json:"rescale_factor"`
	Normalize *bool           `json:"do_normalize"`
	Mean      []float64       `json:"image_mean"`
	Std       []float64       `json:"image_std"`
	RGB       *bool           `json:"do_convert_rgb"`
	Pad       *bool           `json:"do_pad"`
	CropPct   *float64        `json:"crop_pct"`
	Thumbnail *bool           `json:"do_thumbnail"`
	Labels    *bool           `json:"do_reduce_labels"`
	Flip      *bool           `json:"do_flip_channel_order"`
	Patch     *int            `json:"patch_size"`
	Patches   *int            `json:"max_num_patches"`
}

// defaults are those of the processors' classes.
type defaults struct {
	size, crop string // JSON
	filter     Filter
	crops      bool
	mean, std  []float64
}

var (
	half     = []float64{0.5, 0.5, 0.5}
	clipMean = []float64{0.48145466, 0.4578275, 0.40821073}
	clipStd  = []float64{0.26862954, 0.26130258, 0.27577711}

	// flexible keeps the shape of images, of at most so many patches.
	flexible = "Siglip2"

	classes = map[string]defaults{
		"ViT":    {`{"height": 224, "width": 224}`, "", Bilinear, false, half, half},
		"Siglip": {`{"height": 224, "width": 224}`, "", Bicubic, false, half, half},
		"Bit":    {`{"shortest_edge": 224}`, `{"height": 224, "width": 224}`, Bicubic, true, clipMean, clipStd}, // DINOv2's
		flexible: {`{"height": 1, "width": 1}`, "", Bilinear, false, half, half},                                // whose size is each image's
		"CLIP":   {`{"shortest_edge": 224}`, `{"height": 224, "width": 224}`, Bicubic, true, clipMean, clipStd},
	}
)

func configError(field, format string, args ...any) error {
	return &check.Error{Kind: ErrConfig, Field: field, Err: fmt.Errorf(format, args...)}
}

// NewProcessor reads the text of a preprocessor_config.json.
func NewProcessor(text []byte) (*Processor, error) {
	var c config
	if err := pyjson.Unmarshal(text, &c); err != nil {
		return nil, check.Errorf(ErrConfig, "%w", err)
	}
	name := c.Type
	if name == "" {
		name = c.Extractor
	}
	for _, suffix := range []string{"Fast", "Pil", "ImageProcessor", "FeatureExtractor"} {
		name = strings.TrimSuffix(name, suffix)
	}
	d, ok := classes[name]
	if !ok {
		return nil, configError("image_processor_type", "%q is not supported", c.Type+c.Extractor)
	}
	for field, v := range map[string]*bool{"do_pad": c.Pad, "do_thumbnail": c.Thumbnail, "do_reduce_labels": c.Labels, "do_flip_channel_order": c.Flip} {
		if v != nil && *v {
			return nil, configError(field, "true is not supported")
		}
	}
	if c.CropPct != nil {
		return nil, configError("crop_pct", "not supported")
	}
	p := &Processor{resize: is(c.Resize, true), crop: is(c.Crop, d.crops), rescale: is(c.Rescale, true), normalize: is(c.Normalize, true), filter: d.filter, factor: 1. / 255}
	return p, p.configure(&c, d, name)
}

func is(v *bool, absent bool) bool {
	if v == nil {
		return absent
	}
	return *v
}

func or(v *int, absent int) int {
	if v == nil {
		return absent
	}
	return *v
}

func (p *Processor) configure(c *config, d defaults, class string) error {
	if c.Resample != nil {
		p.filter = Filter(*c.Resample)
		if _, ok := kernels[p.filter]; !ok && p.filter != Nearest {
			return configError("resample", "%d is unknown", p.filter)
		}
	}
	if c.Factor != nil {
		p.factor = *c.Factor
	}
	p.mean, p.std = d.mean, d.std
	if c.Mean != nil {
		p.mean = c.Mean
	}
	if c.Std != nil {
		p.std = c.Std
	}
	if p.normalize && (len(p.mean) != 3 || len(p.std) != 3 || slices.Contains(p.std, 0)) {
		return configError("image_mean, image_std", "%v and %v, want three numbers each, no deviation of 0", p.mean, p.std)
	}
	var err error
	if p.width, p.height, p.shortest, err = size("size", c.Size, d.size, class != "CLIP" && class != "Bit"); err != nil {
		return err
	}
	if class == flexible {
		if p.patch, p.patches = or(c.Patch, 16), or(c.Patches, 256); p.patch < 1 || p.patches < 1 || p.patch > 1<<10 || p.patches > 1<<16 {
			return configError("patch_size, max_num_patches", "%d and %d, want 1 to %d and 1 to %d", p.patch, p.patches, 1<<10, 1<<16)
		}
	}
	if !p.crop {
		return nil
	}
	short := 0
	if p.cropW, p.cropH, short, err = size("crop_size", c.CropSize, d.crop, true); err == nil && short > 0 {
		err = configError("crop_size", "shortest_edge is not supported")
	}
	return err
}

// size reads a size: an object, or a number, which means a square or the
// shorter side.
func size(field string, text json.RawMessage, absent string, square bool) (w, h, shortest int, err error) {
	if text == nil || string(text) == "null" {
		text = json.RawMessage(absent)
	}
	var n int
	if pyjson.Unmarshal(text, &n) == nil {
		if w, h, shortest = n, n, 0; !square {
			w, h, shortest = 0, 0, n
		}
	} else {
		var v map[string]int
		if err := pyjson.Unmarshal(text, &v); err != nil {
			return 0, 0, 0, configError(field, "%s: want a number or an object of numbers", text)
		}
		w, h, shortest = v["width"], v["height"], v["shortest_edge"]
		if len(v) != map[bool]int{true: 1, false: 2}[shortest > 0] {
			return 0, 0, 0, configError(field, "%s: want height and width, or shortest_edge", text)
		}
	}
	if shortest == 0 && (w < 1 || h < 1) || shortest < 0 || max(w, h, shortest) > 1<<14 {
		return 0, 0, 0, configError(field, "%s: want 1 to %d", text, 1<<14)
	}
	return w, h, shortest, nil
}

// Size is the width and height of what Pixels makes, if all images get the
// same; else 0.
func (p *Processor) Size() (w, h int) {
	if p.crop {
		return p.cropW, p.cropH
	}
	if p.resize && p.patch == 0 {
		return p.width, p.height
	}
	return 0, 0
}

// flexibleSize is the size of an image of w times h, enlarged or reduced to whole patches, as many as are allowed.
func (p *Processor) flexibleSize(w, h int) (int, int) {
	scaled := func(scale float64, size int) int {
		return max(int(math.Ceil(float64(size)*scale/float64(p.patch)))*p.patch, p.patch)
	}
	const eps = 1e-5
	least, most := eps/10, 100.0
	for most-least >= eps {
		scale := (least + most) / 2
		if scaled(scale, h)/p.patch*(scaled(scale, w)/p.patch) <= p.patches {
			least = scale
		} else {
			most = scale
		}
	}
	return scaled(least, w), scaled(least, h)
}

// Pixels is the pixel_values of an image, [3, h, w].
func (p *Processor) Pixels(m *RGB) (pixels []float32, w, h int, err error) {
	if p.resize {
		w, h := p.width, p.height
		if p.patch > 0 {
			w, h = p.flexibleSize(m.W, m.H)
		}
		if p.shortest > 0 {
			w, h = p.shortest, p.shortest
			if m.W <= m.H {
				h = p.shortest * m.H / m.W
			} else {
				w = p.shortest * m.W / m.H
			}
		}
		if m, err = m.Resize(w, h, p.filter); err != nil {
			return nil, 0, 0, err
		}
	}
	if p.crop {
		if m, err = m.CenterCrop(p.cropW, p.cropH); err != nil {
			return nil, 0, 0, err
		}
	}
	// A table of all 256 values for each channel.
	pixels = make([]float32, 3*m.W*m.H)
	for c := range 3 {
		var table [256]float32
		for v := range table {
			x := float64(v)
			if p.rescale {
				x *= p.factor
			}
			if p.normalize {
				x = (x - p.mean[c]) / p.std[c]
			}
			table[v] = float32(x)
		}
		plane := pixels[c*m.W*m.H:][:m.W*m.H]
		for i := range plane {
			plane[i] = table[m.Pix[i*3+c]]
		}
	}
	return pixels, m.W, m.H, nil
}
