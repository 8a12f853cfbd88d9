// This file verifies the sizes that a Parquet file claims, before the library allocates memory for
// them.

package bulk

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/klauspost/compress/zstd"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

const (
	maxPage       = 1 << 30 // bytes of a page without compression
	maxPageHeader = 4 << 20
	maxDepth      = 100 // of nested columns
	// If a page claims to have more than largePage bytes, and more than largeRatio times the bytes
	// of its compressed form, it is decompressed to count its bytes.
	largePage  = 16 << 20
	largeRatio = 256
)

// checkFooter returns an error if lists or nested columns of a footer claim more elements than the
// footer has bytes.
func checkFooter(f io.ReaderAt, size int64) error {
	const fixed = 12 // PAR1 at both ends, and the length of the footer before the last PAR1
	var end [8]byte
	if size < fixed {
		return check.Errorf(fault.ErrInput, "%d bytes are not a Parquet file", size)
	}
	if _, err := f.ReadAt(end[:], size-int64(len(end))); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	switch {
	case string(end[4:]) == "PARE":
		return check.Errorf(fault.ErrInput, "the file is encrypted, which is not supported")
	case string(end[4:]) != "PAR1":
		return check.Errorf(fault.ErrInput, "the file does not end with PAR1: it is damaged, or not a Parquet file")
	case n > size-fixed:
		return check.Errorf(fault.ErrInput, "a footer of %d bytes in a file of %d bytes", n, size)
	}
	footer := make([]byte, n)
	if _, err := f.ReadAt(footer, size-int64(len(end))-n); err != nil {
		return err
	}
	c := compact{data: footer}
	tree := nesting{left: []int64{1}}
	c.fields(func(id int, kind byte) bool {
		const elements, children = 2, 5
		if id != elements || kind != thriftList {
			return false
		}
		listed, _ := c.list()
		for range listed {
			n := int64(0)
			c.fields(func(id int, kind byte) bool {
				if id == children && kind == thriftInt32 {
					n = c.int32()
					return true
				}
				return false
			})
			c.wrong = c.wrong || !tree.add(n, int64(len(footer)))
		}
		return true
	})
	if c.wrong || c.short {
		return check.Errorf(fault.ErrInput, "the footer is damaged")
	}
	return nil
}

// nesting tracks the groups of a schema, whose elements are listed depth first.
type nesting struct{ left []int64 } // number of elements that each open group still has

func (t *nesting) add(children, most int64) bool {
	if len(t.left) == 0 || len(t.left) > maxDepth || children < 0 || children > most {
		return false
	}
	t.left[len(t.left)-1]--
	if children > 0 {
		t.left = append(t.left, children)
	}
	for len(t.left) > 0 && t.left[len(t.left)-1] == 0 {
		t.left = t.left[:len(t.left)-1]
	}
	return true
}

// These are types of Thrift's compact protocol.
const (
	thriftTrue, thriftFalse, thriftInt8, thriftInt16, thriftInt32, thriftInt64, thriftDouble = 1, 2, 3, 4, 5, 6, 7
	thriftBinary, thriftList, thriftSet, thriftMap, thriftStruct, thriftUUID                 = 8, 9, 10, 11, 12, 13
)

// compact reads Thrift's compact protocol without allocating anything.
type compact struct {
	data  []byte
	at    int
	depth int
	short bool // the data end within the structure
	wrong bool // the data violate the protocol
}

// fields calls each with the fields of a structure. It skips those for which each returns false.
func (c *compact) fields(each func(id int, kind byte) bool) {
	if c.depth++; c.depth > maxDepth {
		c.wrong = true
	}
	for id := 0; !c.short && !c.wrong; {
		b := c.byte()
		if b == 0 {
			break
		}
		if step := int(b >> 4); step > 0 {
			id += step
		} else {
			id = int(c.integer())
		}
		c.wrong = c.wrong || id != int(int16(id)) // readers ignore higher bits
		if kind := b & 15; !c.short && !each(id, kind) {
			c.skip(kind)
		}
	}
	c.depth--
}

func (c *compact) byte() byte {
	if c.at >= len(c.data) {
		c.short = true
		return 0
	}
	c.at++
	return c.data[c.at-1]
}

func (c *compact) unsigned() uint64 {
	v, n := binary.Uvarint(c.data[c.at:])
	c.short = c.short || n == 0
	c.wrong = c.wrong || n < 0
	c.at += max(n, 0)
	return v
}

