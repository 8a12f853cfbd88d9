// The images that the formats are decoded to, and conversions of colours.

package vision

import (
	"image"
	"image/color"
)

// RGB is an image of 8-bit samples, [H, W, 3].
type RGB struct {
	W, H int
	Pix  []uint8
}

func newRGB(w, h int) *RGB { return &RGB{w, h, make([]uint8, w*h*3)} }

// toRGB returns an image without its transparency.
func toRGB(img image.Image) *RGB {
	if grey, ok := img.(*image.Gray16); ok {
		return bounded(grey)
	}
	return eachPixel(img, opaque)
}

// bounded returns an image of 16-bit grey as 8 bits: values above 255 become 255.
func bounded(img image.Image) *RGB {
	return eachPixel(img, func(c color.Color) (r, g, b uint8) {
		n := color.NRGBA64Model.Convert(c).(color.NRGBA64)
		v := uint8(min(n.R, 255))
		return v, v, v
	})
}

// eachPixel converts every pixel of an image.
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

// opaque returns a colour without its transparency, and the high bytes of 16-bit samples.
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

// inked returns the brightness of paper under an ink and black, as Pillow rounds it.
func inked(ink, black uint8) uint8 {
	white := 255 - int32(black)
	product := int32(ink)*white + 128
	return clip8(white - (product>>8+product)>>8)
}

func clip8(v int32) uint8 { return uint8(min(max(v, 0), 255)) }
