package tokenizer

// The tables of a tokenizer in a file that is mapped: of a tokenizer.json its text without the
// vocabulary and the merges, and these as they lie in memory.

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"unsafe"

	"github.com/avoformer/avoformer/internal/ready"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/transformer/gguf"
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

// place returns nil if nothing is kept: no folder is given, or the file has no time, or cannot be
// read in parts.
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
	model := "?"
	if named, ok := f.(interface{ Name() string }); ok {
		if path, err := filepath.Abs(named.Name()); err == nil {
			model = filepath.Dir(path)
		}
	}
	return o.placeOf(h, fmt.Sprintf("model %s\ntokenizer\n%q %d %d\n", model, info.Name(), info.Size(), info.ModTime().UnixNano()))
}

// placeOf returns the place of the tables whose key has been written to h.
func (o Opening) placeOf(h hash.Hash, note string) *readyPlace {
	p := &readyPlace{key: ready.Key(h.Sum(nil)), note: note}
	p.path = filepath.Join(o.Ready, hex.EncodeToString(p.key[:16])+readyExt)
	if o.ReadyCopy {
		p.way = ready.Copy
	}
	return p
}

// placeOfGGUF is place for a GGUF file. The key has all that the file says of its tokenizer.
func (o Opening) placeOfGGUF(f *gguf.File, path string) *readyPlace {
	if o.Ready == "" {
		return nil
	}
	h := sha256.New()
	order := binary.NativeEndian.Uint16([]byte{1, 0})
	fmt.Fprintf(h, "tokenizer of GGUF %d %q %d\n", readyForm, ready.Release(), order)
	for _, key := range f.Keys() {
		if !strings.HasPrefix(key, ggufPrefix) {
			continue
		}
		v, _ := f.Value(key)
		fmt.Fprintf(h, "%q %T %d ", key, v, binary.Size(v)) // values with the same bytes differ
		switch v := v.(type) {
		case []string:
			all := binary.LittleEndian.AppendUint64(nil, uint64(len(v)))
			for _, t := range v {
				all = append(binary.LittleEndian.AppendUint64(all, uint64(len(t))), t...)
			}
			h.Write(all)
		case string:
			fmt.Fprintf(h, "%q", v)
		default:
			if err := binary.Write(h, binary.LittleEndian, v); err != nil {
				return nil
			}
		}
	}
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	return o.placeOf(h, fmt.Sprintf("model %s\ntokenizer\n", path))
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

// write writes what was made of f, a text. It does nothing if more was made than the file would
// have.
func (p *readyPlace) write(f *file, text []byte) error {
	s := &f.source
	if p == nil || f.model == nil || s.parsed == 0 || s.parsed != made(s.ids != nil)+made(s.merges != nil)+made(s.pieces != nil) {
		return nil
	}
	short, ok := f.skeleton(text)
	if !ok {
		return nil
	}
	return p.writeTables(s, short)
}

// writeTables writes what a source has, and a text. It does nothing where tables cannot have it.
func (p *readyPlace) writeTables(s *source, text []byte) error {
	if p == nil {
		return nil
	}
	v := s.ids
	n := readyNumbers{Trie: s.trie != nil, Merges: s.table.pairs != nil, Pieces: s.pieces != nil, Words: s.words != nil, Apart: s.apart, Sought: s.sought, Shift: uint64(s.table.shift)}
	all := make([][]byte, partCount)
	if s.pieces != nil {
		if v != nil {
			return nil
		}
		v = s.pieces.vocabulary
		n.Lowest = s.pieces.lowest
		all[partScores], all[partTrie] = table(s.pieces.scores), table(s.pieces.trie.nodes)
	} else if s.trie != nil {
		all[partTrie] = table(s.trie.nodes)
	}
	if v == nil || len(v.sparse) > 0 {
		return nil
	}
	n.Seed, n.Repeats = v.ids.seed, v.repeats
	all[partTexts], all[partList], all[partSlots], all[partPlaces] = v.ids.texts, table(v.ids.list), table(v.ids.slots), table(v.places)
	if s.table.pairs != nil {
		all[partMerges] = table(s.table.pairs)
	}
	if s.words != nil {
		n.WordSeed = s.words.seed
		all[partWordTexts], all[partWordList], all[partWordSlots] = s.words.texts, table(s.words.list), table(s.words.slots)
	}
	numbers, err := binary.Append(nil, binary.LittleEndian, &n)
	if err != nil {
		return err
	}
	all[partNumbers], all[partText], all[partPrefix] = numbers, text, []byte(s.prefix)
	return ready.Write(p.path, p.key, p.note, all)
}

// keep warns if the tables of a tokenizer could not be written, which opens in either case.
func (t *Tokenizer) keep(p *readyPlace, err error) {
	if err != nil {
		t.warnings = append(t.warnings, fmt.Sprintf("no ready file of the tokenizer in %s: %v", filepath.Dir(p.path), err))
	}
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
	made, text := p.openTables()
	if made == nil {
		return nil, nil
	}
	f, err := readFile(text)
	if err != nil || f.model == nil {
		return nil, nil
	}
	f.source = *made
	s := &f.source
	if s.pieces != nil {
		s.list = f.model.fields["vocab"]
		return f, text
	}
	s.vocab = f.model.fields["vocab"]
	if s.table.pairs != nil {
		s.merges = f.model.fields["merges"]
	}
	return f, text
}

// openTables returns the tables of a file, and its text, or nil.
func (p *readyPlace) openTables() (*source, []byte) {
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
	v := &vocabulary{ids: indexOfParts(n.Seed, all[partTexts:]), places: tableOf[uint32](all[partPlaces]), repeats: n.Repeats}
	s := &source{fixed: true}
	if n.Trie || n.Pieces {
		s.trie = &trie{tableOf[trieNode](all[partTrie])}
	}
	if n.Pieces {
		s.pieces = &pieces{vocabulary: v, scores: tableOf[float64](all[partScores]), trie: s.trie, lowest: n.Lowest}
		s.trie = nil
		return s, all[partText]
	}
	s.ids = v
	if n.Merges {
		s.prefix, s.apart, s.sought = string(all[partPrefix]), n.Apart, n.Sought
		s.table = mergeTable{tableOf[mergePair](all[partMerges]), uint(n.Shift)}
	}
	if n.Words {
		s.words = indexOfParts(n.WordSeed, all[partWordTexts:])
	}
	return s, all[partText]
}

// indexOfParts returns the index whose texts, list and slots come first.
func indexOfParts(seed [2]uint64, all [][]byte) *index {
	return &index{seed: seed, texts: all[0], list: tableOf[indexed](all[1]), slots: tableOf[slot](all[2])}
}