// integer reads an integer of any length.
func (c *compact) integer() int64 {
	v := c.unsigned()
	return int64(v>>1) ^ -int64(v&1)
}

// int32 reads an integer of at most 32 bits. A longer one is an error, because readers ignore its
// higher bits.
func (c *compact) int32() int64 {
	v := c.integer()
	c.wrong = c.wrong || v != int64(int32(v))
	return v
}

// list reads the header of a list, and returns the number of its elements and their type. Each
// element has at least one byte.
func (c *compact) list() (int, byte) {
	head := c.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n = c.unsigned()
	}
	return c.count(n), head & 15
}

// count returns n. If fewer than n bytes are left, it returns 0 and sets short.
func (c *compact) count(n uint64) int {
	if n > uint64(len(c.data)-c.at) {
		c.short = true
		return 0
	}
	return int(n)
}

func (c *compact) skip(kind byte) {
	if c.depth++; c.depth > maxDepth {
		c.wrong = true
		return
	}
	defer func() { c.depth-- }()
	switch kind {
	case thriftTrue, thriftFalse:
	case thriftInt8:
		c.byte()
	case thriftInt16, thriftInt32, thriftInt64:
		c.unsigned()
	case thriftDouble:
		c.at += c.count(8)
	case thriftBinary:
		c.at += c.count(c.unsigned())
	case thriftUUID:
		c.at += c.count(16)
	case thriftList, thriftSet:
		c.elements(c.list())
	case thriftMap:
		n := c.count(c.unsigned())
		if n == 0 {
			return
		}
		kinds := c.byte()
		for range n {
			c.elements(1, kinds>>4)
			c.elements(1, kinds&15)
		}
	case thriftStruct:
		c.fields(func(int, byte) bool { return false })
	default:
		c.wrong = true
	}
}

// elements skips elements of a list.
func (c *compact) elements(n int, kind byte) {
	if kind == thriftTrue || kind == thriftFalse {
		kind = thriftInt8 // a byte each
	}
	for i := 0; i < n && !c.short && !c.wrong; i++ {
		c.skip(kind)
	}
}

// pageHeader has the fields of a page's header.
type pageHeader struct {
	kind, plain, packed    int64 // plain and packed are the sizes of the page without and with compression
	values, rows, encoding int64
	levelEncoding          int64
	defined, repeated      int64 // bytes of levels, which are not compressed
	asIs                   bool  // the values are not compressed
}

// levels returns the number of bytes before the compressed ones.
func (h *pageHeader) levels() int64 { return h.defined + h.repeated }

// These are kinds of pages, and encodings.
const (
	dataPage, dictionaryPage, dataPage2          = 0, 2, 3
	bitPacked, deltaBinaryPacked, deltaByteArray = 4, 5, 7
)

// pageHeader reads the header of a page, whose fields may be in any order.
func (c *compact) pageHeader() (h pageHeader) {
	numbers := func(to map[int]*int64, flags map[int]*bool) func(id int, kind byte) bool {
		return func(id int, kind byte) bool {
			if flag := flags[id]; flag != nil && (kind == thriftTrue || kind == thriftFalse) {
				*flag = kind == thriftFalse
				return true
			}
			if n := to[id]; n != nil && kind == thriftInt32 {
				*n = c.int32()
				return true
			}
			return false
		}
	}
	own := numbers(map[int]*int64{1: &h.kind, 2: &h.plain, 3: &h.packed}, nil)
	var ofKind [dataPage2 + 1]pageHeader // the fields for each kind of page
	c.fields(func(id int, kind byte) bool {
		if kind != thriftStruct {
			return own(id, kind)
		}
		switch id {
		case 5, 7:
			of := &ofKind[dataPage]
			if id == 7 {
				of = &ofKind[dictionaryPage]
			}
			*of = pageHeader{} // readers use the last of several structures
			c.fields(numbers(map[int]*int64{1: &of.values, 2: &of.encoding, 3: &of.levelEncoding}, nil))
			of.rows = of.values
		case 8:
			of := &ofKind[dataPage2]
			*of = pageHeader{}
			c.fields(numbers(map[int]*int64{1: &of.values, 3: &of.rows, 4: &of.encoding, 5: &of.defined, 6: &of.repeated}, map[int]*bool{7: &of.asIs}))
		default:
			return false
		}
		return true
	})
	if h.kind < 0 || h.kind > dataPage2 {
		return h
	}
	of := ofKind[h.kind]
	of.kind, of.plain, of.packed = h.kind, h.plain, h.packed
	return of
}

