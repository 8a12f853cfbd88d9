package tokenizer

// The ids of tokens: a table of hashes, since a map of strings takes most of the time of opening a
// large vocabulary. It has no pointers, so that it can lie in a file that is mapped, and the
// collector does not read it.

import (
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"unsafe"
)

// index maps strings to ids. Concurrent calls of get and find are safe.
type index struct {
	seed  [2]uint64 // drawn for each index, so that no file can have all its tokens in one place
	texts []byte    // of all strings; what is written stays
	list  []indexed // in the order in which they were set first
	slots []slot    // the length is a power of two, and at most three quarters are used
}

// indexed is a string, texts[at:at+size], with its id.
type indexed struct {
	at       uint64
	size, id uint32
}

// noID is the id of no string.
const noID = math.MaxUint32

// A slot is an entry of the list. Its place is that of its hash, or the next free one.
type slot struct {
	hash uint32
	at   uint32 // 1 + the place in the list, 0 if the slot is free
}

// newIndex returns an index with room for n strings.
func newIndex(n int) *index {
	slots := 16
	for slots/4*3 < n {
		slots *= 2
	}
	return &index{seed: [2]uint64{rand.Uint64(), rand.Uint64() | 1}, texts: make([]byte, 0, 8*n), list: make([]indexed, 0, n), slots: make([]slot, slots)}
}

// text returns the string of an entry.
func (x *index) text(e *indexed) string {
	return unsafe.String(unsafe.SliceData(x.texts[e.at:e.at+uint64(e.size)]), e.size)
}

// hash mixes eight bytes at a time with products whose factors nobody outside knows.
func (x *index) hash(text []byte) uint32 {
	h := x.seed[0] ^ uint64(len(text))*0x9E3779B97F4A7C15
	for ; len(text) > 8; text = text[8:] {
		h = mix(h^binary.LittleEndian.Uint64(text), x.seed[1])
	}
	var last uint64
	switch n := len(text); {
	case n == 8:
		last = binary.LittleEndian.Uint64(text)
	case n >= 4:
		last = uint64(binary.LittleEndian.Uint32(text)) | uint64(binary.LittleEndian.Uint32(text[n-4:]))<<32
	case n > 0:
		last = uint64(text[0]) | uint64(text[n/2])<<8 | uint64(text[n-1])<<16
	}
	return uint32(mix(mix(h^last, x.seed[1]), x.seed[0]|1))
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// at returns the slot of a text, or the free one where it would be.
func (x *index) at(hash uint32, text []byte) *slot {
	for i := int(hash) & (len(x.slots) - 1); ; i = (i + 1) & (len(x.slots) - 1) {
		s := &x.slots[i]
		if s.at == 0 || s.hash == hash && x.text(&x.list[s.at-1]) == string(text) {
			return s
		}
	}
}

// set sets the id of a string. It returns its place in the list, and whether it is the first one of
// this string.
func (x *index) set(text []byte, id uint32) (place int, first bool) {
	return x.setHashed(x.hash(text), text, id)
}

func (x *index) setHashed(hash uint32, text []byte, id uint32) (place int, first bool) {
	s := x.at(hash, text)
	if s.at != 0 {
		x.list[s.at-1].id = id
		return int(s.at - 1), false
	}
	x.list = append(x.list, indexed{uint64(len(x.texts)), uint32(len(text)), id})
	x.texts = append(x.texts, text...)
	*s = slot{hash, uint32(len(x.list))}
	if len(x.list) > len(x.slots)/4*3 {
		x.grow()
	}
	return len(x.list) - 1, true
}

func (x *index) grow() {
	old := x.slots
	x.slots = make([]slot, 2*len(old))
	for _, s := range old {
		if s.at == 0 {
			continue
		}
		i := int(s.hash) & (len(x.slots) - 1)
		for x.slots[i].at != 0 {
			i = (i + 1) & (len(x.slots) - 1)
		}
		x.slots[i] = s
	}
}

// get returns the id of a string.
func (x *index) get(text string) (uint32, bool) {
	return x.find(bytesOf(text))
}

// bytesOf returns the bytes of a string, which nobody may change.
func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }

// find is get for a string in bytes.
func (x *index) find(text []byte) (uint32, bool) {
	s := x.at(x.hash(text), text)
	if s.at == 0 {
		return 0, false
	}
	return x.list[s.at-1].id, true
}

// fit gives back memory that no string needs.
func (x *index) fit() {
	if cap(x.texts) > len(x.texts)+len(x.texts)/4 {
		x.texts = slices.Clip(append([]byte(nil), x.texts...))
	}
}

// finds looks up many texts step by step, so that the processor waits for the memory of many at a
// time.
type finds struct {
	hashes []uint32
	slots  []slot
}

// look sets hashes to those of texts, and slots to those at the places of the hashes. Each text
// ends where ends says, and begins where the one before ends.
func (f *finds) look(x *index, texts []byte, ends []int32) {
	f.hashes, f.slots = f.hashes[:0], f.slots[:0]
	from := int32(0)
	for _, to := range ends {
		f.hashes = append(f.hashes, x.hash(texts[from:to]))
		from = to
	}
	for _, h := range f.hashes {
		f.slots = append(f.slots, x.slots[int(h)&(len(x.slots)-1)])
	}
}

// find sets ids to those of the texts, noID for texts that x lacks.
func (f *finds) find(x *index, texts []byte, ends []int32, ids []uint32) {
	f.look(x, texts, ends)
	from := int32(0)
	for i, to := range ends {
		s, text := f.slots[i], texts[from:to]
		from = to
		ids[i] = noID
		if s.at == 0 {
			continue
		}
		if e := &x.list[s.at-1]; s.hash == f.hashes[i] && x.text(e) == string(text) {
			ids[i] = e.id
		} else if id, ok := x.find(text); ok {
			ids[i] = id
		}
	}
}
