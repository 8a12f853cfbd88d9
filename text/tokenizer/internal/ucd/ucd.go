// Package ucd has the properties of characters that Hugging Face's tokenizers use. Their libraries
// have the data of four different versions of Unicode, so ids would differ with package unicode or
// golang.org/x/text.
package ucd

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// tables.txt is written by tables.py, which describes its lines.
//
//go:embed tables.txt
var tables string

// Props is a set of properties.
type Props uint32

// Properties, in the order of tables.py.
const (
	White      Props = 1 << iota // Rust's char::is_whitespace, and \s
	Numeric                      // Rust's char::is_numeric
	Punct                        // BERT's punctuation
	Control                      // what BERT's cleaning removes
	Nonspacing                   // Mn
	Combining                    // M
	Word                         // \w of Oniguruma
	RustWord                     // \w of Rust's regex
	L                            // categories of Oniguruma
	N
	P
	S
	M
	Lu
	Ll
	Lt
	Lm
	Lo
	Digit // \d of Oniguruma
	NFC   // may change in this form, or interact with its neighbours
	NFD
	NFKC
	NFKD
)

const (
	pageBits = 8
	pageSize = 1 << pageBits
	pages    = (utf8.MaxRune + 1) / pageSize
)

// table maps runes to values. Neighbouring runes share a page, and all pages with a single value
// share storage.
type table[T comparable] struct {
	index [pages]*[pageSize]T
}

func (t *table[T]) at(r rune) T {
	if uint32(r) > utf8.MaxRune {
		var zero T
		return zero
	}
	return t.index[uint32(r)>>pageBits][uint32(r)&(pageSize-1)]
}

// fill sets the runes from first to last. Ranges must ascend from call to call.
func (t *table[T]) fill(uniform map[T]*[pageSize]T, first, last rune, v T) {
	for first <= last {
		page := first >> pageBits
		end := min(last, page<<pageBits|(pageSize-1))
		if first == page<<pageBits && end-first == pageSize-1 {
			t.index[page] = uniformPage(uniform, v)
		} else {
			p := t.index[page]
			if p == nil {
				p = new([pageSize]T)
				t.index[page] = p
			}
			for r := first; r <= end; r++ {
				p[r&(pageSize-1)] = v
			}
		}
		first = end + 1
	}
}

func (t *table[T]) finish(uniform map[T]*[pageSize]T) {
	var zero T
	for i := range t.index {
		if t.index[i] == nil {
			t.index[i] = uniformPage(uniform, zero)
		}
	}
}

func uniformPage[T comparable](uniform map[T]*[pageSize]T, v T) *[pageSize]T {
	p := uniform[v]
	if p == nil {
		p = new([pageSize]T)
		for i := range p {
			p[i] = v
		}
		uniform[v] = p
	}
	return p
}

// lines calls f for each line of the given kind with its numbers.
func lines(kind byte, f func(n []rune)) {
	var n []rune
	at := 0
	if tables[0] != kind {
		at = strings.Index(tables, "\n"+string(kind)+" ") + 1
	}
	for at < len(tables) && tables[at] == kind {
		end := at + strings.IndexByte(tables[at:], '\n')
		n = n[:0]
		for word := range strings.FieldsSeq(tables[at+1 : end]) {
			v, _ := strconv.ParseUint(word, 16, 32)
			n = append(n, rune(v))
		}
		f(n)
		at = end + 1
	}
}

func build[T comparable](kind byte, convert func(rune) T) *table[T] {
	t := new(table[T])
	uniform := map[T]*[pageSize]T{}
	lines(kind, func(n []rune) { t.fill(uniform, n[0], n[1], convert(n[2])) })
	t.finish(uniform)
	return t
}

var props = sync.OnceValue(func() *table[Props] {
	return build('p', func(v rune) Props { return Props(v) })
})

// Table looks up properties. Fetch it once for many characters.
type Table struct{ t *table[Props] }

// Properties returns the table. The first call builds it.
func Properties() Table { return Table{props()} }

// Of returns the properties of r, or 0 if r is not a code point.
func (t Table) Of(r rune) Props { return t.t.at(r) }

var lower = sync.OnceValue(func() map[rune][]rune {
	m := make(map[rune][]rune, 1500)
	lines('l', func(n []rune) { m[n[0]] = append([]rune(nil), n[1:]...) })
	return m
})

// Lower returns the lower case of every character that has one. That of İ has two characters.
func Lower() map[rune][]rune { return lower() }
