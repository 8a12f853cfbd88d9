package grammar

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
)

// This file has finite automata over characters. They combine patterns, limits of length and lists
// of words to one automaton for the texts that match all of them, or that do not match some of
// them.

// An automaton has the states of several nondeterministic automata. Each is built from its end to
// its beginning: a state leads to states that already exist. State 0 is the end of the text.
type automaton struct {
	states []anode
	labels [][]runeRange
	known  map[string]int32 // of labels
	work   int              // steps that are left
}

// An anode is a state.
type anode struct {
	on   []way // transitions that read a character of a label
	free []way // transitions that read nothing, if the next character is of the label
}

type way struct{ label, to int32 }

// These conditions of free ways replace a label.
const (
	always int32 = -1
	atEnd  int32 = -2
)

// Limits of automata. They bound the time for compiling the strings of a schema to about a second.
const (
	maxPlaces  = 1 << 16 // states of all automata of a schema
	maxSubsets = 1 << 14 // states of one deterministic automaton
	maxSteps   = 1 << 24
)

func newAutomaton() *automaton {
	return &automaton{states: make([]anode, 1), known: map[string]int32{}, work: maxSteps}
}

func (a *automaton) full() error {
	if len(a.states) > maxPlaces || a.work < 0 {
		return errorf(fault.ErrTooLarge, "the automaton has too many states")
	}
	return nil
}

// add adds a state and returns its number. The caller checks full.
func (a *automaton) add(on, free []way) int32 {
	a.states = append(a.states, anode{on, free})
	return int32(len(a.states) - 1)
}

// label returns the number of a set of characters.
func (a *automaton) label(set []runeRange) int32 {
	set = normalised(set)
	key := make([]byte, 0, 8*len(set))
	for _, r := range set {
		key = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(key, uint32(r.lo)), uint32(r.hi))
	}
	n, ok := a.known[string(key)]
	if !ok {
		n = int32(len(a.labels))
		a.labels = append(a.labels, set)
		a.known[string(key)] = n
	}
	return n
}

var everyRune = []runeRange{{0, utf8.MaxRune}}

// anything returns the first state of an automaton for any text.
func (a *automaton) anything() int32 {
	s := a.add(nil, []way{{always, 0}})
	a.states[s].on = []way{{a.label(everyRune), s}}
	return s
}

// length returns the first state of an automaton for texts of least to most characters; most -1
// means no limit.
func (a *automaton) length(least, most int) (int32, error) {
	every, next := a.label(everyRune), int32(0)
	switch {
	case max(least, most) > maxPlaces:
		return 0, errorf(fault.ErrTooLarge, "more than %d characters, combined with other rules for the string", maxPlaces)
	case most < 0:
		next, most = a.anything(), least
	}
	for n := most - 1; n >= 0; n-- {
		next = a.add([]way{{every, next}}, nil)
		if n >= least {
			a.states[next].free = []way{{always, 0}}
		}
	}
	return next, nil
}

// words returns the first state of an automaton for the texts in list.
func (a *automaton) words(list []string) int32 {
	var free []way
	for _, w := range list {
		next := int32(0)
		runes := []rune(w)
		for _, r := range slices.Backward(runes) {
			next = a.add([]way{{a.label([]runeRange{{r, r}}), next}}, nil)
		}
		free = append(free, way{always, next})
	}
	return a.add(nil, free)
}

// A deterministic is a deterministic automaton, which begins in state 0. next has the successor of
// each state for each class of characters; -1 means that there is none. A final state can be
// reached from each state. An automaton that matches no text has no states.
type deterministic struct {
	classes [][]runeRange
	next    [][]int32
	final   []bool
}

// embed adds the states of d, and returns the first.
func (a *automaton) embed(d *deterministic) int32 {
	base := int32(len(a.states))
	if len(d.next) == 0 {
		return a.add(nil, nil)
	}
	labels := make([]int32, len(d.classes))
	for i, set := range d.classes {
		labels[i] = a.label(set)
	}
	for i, next := range d.next {
		var p anode
		for class, to := range next {
			if to >= 0 {
				p.on = append(p.on, way{labels[class], base + to})
			}
		}
		if d.final[i] {
			p.free = []way{{always, 0}}
		}
		a.states = append(a.states, p)
	}
	return base
}

// A determiner combines several automata to a deterministic one, by the subset construction.
type determiner struct {
	*automaton
	classes [][]runeRange
	in      [][]bool // of each label and class: whether the label contains the class
	index   map[string]int32
	subsets [][]int32 // of each state: the states of the first automaton, -1, those of the second, and so on
	marks   []int
	mark    int
	starts  int
}

// determine returns the automaton of the texts for which holds returns true. ends[i] reports
// whether the automaton that begins in starts[i] matches the text.
func (a *automaton) determine(starts []int32, holds func(ends []bool) bool) (*deterministic, error) {
	d := &determiner{automaton: a, index: map[string]int32{}, marks: make([]int, len(a.states)), starts: len(starts)}
	if err := a.full(); err != nil {
		return nil, err
	}
	d.partition(starts)
	var begin []int32
	for _, s := range starts {
		begin = append(begin, s, -1)
	}
	d.subset(begin)
	out := &deterministic{classes: d.classes}
	for i := 0; i < len(d.subsets); i++ {
		from := d.subsets[i]
		out.final = append(out.final, holds(d.ends(from)))
		next := make([]int32, len(d.classes))
		for class := range d.classes {
			next[class] = d.subset(d.step(from, class))
		}
		out.next = append(out.next, next)
		if len(d.subsets) > maxSubsets || d.work < 0 {
			return nil, errorf(fault.ErrTooLarge, "the automaton has too many states")
		}
	}
	out.trim()
	return out, nil
}

