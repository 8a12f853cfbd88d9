package arm64

import (
	"fmt"
	"math/bits"
	"slices"
)

// This file has the control flow, and the liveness of registers.

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
	next       []int // indices of the blocks that may follow
	liveOut    set
}

// newFlow cuts nodes at labels and branches.
func newFlow(name string, nodes []node) (*flow, error) {
	fl := &flow{nodes: nodes}
	at := map[string]int{} // block of each label
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

// walk visits the nodes of a block backwards, with the registers that are live after each node. It
// sets live to the registers that are live before the first node.
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

// liveness computes liveOut of every block; it returns the registers that are live on entry.
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
