package tokenizer

// The tables of a tokenizer.json in a file that is mapped: its text without the vocabulary and the merges, and these as they lie in memory.

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"unsafe"

	"github.com/avoformer/avoformer/internal/ready"
	"github.com/avoformer/avoformer/internal/regular"
)

// readyForm is the version of what follows, of the tables and of the hash of index.
const readyForm = 1

// readyExt is the end of the names of the files, which ends like that of packed weights.
const readyExt = ".tokenizer.ready"

// A readyPlace is where the tables of a tokenizer.json are, or would be.
type readyPlace struct {
	path string
	key  ready.Key
	note string
	way  ready.Way
}

// place returns nil if nothing is kept: no folder is given, or the file has no time, or cannot be read in parts.
func (o Opening) place(fsys fs.FS) *readyPlace {
	if o.Ready == "" {
		return nil
	}
	f, err := regular.OpenFS(fsys, "tokenizer.json")
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	from, ok := f.(io.ReaderAt)
	if err != nil || !ok || !info.Mode().IsRegular() || info.ModTime().IsZero() {
		return nil
	}
	h := sha256.New()
	fmt.Fprintf(h, "tokenizer %d %q %t %d %d %d\n", readyForm, ready.Release(), o.AsWritten, binary.NativeEndian.Uint16([]byte{1, 0}), info.Size(), info.ModTime().UnixNano())
	some := make([]byte, min(info.Size(), 4<<10))
	for _, at := range []int64{0, (info.Size() - int64(len(some))) / 2, info.Size() - int64(len(some))} {
		if _, err := from.ReadAt(some, at); err != nil && err != io.EOF {
			return nil
		}
		h.Write(some)
	}
	p := &readyPlace{key: ready.Key(h.Sum(nil)), note: fmt.Sprintf("model ?\ntokenizer\n%q %d %d\n", info.Name(), info.Size(), info.ModTime().UnixNano())}
	if named, ok := f.(interface{ Name() string }); ok {
		if path, err := filepath.Abs(named.Name()); err == nil {
			p.note = fmt.Sprintf("model %s\ntokenizer\n%q %d %d\n", filepath.Dir(path), info.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	p.path = filepath.Join(o.Ready, hex.EncodeToString(p.key[:16])+readyExt)
	if o.ReadyCopy {
		p.way = ready.Copy
	}
	return p
}

// The parts of a file.
const (
	partNumbers = iota
	partText
	partPrefix
	partTexts // of the vocabulary
	partList
	partSlots
	partPlaces
	partTrie
	partMerges
	partScores
	partWordTexts
	partWordList
	partWordSlots
	partCount
)

// readyNumbers describe the tables. All fields have a fixed size.
type readyNumbers struct {
	Seed, WordSeed              [2]uint64
	Trie, Merges, Pieces, Words bool // which tables there are
	Repeats, Apart, Sought      bool
	Shift                       uint64
	Lowest                      float64
}

func table[T any](x []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(one)))
}

func tableOf[T any](b []byte) []T {
	var one T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(one)))
}

// write writes what was made of f, a text. It does nothing if more was made than the file would have.
func (p *readyPlace) write(f *file, text []byte) {
	s := &f.source
	if p == nil || f.model == nil || s.parsed == 0 || s.parsed != made(s.ids != nil)+made(s.merges != nil)+made(s.pieces != nil) {
		return
	}
	short, ok := f.skeleton(text)
	if !ok {
		return
	}
	v := s.ids
	n := readyNumbers{Trie: s.trie != nil, Merges: s.merges != nil, Pieces: s.pieces != nil, Words: s.words != nil, Apart: s.apart, Sought: s.sought, Shift: uint64(s.table.shift)}
	all := make([][]byte, partCount)
	if s.pieces != nil {
		if v != nil {
			return
		}
		v = s.pieces.vocabulary
		n.Lowest = s.pieces.lowest
		all[partScores], all[partTrie] = table(s.pieces.scores), table(s.pieces.trie.nodes)
	} else if s.trie != nil {
		all[partTrie] = table(s.trie.nodes)
	}
	if len(v.sparse) > 0 {
		return
	}
	n.Seed, n.Repeats = v.ids.seed, v.repeats
	all[partTexts], all[partList], all[partSlots], all[partPlaces] = v.ids.texts, table(v.ids.list), table(v.ids.slots), table(v.places)
	if s.merges != nil {
		all[partMerges] = table(s.table.pairs)
	}
	if s.words != nil {
		n.WordSeed = s.words.seed
		all[partWordTexts], all[partWordList], all[partWordSlots] = s.words.texts, table(s.words.list), table(s.words.slots)
	}
	numbers, err := binary.Append(nil, binary.LittleEndian, &n)
	if err != nil {
		return
	}
	all[partNumbers], all[partText], all[partPrefix] = numbers, short, []byte(s.prefix)
	_ = ready.Write(p.path, p.key, p.note, all) // the tokenizer is there in either case
}

