package bulk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/klauspost/compress/zstd"

	"github.com/avoformer/avoformer/fault"
)

// footerOf returns a file that has only a footer.
func footerOf(footer ...byte) []byte {
	file := append([]byte("PAR1"), footer...)
	return append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), "PAR1"...)
}

// TestClaims verifies that claims of a file are compared with its bytes.
func TestClaims(t *testing.T) {
	const schema, list = 0x29, 0x1c // the field 2 after 0, of the type 9; a list of structures, with its length in the high bits
	var deep []byte                 // a group in a group, 200 times
	for range 200 {
		deep = append(deep, 0x55, 2, 0) // the field 5, 1 child
	}
	for name, footer := range map[string][]byte{
		"elements":  {schema, 0xfc, 0xff, 0xff, 0xff, 0xff, 7},
		"children":  {schema, 1<<4 | list&15, 0x55, 0xfe, 0xff, 0xff, 0xff, 0xf, 0, 0},
		"no parent": {schema, 2<<4 | list&15, 0, 0, 0},
		"depth":     append(append([]byte{schema, 0xfc, 200, 1}, deep...), 0),
		"a string":  {0x68, 0xff, 0xff, 0xff, 0xff, 7, 0},
		"no end":    {schema, 1<<4 | list&15, 0x55, 2},
		"a type":    {0x1e, 0},
		"lists":     append(bytes.Repeat([]byte{0x19}, 150), 0x09, 0),                   // a list in a list, 150 times
		"a number":  {schema, 1<<4 | list&15, 0x55, 0x84, 0x80, 0x80, 0x80, 0x10, 0, 0}, // 2 and 1<<31
		"a field":   {0x09, 0x84, 0x80, 8, 1<<4 | list&15, 0x55, 2, 0, 0},               // 2 and 1<<16
	} {
		file := footerOf(footer...)
		if err := checkFooter(bytes.NewReader(file), int64(len(file))); !errors.Is(err, fault.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := footerOf(0x15, 2, 0x19, 2<<4|list&15, 0x55, 2, 0, 0, 0)
	if err := checkFooter(bytes.NewReader(good), int64(len(good))); err != nil {
		t.Error(err)
	}

	w, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true))
	if err != nil {
		t.Fatal(err)
	}
	frame := w.EncodeAll(bytes.Repeat([]byte("the cat "), 1000), nil)
	two := append(bytes.Clone(frame), frame...)
	if !zstdWithin(two, 8000) || zstdWithin(two, 7999) || zstdWithin(two[:len(two)-1], 8000) {
		t.Error("frames of 8000 bytes")
	}

	deltas := func(numbers ...uint64) (out []byte) {
		for _, n := range numbers {
			out = binary.AppendUvarint(out, n)
		}
		return out
	}
	whole := append(deltas(128, 4, 33, 0, 0, 1, 0, 0, 0), 0, 0, 0, 0) // 32 differences of a bit
	rest, ok := skipDeltas(append(bytes.Clone(whole), "rest"...))
	if !ok || string(rest) != "rest" {
		t.Errorf("%q, %v", rest, ok)
	}
	for name, data := range map[string][]byte{
		"a block": deltas(1<<32-128, 1, 2, 0, 0, 0), "parts": deltas(128, 1<<40, 2, 0), "no parts": deltas(128, 0, 2, 0), "no block": deltas(0, 4, 2, 0),
		"values": deltas(128, 4, 1<<31, 0, 0), "cut": whole[:len(whole)-1], "nothing": nil,
	} {
		if _, ok := skipDeltas(data); ok {
			t.Errorf("%s: taken", name)
		}
	}
}

