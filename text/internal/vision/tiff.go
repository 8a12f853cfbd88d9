// TIFF: the first picture of a file.
//
// Pillow reads TIFF with libtiff; golang.org/x/image/tiff inverts fax codes, knows FillOrder for
// them alone, and ignores planes. This decoder reads what both have: grey, palettes, RGB and CMYK,
// in strips or tiles, with or without further samples. The rest, such as JPEG inside TIFF, is an
// error.
//
// tiff_tags.go reads the directory, tiff_fax.go the fax codes.
//
// Source: TIFF 6.0 (1992) and its Technical Notes.

package vision

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	mathbits "math/bits"

	"golang.org/x/image/tiff/lzw"
)

// The tags that a decoder reads.
const (
	tagWidth         = 256
	tagHeight        = 257
	tagBits          = 258
	tagCompression   = 259
	tagPhotometric   = 262
	tagFillOrder     = 266
	tagStripOffsets  = 273
	tagOrientation   = 274
	tagSamples       = 277
	tagRowsPerStrip  = 278
	tagStripBytes    = 279
	tagPlanar        = 284
	tagFaxOptions    = 292
	tagPredictor     = 317
	tagPalette       = 320
	tagTileWidth     = 322
	tagTileHeight    = 323
	tagTileOffsets   = 324
	tagTileBytes     = 325
	tagExtraSamples  = 338
	tagSampleFormat  = 339
	tagXMP           = 700
	tiffPlain        = 1
	tiffLZW          = 5
	tiffDeflate      = 8
	tiffOldDeflate   = 32946
	tiffPackBits     = 32773
	whiteIsZero      = 0
	blackIsZero      = 1
	photometricRGB   = 2
	photometricIndex = 3
	photometricCMYK  = 5
)

// tiffColours has the samples that make the colour of a pixel, by photometric interpretation.
var tiffColours = map[uint32]int{whiteIsZero: 1, blackIsZero: 1, photometricRGB: 3, photometricIndex: 1, photometricCMYK: 4}

var errTIFFEnd = errors.New("cut off")

// tiffFile is a file whose directory is read.
type tiffFile struct {
	tags
	data             []byte
	w, h             int
	samples, colours int // of a pixel; the rest are further samples
	bits             int // of a sample
	photometric      uint32
	compression      uint32
	associated       bool // the first further sample is alpha, by which the colours are multiplied
	separate         bool // each sample has its plane
	reversed         bool // a byte's lowest bit is the first
	predicted        bool // samples are differences from the pixel to the left
}

// tiffSize returns the size of a file's first picture.
func tiffSize(data []byte) (w, h int, err error) {
	t, err := readTIFF(data)
	if err != nil {
		return 0, 0, err
	}
	return t.w, t.h, nil
}