// checkPages returns an error if pages of a column chunk are not within the file of size bytes, or
// are shorter than they claim.
func checkPages(f io.ReaderAt, size int64, column *schema.Column, chunk *metadata.ColumnChunkMetaData) error {
	start := chunk.DataPageOffset()
	if d := chunk.DictionaryPageOffset(); chunk.HasDictionaryPage() && d > 0 && d < start {
		start = d
	}
	length := chunk.TotalCompressedSize()
	if start < 0 || length < 0 || start > size || length > size-start {
		return check.Errorf(fault.ErrInput, "pages at bytes %d to %d of a file of %d", start, start+length, size)
	}
	const slack = 100 // old writers state up to this many bytes too few
	end := min(start+length+slack, size)
	codec := chunk.Compression()
	var buffer []byte
	for rows := int64(0); rows < chunk.NumValues() && start < end; {
		h, n, err := readPageHeader(f, start, end, &buffer)
		if err != nil {
			return err
		}
		start += n
		if h.packed < 0 || h.packed > end-start || h.plain < 0 || h.plain > maxPage || h.values < 0 || h.rows < 0 || h.defined < 0 || h.repeated < 0 || h.levels() > min(h.packed, h.plain) {
			return check.Errorf(fault.ErrInput, "a page of %d bytes, %d without compression, and %d values; the file has %d bytes left for it", h.packed, h.plain, h.values, end-start)
		}
		page := pageClaims{pageHeader: h, column: column, codec: codec, file: f, at: start}
		if h.asIs {
			page.codec = compress.Codecs.Uncompressed
		}
		switch h.kind {
		case dataPage, dataPage2:
			rows += h.rows
		case dictionaryPage:
		default:
			return check.Errorf(fault.ErrInput, "pages of type %d are not supported", h.kind)
		}
		if err := page.check(); err != nil {
			return err
		}
		start += h.packed
	}
	return nil
}

// readPageHeader returns the header at start, and its length.
func readPageHeader(f io.ReaderAt, start, end int64, buffer *[]byte) (pageHeader, int64, error) {
	for n := int64(1 << 10); ; n *= 4 {
		n = min(n, end-start)
		if int64(len(*buffer)) < n {
			*buffer = make([]byte, n)
		}
		if _, err := f.ReadAt((*buffer)[:n], start); err != nil {
			return pageHeader{}, 0, err
		}
		c := compact{data: (*buffer)[:n]}
		h := c.pageHeader()
		switch {
		case c.wrong || c.short && (n == end-start || n >= maxPageHeader):
			return pageHeader{}, 0, check.Errorf(fault.ErrInput, "byte %d: the header of a page is damaged", start)
		case !c.short:
			return h, int64(c.at), nil
		}
	}
}

// pageClaims is a page whose claims are to be verified.
type pageClaims struct {
	pageHeader
	column *schema.Column
	codec  compress.Compression
	file   io.ReaderAt
	at     int64 // place of the page in the file
}

func (p *pageClaims) check() error {
	if p.kind == dictionaryPage {
		least := int64(p.column.PhysicalType().ByteSize())
		switch p.column.PhysicalType() {
		case parquet.Types.ByteArray:
			least = 4
		case parquet.Types.FixedLenByteArray:
			least = int64(p.column.TypeLength())
		}
		if p.values > p.plain/max(least, 1) {
			return check.Errorf(fault.ErrInput, "a dictionary of %d values in %d bytes", p.values, p.plain)
		}
	}
	delta := p.kind != dictionaryPage && p.encoding >= deltaBinaryPacked && p.encoding <= deltaByteArray
	packed, plain := p.packed-p.levels(), p.plain-p.levels()
	large := plain > largePage && plain/largeRatio > packed
	if packed == 0 {
		if plain > 0 {
			return p.damaged()
		}
		return nil
	}
	var need int64 // bytes of the page to read
	switch p.codec {
	case compress.Codecs.Uncompressed:
		if plain != packed {
			return p.damaged()
		}
	case compress.Codecs.Snappy:
		need = min(packed, binary.MaxVarintLen32)
	case compress.Codecs.Zstd:
		need = packed
	}
	if large || delta {
		need = packed
	}
	body := make([]byte, need)
	if _, err := p.file.ReadAt(body, p.at+p.levels()); err != nil {
		return err
	}
	switch p.codec {
	case compress.Codecs.Snappy:
		if n, _ := binary.Uvarint(body); int64(n) != plain {
			return p.damaged()
		}
	case compress.Codecs.Zstd:
		if !zstdWithin(body, plain) {
			return p.damaged()
		}
	}
	if large {
		if n, err := p.unpacked(body, plain); err != nil || n != plain {
			return p.damaged()
		}
	}
	if delta {
		return p.checkDeltas(body, plain)
	}
	return nil
}

