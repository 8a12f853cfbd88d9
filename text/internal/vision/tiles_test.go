package vision

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// TestTiles compares the parts of images with those of transformers, all bits of them.
func TestTiles(t *testing.T) {
	f := tftest.Must(safetensors.Open("testdata/tiled.safetensors"))(t)
	defer f.Close()
	for _, key := range f.Names() {
		name, which, _ := strings.Cut(key, "|")
		if strings.HasSuffix(which, "|grid") {
			continue
		}
		t.Run(key, func(t *testing.T) {
			p := tftest.Must(NewProcessor([]byte(f.Metadata()[which])))(t)
			picture := tftest.Must(p.Picture(decodeFile(t, name)))(t)
			if grid := tftest.Must(f.Int64(key + "|grid"))(t); !slices.Equal(grid, []int64{int64(picture.Rows), int64(picture.Columns)}) {
				t.Errorf("%d x %d tiles, want %v", picture.Rows, picture.Columns, grid)
			}
			var got []float32
			for part := range picture.Parts() {
				x, w, h := picture.Pixels(part)
				if w != p.Tile() || h != p.Tile() {
					t.Errorf("part %d has %d x %d pixels", part, w, h)
				}
				got = append(got, x...)
			}
			want := tftest.Must(f.Float32(key))(t)
			if len(got) != len(want) {
				t.Fatalf("%d values, want %d", len(got), len(want))
			}
			for i, x := range got {
				if math.Float32bits(x) != math.Float32bits(want[i]) {
					t.Fatalf("value %d: %v, want %v", i, x, want[i])
				}
			}
		})
	}
}

// TestGrid compares the parts of images that LFM2-VL reads with those of transformers, whose class
// resizes as PyTorch does: all bits of them.
func TestGrid(t *testing.T) {
	f := tftest.Must(safetensors.Open("testdata/gridded.safetensors"))(t)
	defer f.Close()
	for _, key := range f.Names() {
		image, isGrid := strings.CutSuffix(key, "|grid")
		if !isGrid {
			continue
		}
		t.Run(image, func(t *testing.T) {
			name, which, _ := strings.Cut(image, "|")
			p := tftest.Must(NewProcessor([]byte(f.Metadata()[which])))(t)
			picture := tftest.Must(p.Picture(decodeFile(t, name)))(t)
			grid := tftest.Must(f.Int64(key))(t)
			if got := []int64{int64(max(picture.Rows, 1)), int64(max(picture.Columns, 1))}; !slices.Equal(got, grid) {
				t.Errorf("%v tiles, want %v", got, grid)
			}
			if texts := picture.Texts(); len(texts) != picture.Parts()+1 || !strings.HasPrefix(texts[0], "<|image_start|>") || texts[picture.Parts()] != "<|image_end|>" {
				t.Errorf("texts %q of %d parts", texts, picture.Parts())
			}
			if _, more := f.Info(fmt.Sprintf("%s|%d", image, picture.Parts())); more {
				t.Errorf("%d parts, want more", picture.Parts())
			}
			for part := range picture.Parts() {
				got, w, h := picture.Pixels(part)
				key := fmt.Sprintf("%s|%d", image, part)
				want := tftest.Must(f.Float32(key))(t)
				if info, _ := f.Info(key); !slices.Equal(info.Shape, []int{3, h, w}) {
					t.Fatalf("part %d has %d x %d pixels, want %v", part, w, h, info.Shape)
				}
				for i, x := range got {
					if math.Float32bits(x) != math.Float32bits(want[i]) {
						t.Fatalf("part %d, value %d: %v, want %v", part, i, x, want[i])
					}
				}
			}
		})
	}
}

// TestShape: of grids of one ratio, the last one counts that has not more than twice as many pixels
// as the image.
func TestShape(t *testing.T) {
	g := &grid{leastTiles: 2, mostTiles: 10, tile: 16}
	for _, c := range [][4]int{{30, 30, 2, 2}, {40, 40, 3, 3}, {400, 100, 4, 1}, {100, 250, 2, 5}, {9, 5, 2, 1}} {
		if columns, rows := g.shape(c[0], c[1]); columns != c[2] || rows != c[3] {
			t.Errorf("%d x %d pixels: %d columns and %d rows, want %d and %d", c[0], c[1], columns, rows, c[2], c[3])
		}
	}
}

