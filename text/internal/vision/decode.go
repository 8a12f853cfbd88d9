// Package vision prepares images for vision models. It decodes, resizes, crops and normalizes them
// as preprocessor_config.json says, and its pixels are the same as Pillow's.
//
// decode.go lists the formats of files. jpeg.go, png.go, webp.go, gif.go and tiff.go decode as
// Pillow does where Go's own decoders differ. pixels.go has the images that they make, resize.go
// Pillow's filters, and processor.go the steps of a configuration.
package vision

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"io"

	"github.com/avoformer/avoformer/fault"
	"golang.org/x/image/bmp"
	"golang.org/x/image/webp"
)

// MaxPixels is the default limit for the pixels of an image: a little more than phone cameras make.
// Decoding that many takes 350 MB.
const MaxPixels = 50_000_000

// PixelBytes is about what decoding takes for a pixel.
const PixelBytes = 7

// format is a format of files.
type format struct {
	name   string
	is     func(data []byte) bool
	size   func(data []byte) (w, h int, err error) // without memory for pixels
	decode func(data []byte) (*RGB, error)
	notes  func(data []byte) (exif, xmp []byte) // the parts that may have the orientation; nil: there are none
}

var formats = []format{
	{"JPEG", begins("\xff\xd8"), jpegSize, decodeJPEG, jpegNotes},
	{"PNG", begins("\x89PNG\r\n\x1a\n"), sizeBy(png.DecodeConfig), decodePNG, pngNotes},
	{"WebP", func(data []byte) bool { return begins("RIFF")(data) && begins("WEBP")(data[min(8, len(data)):]) }, sizeBy(webp.DecodeConfig), decodeWebP, webpNotes},
	{"GIF", func(data []byte) bool { return begins("GIF87a")(data) || begins("GIF89a")(data) }, gifSize, decodeGIF, nil},
	{"BMP", begins("BM"), sizeBy(bmp.DecodeConfig), decodeBy(bmp.Decode), nil},
	{"TIFF", func(data []byte) bool { return begins("II*\x00")(data) || begins("MM\x00*")(data) }, tiffSize, decodeTIFF, tiffNotes},
}

func begins(magic string) func(data []byte) bool {
	return func(data []byte) bool { return bytes.HasPrefix(data, []byte(magic)) }
}

// Decode decodes a file of at most maxPixels pixels: JPEG, PNG, WebP, BMP, TIFF, or the first image
// of a GIF. It drops transparency, as Pillow's convert("RGB") does. It turns the image as its Exif
// data or XMP say, as transformers' load_image does.
func Decode(data []byte, maxPixels int) (*RGB, error) {
	f, _, err := formatOf(data, maxPixels)
	if err != nil {
		return nil, err
	}
	return f.image(data)
}

// formatOf returns the format of a file of at most maxPixels pixels, and their number according to
// the header.
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

// sizeBy returns a format's size, for a function that reads a header, such as png.DecodeConfig.
func sizeBy(config func(r io.Reader) (image.Config, error)) func(data []byte) (w, h int, err error) {
	return func(data []byte) (w, h int, err error) {
		c, err := config(bytes.NewReader(data))
		return c.Width, c.Height, err
	}
}

// decodeBy returns a format's decode, for a decoder such as bmp.Decode.
func decodeBy(decode func(r io.Reader) (image.Image, error)) func(data []byte) (*RGB, error) {
	return func(data []byte) (*RGB, error) {
		img, err := decode(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		return toRGB(img), nil
	}
}
