// Images that a model reads in tiles, and as a whole.

package vision

import (
	"fmt"

	"github.com/avoformer/avoformer/fault"
)

// A Picture is an image as a model that reads text gets it: some parts, of which the last is the
// whole image where a model gets it.
type Picture struct {
	Rows, Columns int // of tiles, which come before the whole; 0: there are none
	parts         []*RGB
	processor     *Processor
}

// Parts returns the number of parts.
func (p *Picture) Parts() int { return len(p.parts) }

// Pixels returns the pixel_values of a part, [3, h, w].
func (p *Picture) Pixels(part int) (pixels []float32, w, h int) {
	m := p.parts[part]
	return p.processor.values(m), m.W, m.H
}

// Size returns the size of a part.
func (p *Picture) Size(part int) (w, h int) { return p.parts[part].W, p.parts[part].H }

// Texts returns what a prompt has before each part, and after the last; nil: the model's own
// tokens.
func (p *Picture) Texts() []string {
	if p.processor.grid != nil {
		return p.gridTexts()
	}
	if p.processor.Spelled() || p.processor.whole != nil { // the template, or what reads the prompt, writes what is around an image
		return []string{"", ""}
	}
	if p.processor.tile == 0 {
		return nil
	}
	const around, whole = "<fake_token_around_image>", "<global-img>"
	if p.Rows == 0 {
		return []string{around + whole, around}
	}
	texts, line := []string{}, ""
	for row := range p.Rows {
		for column := range p.Columns {
			texts = append(texts, line+fmt.Sprintf("%s<row_%d_col_%d>", around, row+1, column+1))
			line = ""
		}
		line = "\n"
	}
	return append(texts, "\n\n"+around+whole, around)
}

// Spelled reports whether the text around an image is part of the text that is tokenized.
func (p *Processor) Spelled() bool { return p.Class == panned }

// Tile returns the side of the parts, if all are squares of one size; otherwise 0.
func (p *Processor) Tile() int { return p.tile }

// Picture makes the parts of an image.
func (p *Processor) Picture(m *RGB) (*Picture, error) {
	if p.grid != nil {
		return p.gridPicture(m)
	}
	if p.tile > 0 {
		return p.tiles(m)
	}
	m, err := p.prepared(m)
	if err != nil {
		return nil, err
	}
	return &Picture{parts: []*RGB{m}, processor: p}, nil
}

// longest is the most pixels on a side of an image that do_resize makes.
const longest = 4096

// The most pixels of an image in tiles, and the most tiles.
const mostTiled, mostParts = 1 << 25, 1 << 12

// configureTiles reads the additional fields of the classes of Idefics 3 and SmolVLM.
func (p *Processor) configureTiles(c *config) error {
	p.crop = false
	side, err := size("max_image_size", c.Tile.Or([]byte(`{"longest_edge": 364}`)), true)
	if err != nil {
		return err
	}
	p.split = c.Split.Or(true).Value
	if p.tile = side.longest; p.tile == 0 {
		return configError("max_image_size", "want longest_edge")
	}
	if p.resize && p.size.longest == 0 && (p.size.height == 0 || p.size.width == 0) {
		return configError("size", "want longest_edge, or height and width")
	}
	return nil
}

// tiles cuts an image, enlarged or reduced to whole tiles, and adds the whole as the last one.
func (p *Processor) tiles(m *RGB) (*Picture, error) {
	var err error
	w, h := m.W, m.H
	if p.resize {
		if w, h = p.size.width, p.size.height; p.size.longest > 0 {
			w, h = within(scaledTo(m.W, m.H, p.size.longest))
		}
		if m, err = m.Resize(w, h, p.filter); err != nil {
			return nil, err
		}
	}
	if !p.split {
		m, err = m.Resize(p.tile, p.tile, p.filter)
		return &Picture{parts: []*RGB{m}, processor: p}, err
	}
	up := func(n int) int { return (n + p.tile - 1) / p.tile * p.tile }
	shape := float64(w) / float64(h)
	if w >= h {
		w = up(w)
		h = up(int(float64(w) / shape))
	} else {
		h = up(h)
		w = up(int(float64(h) * shape))
	}
	if h > 0 && w > mostTiled/h {
		return nil, fmt.Errorf("%w: tiles for %d x %d pixels, want at most %d", fault.ErrImage, w, h, mostTiled)
	}
	if n := (h / p.tile) * (w / p.tile); n > mostParts {
		return nil, fmt.Errorf("%w: %d tiles, want at most %d", fault.ErrImage, n, mostParts)
	}
	if m, err = m.Resize(w, h, p.filter); err != nil {
		return nil, err
	}
	all := &Picture{processor: p}
	if w > p.tile || h > p.tile {
		all.Rows, all.Columns = h/p.tile, w/p.tile
		for i := range all.Rows * all.Columns {
			all.parts = append(all.parts, m.cut(i%all.Columns*p.tile, i/all.Columns*p.tile, p.tile, p.tile))
		}
		if m, err = m.Resize(p.tile, p.tile, p.filter); err != nil {
			return nil, err
		}
	}
	all.parts = append(all.parts, m)
	return all, nil
}

