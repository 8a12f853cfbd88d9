package topology

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// reader reads small files below a root. A file that cannot be read counts as empty.
type reader struct{ root fs.FS }

// longest is the most bytes that are read of a file. mountinfo has some kilobytes.
const longest = 1 << 20

func (r reader) text(name string) string {
	if r.root == nil || !fs.ValidPath(name) {
		return ""
	}
	f, err := r.root.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, longest))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// set returns the set that a file lists, or nil if it lists no CPUs.
func (r reader) set(name string) Set {
	s, _ := parseSet(r.text(name))
	return s
}

// cores divides CPUs by physical cores. A CPU without a file about it is a core.
func (r reader) cores(cpus Set) (cores []Set) {
	var done Set // the CPUs of cores
	for _, cpu := range cpus {
		if done.has(cpu) {
			continue
		}
		core := Set{cpu}
		for _, file := range []string{"core_cpus_list", "thread_siblings_list"} { // the second is the older name
			if s := r.set(fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/%s", cpu, file)); s.has(cpu) {
				core = s
				break
			}
		}
		core = slices.DeleteFunc(core.and(cpus), done.has)
		cores = append(cores, core)
		done = append(done, core...)
		slices.Sort(done)
	}
	return cores
}

// nodes divides CPUs by NUMA nodes. CPUs that are on no node form one more node, at the end.
func (r reader) nodes(cpus Set) (nodes []Set) {
	rest := slices.Clone(cpus)
	for _, node := range r.set("sys/devices/system/node/online") {
		of := rest.and(r.set(fmt.Sprintf("sys/devices/system/node/node%d/cpulist", node)))
		if len(of) > 0 {
			nodes = append(nodes, of)
			rest = slices.DeleteFunc(rest, of.has)
		}
	}
	if len(rest) > 0 {
		nodes = append(nodes, rest)
	}
	return nodes
}
