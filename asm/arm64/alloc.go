package arm64

import (
	"fmt"
	"math/bits"
	"slices"
)

// set is a set of register ids.
type set []uint64

func newSet(n int) set       { return make(set, (n+63)/64) }
func (s set) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s set) remove(i int)   { s[i/64] &^= 1 << (i % 64) }
func (s set) has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }
func (s set) each(f func(int)) {
	for w, v := range s {
		for ; v != 0; v &= v - 1 {
			f(w*64 + bits.TrailingZeros64(v))
		}
	}
}

// flow is the control flow of a list of nodes, cut into basic blocks.
type flow struct {
	nodes  []node
	blocks []block
}

type block struct {
	start, end int
	next       []int // blocks that may follow
	liveOut    set
}

// newFlow cuts nodes at labels and branches.
func newFlow(name string, nodes []node) (*flow, error) {
	fl := &flow{nodes: nodes}
	at := map[string]int{} // label to block
	for i := 0; i < len(nodes); {
		b := block{start: i}
		for ; i < len(nodes) && nodes[i].label != ""; i++ {
			if _, ok := at[nodes[i].label]; ok {
				return nil, fmt.Errorf("%s: %s: label %s is defined twice", nodes[i].made, name, nodes[i].label)
			}
			at[nodes[i].label] = len(fl.blocks)
		}
		for i < len(nodes) && nodes[i].label == "" {
			i++
			if nodes[i-1].target != "" || nodes[i-1].final {
				break
			}
		}
		b.end = i
		fl.blocks = append(fl.blocks, b)
	}
	for i := range fl.blocks {
		b := &fl.blocks[i]
		last := nodes[b.end-1]
		if last.target != "" {
			to, ok := at[last.target]
			if !ok {
				return nil, fmt.Errorf("%s: %s: branch to label %s, which is not defined", last.made, name, last.target)
			}
			b.next = append(b.next, to)
		}
		if !last.final {
			if i+1 == len(fl.blocks) {
				return nil, fmt.Errorf("%s: %s: control runs off the end", last.made, name)
			}
			b.next = append(b.next, i+1)
		}
	}
	return fl, nil
}

// walk visits the nodes of a block backwards with what is live after each, and
// leaves in live what is live before the first.
func (fl *flow) walk(b *block, live set, visit func(n *node, live set)) {
	for i := b.end - 1; i >= b.start; i-- {
		n := &fl.nodes[i]
		if visit != nil {
			visit(n, live)
		}
		for _, w := range n.writes {
			live.remove(w.id)
		}
		for _, r := range n.reads {
			live.add(r.id)
		}
	}
}

// liveness computes liveOut of every block; it returns what is live on entry.
func (fl *flow) liveness(registers int) set {
	liveIn := make([]set, len(fl.blocks))
	for i := range fl.blocks {
		fl.blocks[i].liveOut = newSet(registers)
		liveIn[i] = newSet(registers)
	}
	for changed := true; changed; {
		changed = false
		for i := len(fl.blocks) - 1; i >= 0; i-- {
			b := &fl.blocks[i]
			for _, next := range b.next {
				for w, v := range liveIn[next] {
					b.liveOut[w] |= v
				}
			}
			live := slices.Clone(b.liveOut)
			fl.walk(b, live, nil)
			for w, v := range live {
				if v != liveIn[i][w] {
					liveIn[i], changed = live, true
					break
				}
			}
		}
	}
	return liveIn[0]
}

// pressureError says where more registers of a class are live than there are.
type pressureError struct {
	class class
	msg   string
}

func (e *pressureError) Error() string { return e.msg }

// allocate gives the registers that nodes use physical ones.
//
// Two registers interfere if one is written while the other is live, whether
// or not what is written is ever read, or if one instruction writes both. A
// copy alone does not make its two registers interfere; with merge, the two
// become one if nothing else does.
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

// root is the register that r was merged into.
func (r *register) root() *register {
	for r.merged != nil {
		r = r.merged
	}
	return r
}

// merge makes a and b one register unless they interfere.
func (g *graph) merge(a, b *register) {
	a, b = a.root(), b.root()
	if a == b || g.seen[edgeKey(a, b)] || a.constant != nil || b.constant != nil {
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

// color assigns physical registers in Briggs's way: take away registers with
// fewer neighbors than there are colors, or failing that the one with the most,
// and give colors back in the opposite order. It returns the class that there
// are too few of.
func (g *graph) color() (class, bool) {
	degree := make([]int, len(g.regs))
	gone := newSet(len(g.regs))
	var order, easy []int
	left := 0
	g.used.each(func(id int) {
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
				if !gone.has(id) && (pick < 0 || degree[id] > degree[pick]) {
					pick = id
				}
			})
		}
		gone.add(pick)
		order = append(order, pick)
		for _, n := range g.neighbors[pick] {
			if degree[n]--; g.used.has(n) && !gone.has(n) && degree[n] == len(allocatable[g.regs[n].class])-1 {
				easy = append(easy, n)
			}
		}
	}
	gone = newSet(len(g.regs))
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

// compile places the constants and allocates registers. It returns the nodes
// to print.
//
// All constants are first loaded on entry. While that takes more registers than
// there are, the constant with the fewest uses, weighed by the depth of loops,
// is loaded again at each use instead.
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

// withoutIdleMoves leaves out the copies of a register to itself.
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

// constCosts weighs the uses of each constant: tenfold for each loop around it.
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

// place returns the nodes with the loads of constants: on entry or, for those
// in again, into a fresh register before each use.
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

// substitute is n with the vector register old, which it only reads, replaced.
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
