package arm64

import "slices"

// This file has the last steps before printing: it places constants and allocates registers.

// compile places the constants and allocates registers. It returns the nodes to print.
//
// It first loads all constants on entry. While that needs more registers than there are, it loads
// the constant with the fewest uses, weighted by the depth of loops, before each use instead.
func (f *Function) compile() ([]node, error) {
	cost := f.constCosts()
	again := map[*register]bool{}
	for {
		nodes := f.place(again)
		err := allocate(f.name, nodes, f.regs, true)
		if _, ok := err.(*pressureError); ok {
			err = allocate(f.name, nodes, f.regs, false)
		}
		pressure, ok := err.(*pressureError)
		if !ok {
			return withoutIdleMoves(nodes), err
		}
		var cheapest *register
		for _, r := range f.consts {
			if !again[r] && pressure.class == vector && (cheapest == nil || cost[r] < cost[cheapest]) {
				cheapest = r
			}
		}
		if cheapest == nil {
			return nil, err
		}
		again[cheapest] = true
	}
}

// withoutIdleMoves removes the copies of a register to itself.
func withoutIdleMoves(nodes []node) []node {
	var kept []node
	var comment []string
	for _, n := range nodes {
		if n.move && n.reads[0].physical == n.writes[0].physical {
			comment = append(comment, n.comment...)
			continue
		}
		n.comment, comment = append(comment, n.comment...), nil
		kept = append(kept, n)
	}
	return kept
}

// constCosts returns the number of uses of each constant. A use in a loop counts ten times for each
// loop around it.
func (f *Function) constCosts() map[*register]int {
	depth := make([]int, len(f.nodes))
	at := map[string]int{}
	for i, n := range f.nodes {
		if n.label != "" {
			at[n.label] = i
		}
		if start, ok := at[n.target]; ok && n.target != "" {
			for j := start; j <= i; j++ {
				depth[j]++
			}
		}
	}
	cost := map[*register]int{}
	for i, n := range f.nodes {
		weight := 1
		for range min(depth[i], 6) {
			weight *= 10
		}
		for _, r := range n.reads {
			if r.constant != nil {
				cost[r] += weight
			}
		}
	}
	return cost
}

// place returns the nodes with the loads of constants added. Constants are loaded on entry or, if
// they are in again, into a fresh register before each use.
func (f *Function) place(again map[*register]bool) []node {
	var body []node
	for _, n := range f.nodes {
		for _, r := range f.consts {
			if !again[r] || !slices.Contains(n.reads, r) {
				continue
			}
			fresh := f.newRegister(vector)
			load := f.loadConst(*r.constant, fresh)
			load.made, load.comment = n.made, n.comment
			n.comment = nil
			n = n.substitute(r, fresh)
			body = append(body, load)
		}
		body = append(body, n)
	}
	var entry []node
	for _, r := range f.consts {
		if !again[r] {
			entry = append(entry, f.loadConst(*r.constant, r))
		}
	}
	if f.pool != nil {
		entry = append([]node{{op: "MOVD", args: []operand{literal("$" + poolSymbol + "<>(SB)"), GP{f.pool}},
			writes: []*register{f.pool}, made: f.pool.made}}, entry...)
	}
	return append(entry, body...)
}

// substitute returns n with the vector register old, which it only reads, replaced.
func (n node) substitute(old, fresh *register) node {
	vec := func(v Vec) Vec {
		if v.r == old {
			return Vec{fresh}
		}
		return v
	}
	n.args = slices.Clone(n.args)
	for i, o := range n.args {
		switch o := o.(type) {
		case Vec:
			n.args[i] = vec(o)
		case Arranged:
			n.args[i] = Arranged{vec(o.v), o.arr}
		case Element:
			n.args[i] = Element{vec(o.v), o.size, o.lane}
		case pair:
			n.args[i] = pair{vec(o.a), vec(o.b)}
		}
	}
	n.reads = slices.Clone(n.reads)
	for i, r := range n.reads {
		if r == old {
			n.reads[i] = fresh
		}
	}
	return n
}
