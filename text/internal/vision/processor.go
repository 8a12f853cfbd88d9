// The steps that preprocessor_config.json lists.

package vision

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/account"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyclass"
	"github.com/avoformer/avoformer/internal/pyjson"
)

// Processor turns images into a model's pixel_values.
type Processor struct {
	Class    string   // of transformers, without ImageProcessor
	Warnings []string // about fields that none of these classes has

	resize       bool
	size         sides // to resize to
	filter       Filter
	crop         bool
	cropW, cropH int
	rescale      bool
	factor       float64
	normalize    bool
	mean, std    []float64
	unrounded    bool // resized values are not rounded to whole numbers
	patch        int  // side of a patch, of which an image has at most patches; 0: all images have the same size
	patches      int
	tile         int    // side of the squares that images are cut into, and that each becomes as a whole; 0: images are not cut
	grid         *grid  // of LFM2-VL; nil: other models
	whole        *whole // of Qwen 2 VL; nil: other models
	split        bool   // images are cut; otherwise they are only the whole
	pool         int    // for Gemma 4: images consist of squares of this many patches on each side; 0: other models
}

// config is the file. A field that is null is None there: the step is left out, or the number is
// missing.
type config struct {
	Type      string                           `json:"image_processor_type"`
	Extractor string                           `json:"feature_extractor_type"`
	Resize    pyjson.Optional[bool]            `json:"do_resize"`
	Size      pyjson.Optional[json.RawMessage] `json:"size"`
	Square    pyjson.Optional[bool]            `json:"default_to_square"` // the meaning of a single number as size
	Resample  pyjson.Optional[int]             `json:"resample"`
	Crop      pyjson.Optional[bool]            `json:"do_center_crop"`
	CropSize  pyjson.Optional[json.RawMessage] `json:"crop_size"`
	Rescale   pyjson.Optional[bool]            `json:"do_rescale"`
	Factor    pyjson.Optional[float64]         `json:"rescale_factor"`
	Normalize pyjson.Optional[bool]            `json:"do_normalize"`
	Mean      pyjson.Optional[colours]         `json:"image_mean"`
	Std       pyjson.Optional[colours]         `json:"image_std"`
	Pad       pyjson.Optional[bool]            `json:"do_pad"`
	PadSize   json.RawMessage                  `json:"pad_size"`
	Patch     pyjson.Optional[int]             `json:"patch_size"`          // of SigLIP 2
	Patches   pyjson.Optional[int]             `json:"max_num_patches"`     // the same
	Soft      pyjson.Optional[int]             `json:"max_soft_tokens"`     // of Gemma 4
	Pool      pyjson.Optional[int]             `json:"pooling_kernel_size"` // the same
	Whole     json.RawMessage                  `json:"use_square_size"`     // of CLIP
	Tile      pyjson.Optional[json.RawMessage] `json:"max_image_size"`      // of Idefics 3
	Split     pyjson.Optional[bool]            `json:"do_image_splitting"`  // of Idefics 3 and LFM2-VL

	Merge       pyjson.Optional[int] `json:"merge_size"` // of Qwen 2 VL, as the following fields
	Frames      pyjson.Optional[int] `json:"temporal_patch_size"`
	LeastPixels *int                 `json:"min_pixels"`
	MostPixels  *int                 `json:"max_pixels"`

	EncoderPatch pyjson.Optional[int]     `json:"encoder_patch_size"` // of LFM2-VL, as the following fields
	Downsample   pyjson.Optional[int]     `json:"downsample_factor"`
	LeastTiles   pyjson.Optional[int]     `json:"min_tiles"`
	MostTiles    pyjson.Optional[int]     `json:"max_tiles"`
	LeastTokens  pyjson.Optional[int]     `json:"min_image_tokens"`
	MostTokens   pyjson.Optional[int]     `json:"max_image_tokens"`
	TileSize     pyjson.Optional[int]     `json:"tile_size"`
	Tolerance    pyjson.Optional[float64] `json:"max_pixels_tolerance"`
	Thumbnail    pyjson.Optional[bool]    `json:"use_thumbnail"`

	Crops json.RawMessage `json:"do_pan_and_scan"` // of Gemma 3
}

// defaults has the defaults of a processor class.
type defaults struct {
	size, crop string // JSON; "" means no default
	filter     Filter
	crops      bool
	mean, std  []float64
	square     bool // a single number as size is both sides, otherwise the shorter side
	unrounded  bool // resized values are not rounded to whole numbers
	plain      bool // images are normalized only if the file asks for it
}

