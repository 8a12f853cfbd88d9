package topology

import (
	"fmt"
	"slices"
)

// Share is a part of the machine, for one replica.
type Share struct {
	CPUs    Set // they are in no other share
	Threads int
	Node    int // an index of Machine.Nodes; the first one if the share is on several nodes
}

// Divide divides the machine into n shares of whole cores, whose sizes differ by at most one core,
// with threads threads altogether and at least one in each share. Shares begin at borders of nodes
// if that keeps them equal. n must be at least 1, and at most the number of cores.
func (m *Machine) Divide(n, threads int) ([]Share, error) {
	units := m.byNode()
	if n < 1 || n > len(units) {
		return nil, fmt.Errorf("want 1 to %d, the number of cores", len(units))
	}
	shares := make([]Share, n)
	for i := range shares {
		for _, unit := range units[len(units)*i/n : len(units)*(i+1)/n] {
			shares[i].CPUs = append(shares[i].CPUs, unit...)
		}
		m.complete(&shares[i], threads*(i+1)/n-threads*i/n)
	}
	return shares, nil
}

// DivideByNode divides the machine into a share for each node, with threads threads altogether.
// Each share has at least one thread, and shares have threads in proportion to their nodes' cores.
func (m *Machine) DivideByNode(threads int) []Share {
	shares := make([]Share, len(m.Nodes))
	all, before := len(m.units()), 0
	for i, node := range m.Nodes {
		units := before
		for _, unit := range m.units() {
			if node.has(unit[0]) {
				units++
			}
		}
		shares[i].CPUs = append(Set(nil), node...)
		m.complete(&shares[i], threads*units/all-threads*before/all)
		before = units
	}
	return shares
}

// complete fills in a share's threads and its node.
func (m *Machine) complete(s *Share, threads int) {
	first := s.CPUs[0]
	slices.Sort(s.CPUs)
	s.Threads = max(1, threads)
	for i, node := range m.Nodes {
		if node.has(first) {
			s.Node = i
		}
	}
}

// byNode returns the units in the order of the nodes.
func (m *Machine) byNode() (units []Set) {
	for _, node := range m.Nodes {
		for _, unit := range m.units() {
			if node.has(unit[0]) {
				units = append(units, unit)
			}
		}
	}
	return units
}
