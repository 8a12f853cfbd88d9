// Package topology describes the CPUs that the process may use: physical cores, their hardware
// threads, NUMA nodes, and the quota of the process's cgroups. It also describes the memory that
// the process may use. From these it derives the number of threads for products, and shares of the
// CPUs for replicas.
//
// On Linux it reads /sys and /proc. If a file is absent or makes no sense, its information counts
// as unknown; no function fails. On other systems each CPU is a core of a single node.
//
// The Go runtime reads the affinity mask (runtime.NumCPU) and the cgroup's quota
// (runtime.GOMAXPROCS) itself. It rounds quotas up, to 2 at least, and counts hardware threads as
// CPUs. That suits goroutines that sometimes wait. It does not suit products, whose threads wait
// for each other.
package topology

import (
	"fmt"
	"io/fs"
	"math"
	"strings"
)

// Machine is the part of the machine that the process may use.
type Machine struct {
	CPUs  Set   // the CPUs that the process may run on
	Cores []Set // the CPUs of each physical core, from the core with the lowest CPU on
	Nodes []Set // the CPUs of each NUMA node that has any, by the nodes' numbers
	Quota float64
	// Memory is the number of bytes that the process may use: the machine's memory, or the lowest
	// limit of its cgroups if that is less. It is 0 if it is not known.
	Memory int64
	// Limited says that Memory is the limit of a cgroup.
	Limited bool
	// Separate says that hardware threads of one core compute as much as cores do. Virtual machines
	// may report separate cores as hardware threads of one core.
	Separate bool
}

// Read reads the machine from the root of a file system, from the folders sys and proc. allowed has
// the CPUs of the affinity mask. If it is empty, the CPUs are those from 0 on, and processors is
// their number.
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

// Threads returns the number of threads that compute products fastest: one for each core, or one
// for each CPU if hardware threads are as fast as cores, and at most the quota, rounded to the
// nearest number, halves up. Threads beyond the quota would all stop for a part of each period.
func (m *Machine) Threads() int {
	n := len(m.units())
	if m.Quota > 0 && m.Quota < float64(n) {
		n = int(math.Floor(m.Quota + 0.5))
	}
	return max(1, n)
}

// units returns the sets of CPUs that run one thread each.
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

// Siblings returns two hardware threads of one core, if a core has several.
func (m *Machine) Siblings() (a, b int, ok bool) {
	for _, core := range m.Cores {
		if len(core) > 1 {
			return core[0], core[1], true
		}
	}
	return 0, 0, false
}

// String returns a text such as "16 CPUs on 8 cores of 2 nodes, quota 6.5".
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
