// GIF: the first image on its canvas.

package vision

import (
	"bytes"
	"errors"
	"image"
	"image/gif"
)

var errGIF = errors.New("malformed")

// gifFrame finds the first image of a GIF file. It returns the position of the flags that say whether
// a colour is transparent, or 0 if there are no flags, and that colour.
func gifFrame(data []byte) (flags, transparent int, err error) {
	if len(data) < 13 {
		return 0, 0, errGIF
	}
	at := 13
	if data[10]&0x80 != 0 { // the colours of all images
		at += 3 << (data[10]&7 + 1)
	}
	for at+2 < len(data) && data[at] == '!' {
		const control = 0xf9
		if data[at+1] == control && at+7 < len(data) && data[at+2] >= 4 {
			flags, transparent = 0, 0
			if data[at+3]&1 != 0 {
				flags, transparent = at+3, int(data[at+6])
			}
		}
		at += 2
		for at < len(data) && data[at] != 0 { // blocks
			at += 1 + int(data[at])
		}
		at++
	}
	if at >= len(data) || data[at] != ',' {
		return 0, 0, errGIF
	}
	return flags, transparent, nil
}

// gifSize returns the size of the canvas.
func gifSize(data []byte) (w, h int, err error) {
	if _, _, err := gifFrame(data); err != nil {
		return 0, 0, err
	}
	return int(data[6]) | int(data[7])<<8, int(data[8]) | int(data[9])<<8, nil
}

// decodeGIF decodes the first image of a GIF file. As in Pillow, a transparent colour is an
// ordinary colour, and fills the canvas around a smaller image; without one the first colour does.
func decodeGIF(data []byte) (*RGB, error) {
	flags, around, err := gifFrame(data)
	if err != nil {
		return nil, err
	}
	if flags > 0 { // otherwise the decoder forgets that colour
		data = bytes.Clone(data)
		data[flags] &^= 1
	}
	img, err := gif.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	frame := img.(*image.Paletted)
	w, h, _ := gifSize(data)
	canvas := image.NewPaletted(image.Rect(0, 0, w, h), frame.Palette)
	if around < len(frame.Palette) {
		for i := range canvas.Pix {
			canvas.Pix[i] = uint8(around)
		}
	}
	r := frame.Rect.Intersect(canvas.Rect)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		copy(canvas.Pix[canvas.PixOffset(r.Min.X, y):][:r.Dx()], frame.Pix[frame.PixOffset(r.Min.X, y):])
	}
	return toRGB(canvas), nil
}
