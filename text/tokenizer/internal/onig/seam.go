package onig

// What a pattern does between two characters, in every text.

// Crosses reports whether a match, or the decision about one, may reach from a character a over the
// b that follows it: a match holds both, or looks at the text after a once it has taken a. If
// Crosses is false, the matches in a text that ends with a do not change if b and more text follow.
func (re *Regexp) Crosses(a, b rune) bool {
	s := seam{re: re, b: b, seen: make([]bool, len(re.program))}
	for pc := range re.program {
		switch i := &re.program[pc]; i.op {
		case opCluster, opBehind, opWordEdge, opTextBegin, opLineBegin:
			return true // whether these hold is not decided here
		case opChar:
			if i.set.has(a) && s.crosses(pc+1) {
				return true
			}
		}
	}
	return false
}

// seam walks over the instructions that may run after a character a.
type seam struct {
	re   *Regexp
	b    rune
	seen []bool // instructions
}

func (s *seam) crosses(pc int) bool {
	for !s.seen[pc] {
		s.seen[pc] = true
		switch i := &s.re.program[pc]; i.op {
		case opChar:
			return i.set.has(s.b)
		case opSplit:
			if s.crosses(int(i.to)) {
				return true
			}
			pc = int(i.or)
		case opJoin:
			pc++
		case opJump:
			pc = int(i.to)
		case opAtomic:
			pc = int(i.or)
		case opMatch:
			if pc = s.after(pc); pc < 0 {
				return false
			}
		default:
			return true // looks at b
		}
	}
	return false
}

// after returns where the program continues after an atomic group that ends at pc, or -1 if the
// pattern or a lookahead ends there.
func (s *seam) after(pc int) int {
	if pc == len(s.re.program)-1 {
		return -1
	}
	for at := pc - 1; at >= 0; at-- { // the innermost group that holds pc begins last
		if i := &s.re.program[at]; (i.op == opAtomic || i.op == opLook) && int(i.to) == pc+1 {
			if i.op == opLook {
				return -1
			}
			return pc + 1
		}
	}
	return -1
}

// Holds reports whether r may be in a match or in the decision about one.
func (re *Regexp) Holds(r rune) bool {
	for pc := range re.program {
		if i := &re.program[pc]; i.op == opCluster || i.op == opChar && i.set.has(r) {
			return true
		}
	}
	return false
}

// Finds reports whether r is in a match wherever it comes before a b for which Crosses is false.
func (re *Regexp) Finds(r rune) bool {
	places := re.AppendAll(nil, []byte(string(r)))
	return len(places) == 1 && int(places[0].End) == len(string(r))
}
