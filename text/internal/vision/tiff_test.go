package vision

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
)

// tiffOf returns a TIFF file of tags that have one number each, at the end of which the data are.
func tiffOf(tags map[uint16]uint32, data string) []byte {
	order := binary.LittleEndian
	out := order.AppendUint16([]byte("II*\x00\x08\x00\x00\x00"), uint16(len(tags)))
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		out = order.AppendUint32(order.AppendUint16(order.AppendUint16(out, tag), 4), 1)
		out = order.AppendUint32(out, tags[tag])
	}
	return append(append(out, 0, 0, 0, 0), data...)
}

// greyTIFF returns a TIFF file of 8 x 2 pixels of one bit, of which some tags are changed.
func greyTIFF(changes map[uint16]uint32, data string) []byte {
	tags := map[uint16]uint32{tagWidth: 8, tagHeight: 2, tagBits: 1, tagCompression: tiffPlain, tagPhotometric: blackIsZero, tagStripOffsets: 0, tagSamples: 1, tagStripBytes: uint32(len(data))}
	maps.Copy(tags, changes)
	if tags[tagStripOffsets] == 0 {
		tags[tagStripOffsets] = uint32(len(tiffOf(tags, "")))
	}
	return tiffOf(tags, data)
}

// TestTIFFRefused has files that are broken, or have what the decoder does not support.
func TestTIFFRefused(t *testing.T) {
	if _, err := Decode(greyTIFF(nil, "ab"), MaxPixels); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		changes    map[uint16]uint32
		data, said string
	}{
		"short":              {nil, "a", "cut off"},
		"no width":           {map[uint16]uint32{tagWidth: 0}, "ab", "0 x 2 pixels"},
		"too wide":           {map[uint16]uint32{tagWidth: 1 << 31}, "ab", "pixels"},
		"offset":             {map[uint16]uint32{tagStripOffsets: 1 << 31}, "ab", "cut off"},
		"rows":               {map[uint16]uint32{tagRowsPerStrip: 0}, "ab", "strips of 0 rows"},
		"strips":             {map[uint16]uint32{tagRowsPerStrip: 1}, "ab", "1 strips or tiles, want 2"},
		"photometric":        {map[uint16]uint32{tagPhotometric: 6}, "ab", "photometric interpretation 6"},
		"compression":        {map[uint16]uint32{tagCompression: 7}, "ab", "compression 7"},
		"samples":            {map[uint16]uint32{tagSamples: 9}, "ab", "9 samples"},
		"bits":               {map[uint16]uint32{tagBits: 12}, "ab", "12 bits"},
		"format":             {map[uint16]uint32{tagSampleFormat: 3}, "ab", "sample format 3"},
		"predictor":          {map[uint16]uint32{tagCompression: tiffLZW, tagPredictor: 2}, "ab", "predictor 2 of 1 bits"},
		"grey alpha":         {map[uint16]uint32{tagBits: 8, tagSamples: 2, tagExtraSamples: 1}, strings.Repeat("a", 32), "associated alpha"},
		"no palette":         {map[uint16]uint32{tagPhotometric: photometricIndex}, "ab", "palette of 0 numbers"},
		"packbits":           {map[uint16]uint32{tagCompression: tiffPackBits}, "\x01a", "cut off"},
		"old LZW":            {map[uint16]uint32{tagCompression: tiffLZW}, "\x00\x01\x02\x03", "TIFF 5.0"},
		"LZW":                {map[uint16]uint32{tagCompression: tiffLZW}, "\xff\xff\xff\xff", "lzw"},
		"deflate":            {map[uint16]uint32{tagCompression: tiffDeflate}, "abcd", "zlib"},
		"fax of bytes":       {map[uint16]uint32{tagCompression: faxGroup4, tagBits: 8}, "ab", "fax codes of 1 samples of 8 bits"},
		"fax end":            {map[uint16]uint32{tagCompression: faxGroup4}, "\xc0", ""},                  // both rows are white
		"fax cut off":        {map[uint16]uint32{tagCompression: faxRows}, "\x98", "cut off"},             // a row that is white
		"fax code":           {map[uint16]uint32{tagCompression: faxRows}, "\x00\x00\x00", "malformed"},   // no code has so many zeros
		"fax too long":       {map[uint16]uint32{tagCompression: faxRows}, "\xa0\x00\x00", "malformed"},   // 9 white
		"fax without lines":  {map[uint16]uint32{tagCompression: faxGroup3}, "\x98\x98\x98", "cut off"},   // no end of line
		"fax to the left":    {map[uint16]uint32{tagCompression: faxGroup4}, "\x26\xa2\xa0", "malformed"}, // 0 white and 8 black, then 1 to the left of 0
		"tile":               {map[uint16]uint32{tagTileWidth: 1 << 16, tagTileHeight: 1 << 16}, "ab", ""},
		"fax uncompressed":   {map[uint16]uint32{tagCompression: faxGroup4}, "\x03\xff\xff", "malformed"},
		"fax beyond the end": {map[uint16]uint32{tagCompression: faxGroup4}, "\x61\x61\x61", "malformed"}, // to the right of the end
	} {
		_, err := Decode(greyTIFF(c.changes, c.data), MaxPixels)
		if (c.said == "") != (err == nil) || err != nil && (!errors.Is(err, fault.ErrImage) || !strings.Contains(err.Error(), c.said)) {
			t.Errorf("%s: error %v, want one that says %q", name, err, c.said)
		}
	}
	tiles := greyTIFF(map[uint16]uint32{tagTileWidth: 1 << 16, tagTileHeight: 1 << 16, tagTileOffsets: 8}, "ab")
	tiles[slices.Index(tiles, 0x11)] = 0x10 // no strips
	if _, err := Decode(tiles, MaxPixels); !errors.Is(err, fault.ErrImage) || !strings.Contains(err.Error(), "tiles of 65536 x 65536") {
		t.Errorf("large tiles: error %v", err)
	}
}

