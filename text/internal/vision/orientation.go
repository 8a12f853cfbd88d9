// The orientation that a camera records, and turning an image by it.

package vision

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"slices"
)

// oriented returns the image in its upright position: turned by the orientation in its Exif
// data or, if they have none, in XMP.
func oriented(m *RGB, exif, xmp []byte) *RGB {
	o := exifOrientation(exif)
	if o < 0 {
		if found := xmpOrientation.FindSubmatch(xmp); found != nil {
			o = int(found[1][0] - '0')
		}
	}
	if o < 2 || o > 8 {
		return m
	}
	// From 5 on, rows and columns are swapped; the cases below say which of
	// them are mirrored.
	turned, w, h := o >= 5, m.W, m.H
	mirrorX, mirrorY := o == 2 || o == 3, o == 3 || o == 4
	if turned {
		mirrorX, mirrorY = o == 6 || o == 7, o == 7 || o == 8
		w, h = h, w
	}
	out := newRGB(w, h)
	for y := range h {
		for x := range w {
			fromX, fromY := x, y
			if mirrorX {
				fromX = w - 1 - x
			}
			if mirrorY {
				fromY = h - 1 - y
			}
			if turned {
				fromX, fromY = fromY, fromX
			}
			copy(out.Pix[(y*w+x)*3:][:3], m.Pix[(fromY*m.W+fromX)*3:])
		}
	}
	return out
}

var (
	exifHeader     = []byte("Exif\x00\x00")
	xmpHeader      = []byte("http://ns.adobe.com/xap/1.0/\x00")
	xmpOrientation = regexp.MustCompile(`tiff:Orientation(?:="|>)([0-9])`)
)

// exifOrientation returns the orientation in the first directory of Exif data, or -1 if there is none.
// As in Pillow, a value that is not a single short or long number is present but has no meaning.
func exifOrientation(data []byte) int {
	data = bytes.TrimPrefix(data, exifHeader)
	if len(data) < 8 {
		return -1
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if string(data[:2]) == "MM" {
		order = binary.BigEndian
	} else if string(data[:2]) != "II" {
		return -1
	}
	at := int64(order.Uint32(data[4:]))
	if order.Uint16(data[2:]) != 42 || at+2 > int64(len(data)) {
		return -1
	}
	entries := int(order.Uint16(data[at:]))
	for entry := range slices.Chunk(data[at+2:], 12) { // tag, type, count, value
		if entries--; entries < 0 || len(entry) < 12 {
			break
		}
		const orientation = 0x112
		if order.Uint16(entry) != orientation {
			continue
		}
		switch kind, count := order.Uint16(entry[2:]), order.Uint32(entry[4:]); {
		case kind == 3 && count == 1:
			return int(order.Uint16(entry[8:]))
		case kind == 4 && count == 1:
			return int(min(order.Uint32(entry[8:]), 9))
		}
		return 0
	}
	return -1
}

// jpegNotes returns the Exif data and the XMP before a JPEG file's first scan.
func jpegNotes(data []byte) (exif, xmp []byte) {
	for at := 2; at+4 <= len(data) && data[at] == 0xff; {
		marker := data[at+1]
		if marker == 0xff { // padding
			at++
			continue
		}
		n := int(binary.BigEndian.Uint16(data[at+2:]))
		if marker == 0xda || n < 2 || at+2+n > len(data) {
			break
		}
		segment := data[at+4 : at+2+n]
		switch {
		case marker != 0xe1:
		case bytes.HasPrefix(segment, exifHeader):
			exif = append(exif, segment[len(exifHeader):]...)
		case bytes.HasPrefix(segment, xmpHeader):
			xmp = segment[len(xmpHeader):]
		}
		at += 2 + n
	}
	return exif, xmp
}

// pngNotes returns the same for a PNG file; it ignores compressed XMP.
func pngNotes(data []byte) (exif, xmp []byte) {
	for data = data[8:]; len(data) >= 12; {
		n := int64(binary.BigEndian.Uint32(data))
		if 12+n > int64(len(data)) {
			break
		}
		chunk := data[8 : 8+n]
		switch string(data[4:8]) {
		case "eXIf":
			exif = chunk
		case "iTXt":
			if bytes.HasPrefix(chunk, []byte("XML:com.adobe.xmp\x00\x00")) {
				xmp = chunk
			}
		}
		data = data[12+n:]
	}
	return exif, xmp
}

// tiffNotes returns the TIFF file itself: Exif data have its form.
func tiffNotes(data []byte) (exif, xmp []byte) { return data, nil }
