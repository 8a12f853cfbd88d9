// WebP: the colours of lossy images, and the position of metadata.
//
// Go's decoder returns brightness and colour as the file has them; this file converts them to
// pixels with the integers of libwebp. Source: RFC 9649 (2024) and, for the numbers, libwebp's
// dsp/yuv.h.

package vision

import (
	"bytes"
	"encoding/binary"
	"image"

	"golang.org/x/image/webp"
)

// decodeWebP decodes a WebP file.
func decodeWebP(data []byte) (*RGB, error) {
	img, err := webp.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	switch m := img.(type) {
	case *image.YCbCr:
		return fromYUV(m), nil
	case *image.NYCbCrA:
		return fromYUV(&m.YCbCr), nil
	}
	return toRGB(img), nil
}

// fromYUV makes pixels from brightness, and from colour at half the size.
func fromYUV(m *image.YCbCr) *RGB {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	out := newRGB(w, h)
	u, v := make([]int32, w+1), make([]int32, w+1)
	for y := range h {
		near, far := y/2, y/2-1 // the nearest rows of colour
		if y%2 == 1 {
			far = y/2 + 1
		}
		far = min(max(far, 0), (h-1)/2)
		spread(u, m.Cb[near*m.CStride:], m.Cb[far*m.CStride:], (w+1)/2)
		spread(v, m.Cr[near*m.CStride:], m.Cr[far*m.CStride:], (w+1)/2)
		for x := range w {
			p := out.Pix[(y*w+x)*3:]
			p[0], p[1], p[2] = studio(int32(m.Y[y*m.YStride+x]), u[x], v[x])
		}
	}
	return out
}

// spread sets dst to a row at twice the width of near, which has n samples: nine parts of the
// nearest sample, three parts of each of the samples next to it and above or below, one part of the
// diagonal one, rounded as in libwebp.
func spread(dst []int32, near, far []uint8, n int) {
	put := func(x int, v int32) {
		if x < len(dst) {
			dst[x] = v
		}
	}
	put(0, (3*int32(near[0])+int32(far[0])+2)>>2)
	for x := 1; x < n; x++ {
		a, b := int32(near[x-1]), int32(near[x]) // to the left and right
		c, d := int32(far[x-1]), int32(far[x])
		sum := a + b + c + d + 8
		put(2*x-1, ((sum+2*(b+c))>>3+a)>>1)
		put(2*x, ((sum+2*(a+d))>>3+b)>>1)
	}
	put(2*n-1, (3*int32(near[n-1])+int32(far[n-1])+2)>>2)
}

// studio returns the conversion of ITU-R BT.601 with brightness from 16 to 235, in fixed point.
func studio(y, u, v int32) (r, g, b uint8) {
	l := y * 19077 >> 8
	return clip8((l + v*26149>>8 - 14234) >> 6), clip8((l - u*6419>>8 - v*13320>>8 + 8708) >> 6), clip8((l + u*33050>>8 - 17685) >> 6)
}

// webpNotes returns the chunks of a WebP file that may have an orientation.
func webpNotes(data []byte) (exif, xmp []byte) {
	for at := 12; at+8 <= len(data); {
		size := int(binary.LittleEndian.Uint32(data[at+4:]))
		if size < 0 || size > len(data)-at-8 {
			return exif, xmp
		}
		switch body := data[at+8 : at+8+size]; string(data[at : at+4]) {
		case "EXIF":
			exif = body
		case "XMP ":
			xmp = body
		}
		at += 8 + size + size%2
	}
	return exif, xmp
}
