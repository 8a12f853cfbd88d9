package vision

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

func decodeFile(t testing.TB, name string) *RGB {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	m, err := Decode(data, MaxPixels)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return m
}

// difference returns the largest difference of two images' samples.
func difference(a, b []uint8) (most int) {
	for i, v := range a {
		most = max(most, int(v)-int(b[i]), int(b[i])-int(v))
	}
	return most
}

// TestResize compares with Pillow, every pixel.
func TestResize(t *testing.T) {
	text, err := os.ReadFile("testdata/resized.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Image, File             string
		Width, Height, Resample int
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s/%dx%d/%d", c.Image, c.Width, c.Height, c.Resample), func(t *testing.T) {
			want := decodeFile(t, c.File)
			got, err := decodeFile(t, c.Image).Resize(c.Width, c.Height, Filter(c.Resample))
			if err != nil {
				t.Fatal(err)
			}
			if got.W != want.W || got.H != want.H {
				t.Fatalf("%d x %d pixels, want %d x %d", got.W, got.H, want.W, want.H)
			}
			if d := difference(got.Pix, want.Pix); d > 0 {
				t.Errorf("differs by %d grey levels", d)
			}
		})
	}
}

// TestUnroundedMemory: the memory for resizing without rounding does not depend on the height of an
// image, which a small file may make large.
func TestUnroundedMemory(t *testing.T) {
	m := newRGB(1, 20_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := m.resizeUnrounded(224, 224, Bilinear); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 8<<20 {
		t.Errorf("%d bytes", taken)
	}
}

// TestProcessor compares pixel_values with those of transformers.
func TestProcessor(t *testing.T) {
	f, err := safetensors.Open("testdata/processed.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, key := range f.Names() {
		name, which, _ := strings.Cut(key, "|")
		t.Run(key, func(t *testing.T) {
			config := f.Metadata()[which]
			p, err := NewProcessor([]byte(config))
			if err != nil {
				t.Fatal(err)
			}
			got, w, h, err := p.Pixels(decodeFile(t, name))
			if err != nil {
				t.Fatal(err)
			}
			want, err := f.Float32(key)
			if err != nil {
				t.Fatal(err)
			}
			if len(want) != len(got) || len(got) != 3*w*h {
				t.Fatalf("%d values for %d x %d pixels, want %d", len(got), w, h, len(want))
			}
			for i, x := range got {
				if math.Float32bits(x) != math.Float32bits(want[i]) {
					t.Fatalf("value %d: %v, want %v", i, x, want[i])
				}
			}
		})
	}
}

// TestOrientation compares with the images that transformers loads from files with an orientation.
func TestOrientation(t *testing.T) {
	files, err := filepath.Glob("testdata/oriented-*.want.png")
	if err != nil || len(files) < 34 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		name = filepath.Base(name)
		want, got := decodeFile(t, name), decodeFile(t, strings.TrimSuffix(name, ".want.png"))
		if got.W != want.W || got.H != want.H || difference(got.Pix, want.Pix) > 0 {
			t.Errorf("%s: %d x %d pixels that differ by %d, want %d x %d", name, got.W, got.H, difference(got.Pix, want.Pix), want.W, want.H)
		}
	}
	// Exif data that are cut anywhere, or point anywhere, give no orientation or the same one.
	data, err := os.ReadFile("testdata/oriented-6.jpg")
	if err != nil {
		t.Fatal(err)
	}
	exif, _ := jpegNotes(data)
	if got := exifOrientation(exif); got != 6 {
		t.Fatalf("orientation %d, want 6", got)
	}
	for n := range exif {
		if got := exifOrientation(exif[:n]); got != -1 && got != 6 {
			t.Errorf("orientation %d of %d bytes", got, n)
		}
		broken := bytes.Clone(exif)
		broken[n] ^= 0xff
		exifOrientation(broken)
		jpegNotes(data[:n])
	}
}

