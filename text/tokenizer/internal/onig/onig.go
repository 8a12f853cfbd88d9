// Package onig matches patterns in the syntax of Oniguruma, the regular expression library of
// Hugging Face's tokenizers: with lookahead, possessive quantifiers, nested classes, and the
// characters of its version of Unicode. [Compile] returns an error for syntax that the package does
// not support.
//
// Work and memory are linear in the text for every pattern: at most about 2*maxProgram steps per
// byte, and the memory of maxMemory alternatives and maxInner matches.
package onig

import (
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"
)

// Regexp is a compiled pattern, safe for concurrent use.
type Regexp struct {
	program []instruction
	memory  int       // instructions whose failures are remembered
	inner   int       // instructions whose matches are remembered too
	depth   int       // nesting of opLook and opAtomic, while compiling
	machine sync.Pool // *machine
}

// Place is a match, from its first byte to the byte after its last.
type Place struct{ Start, End int32 }

type operation int8

const (
	opChar   operation = iota // a character of set
	opSplit                   // continue at to, and if that fails, at or
	opJoin                    // where the branches of a choice meet
	opJump                    // to
	opLook                    // the program at or finds something here, or does not if negated; continue at to
	opAtomic                  // as much as the program at or matches here; continue at to
	opCluster
	opBehind
	opWordEdge
	opTextBegin
	opTextEnd
	opLastLine
	opLineBegin
	opLineEnd
	opMatch
)

type instruction struct {
	op      operation
	negated bool
	to, or  int32
	memory  int32 // number of the split or join, from 0
	inner   int32 // its number among those inside of an unbounded opLook or opAtomic, from 1
	set     *set
}

const (
	maxProgram = 2048
	maxMemory  = 256
	maxInner   = 64
)

// Compile parses a pattern. It returns an error for a pattern that matches the empty text, and for
// syntax that the package does not support: backreferences, conditions, lookbehind of more than a
// character, and letters that match several letters if case is ignored.
func Compile(pattern string) (*Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("longer than %d bytes", maxPattern)
	}
	if !utf8.ValidString(pattern) {
		return nil, errors.New("not UTF-8")
	}
	p := parser{in: pattern}
	tree, err := p.alternatives()
	if err != nil {
		return nil, err
	}
	if p.at < len(p.in) {
		return nil, errors.New(") without (")
	}
	if least, _ := tree.lengths(); least == 0 {
		return nil, errors.New("it matches the empty text")
	}
	if found, _, _ := tree.ligature(); found {
		return nil, errors.New("letters of a ligature with (?i)")
	}
	re := new(Regexp)
	if err := re.emit(tree); err != nil {
		return nil, err
	}
	re.add(instruction{op: opMatch})
	re.machine.New = func() any { return re.newMachine(nil) }
	return re, nil
}

func (re *Regexp) add(i instruction) int {
	if i.op == opSplit || i.op == opJoin {
		i.memory = int32(re.memory)
		re.memory++
		if re.depth > 0 {
			re.inner++
			i.inner = int32(re.inner)
		}
	}
	re.program = append(re.program, i)
	return len(re.program) - 1
}

func (re *Regexp) here() int32 { return int32(len(re.program)) }

func (re *Regexp) emit(n *node) error {
	if len(re.program) > maxProgram || re.memory > maxMemory || re.inner > maxInner {
		return errors.New("too long once its repetitions are expanded")
	}
	switch n.kind {
	case oneChar:
		re.add(instruction{op: opChar, set: n.set})
	case sequence:
		for _, s := range n.subs {
			if err := re.emit(s); err != nil {
				return err
			}
		}
	case choice:
		return re.emitChoice(n.subs)
	case repetition:
		return re.emitRepetition(n)
	case ahead, atomic:
		op := map[kind]operation{ahead: opLook, atomic: opAtomic}[n.kind]
		look := re.add(instruction{op: op, negated: n.negated, or: re.here() + 1})
		if _, most := n.subs[0].lengths(); most < 0 {
			re.depth++
			defer func() { re.depth-- }()
		}
		if err := re.emit(n.subs[0]); err != nil {
			return err
		}
		re.add(instruction{op: opMatch})
		re.program[look].to = re.here()
	case behind:
		re.add(instruction{op: opBehind, negated: n.negated, set: n.set})
	default:
		re.add(instruction{op: anchors[n.kind], negated: n.negated})
	}
	return nil
}

var anchors = map[kind]operation{lineBegin: opLineBegin, lineEnd: opLineEnd, cluster: opCluster, textBegin: opTextBegin,
	textEnd: opTextEnd, lastLine: opLastLine, wordEdge: opWordEdge}

func (re *Regexp) emitChoice(subs []*node) error {
	var ends []int
	for i, s := range subs {
		last := i == len(subs)-1
		split := -1
		if !last {
			split = re.add(instruction{op: opSplit, to: re.here() + 1})
		}
		if err := re.emit(s); err != nil {
			return err
		}
		if !last {
			ends = append(ends, re.add(instruction{op: opJump}))
			re.program[split].or = re.here()
		}
	}
	for _, end := range ends {
		re.program[end].to = re.here()
	}
	re.add(instruction{op: opJoin})
	return nil
}

func (re *Regexp) emitRepetition(n *node) error {
	for range n.least {
		if err := re.emit(n.subs[0]); err != nil {
			return err
		}
	}
	// the lazy form tries to continue first
	more := func() int { return re.add(instruction{op: opSplit, to: re.here() + 1, negated: n.lazy}) }
	var splits []int
	if n.most < 0 {
		splits = append(splits, more())
		if err := re.emit(n.subs[0]); err != nil {
			return err
		}
		re.add(instruction{op: opJump, to: int32(splits[0])})
	}
	for range n.most - n.least {
		splits = append(splits, more())
		if err := re.emit(n.subs[0]); err != nil {
			return err
		}
	}
	for _, s := range splits {
		i := &re.program[s]
		i.or = re.here()
		if i.negated {
			i.to, i.or, i.negated = i.or, i.to, false
		}
	}
	if n.most > n.least {
		re.add(instruction{op: opJoin})
	}
	return nil
}

// ligature reports whether letters of a ligature may follow each other in a match of the node, and
// returns the letters that a match may begin and end with. If such letters are in different groups,
// Oniguruma takes only some of them for a ligature.
func (n *node) ligature() (found bool, first, last letters) {
	switch n.kind {
	case oneChar:
		return false, n.letter, n.letter
	case repetition:
		found, first, last = n.subs[0].ligature()
		return found || n.most != 1 && last.joins(first), first, last
	case choice:
		for _, s := range n.subs {
			inside, f, l := s.ligature()
			found, first, last = found || inside, first|f, last|l
		}
		return found, first, last
	}
	empty := true // the nodes before may match nothing
	for _, s := range n.subs {
		inside, f, l := s.ligature()
		found = found || inside || last.joins(f)
		least, _ := s.lengths()
		if empty {
			first |= f
			empty = least == 0
		}
		if least > 0 {
			last = 0
		}
		last |= l
	}
	return found, first, last
}