// readTIFF reads the directory of a file, and refuses what the decoder does not support.
func readTIFF(data []byte) (*tiffFile, error) {
	directory, ok := readTags(data)
	if !ok {
		return nil, errTIFFEnd
	}
	t := &tiffFile{tags: directory, data: data}
	w, h := t.number(tagWidth, 0), t.number(tagHeight, 0)
	const most = 1 << 30
	if w == 0 || h == 0 || w > most || h > most {
		return nil, fmt.Errorf("%d x %d pixels", w, h)
	}
	t.w, t.h = int(w), int(h)
	t.photometric, t.compression = t.number(tagPhotometric, whiteIsZero), t.number(tagCompression, tiffPlain)
	if t.colours = tiffColours[t.photometric]; t.colours == 0 {
		return nil, fmt.Errorf("photometric interpretation %d is not supported", t.photometric)
	}
	samples := t.number(tagSamples, 1)
	if samples < uint32(t.colours) || samples > uint32(t.colours)+4 {
		return nil, fmt.Errorf("%d samples of photometric interpretation %d are not supported", samples, t.photometric)
	}
	t.samples = int(samples)
	t.bits = int(min(t.number(tagBits, 1), 64))
	for _, n := range t.numbers(tagBits, t.samples) {
		if int(min(n, 64)) != t.bits {
			return nil, errors.New("samples of different sizes are not supported")
		}
	}
	switch {
	case t.bits == 8 || t.bits == 16 && t.photometric != photometricIndex || (t.bits == 1 || t.bits == 2 || t.bits == 4) && t.samples == 1:
	default:
		return nil, fmt.Errorf("%d samples of %d bits, photometric interpretation %d, are not supported", t.samples, t.bits, t.photometric)
	}
	if t.bits == 16 && t.photometric == whiteIsZero && t.order != binary.LittleEndian {
		return nil, errors.New("16 bits, of which 0 is white, are not supported in big-endian files") // Pillow inverts neither order, and refuses this one
	}
	for _, f := range t.numbers(tagSampleFormat, t.samples) {
		if f != 1 {
			return nil, fmt.Errorf("sample format %d is not supported", f)
		}
	}
	t.separate = t.number(tagPlanar, 1) == 2 && t.samples > 1
	if t.samples > t.colours {
		extra := t.numbers(tagExtraSamples, 1)
		t.associated = len(extra) > 0 && extra[0] == 1 || len(extra) == 0 && t.separate && t.compression != tiffPlain // the latter as in Pillow
		if t.associated && t.photometric != photometricRGB {
			return nil, fmt.Errorf("associated alpha of photometric interpretation %d is not supported", t.photometric)
		}
	}
	t.reversed = t.number(tagFillOrder, 1) == 2
	switch p := t.number(tagPredictor, 1); {
	case t.compression != tiffLZW && t.compression != tiffDeflate && t.compression != tiffOldDeflate: // without meaning
	case p == 2 && t.bits >= 8:
		t.predicted = true
	case p != 1:
		return nil, fmt.Errorf("predictor %d of %d bits is not supported", p, t.bits)
	}
	return t, nil
}

// blocks is the strips or tiles of a file, plane after plane, row after row.
type blocks struct {
	w, h, across, down int
	offsets, sizes     []uint32
}

func (t *tiffFile) blocks() (*blocks, error) {
	b := &blocks{w: t.w, h: t.h}
	offsets, sizes := uint16(tagStripOffsets), uint16(tagStripBytes)
	if _, strips := t.values[tagStripOffsets]; strips {
		rows := t.number(tagRowsPerStrip, uint32(t.h))
		if rows == 0 {
			return nil, errors.New("strips of 0 rows")
		}
		b.h = int(min(rows, uint32(t.h)))
	} else {
		w, h := t.number(tagTileWidth, 0), t.number(tagTileHeight, 0)
		if w == 0 || h == 0 || uint64(w)*uint64(h) > max(1<<22, 2*uint64(t.w)*uint64(t.h)) {
			return nil, fmt.Errorf("tiles of %d x %d pixels", w, h)
		}
		b.w, b.h = int(w), int(h)
		offsets, sizes = tagTileOffsets, tagTileBytes
	}
	b.across, b.down = ceilDiv(t.w, b.w), ceilDiv(t.h, b.h)
	planes := 1
	if t.separate {
		planes = t.samples
	}
	n := planes * b.across * b.down
	b.offsets, b.sizes = t.numbers(offsets, n), t.numbers(sizes, n)
	if len(b.offsets) < n || len(b.sizes) > 0 && len(b.sizes) < n {
		return nil, fmt.Errorf("%d strips or tiles, want %d", min(len(b.offsets), len(b.sizes)), n)
	}
	return b, nil
}

// rows returns the rows of strip or tile i, and how many there are.
func (b *blocks) rows(t *tiffFile, i int) int {
	if y := i % (b.across * b.down) / b.across * b.h; b.w == t.w {
		return min(b.h, t.h-y) // the last strip may have fewer
	}
	return b.h
}

