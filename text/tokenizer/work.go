package tokenizer

// The state of one call: the text during normalization, cutting and tokenization.

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text/tokenizer/internal/onig"
	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
)

// span is a range of bytes.
type span struct{ start, end int32 }

// split is a piece of the text, which the steps before the model cut into smaller ones.
type split struct {
	start, end int32 // in work.text
	shift      int32 // where the piece began in the original text when it was cut
	added      int32 // index into addedTokens.list, or -1
}

// token is a token that the model found.
type token struct {
	id         uint32
	start, end int32 // in work.text
	split      int32
	surface    bool // its string is the text, not the token of the id
}

// work holds one text. Each byte of text has a range in the original that it came from: in align,
// or if that is nil, the character at the same position.
type work struct {
	original string
	text     []byte
	align    []span
	splits   []split
	tokens   []token

	wantAlign bool   // offsets are asked for, or a step needs them
	limit     int    // of the length of every rewritten text
	tooLong   bool   // a rewritten text would have exceeded limit
	nextText  []byte // the output of rewrite
	nextAlign []span
	nextSplit []split
	spare     []span       // storage for align while align is nil
	places    []onig.Place // matches of a pattern
	found     []found      // added tokens
	matches   []match
	runes     []rune
	changes   []ucd.Change
	scratch   bpeScratch

	literal []int32 // where in original characters stand with which no token of control begins, ascending
	control []string
	lattice []latticeNode
}

var workPool = sync.Pool{New: func() any { return new(work) }}

// maxRewritten bounds the length of a text after all rewriting. No normal form makes a text twelve
// times as long, but many steps that each replace a character with two may follow each other.
const maxRewritten = 1 << 28

// maxKeep is the size of the buffers that the pool may keep.
const maxKeep = 1 << 20

func (w *work) release() {
	if cap(w.text)+cap(w.nextText) > maxKeep {
		return
	}
	if w.align != nil {
		w.spare, w.align = w.align, nil
	}
	w.original, w.control = "", nil
	workPool.Put(w)
}

// reset begins a text. Each byte that is not UTF-8 becomes U+FFFD.
func (w *work) reset(s string, wantAlign bool) {
	w.original, w.wantAlign = s, wantAlign
	w.limit, w.tooLong = min(maxRewritten, 1<<20+32*len(s)), false
	w.text, w.align = w.text[:0], nil
	w.splits, w.tokens = w.splits[:0], w.tokens[:0]
	if utf8.ValidString(s) {
		w.text = append(w.text, s...)
	} else {
		if wantAlign {
			w.align = w.spare[:0]
		}
		for i, r := range s {
			size := utf8.RuneLen(r)
			if r == utf8.RuneError {
				_, size = utf8.DecodeRuneInString(s[i:])
			}
			w.text = utf8.AppendRune(w.text, r)
			if wantAlign {
				for len(w.align) < len(w.text) {
					w.align = append(w.align, span{int32(i), int32(i + size)})
				}
			}
		}
	}
	if len(w.text) > 0 {
		w.splits = append(w.splits, split{0, int32(len(w.text)), 0, -1})
	}
}

// withoutMarks returns a text without its marks, and notes the characters before them.
func (w *work) withoutMarks(s string) string {
	const mark = string(LiteralMark)
	if !strings.Contains(s, mark) {
		return s
	}
	b := make([]byte, 0, len(s))
	for part, rest, more := strings.Cut(s, mark); ; part, rest, more = strings.Cut(rest, mark) {
		b = append(b, part...)
		if !more {
			return string(b)
		}
		_, size := utf8.DecodeLastRune(b)
		w.literal = append(w.literal, int32(len(b)-size))
	}
}

// isLiteral reports whether an added token that begins at start is text there.
func (w *work) isLiteral(start int32, content string) bool {
	if len(w.literal) == 0 {
		return false
	}
	_, marked := slices.BinarySearch(w.literal, w.alignOf(start).start)
	return marked && slices.Contains(w.control, content)
}

func (w *work) lengthError() error {
	return fmt.Errorf("%w: normalizing makes more than %d bytes of %d", fault.ErrText, w.limit, len(w.original))
}

// alignOf returns the range of the original that text[i] came from.
func (w *work) alignOf(i int32) span {
	if w.align != nil {
		return w.align[i]
	}
	start, end := i, i+1
	for start > 0 && !utf8.RuneStart(w.text[start]) {
		start--
	}
	for int(end) < len(w.text) && !utf8.RuneStart(w.text[end]) {
		end++
	}
	return span{start, end}
}

// cut makes a split of text[start:end] with its position in the original.
func (w *work) cut(from split, start, end, added int32) split {
	shift := from.shift
	if w.wantAlign && start != from.start {
		shift = w.alignOf(start).start
	} else if w.wantAlign && w.align != nil {
		shift = w.align[start].start
	}
	return split{start, end, shift, added}
}

// splitEach replaces each split that is not an added token with the splits that f appends to
// w.nextSplit.
func (w *work) splitEach(f func(s split)) {
	w.nextSplit = w.nextSplit[:0]
	for _, s := range w.splits {
		if s.added >= 0 {
			w.nextSplit = append(w.nextSplit, s)
		} else {
			f(s)
		}
	}
	w.splits, w.nextSplit = w.nextSplit, w.splits
}