var (
	half         = []float64{0.5, 0.5, 0.5}
	imageNetMean = []float64{0.485, 0.456, 0.406}
	imageNetStd  = []float64{0.229, 0.224, 0.225}
	clipMean     = []float64{0.48145466, 0.4578275, 0.40821073}
	clipStd      = []float64{0.26862954, 0.26130258, 0.27577711}

	// flexible keeps the shape of images; the file limits their patches.
	flexible = "Siglip2"
	// squares approximately keeps the shape of images, of which squares of patches become tokens.
	squares = "Gemma4"

	tiled = map[string]bool{"Idefics3": true, "SmolVLM": true}
	// gridded keeps the shape of images, and cuts large ones. The class has no form for Pillow.
	gridded = "Lfm2Vl"
	// panned has images of one size, and crops of wide and high ones, which are refused.
	panned = "Gemma3"

	// areas keeps the shape of images; the file limits their pixels.
	areas = "Qwen2VL"

	classes = map[string]defaults{
		"Idefics3":  {`{"longest_edge": 1456}`, "", Lanczos, false, half, half, true, false, false},
		"SmolVLM":   {`{"longest_edge": 1456}`, "", Lanczos, false, half, half, true, false, false},
		"ViT":       {`{"height": 224, "width": 224}`, "", Bilinear, false, half, half, true, false, false},
		"Siglip":    {`{"height": 224, "width": 224}`, "", Bicubic, false, half, half, false, false, false},
		"Bit":       {`{"shortest_edge": 224}`, `{"height": 224, "width": 224}`, Bicubic, true, clipMean, clipStd, false, false, false}, // DINOv2's
		flexible:    {"", "", Bilinear, false, half, half, true, false, false},
		"DINOv3ViT": {`{"height": 224, "width": 224}`, "", Bilinear, false, imageNetMean, imageNetStd, true, true, false},
		panned:      {`{"height": 224, "width": 224}`, "", Bilinear, false, half, half, true, false, false},
		gridded:     {"", "", Bilinear, false, half, half, true, false, false},
		squares:     {"", "", Bicubic, false, []float64{0, 0, 0}, []float64{1, 1, 1}, true, false, true},
		areas:       {"", "", Bicubic, false, clipMean, clipStd, false, false, false},
		"CLIP":      {`{"shortest_edge": 224}`, `{"height": 224, "width": 224}`, Bicubic, true, clipMean, clipStd, false, false, false},
	}
)