// TestFormats compares the pixels of further formats with those that transformers loads. Formats
// that Go's library lacks are errors.
func TestFormats(t *testing.T) {
	files, err := filepath.Glob("testdata/format-*.want.png")
	if err != nil || len(files) < 125 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		name = strings.TrimSuffix(filepath.Base(name), ".want.png")
		t.Run(strings.TrimPrefix(name, "format-"), func(t *testing.T) {
			want, got := decodeFile(t, name+".want.png"), decodeFile(t, name)
			if got.W != want.W || got.H != want.H || difference(got.Pix, want.Pix) > 0 {
				t.Errorf("%d x %d pixels that differ by %d, want %d x %d", got.W, got.H, difference(got.Pix, want.Pix), want.W, want.H)
			}
		})
	}
}

// TestLimit has images of one pixel more than allowed, and files that claim to be huge: they are
// refused before their pixels are allocated.
func TestLimit(t *testing.T) {
	files, err := filepath.Glob("testdata/format-*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m := decodeFile(t, filepath.Base(name))
		if _, err := Decode(data, m.W*m.H); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Decode(data, m.W*m.H-1); !errors.Is(err, fault.ErrImage) || !strings.Contains(err.Error(), "pixels") {
			t.Errorf("%s: error %v of a pixel too many", name, err)
		}
	}
	const w, h = 12000, 10000
	var huge bytes.Buffer
	if err := png.Encode(&huge, image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.Black})); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = Decode(huge.Bytes(), MaxPixels)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, fault.ErrImage) || !strings.Contains(err.Error(), "12000 x 10000") {
		t.Errorf("%d bytes: error %v, want a fault.ErrImage that tells the size", huge.Len(), err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes allocated for an image that is refused", n)
	}
}

// TestBroken truncates files, and changes their bytes.
func TestBroken(t *testing.T) {
	files, err := filepath.Glob("testdata/format-*")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(uint64(i), 0))
		for n := range 60 {
			broken := bytes.Clone(data)
			if n%3 == 0 {
				broken = broken[:r.IntN(len(data))]
			}
			for range n % 4 {
				if len(broken) > 0 {
					broken[r.IntN(min(len(broken), 200))] = byte(r.Uint32())
				}
			}
			if _, err := Decode(broken, 1<<16); err != nil && !errors.Is(err, fault.ErrImage) {
				t.Errorf("%s: error %v, want a fault.ErrImage", name, err)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	for name, data := range map[string]string{"nothing": "", "text": "hello", "png": "\x89PNG\r\n\x1a\n", "jpeg": "\xff\xd8\xff", "huge": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x02\x00\x00\x00"} {
		if _, err := Decode([]byte(data), MaxPixels); !errors.Is(err, fault.ErrImage) {
			t.Errorf("%s: error %v, want a fault.ErrImage", name, err)
		}
	}
	for name, config := range map[string]string{
		"no JSON": "{", "type": `{"image_processor_type": "XImageProcessor"}`, "no type": `{}`, "resample": `{"image_processor_type": "ViTImageProcessor", "resample": 9}`,
		"std": `{"image_processor_type": "ViTImageProcessor", "image_std": [1, 0, 1]}`, "mean": `{"image_processor_type": "ViTImageProcessor", "image_mean": [1]}`,
		"size": `{"image_processor_type": "ViTImageProcessor", "size": {"longest_edge": 3}}`, "size 0": `{"image_processor_type": "ViTImageProcessor", "size": 0}`, "pad": `{"image_processor_type": "ViTImageProcessor", "do_pad": true, "pad_size": {"height": 300, "width": 300}}`,
		"null resample": `{"image_processor_type": "ViTImageProcessor", "resample": null}`, "null size": `{"image_processor_type": "CLIPImageProcessor", "size": null}`, "null crop_size": `{"image_processor_type": "CLIPImageProcessor", "crop_size": null}`,
		"null factor": `{"image_processor_type": "ViTImageProcessor", "rescale_factor": null}`, "null mean": `{"image_processor_type": "ViTImageProcessor", "image_mean": null}`, "no crop_size": `{"image_processor_type": "ViTImageProcessor", "do_center_crop": true}`,
		"size text": `{"image_processor_type": "ViTImageProcessor", "size": "224"}`, "crop": `{"image_processor_type": "CLIPImageProcessor", "crop_size": {"shortest_edge": 3}}`,
		"area": `{"image_processor_type": "Qwen2VLImageProcessor", "size": {"shortest_edge": 3136}}`, "no area": `{"image_processor_type": "Qwen2VLImageProcessor", "size": 224}`, "sides for an area": `{"image_processor_type": "Qwen2VLImageProcessor", "size": {"height": 20, "width": 20}}`,
		"area beyond limits": `{"image_processor_type": "Qwen2VLImageProcessor", "max_pixels": 1099511627776}`, "frames": `{"image_processor_type": "Qwen2VLImageProcessor", "temporal_patch_size": 1}`, "merge_size": `{"image_processor_type": "Qwen2VLImageProcessor", "merge_size": 0}`,
		"resample unrounded": `{"image_processor_type": "DINOv3ViTImageProcessor", "resample": 1}`, "no rescale unrounded": `{"image_processor_type": "DINOv3ViTImageProcessor", "do_rescale": false}`,
	} {
		if _, err := NewProcessor([]byte(config)); !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%s: error %v, want a fault.ErrConfig", name, err)
		}
	}
}

