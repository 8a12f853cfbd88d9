package onig

// Backtracking over a program. It remembers which attempts failed.

import (
	"sync"
	"unicode/utf8"

	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
)

type machine struct {
	program []instruction
	memory  int
	text    []byte
	stack   []frame
	steps   int // instructions executed
	// failed has a bit for each split or join at each position, which is set if no match is found
	// from there. The bit does not depend on where the search began. It is used once a text has
	// taken more steps than usual, so that no instruction runs twice at a position.
	failed []uint64
	// ends is used from the same time. It has, for each split or join inside of opLook and opAtomic
	// and for each position, 1 + the end of the match that is found from there, or 0 if that is not
	// known.
	inner int
	ends  []int32
	// breaks are the positions where grapheme clusters end, nil until they are needed.
	breaks []int32
}

// frame is an alternative to try later: continue with pc at position at. A negative pc is a marker:
// when the frame is reached, the instruction ^pc has failed at that position.
type frame struct{ pc, at int32 }

const (
	usualSteps     = 1 << 14
	usualStepsByte = 1 << 8

	keepStack = 1 << 16 // frames that a machine in the pool may hold
)

// AppendAll appends to places where the pattern matches in text, from left to right. Each search
// begins at the end of the previous match.
func (re *Regexp) AppendAll(places []Place, text []byte) []Place {
	m := re.machine.Get().(*machine)
	m.text, m.steps = text, 0
	places = m.appendAll(places)
	m.text, m.failed, m.ends, m.breaks = nil, nil, nil, nil
	if cap(m.stack) > keepStack {
		m.stack = nil
	}
	re.machine.Put(m)
	return places
}

func (m *machine) appendAll(places []Place) []Place {
	for at := int32(0); int(at) < len(m.text); {
		if end := m.match(0, at, false); end >= 0 {
			places = append(places, Place{at, end})
			at = end
			continue
		}
		_, n := utf8.DecodeRune(m.text[at:])
		at += int32(n)
	}
	return places
}

// match runs the program at pc and returns the end of its match at a position, or -1. If inner is
// set, it remembers the ends of matches.
func (m *machine) match(pc, at int32, inner bool) int32 {
	base := len(m.stack)
	for {
		m.steps++
		i := &m.program[pc]
		ok := true
		switch i.op {
		case opMatch:
			return m.found(base, at, inner)
		case opJump:
			pc = i.to
			continue
		case opSplit:
			if end := m.end(i, at); end >= 0 {
				return m.found(base, end, inner)
			}
			if ok = m.enter(i, pc, at); ok {
				m.stack = append(m.stack, frame{i.or, at})
				pc = i.to
				continue
			}
		case opJoin:
			if end := m.end(i, at); end >= 0 {
				return m.found(base, end, inner)
			}
			ok = m.enter(i, pc, at)
		case opLook:
			if ok = m.match(i.or, at, true) >= 0 != i.negated; ok {
				pc = i.to
				continue
			}
		case opAtomic:
			end := m.match(i.or, at, true)
			if ok = end >= 0; ok {
				pc, at = i.to, end
				continue
			}
		case opChar:
			n := i.set.begins(m.text[at:])
			ok = n > 0
			at += int32(n)
		case opBehind:
			r, n := utf8.DecodeLastRune(m.text[:at])
			ok = (n > 0 && i.set.has(r)) != i.negated
		case opCluster:
			if ok = int(at) < len(m.text); ok {
				at = m.cluster(at)
			}
		case opWordEdge, opTextBegin, opTextEnd, opLastLine:
			ok = m.anchored(i, at)
		case opLineBegin: // except after a line break at the end of the text
			ok = at == 0 || m.text[at-1] == '\n' && int(at) < len(m.text)
		case opLineEnd:
			ok = int(at) == len(m.text) || m.text[at] == '\n'
		}
		if ok {
			pc++
		} else if pc, at, ok = m.back(base); !ok {
			return -1
		}
	}
}

// found drops the frames above base after a match, and remembers its end for the splits and joins
// on its way.
func (m *machine) found(base int, at int32, inner bool) int32 {
	if inner && m.ends != nil {
		for _, f := range m.stack[base:] {
			if f.pc < 0 && m.program[^f.pc].inner > 0 {
				m.ends[m.place(&m.program[^f.pc], f.at)] = at + 1
			}
		}
	}
	m.stack = m.stack[:base]
	return at
}

// end returns the remembered end of the match that begins at the split or join i, or -1.
func (m *machine) end(i *instruction, at int32) int32 {
	if m.ends == nil || i.inner == 0 {
		return -1
	}
	return m.ends[m.place(i, at)] - 1
}

func (m *machine) place(i *instruction, at int32) int {
	return int(i.inner-1)*(len(m.text)+1) + int(at)
}

// anchored reports whether the anchor i, which looks at the whole text, holds.
func (m *machine) anchored(i *instruction, at int32) bool {
	rest := m.text[at:]
	switch i.op {
	case opTextBegin:
		return at == 0
	case opTextEnd:
		return len(rest) == 0
	case opLastLine:
		return len(rest) == 0 || len(rest) == 1 && rest[0] == '\n'
	}
	before, n := utf8.DecodeLastRune(m.text[:at])
	return (n > 0 && isWord(before) != (word().begins(rest) > 0) || n == 0 && word().begins(rest) > 0) != i.negated
}

var word = sync.OnceValue(func() *set { return ofProps(ucd.Word) })

func isWord(r rune) bool { return word().has(r) }

// cluster returns the end of the grapheme cluster that contains at.
func (m *machine) cluster(at int32) int32 {
	if m.breaks == nil {
		m.breaks = make([]int32, len(m.text))
		for start := 0; start < len(m.text); {
			end := start + ucd.Grapheme(m.text[start:])
			for ; start < end; start++ {
				m.breaks[start] = int32(end)
			}
		}
	}
	return m.breaks[at]
}

// enter reports whether the split or join i at pc may lead to a match.
func (m *machine) enter(i *instruction, pc, at int32) bool {
	if m.failed != nil {
		if bit := m.bit(i, at); m.failed[bit/64]>>(bit%64)&1 != 0 {
			return false
		}
		m.stack = append(m.stack, frame{^pc, at})
	} else if m.steps > usualSteps+usualStepsByte*len(m.text) {
		m.remember()
	}
	return true
}

func (m *machine) remember() {
	m.failed = make([]uint64, (m.memory*(len(m.text)+1)+63)/64)
	if m.inner > 0 {
		m.ends = make([]int32, m.inner*(len(m.text)+1))
	}
}

func (m *machine) bit(i *instruction, at int32) int {
	return int(i.memory)*(len(m.text)+1) + int(at)
}

// back pops the last alternative above base.
func (m *machine) back(base int) (pc, at int32, ok bool) {
	for len(m.stack) > base {
		f := m.stack[len(m.stack)-1]
		m.stack = m.stack[:len(m.stack)-1]
		if f.pc >= 0 {
			return f.pc, f.at, true
		}
		bit := m.bit(&m.program[^f.pc], f.at)
		m.failed[bit/64] |= 1 << (bit % 64)
	}
	return 0, 0, false
}

func (re *Regexp) newMachine(text []byte) *machine {
	return &machine{program: re.program, memory: re.memory, inner: re.inner, text: text}
}
