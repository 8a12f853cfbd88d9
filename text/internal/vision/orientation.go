// The orientation that a camera records, and turning an image by it.

package vision

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"io"
	"regexp"
	"sync"
)

// oriented returns the image in its upright position: turned by the orientation in its Exif data
// or, if they have none, in XMP.
func oriented(m *RGB, exif, xmp []byte) *RGB {
	o := exifOrientation(exif)
	if o < 0 {
		if found := xmpOrientation().FindSubmatch(xmp); found != nil {
			o = int(found[1][0] - '0')
		}
	}
	if o < 2 || o > 8 {
		return m
	}
	// From 5 on, rows and columns are swapped; the cases below say which of them are mirrored.
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
	xmpOrientation = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`tiff:Orientation(?:="|>)([0-9])`) })
)

// exifOrientation returns the orientation in the first directory of Exif data, or -1 if there is
// none. A value of another kind than whole numbers is present but has no meaning.
func exifOrientation(data []byte) int {
	for range 2 { // some programs write the header twice
		data = bytes.TrimPrefix(data, exifHeader)
	}
	t, _ := readTags(data)
	if _, there := t.values[tagOrientation]; !there {
		return -1
	}
	return int(min(t.number(tagOrientation, 0), 9))
}

// jpegNotes returns the Exif data and the XMP before a JPEG file's first scan.
func jpegNotes(data []byte) (exif, xmp []byte) {
	j := &jpegFile{data: data[min(2, len(data)):]}
	for {
		marker, body, err := j.next()
		switch {
		case err != nil || marker == 0xd9 || marker == 0xda:
			return exif, xmp
		case marker != 0xe1:
		case bytes.HasPrefix(body, exifHeader):
			if exif != nil { // long data go on in the next segment
				body = body[len(exifHeader):]
			}
			exif = append(exif, body...)
		case bytes.HasPrefix(body, xmpHeader):
			xmp = body[len(xmpHeader):]
		}
	}
}

// pngNotes returns the same for a PNG file, whose texts may be compressed. Older programs write
// Exif data as a text of hexadecimal digits, after three lines that have a name and the size.
func pngNotes(data []byte) (exif, xmp []byte) {
	const asText, xmpKey = "Raw profile type exif", "XML:com.adobe.xmp"
	texts := map[string][]byte{}
	for data = data[8:]; len(data) >= 12; {
		n := int64(binary.BigEndian.Uint32(data))
		kind := string(data[4:8])
		if 12+n > int64(len(data)) || kind == "IEND" {
			break
		}
		chunk := data[8 : 8+n]
		data = data[12+n:]
		if kind == "eXIf" {
			exif = chunk
		}
		key, text, _ := bytes.Cut(chunk, []byte{0})
		if name := string(key); name == asText || name == xmpKey {
			if text, ok := pngText(kind, text); ok {
				texts[name] = text
			}
		}
	}
	if lines := bytes.SplitN(texts[asText], []byte("\n"), 4); exif == nil && len(lines) == 4 {
		digits := bytes.Join(bytes.Fields(lines[3]), nil)
		exif = make([]byte, hex.DecodedLen(len(digits)))
		if _, err := hex.Decode(exif, digits); err != nil {
			exif = nil
		}
	}
	return exif, texts[xmpKey]
}

// pngText returns the text in a chunk, of which the key is cut off, if the chunk has one.
func pngText(kind string, data []byte) (text []byte, ok bool) {
	compressed := kind == "zTXt"
	switch kind {
	case "tEXt":
		return data, true
	case "zTXt": // the method
		if len(data) < 1 || data[0] != 0 {
			return nil, false
		}
		data = data[1:]
	case "iTXt": // whether the text is compressed, the method, a language and a translated key
		parts := bytes.SplitN(data[min(2, len(data)):], []byte{0}, 3)
		if len(parts) < 3 || data[0] != 0 && data[1] != 0 {
			return nil, false
		}
		data, compressed = parts[2], data[0] != 0
	default:
		return nil, false
	}
	if !compressed {
		return data, true
	}
	const most = 1 << 20 // as in Pillow
	r, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, false
	}
	defer r.Close()
	text, err = io.ReadAll(io.LimitReader(r, most))
	return text, err == nil
}

// tiffNotes returns the TIFF file itself, since Exif data have its form, and the XMP in it.
func tiffNotes(data []byte) (exif, xmp []byte) {
	t, _ := readTags(data)
	return data, t.values[tagXMP].data
}
