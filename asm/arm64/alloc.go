package arm64

import (
	"fmt"
	"slices"
)

// This file replaces virtual registers by physical ones.

// pressureError is the place where more registers of a class are live than there are.
type pressureError struct {
	class class
	msg   string
}

func (e *pressureError) Error() string { return e.msg }

// allocate replaces the registers that nodes use with physical ones.
//
// Two registers interfere if one is written while the other is live, even if nothing reads the
// result, or if one instruction writes both. A copy does not by itself make its two registers
// interfere. With merge, the two become one if nothing else makes them interfere.
func allocate(name string, nodes []node, regs []*register, merge bool) error {
	fl, err := newFlow(name, nodes)
	if err != nil {
		return err
	}
	var undefined error
	fl.liveness(len(regs)).each(func(id int) {
		if undefined == nil {
			undefined = fmt.Errorf("%s: %s: this register is read before it is written", regs[id].made, name)
		}
	})
	if undefined != nil {
		return undefined
	}

	g := newGraph(regs)
	var worst [2]struct {
		live int
		n    *node
	}
	for i := range fl.blocks {
		b := &fl.blocks[i]
		fl.walk(b, slices.Clone(b.liveOut), func(n *node, live set) {
			busy := slices.Clone(live)
			for _, w := range n.writes {
				g.used.add(w.id)
				busy.add(w.id)
			}
			for _, w := range n.writes {
				busy.each(func(id int) {
					if !n.move || id != n.reads[0].id {
						g.edge(w, regs[id])
					}
				})
			}
			var count [2]int
			busy.each(func(id int) { count[regs[id].class]++ })
			for c, k := range count {
				if k > worst[c].live {
					worst[c].live, worst[c].n = k, n
				}
			}
		})
	}
	if merge {
		for i := range nodes {
			if n := &nodes[i]; n.move {
				g.merge(n.writes[0], n.reads[0])
			}
		}
	}
	if c, ok := g.color(); !ok {
		n := worst[c].n
		return &pressureError{c, fmt.Sprintf("%s: %s: out of %v registers: %d are live at %s, and %d can be allocated",
			n.made, name, c, worst[c].live, n.op, len(allocatable[c]))}
	}
	for _, r := range regs {
		r.physical = r.root().physical
	}
	return nil
}

// graph is the interference graph.
type graph struct {
	regs      []*register
	used      set
	neighbors [][]int
	seen      map[[2]int]bool
}

func newGraph(regs []*register) *graph {
	for _, r := range regs {
		r.merged = nil
	}
	return &graph{regs: regs, used: newSet(len(regs)), neighbors: make([][]int, len(regs)), seen: map[[2]int]bool{}}
}

func (g *graph) edge(a, b *register) {
	key := edgeKey(a, b)
	if a == b || a.class != b.class || g.seen[key] {
		return
	}
	g.seen[key] = true
	g.neighbors[a.id] = append(g.neighbors[a.id], b.id)
	g.neighbors[b.id] = append(g.neighbors[b.id], a.id)
}

func edgeKey(a, b *register) [2]int { return [2]int{min(a.id, b.id), max(a.id, b.id)} }

// root returns the register that r was merged into.
func (r *register) root() *register {
	for r.merged != nil {
		r = r.merged
	}
	return r
}

// merge makes a and b one register unless they interfere.
func (g *graph) merge(a, b *register) {
	a, b = a.root(), b.root()
	if a == b || g.seen[edgeKey(a, b)] || a.constant != nil || b.constant != nil || a.fixed || b.fixed {
		return
	}
	for _, n := range g.neighbors[b.id] {
		if g.used.has(n) {
			g.edge(a, g.regs[n])
		}
	}
	b.merged = a
	g.used.remove(b.id)
}

// color assigns physical registers by Briggs's method. It removes registers with fewer neighbors
// than there are colors or, if there are none, the one with the most, and assigns colors in the
// opposite order. Fixed registers keep theirs. If a class has too few registers, color returns it.
func (g *graph) color() (class, bool) {
	degree := make([]int, len(g.regs))
	gone := newSet(len(g.regs))
	var order, easy []int
	left := 0
	fixed := newSet(len(g.regs))
	g.used.each(func(id int) {
		if g.regs[id].fixed {
			fixed.add(id)
			return
		}
		left++
		for _, n := range g.neighbors[id] {
			if g.used.has(n) {
				degree[id]++
			}
		}
		if degree[id] < len(allocatable[g.regs[id].class]) {
			easy = append(easy, id)
		}
	})
	for ; left > 0; left-- {
		pick := -1
		if len(easy) > 0 {
			pick, easy = easy[len(easy)-1], easy[:len(easy)-1]
		} else {
			g.used.each(func(id int) {
				if !gone.has(id) && !fixed.has(id) && (pick < 0 || degree[id] > degree[pick]) {
					pick = id
				}
			})
		}
		gone.add(pick)
		order = append(order, pick)
		for _, n := range g.neighbors[pick] {
			if degree[n]--; g.used.has(n) && !gone.has(n) && !fixed.has(n) && degree[n] == len(allocatable[g.regs[n].class])-1 {
				easy = append(easy, n)
			}
		}
	}
	gone = fixed
	for i := len(order) - 1; i >= 0; i-- {
		r := g.regs[order[i]]
		var taken uint32
		for _, n := range g.neighbors[r.id] {
			if gone.has(n) {
				taken |= 1 << g.regs[n].physical
			}
		}
		r.physical = -1
		for _, p := range allocatable[r.class] {
			if taken>>p&1 == 0 {
				r.physical = p
				break
			}
		}
		if r.physical < 0 {
			return r.class, false
		}
		gone.add(r.id)
	}
	return 0, true
}