// piece appends text[start:end] of s to w.nextSplit, unless it is empty.
func (w *work) piece(s split, start, end int32) {
	if start < end {
		w.nextSplit = append(w.nextSplit, w.cut(s, start, end, -1))
	}
}

// rewrite replaces the text of each split that is not an added token with the text that f appends
// through keep and emit. If f returns false, it has appended nothing and the text stays.
func (w *work) rewrite(f func(s split) bool) {
	if w.tooLong {
		return
	}
	w.nextText, w.nextAlign, w.nextSplit = w.nextText[:0], w.nextAlign[:0], w.nextSplit[:0]
	changed := false
	for i, s := range w.splits {
		start := int32(len(w.nextText))
		if s.added >= 0 || !f(s) {
			if !changed { // there may be no change at all
				continue
			}
			w.keep(s.start, s.end)
		} else if !changed {
			changed = true
			if i > 0 {
				w.restart(i, f)
				break
			}
		}
		w.nextSplit = append(w.nextSplit, split{start, int32(len(w.nextText)), s.shift, s.added})
	}
	if !changed {
		return
	}
	w.splits, w.nextSplit = w.nextSplit, w.splits
	w.text, w.nextText = w.nextText, w.text
	if w.wantAlign {
		old := w.align
		if old == nil {
			old = w.spare[:0]
		}
		w.align, w.nextAlign = w.nextAlign, old
		w.spare = nil
	}
}

// restart copies the splits before the i-th, which do not change, and then rewrites the rest.
func (w *work) restart(i int, f func(s split) bool) {
	w.nextText, w.nextAlign = w.nextText[:0], w.nextAlign[:0]
	for j, s := range w.splits {
		start := int32(len(w.nextText))
		if j < i || s.added >= 0 || !f(s) {
			w.keep(s.start, s.end)
		}
		w.nextSplit = append(w.nextSplit, split{start, int32(len(w.nextText)), s.shift, s.added})
	}
}

// keep copies text[start:end].
func (w *work) keep(start, end int32) {
	if w.tooLong = w.tooLong || len(w.nextText)+int(end-start) > w.limit; w.tooLong {
		return
	}
	w.nextText = append(w.nextText, w.text[start:end]...)
	if !w.wantAlign {
		return
	}
	if w.align != nil {
		w.nextAlign = append(w.nextAlign, w.align[start:end]...)
		return
	}
	for i := start; i < end; {
		size := int32(1)
		if w.text[i] >= utf8.RuneSelf {
			_, n := utf8.DecodeRune(w.text[i:end])
			size = int32(n)
		}
		for range size {
			w.nextAlign = append(w.nextAlign, span{i, i + size})
		}
		i += size
	}
}

// emit appends a character that came from the range a of the original.
func (w *work) emit(r rune, a span) {
	if w.tooLong = w.tooLong || len(w.nextText)+utf8.UTFMax > w.limit; w.tooLong {
		return
	}
	before := len(w.nextText)
	w.nextText = utf8.AppendRune(w.nextText, r)
	if w.wantAlign {
		for range len(w.nextText) - before {
			w.nextAlign = append(w.nextAlign, a)
		}
	}
}

// transform applies changes to text[start:end] of s, after dropping its first skip bytes. A
// character with a change of 1 has the position of the one before it. With a change of 0 it takes
// the position of the next character, and with -n that of the next n+1 characters.
func (w *work) transform(s split, start, end int32, changes []ucd.Change, skip int32) {
	at := start + skip
	for _, c := range changes {
		var a span
		switch {
		case !w.wantAlign:
		case c.N <= 0:
			a = w.alignOf(min(at, int32(len(w.text))-1))
		case at > s.start:
			a = w.alignOf(at - 1)
		default:
			a = span{s.shift, s.shift}
		}
		for n := c.N; n <= 0 && at < end; n++ {
			_, size := utf8.DecodeRune(w.text[at:end])
			at += int32(size)
		}
		w.emit(c.R, a)
	}
}

// offsets returns the range of the original that text[start:end] of s came from. A token may end
// beyond s if a word has a suffix that falls back to bytes. Its offsets are then relative to s, as
// in Hugging Face's library.
func (w *work) offsets(s split, start, end int32) span {
	if start >= end {
		return span{s.shift + start - s.start, s.shift + end - s.start}
	}
	if end > s.end {
		return span{start - s.start, end - s.start}
	}
	return span{w.alignOf(start).start, w.alignOf(end - 1).end}
}

// model turns pieces into tokens. It must be safe for concurrent use.
type model interface {
	// tokenize appends the tokens of text[start:end] to w.tokens. The caller sets token.split.
	tokenize(w *work, start, end int32) error
	size() int
	id(token string) (uint32, bool)
	token(id uint32) (string, bool)
}

// latticeNode is the best path to a position.
type latticeNode struct {
	score float64
	start int32 // start of the last token; -1 if no path leads here
	id    int32
}

// match is a part of a split: a delimiter, or text between delimiters.
type match struct {
	start, end int32
	delimiter  bool
}