// source returns the data of strip or tile i, or an error if they cannot have as many bytes,
// unpacked, as its rows need.
func (t *tiffFile) source(b *blocks, i int) (src []byte, want int, err error) {
	inRow := b.w * t.samples
	if t.separate {
		inRow = b.w
	}
	need := (int64(inRow)*int64(t.bits) + 7) / 8 * int64(b.rows(t, i))
	if uint64(b.offsets[i]) > uint64(len(t.data)) {
		return nil, 0, errTIFFEnd
	}
	src = t.data[b.offsets[i]:]
	if t.compression != tiffPlain && len(b.sizes) > 0 { // plain data need no size, which many files state wrongly
		if uint64(b.sizes[i]) > uint64(len(src)) {
			return nil, 0, errTIFFEnd
		}
		src = src[:b.sizes[i]]
	}
	most := int64(len(src)) // bytes that the data can stand for
	switch t.compression {
	case tiffPlain:
	case tiffPackBits:
		most *= 64
	case tiffLZW:
		most *= 4096
	case tiffDeflate, tiffOldDeflate:
		most *= 1032
	case faxRows, faxGroup3, faxGroup4:
		if t.bits != 1 || t.samples != 1 {
			return nil, 0, fmt.Errorf("fax codes of %d samples of %d bits", t.samples, t.bits)
		}
		most *= 8 * (need / int64(b.rows(t, i))) // a row takes at least one bit
	default:
		return nil, 0, fmt.Errorf("compression %d is not supported", t.compression)
	}
	if need > most || need != int64(int(need)) {
		return nil, 0, errTIFFEnd
	}
	return src, int(need), nil
}

// unpack returns a reader of the rows of strip or tile i, in which samples have their bits. Where
// the file is predicted, they are differences.
func (t *tiffFile) unpack(b *blocks, i int) (io.Reader, error) {
	src, want, err := t.source(b, i)
	if err != nil {
		return nil, err
	}
	if t.compression == tiffPlain {
		src = src[:want]
	}
	switch t.compression {
	case tiffPlain:
		return bytes.NewReader(src), nil
	case faxRows, faxGroup3, faxGroup4:
		rows, err := unpackFax(src, b.w, b.rows(t, i), int(t.compression), t.number(tagFaxOptions, 0)&1 != 0)
		return bytes.NewReader(rows), err
	case tiffPackBits:
		return &packBits{src: src}, nil
	case tiffLZW:
		if len(src) > 1 && src[0] == 0 && src[1]&1 == 1 {
			return nil, errors.New("LZW of TIFF 5.0 is not supported")
		}
		return lzw.NewReader(bytes.NewReader(src), lzw.MSB, 8), nil
	}
	return zlib.NewReader(bytes.NewReader(src))
}

// sum replaces the differences in a row by the samples.
func (t *tiffFile) sum(row []byte) {
	step := t.samples
	if t.separate {
		step = 1
	}
	step *= t.bits / 8
	for i := step; i < len(row); i += t.bits / 8 {
		if t.bits == 8 {
			row[i] += row[i-step]
		} else {
			t.order.PutUint16(row[i:], t.order.Uint16(row[i:])+t.order.Uint16(row[i-step:]))
		}
	}
}

// packBits decodes PackBits: a byte that counts literals, or how often the next byte is repeated.
type packBits struct {
	src               []byte
	literals, repeats int // that are left of the last count
}

func (r *packBits) Read(p []byte) (n int, err error) {
	for n < len(p) {
		switch {
		case r.literals > 0:
			k := copy(p[n:], r.src[:r.literals])
			n, r.literals, r.src = n+k, r.literals-k, r.src[k:]
		case r.repeats > 0:
			p[n] = r.src[0]
			n++
			if r.repeats--; r.repeats == 0 {
				r.src = r.src[1:]
			}
		case len(r.src) < 2:
			return n, errTIFFEnd
		default:
			count := int(int8(r.src[0]))
			r.src = r.src[1:]
			if count >= 0 {
				r.literals = count + 1
			} else if count > -128 {
				r.repeats = 1 - count
			}
			if r.literals > len(r.src) {
				return n, errTIFFEnd
			}
		}
	}
	return n, nil
}

