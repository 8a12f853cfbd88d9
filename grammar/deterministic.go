package grammar

import "fmt"

// This file has what becomes of a deterministic automaton.

// trim leaves out the states from which no text comes to an end.
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

// expr is the expression of the texts of d, whose characters are written by s. Sets that take several bytes become
// rules, one for all places.
func (d *deterministic) expr(p *program, s speller) *expr {
	if len(d.next) == 0 {
		return none
	}
	g := &expr{op: opGraph, graph: &graph{final: d.final}}
	known := map[string]*expr{}
	for from, next := range d.next {
		targets := map[int32][]runeRange{}
		var order []int32
		for class, to := range next {
			if to < 0 {
				continue
			}
			if targets[to] == nil {
				order = append(order, to)
			}
			targets[to] = append(targets[to], d.classes[class]...)
		}
		for _, to := range order {
			set := normalised(targets[to])
			key := fmt.Sprint(set)
			e := known[key]
			if e == nil {
				if e = s.class(set); e.op != opByte {
					e = call(p.rule(nil, e))
				}
				known[key] = e
			}
			g.sub, g.graph.ways = append(g.sub, e), append(g.graph.ways, graphWay{int32(from), to})
		}
	}
	return g
}