// NewProcessor reads the text of a preprocessor_config.json.
func NewProcessor(text []byte) (*Processor, error) {
	var c config
	if err := pyjson.Unmarshal(text, &c); err != nil {
		return nil, check.Errorf(fault.ErrConfig, "%w", err)
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
	var fields map[string]json.RawMessage
	if err := pyjson.Unmarshal(text, &fields); err != nil {
		return nil, check.Errorf(fault.ErrConfig, "%w", err)
	}
	warnings, err := account.Settle(pyclass.File(name+"ImageProcessor"), fields, account.Tags(c), idle)
	if err != nil {
		return nil, err
	}
	p := &Processor{Class: name, Warnings: warnings, resize: c.Resize.Or(true).Value, crop: c.Crop.Or(d.crops).Value, rescale: c.Rescale.Or(true).Value, normalize: c.Normalize.Or(!d.plain).Value}
	return p, p.configure(&c, d, name)
}

// idle has the fields of the classes that do not affect the pixels of a single RGB image.
var idle = []string{
	"do_convert_rgb", "return_row_col_info", "pan_and_scan_min_crop_size", "pan_and_scan_max_num_crops", "pan_and_scan_min_ratio_to_activate", "data_format", "input_data_format", "device", "return_tensors", "disable_grouping", "image_seq_length", "processor_class", "model_input_names",
}

func (p *Processor) configure(c *config, d defaults, class string) error {
	filter := c.Resample.Or(int(d.filter))
	if p.filter = Filter(filter.Value); filter.Given() && p.filter != Nearest && kernels[p.filter].weight == nil {
		return configError("resample", "%d is unknown", p.filter)
	}
	if p.resize && filter.Null {
		return configError("resample", "null, want a number because do_resize is true")
	}
	factor := c.Factor.Or(1. / 255)
	if p.factor = factor.Value; p.rescale && factor.Null {
		return configError("rescale_factor", "null, want a number because do_rescale is true")
	}
	p.mean, p.std = c.Mean.Or(d.mean).Value, c.Std.Or(d.std).Value
	if p.normalize && (len(p.mean) != 3 || len(p.std) != 3 || slices.Contains(p.std, 0)) {
		return configError("image_mean, image_std", "%v and %v, want three numbers each, no deviation of 0", p.mean, p.std)
	}
	if c.Pad.Value && len(c.PadSize) > 0 && string(c.PadSize) != "null" {
		return configError("pad_size", "not supported")
	}
	if class == "CLIP" && truthy(c.Whole) { // then the class's own size counts
		c.Size = pyjson.Optional[json.RawMessage]{Present: true, Value: json.RawMessage(classes["ViT"].size)}
	}
	if class == areas {
		return p.configureWhole(c)
	}
	var err error
	if p.size, err = size("size", c.Size.Or(json.RawMessage(d.size)), c.Square.Or(d.square).Value); err != nil {
		return err
	}
	cropped, err := size("crop_size", c.CropSize.Or(json.RawMessage(d.crop)), true)
	if err == nil && p.crop && (cropped.height == 0 || cropped.width == 0) {
		err = configError("crop_size", "want height and width because do_center_crop is true")
	}
	if err != nil {
		return err
	}
	p.cropW, p.cropH = cropped.width, cropped.height
	if p.unrounded = d.unrounded; p.unrounded && p.resize {
		if p.filter != Bilinear && p.filter != Bicubic {
			return configError("resample", "%d, want %d or %d", p.filter, Bilinear, Bicubic)
		}
		if !p.rescale {
			return configError("do_rescale", "want true because do_resize is true")
		}
	}
	if class == flexible {
		p.crop = false
		if p.patch, p.patches = c.Patch.Or(16).Value, c.Patches.Or(256).Value; p.patch < 1 || p.patches < 1 || p.patch > 1<<10 || p.patches > 1<<16 {
			return configError("patch_size, max_num_patches", "%d and %d, want 1 to %d and 1 to %d", p.patch, p.patches, 1<<10, 1<<16)
		}
		return nil
	}
	if class == squares {
		return p.configureSquares(c)
	}
	if class == panned {
		if p.crop = false; truthy(c.Crops) {
			return configError("do_pan_and_scan", "%s: crops of images are not supported", c.Crops)
		}
	}
	if class == gridded {
		return p.configureGrid(c)
	}
	if tiled[class] {
		return p.configureTiles(c)
	}
	if p.resize && !p.size.usable() {
		return configError("size", "want height and width, shortest_edge, or max_height and max_width because do_resize is true")
	}
	return nil
}

// configureSquares reads the additional fields of Gemma 4's class.
func (p *Processor) configureSquares(c *config) error {
	p.crop = false
	soft := c.Soft.Or(280).Value
	if !slices.Contains([]int{70, 140, 280, 560, 1120}, soft) {
		return configError("max_soft_tokens", "%d, want 70, 140, 280, 560 or 1120", soft)
	}
	p.patch, p.pool = c.Patch.Or(16).Value, c.Pool.Or(3).Value
	if p.patch < 1 || p.pool < 1 || p.patch > 1<<7 || p.pool > 1<<4 {
		return configError("patch_size, pooling_kernel_size", "%d and %d, want 1 to %d and 1 to %d", p.patch, p.pool, 1<<7, 1<<4)
	}
	p.patches = soft * p.pool * p.pool
	return nil
}

// colours are three numbers, or one for all three.
type colours []float64

func (c *colours) UnmarshalJSON(text []byte) error {
	var x float64
	if pyjson.Unmarshal(text, &x) == nil && string(text) != "null" {
		*c = colours{x, x, x}
		return nil
	}
	return pyjson.Unmarshal(text, (*[]float64)(c))
}

// truthy reports whether Python takes a value for true.
func truthy(text json.RawMessage) bool {
	return len(text) > 0 && !slices.Contains([]string{"null", "false", "0", "0.0", `""`, "[]", "{}"}, string(text))
}

// Size returns the width and height of the images that Pixels makes, if all have the same size;
// otherwise 0.
func (p *Processor) Size() (w, h int) {
	if p.crop {
		return p.cropW, p.cropH
	}
	if p.resize && p.patch == 0 && p.size.shortest == 0 {
		return p.size.width, p.size.height
	}
	return 0, 0
}

// flexibleSize returns the size of an image of w times h, enlarged or reduced to whole patches, to
// as many as are allowed.
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

// Square returns the number of pixels on each side of the square for a token, or 0 if images do not
// become tokens.
func (p *Processor) Square() int {
	switch {
	case p.grid != nil:
		return p.grid.side()
	case p.whole != nil:
		return p.whole.side
	}
	return p.patch * p.pool
}

// squaresSize returns the size of an image of w times h in whole squares, with about the same shape
// and at most as many patches as are allowed.
func (p *Processor) squaresSize(w, h int) (int, int) {
	side := p.Square()
	factor := math.Sqrt(float64(p.patches*p.patch*p.patch) / (float64(w) * float64(h)))
	down, across := int(factor*float64(h)/float64(side)), int(factor*float64(w)/float64(side))
	most := p.patches / (p.pool * p.pool)
	switch {
	case down == 0:
		down, across = 1, min(w/h, most)
	case across == 0:
		down, across = min(h/w, most), 1
	}
	return across * side, down * side
}

// Pixels returns the pixel_values of an image, [3, h, w]. Of an image in tiles see Picture.
func (p *Processor) Pixels(m *RGB) (pixels []float32, w, h int, err error) {
	if p.unrounded && p.resize {
		return p.unroundedPixels(m)
	}
	if m, err = p.prepared(m); err != nil {
		return nil, 0, 0, err
	}
	return p.values(m), m.W, m.H, nil
}

// prepared returns an image of the size that the model gets.
func (p *Processor) prepared(m *RGB) (*RGB, error) {
	var err error
	if p.resize {
		var w, h int
		switch {
		case p.whole != nil:
			if w, h, err = p.whole.size(m.W, m.H); err != nil {
				return nil, err
			}
		case p.pool > 0:
			w, h = p.squaresSize(m.W, m.H)
		case p.patch > 0:
			w, h = p.flexibleSize(m.W, m.H)
		default:
			w, h = p.size.of(m.W, m.H)
		}
		if m, err = m.Resize(w, h, p.filter); err != nil {
			return nil, err
		}
	}
	if p.patch > 0 && (m.W%p.patch != 0 || m.H%p.patch != 0) {
		return nil, fmt.Errorf("%w: %d x %d pixels are not whole patches of %d, which do_resize would make of them", fault.ErrImage, m.W, m.H, p.patch)
	}
	if p.crop {
		return m.CenterCrop(p.cropW, p.cropH)
	}
	return m, nil
}

// values returns the pixel_values of an image of the size that the model gets, [3, h, w].
func (p *Processor) values(m *RGB) []float32 {
	pixels := make([]float32, 3*m.W*m.H)
	for c := range 3 {
		var table [256]float32 // of all samples
		for v := range table {
			table[v] = p.valueOf(v, c)
		}
		plane := pixels[c*m.W*m.H:][:m.W*m.H]
		for i := range plane {
			plane[i] = table[m.Pix[i*3+c]]
		}
	}
	return pixels
}

// valueOf returns the pixel value for a sample of a channel, rounded after each step as NumPy does.
func (p *Processor) valueOf(sample, channel int) float32 {
	x := float32(sample)
	if p.grid != nil && p.rescale { // in one step with the normalization
		if !p.normalize {
			return x * float32(p.factor)
		}
		scale := float32(1 / p.factor)
		return (x - float32(float32(p.mean[channel])*scale)) / float32(float32(p.std[channel])*scale)
	}
	if p.rescale {
		x = float32(float64(sample) * p.factor)
	}
	if p.normalize {
		x = (x - float32(p.mean[channel])) / float32(p.std[channel])
	}
	return x
}

// value returns the pixel value for a sample of a channel that is not a whole number.
func (p *Processor) value(x float64, channel int) float32 {
	if p.rescale {
		x *= p.factor
	}
	if p.normalize {
		x = (x - p.mean[channel]) / p.std[channel]
	}
	return float32(x)
}

// unroundedPixels is Pixels for processors that do not round resized values.
func (p *Processor) unroundedPixels(m *RGB) (pixels []float32, w, h int, err error) {
	w, h = p.size.of(m.W, m.H)
	s, err := m.resizeUnrounded(w, h, p.filter)
	if err != nil {
		return nil, 0, 0, err
	}
	if p.crop {
		if p.cropW > maxResized/p.cropH {
			return nil, 0, 0, fmt.Errorf("%w: cropping to %d x %d pixels", fault.ErrImage, p.cropW, p.cropH)
		}
		cropped := samples{p.cropW, p.cropH, make([]float64, 3*p.cropW*p.cropH)}
		cropCenter(cropped.x, cropped.w, cropped.h, s.x, s.w, s.h)
		s = cropped
	}
	pixels = make([]float32, len(s.x))
	for c := range 3 {
		plane := pixels[c*s.w*s.h:][:s.w*s.h]
		for i := range plane {
			plane[i] = p.value(s.x[i*3+c], c)
		}
	}
	return pixels, s.w, s.h, nil
}