func (p *pageClaims) damaged() error {
	return check.Errorf(fault.ErrInput, "byte %d: a page of %d bytes does not decompress to %d bytes: it is damaged", p.at, p.packed, p.plain)
}

// unpacked returns the number of bytes of a decompressed page, at most one more than most. It needs
// little memory.
func (p *pageClaims) unpacked(body []byte, most int64) (int64, error) {
	var in io.Reader
	switch p.codec {
	case compress.Codecs.Gzip, compress.Codecs.Brotli:
		codec, err := compress.GetCodec(p.codec)
		if err != nil {
			return 0, err
		}
		r := codec.(compress.StreamingCodec).NewReader(bytes.NewReader(body))
		defer r.Close()
		in = r
	case compress.Codecs.Zstd:
		z, err := zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxPage), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return 0, err
		}
		defer z.Close()
		in = z
	default:
		return 0, nil // all other codecs compress less
	}
	return io.Copy(io.Discard, io.LimitReader(in, most+1))
}

// zstdWithin reports whether the frames of data claim at most n bytes.
func zstdWithin(data []byte, n int64) bool {
	for len(data) > 0 {
		var h zstd.Header
		if h.Decode(data) != nil || h.HasFCS && h.FrameContentSize > uint64(n) {
			return false
		}
		skip := h.HeaderSize + int(h.SkippableSize)
		for last := h.Skippable; !last; { // blocks
			if skip < 0 || len(data)-skip < 3 {
				return false
			}
			head := int(data[skip]) | int(data[skip+1])<<8 | int(data[skip+2])<<16
			skip += 3
			last = head&1 == 1
			if head>>1&3 == 1 { // a block of one repeated byte
				skip++
			} else {
				skip += head >> 3
			}
		}
		if h.HasCheckSum {
			skip += 4
		}
		if skip <= 0 || skip > len(data) {
			return false
		}
		data = data[skip:]
	}
	return true
}

// checkDeltas returns an error if a page of values that are stored as differences claims far more
// values than it has bytes, because the library allocates memory for them.
func (p *pageClaims) checkDeltas(body []byte, plain int64) error {
	codec, err := compress.GetCodec(p.codec)
	if err != nil {
		return err
	}
	data, err := compress.Decode(codec, make([]byte, plain), body)
	if err != nil || int64(len(data)) != plain {
		return p.damaged()
	}
	if p.kind == dataPage && p.column.MaxDefinitionLevel() > 0 {
		n := (p.values + 7) / 8 // one bit each
		if p.levelEncoding != bitPacked && len(data) >= 4 {
			n = 4 + int64(binary.LittleEndian.Uint32(data))
		}
		if n > int64(len(data)) {
			return p.damaged()
		}
		data = data[n:]
	}
	rest, ok := skipDeltas(data)
	if ok && p.encoding == deltaByteArray { // the lengths of prefixes come before those of suffixes
		_, ok = skipDeltas(rest)
	}
	if !ok {
		return check.Errorf(fault.ErrInput, "byte %d: the differences of a page are damaged", p.at)
	}
	return nil
}

// skipDeltas skips the differences at the beginning of data and returns the rest. It reports
// whether their numbers are plausible.
func skipDeltas(data []byte) ([]byte, bool) {
	const maxBlock = 1 << 16
	c := compact{data: data}
	block, parts, left := c.unsigned(), c.unsigned(), c.unsigned()
	c.integer() // the first value
	if c.short || c.wrong || block == 0 || block > maxBlock || parts == 0 || parts > block || left > largeRatio*uint64(len(data)) {
		return nil, false
	}
	each := block / parts
	for left = max(left, 1) - 1; left > 0; { // the first value is not in a block
		c.integer() // the least difference
		widths := c.at
		c.at += c.count(parts)
		for i := uint64(0); i < parts && left > 0; i++ {
			if c.short || c.wrong {
				return nil, false
			}
			c.at += c.count((uint64(data[widths+int(i)])*each + 7) / 8)
			left -= min(left, each)
		}
	}
	return data[c.at:], !c.short && !c.wrong
}
