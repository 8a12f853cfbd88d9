package tokenizer

// The ids of tokens: a table of hashes, since a map of strings takes most of the time of opening a large vocabulary.

import "hash/maphash"

// index maps strings to ids. Concurrent calls of get and find are safe.
type index struct {
	list  []indexed // in the order in which they were set first
	slots []slot    // the length is a power of two, and at most three quarters are used
}

type indexed struct {
	text string
	id   uint32
}

// A slot is an entry of the list. Its place is that of its hash, or the next free one.
type slot struct {
	hash uint32
	at   uint32 // 1 + the place in the list, 0 if the slot is free
}

// seed is drawn for each process, so that no file can have all its tokens in one place.
var seed = maphash.MakeSeed()

// newIndex returns an index with room for n strings.
func newIndex(n int) *index {
	slots := 16
	for slots/4*3 < n {
		slots *= 2
	}
	return &index{list: make([]indexed, 0, n), slots: make([]slot, slots)}
}

// set sets the id of a string, and reports whether it is the first one.
func (x *index) set(text string, id uint32) bool {
	hash := uint32(maphash.String(seed, text))
	i := int(hash) & (len(x.slots) - 1)
	for ; x.slots[i].at != 0; i = (i + 1) & (len(x.slots) - 1) {
		if e := &x.list[x.slots[i].at-1]; x.slots[i].hash == hash && e.text == text {
			e.id = id
			return false
		}
	}
	x.list = append(x.list, indexed{text, id})
	x.slots[i] = slot{hash, uint32(len(x.list))}
	if len(x.list) > len(x.slots)/4*3 {
		x.grow()
	}
	return true
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
	hash := uint32(maphash.String(seed, text))
	for i := int(hash) & (len(x.slots) - 1); x.slots[i].at != 0; i = (i + 1) & (len(x.slots) - 1) {
		if e := &x.list[x.slots[i].at-1]; x.slots[i].hash == hash && e.text == text {
			return e.id, true
		}
	}
	return 0, false
}

// find is get for a string in bytes.
func (x *index) find(text []byte) (uint32, bool) {
	hash := uint32(maphash.Bytes(seed, text))
	for i := int(hash) & (len(x.slots) - 1); x.slots[i].at != 0; i = (i + 1) & (len(x.slots) - 1) {
		if e := &x.list[x.slots[i].at-1]; x.slots[i].hash == hash && e.text == string(text) {
			return e.id, true
		}
	}
	return 0, false
}
