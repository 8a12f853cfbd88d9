// Package vision makes of an image what a vision model takes: it decodes files, resizes,
// crops and normalizes as preprocessor_config.json says, with the pixels that Pillow would
// give.
//
// This file knows the formats; jpeg.go and webp.go have what differs from Go's own decoders,
// resize.go has Pillow's filters, and processor.go the steps that a configuration lists.
package vision

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"

	"github.com/avoformer/avoformer/fault"
	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// MaxPixels is what an image may have unless the caller says otherwise: a little more than
// the cameras of telephones make, and 350 MB while the image is decoded.
const MaxPixels = 50_000_000

// RGB is an image of 8-bit samples, [H, W, 3].
type RGB struct {
	W, H int
	Pix  []uint8
}

func newRGB(w, h int) *RGB { return &RGB{w, h, make([]uint8, w*h*3)} }

// format is a kind of files.
type format struct {
	name   string
	is     func(data []byte) bool
	size   func(data []byte) (w, h int, err error) // without memory for pixels
	decode func(data []byte) (*RGB, error)
	notes  func(data []byte) (exif, xmp []byte) // where the orientation may be; nil: nowhere
}

var formats = []format{
	{"JPEG", begins("\xff\xd8"), jpegSize, decodeJPEG, jpegNotes},
	{"PNG", begins("\x89PNG\r\n\x1a\n"), sizeBy(png.DecodeConfig), decodePNG, pngNotes},
	{"WebP", func(data []byte) bool { return begins("RIFF")(data) && begins("WEBP")(data[min(8, len(data)):]) }, sizeBy(webp.DecodeConfig), decodeWebP, webpNotes},
	{"GIF", func(data []byte) bool { return begins("GIF87a")(data) || begins("GIF89a")(data) }, gifSize, decodeGIF, nil},
	{"BMP", begins("BM"), sizeBy(bmp.DecodeConfig), decodeBy(bmp.Decode), nil},
	{"TIFF", func(data []byte) bool { return begins("II*\x00")(data) || begins("MM\x00*")(data) }, sizeBy(tiff.DecodeConfig), decodeBy(tiff.Decode), tiffNotes},
}

func begins(magic string) func(data []byte) bool {
	return func(data []byte) bool { return bytes.HasPrefix(data, []byte(magic)) }
}

// Decode decodes a file of at most maxPixels pixels: JPEG, PNG, WebP, BMP, TIFF, or the first image
// of a GIF. Transparency is dropped, as by Pillow's convert("RGB"). The image is turned as Exif
// data or XMP say, which is what transformers' load_image does.
func Decode(data []byte, maxPixels int) (*RGB, error) {
	f, _, err := formatOf(data, maxPixels)
	if err != nil {
		return nil, err
	}
	return f.image(data)
}

// formatOf returns the format of a file of at most maxPixels pixels, and their number, as its header says.
func formatOf(data []byte, maxPixels int) (f *format, pixels int, err error) {
	for i := range formats {
		f := &formats[i]
		if !f.is(data) {
			continue
		}
		w, h, err := f.size(data)
		if err != nil {
			return nil, 0, fmt.Errorf("%w: %s: %w", fault.ErrImage, f.name, err)
		}
		if w <= 0 || h <= 0 || w > maxPixels/h {
			return nil, 0, fmt.Errorf("%w: %s of %d x %d pixels, want 1 to %d", fault.ErrImage, f.name, w, h, maxPixels)
		}
		return f, w * h, nil
	}
	return nil, 0, fmt.Errorf("%w: neither JPEG nor PNG, WebP, GIF, BMP or TIFF", fault.ErrImage)
}

// image decodes a file of the format.
func (f *format) image(data []byte) (*RGB, error) {
	m, err := f.decode(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", fault.ErrImage, f.name, err)
	}
	if f.notes == nil {
		return m, nil
	}
	exif, xmp := f.notes(data)
	return oriented(m, exif, xmp), nil
}

// sizeBy returns the size that a header says, read by a function of the form that those of package
// image have.
func sizeBy(config func(r io.Reader) (image.Config, error)) func(data []byte) (w, h int, err error) {
	return func(data []byte) (w, h int, err error) {
		c, err := config(bytes.NewReader(data))
		return c.Width, c.Height, err
	}
}

// decodeBy decodes with a decoder of the form that those of package image have.
func decodeBy(decode func(r io.Reader) (image.Image, error)) func(data []byte) (*RGB, error) {
	return func(data []byte) (*RGB, error) {
		img, err := decode(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		return toRGB(img), nil
	}
}

// decodePNG decodes a PNG file. Pillow takes grey of 16 bits for numbers, which it bounds to 255.
func decodePNG(data []byte) (*RGB, error) {
	const depth, kind = 24, 25 // in the header
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if data[depth] == 16 && data[kind] == 0 {
		return bounded(img), nil
	}
	return toRGB(img), nil
}

// toRGB drops the transparency of an image.
func toRGB(img image.Image) *RGB {
	if grey, ok := img.(*image.Gray16); ok {
		return bounded(grey)
	}
	return eachPixel(img, opaque)
}

// bounded is grey of 16 bits, whose values above 255 are 255.
func bounded(img image.Image) *RGB {
	return eachPixel(img, func(c color.Color) (r, g, b uint8) {
		n := color.NRGBA64Model.Convert(c).(color.NRGBA64)
		v := uint8(min(n.R, 255))
		return v, v, v
	})
}

func eachPixel(img image.Image, rgb func(c color.Color) (r, g, b uint8)) *RGB {
	at := img.Bounds()
	out := newRGB(at.Dx(), at.Dy())
	p := out.Pix
	for y := at.Min.Y; y < at.Max.Y; y++ {
		for x := at.Min.X; x < at.Max.X; x++ {
			p[0], p[1], p[2] = rgb(img.At(x, y))
			p = p[3:]
		}
	}
	return out
}

// opaque returns a colour without its transparency; of 16 bits the high byte counts.
func opaque(c color.Color) (r, g, b uint8) {
	switch c := c.(type) {
	case color.NRGBA:
		return c.R, c.G, c.B
	case color.NRGBA64:
		return uint8(c.R >> 8), uint8(c.G >> 8), uint8(c.B >> 8)
	case color.CMYK:
		return inked(c.C, c.K), inked(c.M, c.K), inked(c.Y, c.K)
	}
	n := color.NRGBA64Model.Convert(c).(color.NRGBA64)
	return uint8(n.R >> 8), uint8(n.G >> 8), uint8(n.B >> 8)
}

// inked is what is left of white under an ink and black, as Pillow rounds it.
func inked(ink, black uint8) uint8 {
	white := 255 - int32(black)
	product := int32(ink)*white + 128
	return clip8(white - (product>>8+product)>>8)
}

func clip8(v int32) uint8 { return uint8(min(max(v, 0), 255)) }