// scaledTo returns the size of an image whose longer side becomes as long as most. The other side
// becomes even where it is not 1.
func scaledTo(w, h, most int) (width, height int) {
	shape := float64(w) / float64(h)
	even := func(x float64) int { return max(int(x)+int(x)%2, 1) }
	if w >= h {
		return most, even(float64(most) / shape)
	}
	return even(float64(most) * shape), most
}

// within returns the size of an image that is reduced to what do_resize may make.
func within(w, h int) (width, height int) {
	shape := float64(w) / float64(h)
	switch {
	case w >= h && w > longest:
		return longest, max(int(longest/shape), 1)
	case h > w && h > longest:
		return max(int(float64(longest*shape)), 1), longest
	}
	return w, h
}

// configureGrid reads the additional fields of LFM2-VL's class.
func (p *Processor) configureGrid(c *config) error {
	g := &grid{patch: c.EncoderPatch.Or(16).Value, square: c.Downsample.Or(2).Value, leastTiles: c.LeastTiles.Or(2).Value, mostTiles: c.MostTiles.Or(10).Value, leastTokens: c.LeastTokens.Or(64).Value, mostTokens: c.MostTokens.Or(256).Value,
		tile: c.TileSize.Or(512).Value, tolerance: c.Tolerance.Or(2).Value, whole: c.Thumbnail.Or(true).Value}
	if !c.Split.Or(true).Value {
		g.leastTiles, g.mostTiles = 1, 1
	}
	for _, f := range []struct {
		name     string
		n, limit int
	}{
		{"encoder_patch_size", g.patch, 1 << 7}, {"downsample_factor", g.square, 1 << 4}, {"min_tiles", g.leastTiles, 1 << 6}, {"max_tiles", g.mostTiles, 1 << 6}, {"min_image_tokens", g.leastTokens, 1 << 14}, {"max_image_tokens", g.mostTokens, 1 << 14}, {"tile_size", g.tile, longest},
	} {
		if f.n < 1 || f.n > f.limit {
			return configError(f.name, "%d, want 1 to %d", f.n, f.limit)
		}
	}
	switch {
	case g.leastTiles > g.mostTiles:
		return configError("min_tiles", "%d, want at most max_tiles = %d", g.leastTiles, g.mostTiles)
	case g.tile%(g.patch*g.square) != 0:
		return configError("tile_size", "%d, want a multiple of encoder_patch_size times downsample_factor = %d", g.tile, g.patch*g.square)
	case !(g.tolerance >= 0):
		return configError("max_pixels_tolerance", "%v, want at least 0", g.tolerance)
	case p.filter != Bilinear && p.filter != Bicubic:
		return configError("resample", "%d, want %d or %d", p.filter, Bilinear, Bicubic)
	}
	p.crop, p.resize, p.grid, p.patch = false, true, g, g.patch
	return nil
}

// gridPicture cuts an image as LFM2-VL reads it.
func (p *Processor) gridPicture(m *RGB) (*Picture, error) {
	g := p.grid
	all := &Picture{processor: p}
	if g.mostTiles > 1 && g.large(m.W, m.H) {
		all.Columns, all.Rows = g.shape(m.W, m.H)
		w, h := all.Columns*g.tile, all.Rows*g.tile
		if w > mostTiled/h {
			return nil, fmt.Errorf("%w: tiles for %d x %d pixels, want at most %d", fault.ErrImage, w, h, mostTiled)
		}
		resized, err := m.resizeShort(w, h, p.filter)
		if err != nil {
			return nil, err
		}
		for i := range all.Rows * all.Columns {
			all.parts = append(all.parts, resized.cut(i%all.Columns*g.tile, i/all.Columns*g.tile, g.tile, g.tile))
		}
		if len(all.parts) == 1 { // the model gets it without a name
			all.Rows, all.Columns = 0, 0
			return all, nil
		}
		if !g.whole {
			return all, nil
		}
	}
	w, h := g.wholeSize(m.W, m.H)
	if w > mostTiled/h {
		return nil, fmt.Errorf("%w: %d x %d pixels as a whole, want at most %d", fault.ErrImage, w, h, mostTiled)
	}
	m, err := m.resizeShort(w, h, p.filter)
	all.parts = append(all.parts, m)
	return all, err
}

// gridTexts is Texts of LFM2-VL.
func (p *Picture) gridTexts() (texts []string) {
	const begin, end = "<|image_start|>", "<|image_end|>"
	for i := range p.Rows * p.Columns {
		texts = append(texts, fmt.Sprintf("<|img_row_%d_col_%d|>", i/p.Columns+1, i%p.Columns+1))
	}
	if len(texts) < len(p.parts) {
		whole := ""
		if p.Rows > 0 {
			whole = "<|img_thumbnail|>"
		}
		texts = append(texts, whole)
	}
	texts[0] = begin + texts[0]
	return append(texts, end)
}

// cut returns the w by h pixels of m from a place on, all of which m has.
func (m *RGB) cut(left, top, w, h int) *RGB {
	out := newRGB(w, h)
	for y := range h {
		copy(out.Pix[y*w*3:][:w*3], m.Pix[((top+y)*m.W+left)*3:])
	}
	return out
}