// TestPageClaims verifies that pages that claim to be longer than their decompressed form are
// errors, before memory for them is allocated.
func TestPageClaims(t *testing.T) {
	text := bytes.Repeat([]byte("the cat "), 100)
	for name, codec := range map[string]compress.Compression{
		"none": compress.Codecs.Uncompressed, "snappy": compress.Codecs.Snappy, "gzip": compress.Codecs.Gzip, "brotli": compress.Codecs.Brotli, "zstd": compress.Codecs.Zstd, "lz4": compress.Codecs.Lz4Raw,
	} {
		c, err := compress.GetCodec(codec)
		if err != nil {
			t.Fatal(err)
		}
		body := c.Encode(nil, text)
		for _, plain := range []int64{int64(len(text)), maxPage, maxPage - 1} {
			page := pageClaims{pageHeader: pageHeader{kind: dataPage, plain: plain, packed: int64(len(body)), values: 1}, codec: codec, file: bytes.NewReader(body)}
			if err := page.check(); (err == nil) != (plain == int64(len(text))) {
				t.Errorf("%s: %d bytes: %v", name, plain, err)
			}
		}
	}
}

// TestPageHeader verifies that the order of fields in a header has no effect, and that integers of
// more bits than readers use are errors.
func TestPageHeader(t *testing.T) {
	const number, structure = thriftInt32, thriftStruct
	// field returns a field's type, number and value, in the form that allows any order.
	field := func(kind, id byte, value ...byte) []byte { return append([]byte{kind, 2 * id}, value...) }
	kind, plain, packed := field(number, 1, 2*dataPage2), field(number, 2, 40), field(number, 3, 20)
	page := field(structure, 8, slices.Concat(field(number, 3, 8), field(thriftFalse, 7), field(number, 1, 10), field(number, 4, 2*bitPacked), field(number, 5, 6), field(number, 6, 4), []byte{0})...)
	other := field(structure, 5, append(field(number, 1, 100), 0)...)
	want := pageHeader{kind: dataPage2, plain: 20, packed: 10, values: 5, rows: 4, encoding: bitPacked, defined: 3, repeated: 2, asIs: true}
	for _, parts := range [][][]byte{{kind, plain, packed, page, other}, {page, packed, plain, kind}, {other, page, kind, packed, plain}, {plain, page, other, packed, kind}} {
		c := compact{data: append(slices.Concat(parts...), 0)}
		if got := c.pageHeader(); got != want || c.wrong || c.short {
			t.Errorf("%x: %+v, want %+v", c.data, got, want)
		}
	}
	again := field(structure, 8, append(field(number, 1, 10), 0)...)
	c := compact{data: append(slices.Concat(kind, page, again), 0)}
	if got := c.pageHeader(); got != (pageHeader{kind: dataPage2, values: 5}) {
		t.Errorf("the last of two structures: %+v", got)
	}
	long := []byte{0x90, 0x80, 0x80, 0x80, 0x10} // 8 and 1<<31
	for _, data := range [][]byte{field(number, 2, long...), append([]byte{number, 0x82, 0x80, 8}, 40), field(structure, 8, field(number, 1, long...)...)} {
		c := compact{data: append(data, 0, 0)}
		if got := c.pageHeader(); !c.wrong {
			t.Errorf("%x: %+v", c.data, got)
		}
	}
}

// TestFramedLZ4 decodes pages of the codec LZ4 that are Hadoop's frames, or a block.
func TestFramedLZ4(t *testing.T) {
	c, err := compress.GetCodec(compress.Codecs.Lz4)
	if err != nil {
		t.Fatal(err)
	}
	text := bytes.Repeat([]byte("the cat reads a long letter. "), 50)
	var frames []byte
	for _, part := range [][]byte{text[:1000], text[1000:]} {
		block := c.Encode(nil, part)
		frames = binary.BigEndian.AppendUint32(frames, uint32(len(part)))
		frames = append(binary.BigEndian.AppendUint32(frames, uint32(len(block))), block...)
	}
	for name, body := range map[string][]byte{"frames": frames, "a block": c.Encode(nil, text)} {
		got, err := compress.Decode(c, make([]byte, len(text)), body)
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %.30q, %v", name, got, err)
		}
		for n := range len(body) {
			if got, err := compress.Decode(c, make([]byte, len(text)), body[:n]); err == nil && len(got) == len(text) {
				t.Errorf("%s cut to %d bytes: no error", name, n)
			}
		}
	}
}
