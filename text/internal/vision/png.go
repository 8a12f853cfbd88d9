// PNG: grey of 16 bits.

package vision

import (
	"bytes"
	"image/png"
)

// decodePNG decodes a PNG file. Pillow reads 16-bit grey as numbers, and limits them to 255.
func decodePNG(data []byte) (*RGB, error) {
	const depth, kind = 24, 25 // offsets in the header
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if data[depth] == 16 && data[kind] == 0 {
		return bounded(img), nil
	}
	return toRGB(img), nil
}
