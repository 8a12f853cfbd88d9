package onig

// Backtracking over a program, with a memory of what has failed.

import "unicode/utf8"

type machine struct {
	program []instruction
	memory  int
	text    []byte
	stack   []frame
	steps   int // instructions that ran
	// failed has a bit for each split, join and position from which no match is found,
	// which does not depend on where the search began. It is kept once a text
	// takes more steps than usual: so no instruction runs twice at a position.
	failed []uint64
}

// frame is an alternative that is left: go on at pc and position at. If pc is
// negative, ^pc has failed at that position when the frame is reached.
type frame struct{ pc, at int32 }

const (
	usualSteps     = 1 << 14
	usualStepsByte = 1 << 8

	keepStack = 1 << 16 // frames that a machine holds on to
)

// AppendAll appends to places where the pattern matches in text, from left to right;
// each search begins behind the match before.
func (re *Regexp) AppendAll(places []Place, text []byte) []Place {
	m := re.machine.Get().(*machine)
	m.text, m.steps, m.failed = text, 0, nil
	places = m.appendAll(places)
	m.text, m.failed = nil, nil
	if cap(m.stack) > keepStack {
		m.stack = nil
	}
	re.machine.Put(m)
	return places
}

func (m *machine) appendAll(places []Place) []Place {
	for at := int32(0); int(at) < len(m.text); {
		if end := m.match(0, at); end >= 0 {
			places = append(places, Place{at, end})
			at = end
			continue
		}
		_, n := utf8.DecodeRune(m.text[at:])
		at += int32(n)
	}
	return places
}

// match runs the program at pc and gives the end of what it matches at a position,
// or -1.
func (m *machine) match(pc, at int32) int32 {
	base := len(m.stack)
	for {
		m.steps++
		i := &m.program[pc]
		ok := true
		switch i.op {
		case opMatch:
			m.stack = m.stack[:base]
			return at
		case opJump:
			pc = i.to
			continue
		case opSplit:
			if ok = m.enter(i, pc, at); ok {
				m.stack = append(m.stack, frame{i.or, at})
				pc = i.to
				continue
			}
		case opJoin:
			ok = m.enter(i, pc, at)
		case opLook:
			if ok = m.match(i.or, at) >= 0 != i.negated; ok {
				pc = i.to
				continue
			}
		case opChar:
			n := i.set.begins(m.text[at:])
			ok = n > 0
			at += int32(n)
		case opBehind:
			r, n := utf8.DecodeLastRune(m.text[:at])
			ok = (n > 0 && i.set.has(r)) != i.negated
		case opLineBegin: // not behind a line break that ends the text
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

// enter tells whether the split or join i at pc may lead to a match.
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
}

func (m *machine) bit(i *instruction, at int32) int {
	return int(i.memory)*(len(m.text)+1) + int(at)
}

// back takes the last alternative that is left above base.
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