// TestTIFFMemory has files whose data are too short for the picture that they claim: they are
// refused before there is memory for pixels.
func TestTIFFMemory(t *testing.T) {
	for _, compression := range []uint32{tiffPlain, faxRows, faxGroup3, faxGroup4, tiffLZW, tiffDeflate, tiffPackBits} {
		for _, bits := range []uint32{1, 8} {
			if bits == 8 && compression > tiffPlain && compression < tiffLZW {
				continue
			}
			data := greyTIFF(map[uint16]uint32{tagWidth: 7000, tagHeight: 7000, tagBits: bits, tagCompression: compression}, strings.Repeat("\xff", 800))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Decode(data, MaxPixels)
			runtime.ReadMemStats(&after)
			if taken := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, fault.ErrImage) || taken > 1<<20 {
				t.Errorf("compression %d, %d bits: %d bytes allocated, error %v", compression, bits, taken, err)
			}
		}
	}
}

// TestTIFFPixelBytes: a file with the most bytes a pixel, in one compressed strip, takes no more
// than PixelBytes of each while it is decoded.
func TestTIFFPixelBytes(t *testing.T) {
	const side, samples = 600, 8
	var data bytes.Buffer
	w := zlib.NewWriter(&data)
	tftest.Must(w.Write(make([]byte, side*side*2*samples)))(t)
	tftest.NoError(t, w.Close())
	file := greyTIFF(map[uint16]uint32{tagWidth: side, tagHeight: side, tagBits: 16, tagCompression: tiffDeflate, tagPhotometric: photometricCMYK, tagSamples: samples}, data.String())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := decodeTIFF(file)
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; err != nil || taken > PixelBytes*side*side {
		t.Errorf("%d bytes a pixel, %v", taken/side/side, err)
	}
}
