// JPEG: segments, which describe the image, its quantisation and its Huffman codes.

package vision

import (
	"encoding/binary"
	"fmt"
)

// component is a colour component of the image, with its coefficients.
type component struct {
	id, h, v     int // sampling factors
	quant        int
	w, h8        int // blocks across and down, in whole units of all components
	blocksW      int // blocks across in the component itself
	blocksH      int
	coefficients []int16 // [h8, w, 64], in natural order
	known        known   // of progressive files
	before       known   // the same before the last scan of the component
	dc           int32   // of the previous block
	dcTable      *huffman
	acTable      *huffman
}

// known says of the first ten coefficients, in the order of the file, how many low bits of them are
// not known; -1: no scan had them.
type known [10]int8

var nothingKnown = known{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1}

type jpegFile struct {
	data        []byte
	w, h        int
	progressive bool
	components  []*component
	hMax, vMax  int
	quants      [4][64]int32
	tables      [2][4]*huffman // DC and AC
	restart     int
	scans       int  // read so far
	lastRow     int  // the last row of units for which a scan had data
	jfif        bool // JFIF's marker was read
	adobe       int  // the transform in Adobe's marker; -1: no marker
}

func jpegError(format string, args ...any) error { return fmt.Errorf(format, args...) }

// zigzag has the position in the block of each coefficient of the file.
var zigzag = [64]uint8{
	0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
}

// next returns the next marker and the body of its segment.
func (j *jpegFile) next() (byte, []byte, error) {
	for len(j.data) >= 2 && (j.data[0] != 0xff || j.data[1] == 0 || j.data[1] == 0xff) {
		j.data = j.data[1:] // padding, or the rest of a scan
	}
	if len(j.data) < 2 {
		return 0, nil, jpegError("cut off")
	}
	marker := j.data[1]
	j.data = j.data[2:]
	if marker == 0xd9 || marker >= 0xd0 && marker <= 0xd8 || marker == 1 {
		return marker, nil, nil
	}
	if len(j.data) < 2 {
		return 0, nil, jpegError("cut off")
	}
	n := int(binary.BigEndian.Uint16(j.data))
	if n < 2 || n > len(j.data) {
		return 0, nil, jpegError("segment of %d bytes, %d are left", n, len(j.data))
	}
	body := j.data[2:n]
	j.data = j.data[n:]
	return marker, body, nil
}

func (j *jpegFile) frame(b []byte) error {
	if j.components != nil {
		return jpegError("two frames")
	}
	if len(b) < 6 || len(b) != 6+3*int(b[5]) {
		return jpegError("frame of %d bytes", len(b))
	}
	j.h, j.w = int(binary.BigEndian.Uint16(b[1:])), int(binary.BigEndian.Uint16(b[3:]))
	if b[0] != 8 || j.w == 0 || j.h == 0 {
		return jpegError("%d bits, %d x %d pixels", b[0], j.w, j.h)
	}
	if n := int(b[5]); n != 1 && n != 3 && n != 4 {
		return jpegError("%d components are not supported", n)
	}
	var components []*component
	for c := b[6:]; len(c) > 0; c = c[3:] {
		x := &component{id: int(c[0]), h: int(c[1] >> 4), v: int(c[1] & 15), quant: int(c[2]), known: nothingKnown}
		if x.h < 1 || x.v < 1 || x.h > 4 || x.v > 4 || x.quant > 3 {
			return jpegError("sampling %d x %d, table %d", x.h, x.v, x.quant)
		}
		j.hMax, j.vMax = max(j.hMax, x.h), max(j.vMax, x.v)
		components = append(components, x)
	}
	unitsW, unitsH := ceilDiv(j.w, 8*j.hMax), ceilDiv(j.h, 8*j.vMax)
	// Each block takes at least one bit in the first scan that codes it.
	if unitsW*unitsH > 8*len(j.data) {
		return jpegError("%d x %d pixels in %d bytes", j.w, j.h, len(j.data))
	}
	for _, x := range components {
		x.w, x.h8 = unitsW*x.h, unitsH*x.v
		x.blocksW, x.blocksH = ceilDiv(ceilDiv(j.w*x.h, j.hMax), 8), ceilDiv(ceilDiv(j.h*x.v, j.vMax), 8)
		x.coefficients = make([]int16, x.w*x.h8*64)
	}
	j.components = components
	return nil
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

func (j *jpegFile) quantTables(b []byte) error {
	for len(b) > 0 {
		wide, id := b[0]>>4, b[0]&15
		size := 64 * (1 + int(wide))
		if id > 3 || wide > 1 || len(b) < 1+size {
			return jpegError("quantisation table")
		}
		for i := range 64 {
			if wide == 1 {
				j.quants[id][zigzag[i]] = int32(binary.BigEndian.Uint16(b[1+2*i:]))
			} else {
				j.quants[id][zigzag[i]] = int32(b[1+i])
			}
		}
		b = b[1+size:]
	}
	return nil
}

// huffman is a table of codes: for each length the largest code, and where its values begin.
type huffman struct {
	last   [17]int32 // -1 if no code has the length
	offset [17]int32
	values []uint8
}

func (j *jpegFile) huffmanTables(b []byte) error {
	for len(b) > 0 {
		if len(b) < 17 || b[0]>>4 > 1 || b[0]&15 > 3 {
			return jpegError("table of codes")
		}
		t, code, n := &huffman{}, int32(0), int32(0)
		for length := 1; length <= 16; length++ {
			count := int32(b[length])
			t.offset[length] = n - code
			code, n = code+count, n+count
			if code > 1<<length {
				return jpegError("table of codes")
			}
			t.last[length] = code - 1
			if count == 0 {
				t.last[length] = -1
			}
			code <<= 1
		}
		if len(b) < 17+int(n) {
			return jpegError("table of codes")
		}
		t.values = b[17 : 17+n]
		j.tables[b[0]>>4][b[0]&15] = t
		b = b[17+n:]
	}
	return nil
}
