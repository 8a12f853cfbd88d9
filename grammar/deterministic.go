package grammar

import "fmt"

// This file converts deterministic automata to expressions.

// expr returns the expression of the texts that d matches, with characters encoded by s. A set of
// characters of several bytes becomes a rule that all its uses share.
func (d *deterministic) expr(p *program, s encoder) *expr {
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