// partition computes the classes of characters: the automata treat all characters of a class alike.
func (d *determiner) partition(starts []int32) {
	used := make([]bool, len(d.labels))
	seen := make([]bool, len(d.states))
	todo := slices.Clone(starts)
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		for _, list := range [][]way{d.states[s].on, d.states[s].free} {
			for _, w := range list {
				if w.label >= 0 {
					used[w.label] = true
				}
				todo = append(todo, w.to)
			}
		}
	}
	type event struct {
		at    rune
		label int32
	}
	events := []event{{surrogateLo, -1}, {surrogateHi + 1, -1}}
	for l, set := range d.labels {
		for _, r := range set {
			if used[l] {
				events = append(events, event{r.lo, int32(l)}, event{r.hi + 1, int32(l)})
			}
		}
	}
	slices.SortFunc(events, func(a, b event) int { return int(a.at - b.at) })
	inside := make([]byte, len(d.labels)) // changes with each event
	classes := map[string]int{}
	d.in = make([][]bool, len(d.labels))
	from := rune(0)
	add := func(to rune) {
		if from >= to || from >= surrogateLo && to <= surrogateHi+1 {
			return // no text has halves of surrogate pairs
		}
		class, ok := classes[string(inside)]
		if !ok {
			class = len(d.classes)
			classes[string(inside)] = class
			d.classes = append(d.classes, nil)
			for l := range d.labels {
				d.in[l] = append(d.in[l], inside[l] == 1)
			}
		}
		d.classes[class] = append(d.classes[class], runeRange{from, to - 1})
		d.work -= 1 + len(inside)/8
	}
	for _, e := range events {
		add(e.at)
		from = e.at
		if e.label >= 0 {
			inside[e.label] ^= 1
		}
	}
	add(utf8.MaxRune + 1)
}

// reach calls visit for each state of part, and for each state that free ways lead to from there if
// the next character is of a class. A negative class stands for the end of the text.
func (d *determiner) reach(part []int32, class int, visit func(s int32)) {
	d.mark++
	todo := slices.Clone(part)
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if d.marks[s] == d.mark {
			continue
		}
		d.marks[s] = d.mark
		visit(s)
		d.work -= 1 + len(d.states[s].free)
		for _, w := range d.states[s].free {
			if w.label == always || w.label == atEnd && class < 0 || w.label >= 0 && class >= 0 && d.in[w.label][class] {
				todo = append(todo, w.to)
			}
		}
	}
}

// parts calls do for the part of each automaton in a subset.
func (d *determiner) parts(subset []int32, do func(part []int32)) {
	for len(subset) > 0 {
		n := slices.Index(subset, -1)
		do(subset[:n])
		subset = subset[n+1:]
	}
}

func (d *determiner) ends(subset []int32) (ends []bool) {
	d.parts(subset, func(part []int32) {
		end := false
		d.reach(part, -1, func(s int32) { end = end || s == 0 })
		ends = append(ends, end)
	})
	return ends
}

// step returns the subset that follows after a character of a class.
func (d *determiner) step(subset []int32, class int) (to []int32) {
	d.parts(subset, func(part []int32) {
		begin := len(to)
		d.reach(part, class, func(s int32) {
			d.work -= len(d.states[s].on)
			for _, w := range d.states[s].on {
				if d.in[w.label][class] {
					to = append(to, w.to)
				}
			}
		})
		slices.Sort(to[begin:])
		to = append(to[:begin+len(slices.Compact(to[begin:]))], -1)
	})
	return to
}

// subset returns the number of a subset, which it adds if it is new.
func (d *determiner) subset(s []int32) int32 {
	key := make([]byte, 0, 4*len(s))
	for _, x := range s {
		key = binary.LittleEndian.AppendUint32(key, uint32(x))
	}
	d.work -= len(s)
	n, ok := d.index[string(key)]
	if !ok {
		n = int32(len(d.subsets))
		d.index[string(key)] = n
		d.subsets = append(d.subsets, s)
	}
	return n
}

// matches reports whether the automaton that begins in start matches text.
func (a *automaton) matches(start int32, text string) (bool, error) {
	d := &determiner{automaton: a, marks: make([]int, len(a.states)), starts: 1}
	if err := a.full(); err != nil {
		return false, err
	}
	d.partition([]int32{start})
	subset := []int32{start, -1}
	for _, r := range text {
		class := slices.IndexFunc(d.classes, func(set []runeRange) bool {
			return slices.ContainsFunc(set, func(x runeRange) bool { return x.lo <= r && r <= x.hi })
		})
		subset = d.step(subset, class)
		if d.work < 0 {
			return false, errorf(fault.ErrTooLarge, "the automaton has too many states")
		}
	}
	return d.ends(subset)[0], nil
}

// trim removes the states from which no final state can be reached.
func (d *deterministic) trim() {
	before := make([][]int32, len(d.next))
	var todo []int32
	for i, next := range d.next {
		for _, to := range next {
			before[to] = append(before[to], int32(i))
		}
		if d.final[i] {
			todo = append(todo, int32(i))
		}
	}
	lives := make([]bool, len(d.next))
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		if todo = todo[:len(todo)-1]; !lives[s] {
			lives[s] = true
			todo = append(todo, before[s]...)
		}
	}
	number, n := make([]int32, len(d.next)), int32(0)
	for i, ok := range lives {
		if number[i] = -1; ok {
			number[i] = n
			n++
		}
	}
	if len(lives) == 0 || !lives[0] {
		n = 0
	}
	for i, ok := range lives {
		if !ok || n == 0 {
			continue
		}
		next := d.next[i]
		for class, to := range next {
			next[class] = number[to]
		}
		d.next[number[i]], d.final[number[i]] = next, d.final[i]
	}
	d.next, d.final = d.next[:n], d.final[:n]
}
