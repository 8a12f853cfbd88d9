// Package replica plans copies of a model's execution: on which CPUs each computes, and on how many
// threads.
package replica

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"

	"github.com/avoformer/avoformer/internal/topology"
)

// Plan is what a caller asks for. The zero Plan is one replica that is bound to no CPUs.
type Plan struct {
	N      int  // replicas, each on an equal share of the cores; 0: one that is not bound
	ByNode bool // one on each NUMA node, in place of N
}

// Parse reads a plan: a number, or "node".
func Parse(s string) (Plan, error) {
	if s == "node" {
		return Plan{ByNode: true}, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return Plan{}, fmt.Errorf("%q, want a number from 1 on, or node", s)
	}
	return Plan{N: n}, nil
}

// String is what Parse reads, "" of the zero Plan.
func (p Plan) String() string {
	switch {
	case p.ByNode:
		return "node"
	case p.N > 0:
		return strconv.Itoa(p.N)
	}
	return ""
}

// Shares returns the replicas on a machine with some threads altogether. That of the zero Plan has
// no CPUs.
func (p Plan) Shares(m *topology.Machine, threads int) ([]topology.Share, error) {
	switch {
	case p.ByNode:
		return m.DivideByNode(threads), nil
	case p.N > 0:
		return m.Divide(p.N, threads)
	}
	return []topology.Share{{Threads: threads}}, nil
}

// Nodes returns the first replicas of each node, by their indices. Replicas of a node may read the
// same copy of what each node has a copy of; copyOf has the index of it for each replica.
func Nodes(shares []topology.Share) (first, copyOf []int) {
	var nodes []int
	for i, s := range shares {
		at := slices.Index(nodes, s.Node)
		if at < 0 {
			at = len(nodes)
			nodes, first = append(nodes, s.Node), append(first, i)
		}
		copyOf = append(copyOf, at)
	}
	return first, copyOf
}

// Threads is how many threads products are worth on this machine: what topology.Machine.Threads
// says, and no more than GOMAXPROCS.
func Threads() int {
	m := Machine()
	return min(runtime.GOMAXPROCS(0), m.Threads())
}
