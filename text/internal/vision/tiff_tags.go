// TIFF: the directory of tags, which Exif data have too.

package vision

import "encoding/binary"

// tags is the first directory of a TIFF file or of Exif data.
type tags struct {
	order  binary.ByteOrder
	values map[uint16]tagValue
}

// tagValue has the bytes of a tag's values.
type tagValue struct {
	kind uint16
	data []byte
}

// tagSizes has the size of a value of each kind; 0: there is no such kind.
var tagSizes = [...]int{1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}

// readTags reads the directory of a file. As in Pillow, the tags before a place where the file ends
// are kept, and the first of several values of a tag counts.
func readTags(data []byte) (t tags, ok bool) {
	if len(data) < 8 {
		return t, false
	}
	switch string(data[:4]) {
	case "II*\x00":
		t.order = binary.LittleEndian
	case "MM\x00*":
		t.order = binary.BigEndian
	default:
		return t, false
	}
	at := uint64(t.order.Uint32(data[4:]))
	if at+2 > uint64(len(data)) {
		return t, false
	}
	t.values = map[uint16]tagValue{}
	entries, left, elsewhere := int(t.order.Uint16(data[at:])), data[at+2:], uint64(0)
	for ; entries > 0 && len(left) >= 12; entries-- {
		entry := left[:12] // tag, kind, count, and the values or their position
		left = left[12:]
		tag, kind := t.order.Uint16(entry), t.order.Uint16(entry[2:])
		if _, twice := t.values[tag]; twice || int(kind) >= len(tagSizes) || tagSizes[kind] == 0 {
			continue
		}
		size := uint64(t.order.Uint32(entry[4:])) * uint64(tagSizes[kind])
		if size == 0 {
			continue
		}
		values := entry[8:]
		if size > 4 {
			if elsewhere += size; elsewhere > uint64(len(data)) {
				continue
			}
			at := uint64(t.order.Uint32(entry[8:]))
			if at+size > uint64(len(data)) {
				break
			}
			values = data[at:]
		}
		t.values[tag] = tagValue{kind, values[:size]}
	}
	return t, true
}

// numbers returns at most most values of a tag that has whole numbers of a sign or of more than a
// byte. Negative ones are above 2^31.
func (t tags) numbers(tag uint16, most int) []uint32 {
	v := t.values[tag]
	var number func(b []byte) uint32
	switch v.kind {
	case 3:
		number = func(b []byte) uint32 { return uint32(t.order.Uint16(b)) }
	case 4, 9, 13:
		number = t.order.Uint32
	case 6:
		number = func(b []byte) uint32 { return uint32(int8(b[0])) }
	case 8:
		number = func(b []byte) uint32 { return uint32(int16(t.order.Uint16(b))) }
	default:
		return nil
	}
	size := tagSizes[v.kind]
	out := make([]uint32, min(len(v.data)/size, most))
	for i := range out {
		out[i] = number(v.data[i*size:])
	}
	return out
}

// number returns the first value of a tag, or other if there is none.
func (t tags) number(tag uint16, other uint32) uint32 {
	if v := t.numbers(tag, 1); len(v) > 0 {
		return v[0]
	}
	return other
}
