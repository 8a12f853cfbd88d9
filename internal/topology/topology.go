// Package topology says which CPUs the process may use and how they lie: physical cores, their
// hardware threads, NUMA nodes, and the quota of its cgroups; and how much memory it may use. From
// that follow the number of threads for products, and shares of the CPUs for replicas.
//
// On Linux it reads /sys and /proc. A file that is absent, or makes no sense, counts as one that
// says nothing: nothing here fails. On other systems each CPU is a core of a single node.
//
// The Go runtime reads the affinity mask (runtime.NumCPU) and the cgroup's quota
// (runtime.GOMAXPROCS) itself. It rounds quotas up, to 2 at least, and counts hardware threads as
// CPUs. That suits goroutines that wait now and then, and not products, whose threads wait for each
// other.
package topology

import (
	"fmt"
	"io/fs"
	"math"
	"strings"
)

// Machine is what the process may use of the machine.
type Machine struct {
	CPUs  Set   // that the process may run on
	Cores []Set // those of each physical core, from the core with the lowest CPU on
	Nodes []Set // those of each NUMA node that has any, by the nodes' numbers
	Quota float64
	// Memory is how many bytes the process may use: those of the machine, or fewer if one of its
	// cgroups has a lower limit. 0: not known.
	Memory int64
	// Limited says that Memory is the limit of a cgroup.
	Limited bool
	// Separate says that hardware threads of one core compute as much as cores do. Virtual machines
	// may call CPUs threads of one core that are not.
	Separate bool
}

// Read reads the machine from the root of a file system: below sys and proc. allowed are the CPUs
// of the affinity mask; processors CPUs from 0 on stand for an empty one.
func Read(root fs.FS, allowed Set, processors int) Machine {
	r := reader{root}
	var m Machine
	if m.CPUs = allowed; len(m.CPUs) == 0 {
		m.CPUs = upTo(processors)
	}
	groups := r.cgroups()
	m.Quota = groups.quota
	m.Memory = r.memory()
	if m.Limited = groups.memory > 0 && (m.Memory == 0 || groups.memory < m.Memory); m.Limited {
		m.Memory = groups.memory
	}
	for _, limit := range []Set{r.set("sys/devices/system/cpu/online"), groups.cpus} {
		if both := m.CPUs.and(limit); len(both) > 0 {
			m.CPUs = both
		}
	}
	m.Cores = r.cores(m.CPUs)
	m.Nodes = r.nodes(m.CPUs)
	return m
}

// Threads is how many threads compute products fastest: one for each core, or for each CPU if these
// are as good, and no more than the quota, rounded to the nearest number, halves up. Threads beyond
// the quota would all stop for a part of each period.
func (m *Machine) Threads() int {
	n := len(m.units())
	if m.Quota > 0 && m.Quota < float64(n) {
		n = int(math.Floor(m.Quota + 0.5))
	}
	return max(1, n)
}

// units returns the sets of CPUs that have a thread each.
func (m *Machine) units() []Set {
	if !m.Separate {
		return m.Cores
	}
	units := make([]Set, len(m.CPUs))
	for i, cpu := range m.CPUs {
		units[i] = Set{cpu}
	}
	return units
}

// Siblings are two hardware threads of one core, if a core has several.
func (m *Machine) Siblings() (a, b int, ok bool) {
	for _, core := range m.Cores {
		if len(core) > 1 {
			return core[0], core[1], true
		}
	}
	return 0, 0, false
}

// String is such as "16 CPUs on 8 cores of 2 nodes, quota 6.5".
func (m *Machine) String() string {
	var b strings.Builder
	b.WriteString(count(len(m.CPUs), "CPU"))
	fmt.Fprintf(&b, " on %s", count(len(m.Cores), "core"))
	if m.Separate && len(m.Cores) < len(m.CPUs) {
		b.WriteString(" (whose threads compute as cores do)")
	}
	if len(m.Nodes) > 1 {
		fmt.Fprintf(&b, " of %s", count(len(m.Nodes), "node"))
	}
	if m.Quota > 0 {
		fmt.Fprintf(&b, ", quota %.4g", m.Quota)
	}
	return b.String()
}

func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}
