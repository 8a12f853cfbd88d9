package tokenizer

// SentencePiece's precompiled character map.

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
)

// charsmap maps strings to strings with a double-array trie (Darts). Its values are positions in a
// list of strings that end with a zero byte. As in Hugging Face's library, a grapheme shorter than
// six bytes is looked up first: the shortest prefix that the map knows decides for the whole
// grapheme. All other graphemes are mapped character by character.
type charsmap struct {
	units []uint32
	text  []byte
	ascii [utf8.RuneSelf]bool // characters that stay, unless they are part of a longer grapheme
}

func parseCharsmap(data []byte) (*charsmap, error) {
	if len(data) < 4 {
		return nil, fmt.Errorf("%w: precompiled_charsmap has %d bytes", fault.ErrFormat, len(data))
	}
	size := binary.LittleEndian.Uint32(data)
	data = data[4:]
	if uint64(size/4*4) > uint64(len(data)) {
		return nil, fmt.Errorf("%w: precompiled_charsmap: trie of %d bytes in %d", fault.ErrFormat, size, len(data))
	}
	n := &charsmap{units: make([]uint32, size/4), text: data[size/4*4:]}
	for i := range n.units {
		n.units[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	if len(n.units) == 0 || !utf8.Valid(n.text) {
		return nil, fmt.Errorf("%w: precompiled_charsmap: no trie, or text that is not UTF-8", fault.ErrFormat)
	}
	for b := range n.ascii {
		_, ok := n.lookup([]byte{byte(b)})
		n.ascii[b] = !ok
	}
	return n, nil
}

func unitOffset(u uint32) uint32 { return u >> 10 << (u & (1 << 9) >> 6) }

// lookup returns the replacement of the shortest prefix of key that the map knows.
func (n *charsmap) lookup(key []byte) ([]byte, bool) {
	at := unitOffset(n.units[0])
	for _, b := range key {
		if b == 0 {
			break
		}
		at ^= uint32(b)
		if at >= uint32(len(n.units)) {
			return nil, false
		}
		u := n.units[at]
		if u&(1<<31|0xFF) != uint32(b) {
			return nil, false
		}
		at ^= unitOffset(u)
		if u>>8&1 == 1 {
			if at >= uint32(len(n.units)) {
				return nil, false
			}
			start := n.units[at] & (1<<31 - 1)
			if start > uint32(len(n.text)) {
				return nil, false
			}
			end := start
			for end < uint32(len(n.text)) && n.text[end] != 0 {
				end++
			}
			return n.text[start:end], true
		}
	}
	return nil, false
}

func (n *charsmap) normalize(w *work) {
	w.rewrite(func(s split) bool {
		text := w.text[s.start:s.end]
		w.changes = w.changes[:0]
		modified := false
		mapped := func(part []byte) bool {
			to, ok := n.lookup(part)
			if ok {
				modified = true
				w.changes = mapChange(w.changes, part, to)
			}
			return ok
		}
		for len(text) > 0 {
			if b := text[0]; b < utf8.RuneSelf && n.ascii[b] && b != '\r' && (len(text) == 1 || text[1] < utf8.RuneSelf) {
				w.changes = append(w.changes, ucd.Change{R: rune(b)})
				text = text[1:]
				continue
			}
			size := ucd.Grapheme(text)
			grapheme := text[:size]
			text = text[size:]
			if size < 6 && mapped(grapheme) {
				continue
			}
			for len(grapheme) > 0 {
				r, size := utf8.DecodeRune(grapheme)
				if !mapped(grapheme[:size]) {
					w.changes = append(w.changes, ucd.Change{R: r})
				}
				grapheme = grapheme[size:]
			}
		}
		if modified {
			w.transform(s, s.start, s.end, w.changes, 0)
		}
		return modified
	})
}

// mapChange appends the characters of to, which replace the characters of from.
func mapChange(changes []ucd.Change, from, to []byte) []ucd.Change {
	added := utf8.RuneCount(to) - utf8.RuneCount(from)
	for len(to) > 0 {
		r, size := utf8.DecodeRune(to)
		changes = append(changes, ucd.Change{R: r})
		to = to[size:]
	}
	if added < 0 && len(changes) > 0 {
		changes[len(changes)-1].N += added
	}
	for i := range max(added, 0) {
		changes[len(changes)-1-i].N = 1
	}
	return changes
}