func made(is bool) int {
	if is {
		return 1
	}
	return 0
}

// skeleton returns the text of f without the elements of the vocabulary and of the merges.
func (f *file) skeleton(text []byte) ([]byte, bool) {
	var short []byte
	at := 0
	cut := func(v value) bool {
		if len(v) < 2 || v[0] != '[' && v[0] != '{' {
			return false
		}
		start := int(uintptr(unsafe.Pointer(&v[0])) - uintptr(unsafe.Pointer(&text[0])))
		if start < at || start+len(v) > len(text) {
			return false
		}
		short = append(append(short, text[at:start+1]...), v[len(v)-1])
		at = start + len(v)
		return true
	}
	first, second := f.model.fields["vocab"], f.model.fields["merges"]
	if f.source.merges == nil {
		second = nil
	}
	if len(first) > 0 && len(second) > 0 && uintptr(unsafe.Pointer(&second[0])) < uintptr(unsafe.Pointer(&first[0])) {
		first, second = second, first
	}
	if !cut(first) || second != nil && !cut(second) {
		return nil, false
	}
	short = append(short, text[at:]...)
	const word = `"ByteLevel"` // which the choice of a class looks for in the text
	return short, bytes.Contains(text, []byte(word)) == bytes.Contains(short, []byte(word))
}

// open returns what a file has, and the text without the vocabulary and the merges, or nil.
func (p *readyPlace) open() (*file, []byte) {
	if p == nil {
		return nil, nil
	}
	all, err := ready.Open(p.path, p.key, nil, p.way)
	if err != nil || len(all) != partCount {
		return nil, nil
	}
	var n readyNumbers
	if _, err := binary.Decode(all[partNumbers], binary.LittleEndian, &n); err != nil {
		return nil, nil
	}
	f, err := readFile(all[partText])
	if err != nil || f.model == nil {
		return nil, nil
	}
	ids := indexOfParts(n.Seed, all[partTexts:])
	v := &vocabulary{ids: ids, places: tableOf[uint32](all[partPlaces]), repeats: n.Repeats}
	var t *trie
	if n.Trie || n.Pieces {
		t = &trie{tableOf[trieNode](all[partTrie])}
	}
	s := &f.source
	s.fixed = true
	if n.Pieces {
		s.list = f.model.fields["vocab"]
		s.pieces = &pieces{vocabulary: v, scores: tableOf[float64](all[partScores]), trie: t, lowest: n.Lowest}
		return f, all[partText]
	}
	s.vocab, s.ids, s.trie = f.model.fields["vocab"], v, t
	if n.Merges {
		s.merges, s.prefix, s.apart, s.sought = f.model.fields["merges"], string(all[partPrefix]), n.Apart, n.Sought
		s.table = mergeTable{tableOf[mergePair](all[partMerges]), uint(n.Shift)}
	}
	if n.Words {
		s.words = indexOfParts(n.WordSeed, all[partWordTexts:])
	}
	return f, all[partText]
}

// indexOfParts returns the index whose texts, list and slots come first.
func indexOfParts(seed [2]uint64, all [][]byte) *index {
	return &index{seed: seed, texts: all[0], list: tableOf[indexed](all[1]), slots: tableOf[slot](all[2])}
}
