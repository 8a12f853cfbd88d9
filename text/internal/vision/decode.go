// Package vision makes of an image what a vision model takes: it decodes PNG
// and JPEG, resizes, crops and normalizes as preprocessor_config.json says,
// with the pixels that Pillow would give.
//
// This file decodes; resize.go has Pillow's filters, and processor.go the
// steps that a configuration lists.
package vision

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"image/png"
)

// ErrImage is an image that cannot be read, or is of a kind not supported.
var ErrImage = errors.New("image")

// maxPixels is what an image may have; Pillow warns of half as many.
const maxPixels = 1 << 27

// RGB is an image of 8-bit samples, [H, W, 3].
type RGB struct {
	W, H int
	Pix  []uint8
}

func newRGB(w, h int) *RGB { return &RGB{w, h, make([]uint8, w*h*3)} }

// Decode decodes a PNG or JPEG file. Transparency is dropped, as by Pillow's
// convert("RGB"); of 16-bit samples the high byte counts. The image is turned as Exif data
// or XMP say, which is what transformers' load_image does.
func Decode(data []byte) (*RGB, error) {
	if bytes.HasPrefix(data, []byte{0xff, 0xd8}) {
		m, err := decodeJPEG(data)
		if err != nil {
			return nil, err
		}
		exif, xmp := jpegNotes(data)
		return oriented(m, exif, xmp), nil
	}
	if !bytes.HasPrefix(data, []byte("\x89PNG")) {
		return nil, fmt.Errorf("%w: neither PNG nor JPEG", ErrImage)
	}
	c, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrImage, err)
	}
	if c.Width <= 0 || c.Height <= 0 || c.Width > maxPixels/c.Height {
		return nil, fmt.Errorf("%w: %d x %d pixels, want 1 to %d", ErrImage, c.Width, c.Height, maxPixels)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrImage, err)
	}
	b := img.Bounds()
	out := newRGB(b.Dx(), b.Dy())
	p := out.Pix
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			p[0], p[1], p[2] = opaque(img.At(x, y))
			p = p[3:]
		}
	}
	exif, xmp := pngNotes(data)
	return oriented(out, exif, xmp), nil
}

// opaque is a colour without its transparency.
func opaque(c color.Color) (r, g, b uint8) {
	switch c := c.(type) {
	case color.NRGBA:
		return c.R, c.G, c.B
	case color.NRGBA64:
		return uint8(c.R >> 8), uint8(c.G >> 8), uint8(c.B >> 8)
	}
	n := color.NRGBA64Model.Convert(c).(color.NRGBA64)
	return uint8(n.R >> 8), uint8(n.G >> 8), uint8(n.B >> 8)
}

// upsampleRow sets dst to row y of a chroma plane of cw by ch samples: three
// parts of the nearest sample and one of the next, in each direction that is
// coarser.
func upsampleRow(dst []int32, plane []uint8, stride, cw, ch, y, across, down int) {
	near := plane[y/down*stride:]
	if across == 2 && cw <= 2 { // libjpeg repeats so few samples
		for x := range 2 * cw {
			dst[x] = int32(near[x/2])
		}
		return
	}
	far := near
	next := y/down - 1 // of the upper of two rows; the edge is repeated
	if y%2 == 1 {
		next += 2
	}
	if down == 2 {
		far = plane[min(max(next, 0), ch-1)*stride:]
	}
	if across == 1 {
		for x := range cw {
			dst[x] = int32(near[x])
			if down == 2 {
				dst[x] = (3*dst[x] + int32(far[x]) + 1 + int32(y%2)) >> 2
			}
		}
		return
	}
	column := func(x int) int32 { return int32(near[x]) }
	shift, left, right := 2, int32(1), int32(2)
	if down == 2 {
		column = func(x int) int32 { return 3*int32(near[x]) + int32(far[x]) }
		shift, left, right = 4, 8, 7
	}
	for x := range cw {
		c := column(x)
		before, after := column(max(x-1, 0)), column(min(x+1, cw-1))
		dst[2*x] = (3*c + before + left) >> shift
		dst[2*x+1] = (3*c + after + right) >> shift
	}
}

// toRGB is JFIF's conversion in 16-bit fixed point.
func toRGB(y, cb, cr int32) (r, g, b uint8) {
	const half = 1 << 15
	return clip8(y + (91881*cr+half)>>16), clip8(y + (-22554*cb-46802*cr+half)>>16), clip8(y + (116130*cb+half)>>16)
}

func clip8(v int32) uint8 { return uint8(min(max(v, 0), 255)) }
