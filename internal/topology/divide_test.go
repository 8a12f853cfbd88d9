package topology

import (
	"fmt"
	"testing"
)

// TestDivide divides machines into shares. Each CPU is in at most one share, and shares have whole
// cores.
func TestDivide(t *testing.T) {
	for _, c := range []struct {
		nodes, cores int // cores of each node
		n, threads   int
		want         string
	}{
		{1, 4, 1, 4, "[0-7]:4@0"},
		{1, 4, 2, 4, "[0-1,4-5]:2@0 [2-3,6-7]:2@0"},
		{1, 4, 3, 4, "[0,4]:1@0 [1,5]:1@0 [2-3,6-7]:2@0"},
		{1, 4, 4, 2, "[0,4]:1@0 [1,5]:1@0 [2,6]:1@0 [3,7]:1@0"},
		{2, 2, 2, 4, "[0-1,4-5]:2@0 [2-3,6-7]:2@1"},
		{2, 2, 4, 4, "[0,4]:1@0 [1,5]:1@0 [2,6]:1@1 [3,7]:1@1"},
		{2, 3, 3, 6, "[0-1,6-7]:2@0 [2-3,8-9]:2@0 [4-5,10-11]:2@1"},
	} {
		m := Read(tree(machine(c.nodes, c.cores)), upTo(2*c.nodes*c.cores), 0)
		shares, err := m.Divide(c.n, c.threads)
		if got := told(shares); got != c.want || err != nil {
			t.Errorf("%d nodes of %d cores, %d shares, %d threads: %s, %v, want %s", c.nodes, c.cores, c.n, c.threads, got, err, c.want)
		}
	}
	m := Read(tree(machine(2, 2)), upTo(8), 0)
	for _, n := range []int{-1, 0, 5} {
		if shares, err := m.Divide(n, 4); err == nil {
			t.Errorf("%d shares of 4 cores: %s", n, told(shares))
		}
	}
	// The first CPU of a share decides its node. The order of nodes may differ from the order of
	// CPUs.
	turned := Machine{CPUs: upTo(4), Cores: []Set{{0}, {1}, {2}, {3}}, Nodes: []Set{{2, 3}, {0, 1}}}
	shares, err := turned.Divide(2, 4)
	if got := told(shares); err != nil || got != "[2-3]:2@0 [0-1]:2@1" {
		t.Errorf("%s, %v", got, err)
	}
	if shares, err := turned.Divide(1, 4); told(shares) != "[0-3]:4@0" || err != nil {
		t.Errorf("%s, %v", told(shares), err)
	}
}

func TestDivideByNode(t *testing.T) {
	m := Read(tree(machine(2, 4)), Set{0, 1, 2, 3, 4, 8, 9, 12}, 0) // four cores of one node, one of the other
	for threads, want := range map[int]string{5: "[0-3,8-9]:4@0 [4,12]:1@1", 3: "[0-3,8-9]:2@0 [4,12]:1@1", 1: "[0-3,8-9]:1@0 [4,12]:1@1"} {
		if got := told(m.DivideByNode(threads)); got != want {
			t.Errorf("%d threads: %s, want %s", threads, got, want)
		}
	}
}

func told(shares []Share) string {
	var all []string
	for _, s := range shares {
		all = append(all, fmt.Sprintf("[%v]:%d@%d", s.CPUs, s.Threads, s.Node))
	}
	return fmt.Sprint(all)[1 : len(fmt.Sprint(all))-1]
}
