// Package replica plans copies of a model's execution: the CPUs and the number of threads of each
// copy.
package replica

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"

	"github.com/avoformer/avoformer/internal/topology"
)

// Plan is the plan that a caller asks for. The zero Plan is one replica that is not bound to CPUs.
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

// String returns the text that Parse reads, "" for the zero Plan.
func (p Plan) String() string {
	switch {
	case p.ByNode:
		return "node"
	case p.N > 0:
		return strconv.Itoa(p.N)
	}
	return ""
}

// Shares returns the shares of replicas on a machine, with the given number of threads altogether.
// The zero Plan's share has no CPUs.
func (p Plan) Shares(m *topology.Machine, threads int) ([]topology.Share, error) {
	switch {
	case p.ByNode:
		return m.DivideByNode(threads), nil
	case p.N > 0:
		return m.Divide(p.N, threads)
	}
	return []topology.Share{{Threads: threads}}, nil
}

// Nodes returns the first replica of each node, by index. Replicas on a node may read the same copy
// of data that each node has a copy of. copyOf holds the index of this copy for each replica.
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

// Threads returns the number of threads that products use on this machine: that of
// topology.Machine.Threads, limited to GOMAXPROCS.
func Threads() int {
	m := Machine()
	return min(runtime.GOMAXPROCS(0), m.Threads())
}