// TestFields sets single fields to values that transformers accepts: null is None, a single number
// as size has the meaning that the class defines, and fields that the class lacks are ignored with
// a warning.
func TestFields(t *testing.T) {
	picture := &RGB{W: 40, H: 30, Pix: bytes.Repeat([]byte{255}, 40*30*3)}
	for _, c := range []struct {
		class, fields string
		w, h          int
		first         float32
		warned        string
	}{
		{"CLIP", `"size": {"height": 32, "width": 32}, "do_center_crop": null`, 32, 32, (1 - 0.48145466) / 0.26862954, ""},
		{"CLIP", `"do_resize": null, "do_center_crop": null`, 40, 30, (1 - 0.48145466) / 0.26862954, ""},
		{"CLIP", `"do_resize": null, "size": null, "crop_size": 8, "do_normalize": null`, 8, 8, 1, ""},
		{"CLIP", `"size": 20, "do_center_crop": false, "do_rescale": null, "do_normalize": null`, 26, 20, 255, ""},
		{"CLIP", `"use_square_size": true, "size": 20, "do_center_crop": false`, 224, 224, (1 - 0.48145466) / 0.26862954, ""},
		{"CLIP", `"size": {"shortest_edge": 20, "longest_edge": 22}, "do_center_crop": false`, 22, 16, (1 - 0.48145466) / 0.26862954, ""},
		{"Siglip", `"size": 20`, 26, 20, 1, ""},
		{"Siglip", `"size": 20, "default_to_square": true`, 20, 20, 1, ""},
		{"Siglip", `"size": [12, 14], "resample": 2`, 14, 12, 1, ""},
		{"ViT", `"size": 20`, 20, 20, 1, ""},
		{"ViT", `"size": 20, "default_to_square": null`, 26, 20, 1, ""},
		{"ViT", `"size": {"max_height": 10, "max_width": 20}`, 13, 10, 1, ""},
		{"ViT", `"size": 20, "image_mean": 0.25, "image_std": 0.75`, 20, 20, 1, ""},
		{"ViT", `"size": 20, "patch_size": 4, "crop_pct": 0.9, "do_pad": true`, 20, 20, 1, "crop_pct = 0.9"},
		{"Siglip2", `"size": null, "do_center_crop": null, "patch_size": 10, "max_num_patches": 12, "do_pad": true`, 40, 30, 1, ""},
		{"Siglip2", `"do_resize": null, "patch_size": 5`, 40, 30, 1, ""},
	} {
		p, err := NewProcessor([]byte(`{"image_processor_type": "` + c.class + `ImageProcessor", ` + c.fields + "}"))
		if err != nil {
			t.Errorf("%s with %s: %v", c.class, c.fields, err)
			continue
		}
		pixels, w, h, err := p.Pixels(picture)
		if err != nil || w != c.w || h != c.h || pixels[len(pixels)/6] < c.first-1e-5 || pixels[len(pixels)/6] > c.first+1e-5 {
			t.Errorf("%s with %s: %d x %d pixels of %v, %v, want %d x %d of %v", c.class, c.fields, w, h, pixels[len(pixels)/6], err, c.w, c.h, c.first)
		}
		if said := strings.Join(p.Warnings, "; "); !strings.Contains(said, c.warned) || c.warned == "" && said != "" {
			t.Errorf("%s with %s: warnings %q, want one of %q", c.class, c.fields, said, c.warned)
		}
	}
	p, err := NewProcessor([]byte(`{"image_processor_type": "Siglip2ImageProcessor", "do_resize": false, "patch_size": 16}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := p.Pixels(picture); !errors.Is(err, fault.ErrImage) {
		t.Errorf("an image that is not whole patches: error %v", err)
	}
}

// TestAreas: the size of an image is whole tokens within the limits of its area, and an image whose
// sides differ too much is an error before it is resized. The sizes are those of transformers'
// smart_resize.
func TestAreas(t *testing.T) {
	published := &whole{side: 32, least: 65536, most: 16777216}
	small := &whole{side: 8, least: 256, most: 4096}
	for _, c := range []struct {
		*whole
		w, h, width, height int
	}{
		{published, 1, 1, 256, 256}, {published, 1, 200, 32, 3648}, {published, 640, 480, 640, 480}, {published, 656, 496, 640, 512}, {published, 5000, 4000, 4576, 3648}, {published, 10000, 100, 9984, 96}, {small, 97, 61, 80, 48}, {small, 20, 12, 16, 16}, {small, 12, 20, 16, 16},
		{small, 4, 4, 16, 16}, {&whole{side: 32, least: 1, most: 4096}, 10, 90, 32, 32},
	} {
		if w, h, err := c.size(c.w, c.h); err != nil || w != c.width || h != c.height {
			t.Errorf("%d x %d pixels become %d x %d, %v, want %d x %d", c.w, c.h, w, h, err, c.width, c.height)
		}
	}
	for _, c := range []struct {
		*whole
		w, h int
	}{{published, 1, 201}, {published, 201, 1}, {&whole{side: 2048, least: mostTiled, most: mostTiled}, 1, 200}} {
		if w, h, err := c.size(c.w, c.h); !errors.Is(err, fault.ErrImage) {
			t.Errorf("%d x %d pixels become %d x %d, %v, want a fault.ErrImage", c.w, c.h, w, h, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range []string{"tiny.png", "tiny-420.jpg", "portrait-progressive.jpg", "portrait-restart.jpg", "oriented-6.jpg", "oriented-exif.png", "oriented-xmp.png", "format-alpha.webp", "format-lossy-5x1.webp", "format-lossless.webp", "format-clear-part.gif",
		"format-palette.bmp", "format-rgb-tiff_lzw.tiff", "format-grey16.png", "format-ycck-420.jpg", "format-fax-group3-mixed-0.tiff", "format-fax-group4-tiles.tiff", "format-fax-rows-1.tiff", "format-planes-tiles.tiff",
		"format-associated-16.tiff", "format-early-420-2.jpg", "format-cut-444-2.jpg", "format-beyond.gif", "oriented-raw-z.png", "oriented-xmp.tiff"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := Decode(data, 1<<20); err == nil {
			if m.W*m.H > 1<<20 {
				t.Skip()
			}
			if _, err := m.Resize(8, 8, Bicubic); err != nil {
				t.Error(err)
			}
		} else if !errors.Is(err, fault.ErrImage) {
			t.Errorf("%v is not a fault.ErrImage", err)
		}
	})
}
