package grammar

import "fmt"

// This file makes expressions of deterministic automata.

// expr returns the expression of the texts of d, whose characters are written by s. Sets that take
// several bytes become rules, one for all places.
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