// TestTileTexts: a prompt names the row and the column of each tile, and the whole image.
func TestTileTexts(t *testing.T) {
	p := tftest.Must(NewProcessor([]byte(`{"image_processor_type": "Idefics3ImageProcessor", "size": {"longest_edge": 20}, "max_image_size": {"longest_edge": 10}}`)))(t)
	const around = "<fake_token_around_image>"
	for _, c := range []struct {
		w, h int
		want []string
	}{
		{30, 28, []string{around + "<row_1_col_1>", around + "<row_1_col_2>", "\n" + around + "<row_2_col_1>", around + "<row_2_col_2>", "\n\n" + around + "<global-img>", around}},
		{40, 4, []string{around + "<row_1_col_1>", around + "<row_1_col_2>", "\n\n" + around + "<global-img>", around}},
	} {
		if got := tftest.Must(p.Picture(newRGB(c.w, c.h)))(t).Texts(); !slices.Equal(got, c.want) {
			t.Errorf("%d x %d pixels: %q, want %q", c.w, c.h, got, c.want)
		}
	}
	whole := tftest.Must(NewProcessor([]byte(`{"image_processor_type": "SmolVLMImageProcessor", "do_image_splitting": false}`)))(t)
	if got := tftest.Must(whole.Picture(newRGB(500, 3)))(t).Texts(); !slices.Equal(got, []string{around + "<global-img>", around}) {
		t.Errorf("only the whole: %q", got)
	}
}

// TestTilesBounded: an image that would become very many tiles is an error, before memory is taken.
func TestTilesBounded(t *testing.T) {
	p := tftest.Must(NewProcessor([]byte(`{"image_processor_type": "Idefics3ImageProcessor", "do_resize": false, "max_image_size": {"longest_edge": 5000}}`)))(t)
	if _, err := p.Picture(newRGB(1, 20_000)); !errors.Is(err, fault.ErrImage) {
		t.Errorf("%v, want an ErrImage", err)
	}
	many := tftest.Must(NewProcessor([]byte(`{"image_processor_type": "Idefics3ImageProcessor", "size": {"longest_edge": 2048}, "max_image_size": {"longest_edge": 1}}`)))(t)
	if _, err := many.Picture(newRGB(1, 1)); !errors.Is(err, fault.ErrImage) {
		t.Errorf("four million tiles: %v, want an ErrImage", err)
	}
	tall := tftest.Must(NewProcessor([]byte(`{"image_processor_type": "Lfm2VlImageProcessor", "do_image_splitting": false, "encoder_patch_size": 8, "max_image_tokens": 16384}`)))(t)
	if _, err := tall.Picture(newRGB(1, 8_000_000)); !errors.Is(err, fault.ErrImage) {
		t.Errorf("a line: %v, want an ErrImage", err)
	}
	for _, config := range []string{`{"tile_size": 500}`, `{"min_tiles": 11}`, `{"max_tiles": 1000}`, `{"resample": 1}`, `{"downsample_factor": 0}`, `{"max_pixels_tolerance": -1}`} {
		if _, err := NewProcessor(bytes.Replace([]byte(config), []byte("{"), []byte(`{"image_processor_type": "Lfm2VlImageProcessor", `), 1)); !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%s: %v, want an ErrConfig", config, err)
		}
	}
	for _, config := range []string{`{"max_image_size": {"height": 8, "width": 8}}`, `{"size": {"shortest_edge": 8}}`, `{"max_image_size": {"longest_edge": 99999}}`} {
		text := bytes.Replace([]byte(config), []byte("{"), []byte(`{"image_processor_type": "Idefics3ImageProcessor", `), 1)
		if _, err := NewProcessor(text); !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%s: %v, want an ErrConfig", config, err)
		}
	}
}