// decodeTIFF decodes the first picture of a file.
func decodeTIFF(data []byte) (*RGB, error) {
	t, err := readTIFF(data)
	if err != nil {
		return nil, err
	}
	b, err := t.blocks()
	if err != nil {
		return nil, err
	}
	for i := range b.offsets { // before there is memory for pixels
		if _, _, err := t.source(b, i); err != nil {
			return nil, err
		}
	}
	if t.reversed { // the tags are read already
		t.data = bytes.Clone(data)
		for i, v := range t.data {
			t.data[i] = mathbits.Reverse8(v)
		}
	}
	colour, err := t.colour()
	if err != nil {
		return nil, err
	}
	used := t.colours // the samples that the colour depends on
	if t.associated {
		used++
	}
	// The samples of a row of a block: sample s of pixel x is lines[s][x*step].
	planes, lines, step := 1, make([][]uint8, used), t.samples
	line := make([]uint8, b.w*t.samples)
	if t.separate {
		planes, step = used, 1
	}
	for s := range lines {
		if lines[s] = line[s:]; t.separate {
			lines[s] = line[s*b.w : (s+1)*b.w]
		}
	}
	read, out, pixel := t.reader(), newRGB(t.w, t.h), make([]uint8, used)
	row := make([]byte, (b.w*step*t.bits+7)/8)
	for i := range b.across * b.down {
		left, top := i%b.across*b.w, i/b.across*b.h
		rows := make([]io.Reader, planes)
		for plane := range rows {
			if rows[plane], err = t.unpack(b, i+plane*b.across*b.down); err != nil {
				return nil, err
			}
		}
		for y := range b.rows(t, i) {
			for plane, from := range rows {
				if _, err := io.ReadFull(from, row); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
					return nil, errTIFFEnd
				} else if err != nil {
					return nil, err
				}
				if t.predicted {
					t.sum(row)
				}
				into := line
				if t.separate {
					into = lines[plane]
				}
				read(into, row)
			}
			if top+y >= t.h {
				continue
			}
			p := out.Pix[((top+y)*t.w+left)*3:]
			for x := range min(b.w, t.w-left) {
				for s, line := range lines {
					pixel[s] = line[x*step]
				}
				p[0], p[1], p[2] = colour(pixel)
				p = p[3:]
			}
		}
	}
	return out, nil
}

// reader returns a function that sets dst to the samples of a row: 8 bits of each, or the index of
// a palette.
func (t *tiffFile) reader() func(dst []uint8, row []byte) {
	switch {
	case t.bits == 8:
		return func(dst []uint8, row []byte) { copy(dst, row) }
	case t.bits == 16 && t.colours == 1: // as in Pillow, a number, limited to 255
		return func(dst []uint8, row []byte) {
			for i := range dst {
				dst[i] = uint8(min(t.order.Uint16(row[2*i:]), 255))
			}
		}
	case t.bits == 16:
		return func(dst []uint8, row []byte) {
			for i := range dst {
				dst[i] = uint8(t.order.Uint16(row[2*i:]) >> 8)
			}
		}
	}
	n, most := t.bits, 1<<t.bits-1
	scale := 255 / most
	if t.photometric == photometricIndex {
		scale = 1
	}
	return func(dst []uint8, row []byte) {
		for i := range dst {
			dst[i] = uint8(int(row[i*n/8]>>(8-n-i*n%8)) & most * scale)
		}
	}
}

// colour returns a function that returns the colour of a pixel's samples.
func (t *tiffFile) colour() (func(s []uint8) (r, g, b uint8), error) {
	switch {
	case t.associated:
		return func(s []uint8) (r, g, b uint8) { return divided(s[0], s[3]), divided(s[1], s[3]), divided(s[2], s[3]) }, nil
	case t.photometric == photometricRGB:
		return func(s []uint8) (r, g, b uint8) { return s[0], s[1], s[2] }, nil
	case t.photometric == photometricCMYK:
		return func(s []uint8) (r, g, b uint8) { return inked(s[0], s[3]), inked(s[1], s[3]), inked(s[2], s[3]) }, nil
	case t.photometric == photometricIndex:
		n := 1 << t.bits
		levels := t.numbers(tagPalette, 3*n) // all of red, then green, then blue
		if len(levels) < 3*n {
			return nil, fmt.Errorf("palette of %d numbers, want %d", len(levels), 3*n)
		}
		return func(s []uint8) (r, g, b uint8) {
			i := int(s[0])
			return uint8(levels[i] >> 8), uint8(levels[n+i] >> 8), uint8(levels[2*n+i] >> 8)
		}, nil
	case t.photometric == whiteIsZero && t.bits < 16:
		return func(s []uint8) (r, g, b uint8) { v := 255 - s[0]; return v, v, v }, nil
	}
	return func(s []uint8) (r, g, b uint8) { return s[0], s[0], s[0] }, nil
}

// divided returns a colour that alpha does not multiply, as Pillow rounds it.
func divided(v, alpha uint8) uint8 {
	if alpha == 0 {
		return 0
	}
	return uint8(min(int(v)*255/int(alpha), 255))
}
