package replica

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/avoformer/avoformer/internal/topology"
)

func TestParse(t *testing.T) {
	for s, want := range map[string]Plan{"1": {N: 1}, "16": {N: 16}, "node": {ByNode: true}} {
		if p, err := Parse(s); p != want || err != nil || p.String() != s {
			t.Errorf("%q: %+v, %v", s, p, err)
		}
	}
	for _, s := range []string{"", "0", "-1", "nodes", "1.5", "99999999999999999999"} {
		if p, err := Parse(s); err == nil {
			t.Errorf("%q: %+v", s, p)
		}
	}
}

// twoNodes returns a machine of two nodes of four cores.
func twoNodes() *topology.Machine {
	m := &topology.Machine{Nodes: []topology.Set{{0, 1, 2, 3}, {4, 5, 6, 7}}}
	for cpu := range 8 {
		m.CPUs, m.Cores = append(m.CPUs, cpu), append(m.Cores, topology.Set{cpu})
	}
	return m
}

func TestShares(t *testing.T) {
	m := twoNodes()
	for _, c := range []struct {
		plan          Plan
		threads       []int
		first, copyOf []int
	}{
		{Plan{}, []int{8}, []int{0}, []int{0}},
		{Plan{N: 1}, []int{8}, []int{0}, []int{0}},
		{Plan{N: 4}, []int{2, 2, 2, 2}, []int{0, 2}, []int{0, 0, 1, 1}},
		{Plan{ByNode: true}, []int{4, 4}, []int{0, 1}, []int{0, 1}},
	} {
		shares, err := c.plan.Shares(m, 8)
		if err != nil {
			t.Fatal(err)
		}
		var threads []int
		for _, s := range shares {
			threads = append(threads, s.Threads)
			if bound := len(s.CPUs) > 0; bound != (c.plan != Plan{}) {
				t.Errorf("%v: CPUs %v", c.plan, s.CPUs)
			}
		}
		first, copyOf := Nodes(shares)
		if !slices.Equal(threads, c.threads) || !slices.Equal(first, c.first) || !slices.Equal(copyOf, c.copyOf) {
			t.Errorf("%v: threads %v, copies of %v: %v", c.plan, threads, first, copyOf)
		}
	}
	if _, err := (Plan{N: 9}).Shares(m, 8); err == nil {
		t.Error("nine replicas on eight cores")
	}
}

// TestSeparate times hardware threads that gain little from each other, and threads that are cores,
// with disturbances.
func TestSeparate(t *testing.T) {
	for name, c := range map[string]struct {
		together time.Duration // the time of two, where one takes 100
		want     bool
	}{"one core": {190, false}, "a gain of a third": {150, false}, "cores": {104, true}, "cores that share their clock": {125, true}} {
		calls := 0
		got := separate(func(cpus ...int) time.Duration {
			disturbed := time.Duration(4-calls/2) * 40 // all but the last
			calls++
			if len(cpus) == 2 {
				return c.together + disturbed
			}
			return 100 + disturbed
		}, 0, 1)
		if got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	cpu := Machine().CPUs[0]
	if d := timed([]int{cpu, cpu}); d <= 0 {
		t.Errorf("two goroutines on one CPU take %v", d)
	}
}

func TestThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if n := Threads(); n != 1 {
		t.Errorf("%d threads with a GOMAXPROCS of 1", n)
	}
	runtime.GOMAXPROCS(1000)
	if m := Machine(); Threads() != m.Threads() {
		t.Errorf("%d threads, want %d", Threads(), m.Threads())
	}
}
